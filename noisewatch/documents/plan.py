"""The document of `noisewatch plan --format json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.document import Count, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import MachinePart

_CRITERIA = (
    *("usable", "whole-cores", "housekeeping", "fastest-kind", "one-cache", "one-node", "memory", "near-device"),
    *("interrupts", "isolated"),
)


class CriterionPart(DocumentPart, frozen=True, kw_only=True):
    """What speaks for the CPUs or against them.

    reason: why it is unknown, or does not apply
    cpus: those that it is about
    """

    id: Annotated[str, Meta(extra_json_schema={"enum": _CRITERIA})]
    status: Literal["pass", "warn", "fail", "unknown", "not-applicable"]
    said: str
    reason: str | None
    cpus: Cpus
    evidence: dict[str, Any]
    reads: list[str]


class StepPart(DocumentPart, frozen=True, kw_only=True):
    """Commands that keep something off the CPUs.

    check: the check of preflight that it settles
    undo: null: a value was not read, and cannot be brought back
    """

    check: str
    about: str
    now: str | None
    persist: str | None
    undo: str | None
    undo_persist: str | None
    needs_root: bool
    needs_reboot: bool
    persist_needs_reboot: bool | UnsetType = UNSET


class StartPart(DocumentPart, frozen=True, kw_only=True):
    """A command that starts the benchmark."""

    about: str
    command: str


class PlanDocument(DocumentPart, frozen=True, kw_only=True):
    """Target CPUs for a machine, what speaks for and against them, and what keeps everything else off them.

    Keys are only ever added.

    noisewatch: version of noisewatch
    machine: as in the other reports
    is_given: true: the CPUs were named with --cpus; false: they are proposed
    cpus: the benchmark runs on these
    idle: other threads of their cores, where nothing is to run
    taken: both together: what the commands keep everything else off
    housekeeping: the CPUs that are left for all other work
    cores: the threads of each core, if known
    memory_nodes: where the benchmark's memory should be; empty where that is not known
    kernel_arguments: to be added to the kernel command line; may be empty
    replaced_arguments: options of that line which those replace, with their values
    unknown: by check: why it is not known whether there is anything to do
    left_out: by check: why there is no command
    """

    schema_version: SchemaNumber
    noisewatch: str
    machine: MachinePart
    is_given: bool
    cpus: Cpus
    idle: Cpus
    taken: Cpus
    housekeeping: Cpus
    online: Cpus
    cores: list[Cpus]
    memory_nodes: list[Count]
    said: str
    cost: str
    criteria: list[CriterionPart]
    steps: list[StepPart]
    kernel_arguments: str
    replaced_arguments: dict[str, str]
    unknown: dict[str, str]
    left_out: dict[str, str]
    start: list[StartPart]
