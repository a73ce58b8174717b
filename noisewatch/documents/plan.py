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
    """A criterion for or against the CPUs.

    reason: why it is unknown or not applicable
    cpus: the CPUs in question
    """

    id: Annotated[str, Meta(extra_json_schema={"enum": _CRITERIA})]
    status: Literal["pass", "warn", "fail", "unknown", "not-applicable"]
    said: str
    reason: str | None
    cpus: Cpus
    evidence: dict[str, Any]
    reads: list[str]


class StepPart(DocumentPart, frozen=True, kw_only=True):
    """Commands that keep one kind of work off the CPUs.

    check: the preflight check that passes after this step
    undo: null if a value could not be read, and so cannot be restored
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
    """Target CPUs for a machine, criteria for and against them, and the steps that keep other work off them.

    Keys are only ever added.

    noisewatch: version of noisewatch
    machine: as in the other reports
    is_given: true if the CPUs were given with --cpus, false if they are proposed
    cpus: the CPUs for the benchmark
    idle: the other hardware threads of their cores, which have to stay idle
    taken: `cpus` and `idle` together: the commands keep all other work off them
    housekeeping: the remaining CPUs, for all other work
    cores: the threads of each core, if known
    memory_nodes: the nodes for the benchmark's memory; empty if unknown
    kernel_arguments: arguments to add to the kernel command line; may be empty
    replaced_arguments: current arguments that they replace, with their values
    unknown: by check, why it is unknown whether anything has to be done
    left_out: by check, why there is no command
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
