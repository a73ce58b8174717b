"""A machine, what disturbs it, and the commands that help, in documents."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from noisewatch.documents.document import Amount, Count, DocumentPart
from noisewatch.kinds import Kind

FactsOfClass = dict[str, str | None]


class FactsPart(DocumentPart, frozen=True, kw_only=True):
    """What the machine is and how it is set, by class and name; null is unknown. `noisewatch compare` names those that
    differ.
    """

    identity: FactsOfClass | UnsetType = UNSET
    hardware: FactsOfClass | UnsetType = UNSET
    firmware: FactsOfClass | UnsetType = UNSET
    kernel: FactsOfClass | UnsetType = UNSET
    settings: FactsOfClass | UnsetType = UNSET
    surroundings: FactsOfClass | UnsetType = UNSET


class MachinePart(DocumentPart, frozen=True, kw_only=True):
    """The machine in a few words.

    kernel: The release of the running kernel.
    virtual: The hypervisor; "none" on bare metal.
    container: The container's kind; "none" outside one.
    """

    is_live: bool
    kernel: str | None
    cpu_model: str | None
    virtual: str | None
    container: str | None
    clock_source: str | None
    mains_power: bool | Literal["none"] | None


class CulpritPart(DocumentPart, frozen=True, kw_only=True):
    """One source of noise on one CPU.

    name: Chosen by other programs; may contain any characters.
    pid: Of the process.
    tid: Of the thread, where it is one.
    share: Of the observed time.
    inferred: Whether the cost is an estimate from counts.
    """

    kind: Kind
    name: str
    pid: Count | None
    tid: Count | None
    irq: Count | None
    cpu: Count
    share: Amount | None
    rate_per_s: Amount | None
    stolen_ns: Count | None
    inferred: bool


class FixPart(DocumentPart, frozen=True, kw_only=True):
    """Shell commands.

    persist: What makes it last.
    undo: Brings back the values that were read.
    undo_persist: Takes `persist` back, where that is a command.
    needs_reboot: Whether nothing helps before a reboot.
    persist_needs_reboot: Whether what makes it last needs one.
    """

    now: str | None
    persist: str | None
    undo: str | None
    undo_persist: str | None
    needs_root: bool
    needs_reboot: bool
    persist_needs_reboot: bool
