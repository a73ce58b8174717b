"""Machines, culprits and fixes in documents."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from noisewatch.documents.document import Amount, Count, DocumentPart
from noisewatch.kinds import Kind

FactsOfClass = dict[str, str | None]


class FactsPart(DocumentPart, frozen=True, kw_only=True):
    """The facts of a machine, by class and name; null means unknown. `noisewatch compare` lists differences."""

    identity: FactsOfClass | UnsetType = UNSET
    hardware: FactsOfClass | UnsetType = UNSET
    firmware: FactsOfClass | UnsetType = UNSET
    kernel: FactsOfClass | UnsetType = UNSET
    settings: FactsOfClass | UnsetType = UNSET
    surroundings: FactsOfClass | UnsetType = UNSET


class MachinePart(DocumentPart, frozen=True, kw_only=True):
    """A summary of the machine.

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


class ProcessPart(DocumentPart, frozen=True, kw_only=True):
    """The process of a culprit.

    name: The program; may contain any characters.
    command: The command line, shortened; only with --identify.
    unit: Its systemd unit.
    runtime: The container's runtime, such as docker; null if unknown.
    container: The first 12 digits of the container's ID.
    pod: The UID of the Kubernetes pod.
    """

    name: str
    command: str | UnsetType = UNSET
    unit: str | None
    runtime: str | None
    container: str | None
    pod: str | None


class RhythmPart(DocumentPart, frozen=True, kw_only=True):
    """The times at which a regular source of noise has its CPU.

    period_ns: The usual time from the start of one disturbance to the start of the next.
    count: The number of disturbances; the source may have been interrupted within one.
    usual_ns: The median time of the source in a disturbance.
    shortest_ns: The lower end of the middle 80% of these times.
    longest_ns: The upper end of the middle 80% of these times.
    """

    period_ns: Count
    count: Count
    usual_ns: Count
    shortest_ns: Count
    longest_ns: Count


class CulpritPart(DocumentPart, frozen=True, kw_only=True):
    """One source of noise on one CPU.

    name: Chosen by other programs; may contain any characters.
    pid: The ID of the process.
    process: Missing if the source is not a process, or if the process was not read, for example because it had ended.
    tid: The ID of the thread, if the source is a thread.
    share: The stolen share of the observed time.
    inferred: Whether the stolen time is an estimate from counts.
    rhythm: Missing if the source was not traced, or if its times are not regular.
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
    process: ProcessPart | UnsetType = UNSET
    rhythm: RhythmPart | UnsetType = UNSET


class FixPart(DocumentPart, frozen=True, kw_only=True):
    """The shell commands of a fix.

    now: The commands that apply the fix at once.
    persist: The commands that keep the setting across reboots, or a sentence that describes what to do.
    undo: The commands that restore the values from before the fix; null if not all can be restored.
    undo_persist: The commands that revert `persist`; null if there are none.
    needs_reboot: Whether the fix only takes effect after a reboot.
    persist_needs_reboot: Whether `persist` needs a reboot.
    """

    now: str | None
    persist: str | None
    undo: str | None
    undo_persist: str | None
    needs_root: bool
    needs_reboot: bool
    persist_needs_reboot: bool
