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
    """A criterion for target CPUs, and whether the CPUs of the plan meet it.

    said: A sentence for people, not for programs.
    reason: Why the status is unknown or not applicable.
    cpus: The CPUs that the status is about.
    reads: The sources of the evidence.
    """

    id: Annotated[str, Meta(extra_json_schema={"enum": _CRITERIA})]
    status: Literal["pass", "warn", "fail", "unknown", "not-applicable"]
    said: str
    reason: str | None
    cpus: Cpus
    evidence: dict[str, Any]
    reads: list[str]


class StepPart(DocumentPart, frozen=True, kw_only=True):
    """Commands that keep one kind of work off the benchmark's CPUs.

    check: The preflight check that passes after this step.
    undo: null if `now` is null, or if not all of its effects can be undone.
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
    """A command that prepares or starts the benchmark."""

    about: str
    command: str


class PlanDocument(DocumentPart, frozen=True, kw_only=True):
    """Target CPUs for a machine, criteria for them, and the steps that keep other work off them.

    Keys may be added, but are not removed.

    noisewatch: The version of noisewatch that made the plan.
    machine: A summary of the machine.
    is_given: Whether the CPUs were named with --cpus; otherwise noisewatch proposes them.
    cpus: The CPUs for the benchmark.
    idle: The other hardware threads of the same cores, which have to stay idle.
    taken: `cpus` and `idle` together. The commands keep all other work off these CPUs.
    housekeeping: The remaining CPUs, for all other work.
    cores: The hardware threads of each core of `taken`, if known.
    memory_nodes: The nodes for the benchmark's memory; empty if unknown.
    said: A sentence for people, not for programs.
    kernel_arguments: The arguments to add to the kernel command line; may be empty.
    replaced_arguments: The current arguments that `kernel_arguments` replaces, with their values.
    unknown: For each check without an answer, why it is unknown whether its step is needed.
    left_out: For each check whose step is left out, the reason.
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
