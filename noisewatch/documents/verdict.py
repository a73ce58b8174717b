"""The verdict of `noisewatch preflight --format json`; with `jsonl` its head and each finding are a line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from noisewatch.documents.calibration import (
    CalibrationPart,
    DetectionPart,
    DriftPart,
    FloorPart,
    FloorsByWork,
)
from noisewatch.documents.document import Amount, Chance, Cpus, DocumentPart, SchemaNumber
from noisewatch.documents.machine import CulpritPart, FactsPart, FixPart, MachinePart
from noisewatch.judgement.terms import Gravity, Outcome, Severity, Status


class FindingPart(DocumentPart, frozen=True, kw_only=True):
    """The answer of one check.

    measured: Of whatever type the check measures; null where there is no one value.
    limit: In the same unit as measured.
    limit_role: What the limit is: what measured may not exceed or fall below, or how far was looked.
    said: For people only.
    reason: Why it is unknown, not applicable or ignored.
    answered_by: The id of the measurement that stands in for an unknown.
    evidence: Raw values, by name.
    """

    id: Annotated[str, Meta(extra_json_schema={"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"})]
    area: str
    severity: Severity
    status: Status
    measured: Any
    limit: float | None
    limit_role: Literal["limit", "minimum", "looked back", "looked ahead"] | None
    unit: str | None
    cpus: Cpus
    said: str
    reason: str | None
    answered_by: str | None
    evidence: dict[str, Any]
    culprits: list[CulpritPart]
    fix: FixPart | None


class CausePart(DocumentPart, frozen=True, kw_only=True):
    """Findings that one action settles, or that have one culprit. Each is in exactly one cause.

    gravity: Of the first of its findings.
    findings: Ids.
    settles: Those that are over once the fix is made, or the CPUs of `target` are chosen.
    fix: Of all its findings as one, each step once.
    advice: What helps where no command does.
    target: Target CPUs that would be better.
    way: How open questions get an answer; null where they have one.
    """

    gravity: Gravity
    findings: Annotated[list[str], Meta(min_length=1)]
    settles: list[str]
    fix: FixPart | None
    advice: str | None
    target: Cpus | None
    way: Literal["sample", "calibration", "profile", "live", "root", "none"] | None


class VerdictDocument(DocumentPart, frozen=True, kw_only=True):
    """The verdict of `noisewatch preflight --format json`.

    null could not be known; what is known not to be there is "none" or an empty list. Keys carry units
    (ns, khz, share of 1) and are only ever added.

    at: When the verdict was reached, in seconds since 1970; null of a recording or a copy.
    host: The host's name; with --identify only, and of no recording or copy.
    noisewatch: The version that judged.
    profile_reason: What the machine is, where that decided the profile; null where the user named it, or the default
        applies.
    findings: With jsonl each is a line of its own.
    causes: What to do, the gravest first: all that fails or warns, and the unknowns that block.
    noise_floor_of: What `noise_floor` is of: the workload, or mixed, latency, throughput, interpreter, cache or memory
        work.
    noise_floor_chance: The chance that the benchmark's samples stay within the budget: of the requested kind of work,
        else the least of all kinds.
    noise_floor_by_work: By kind of work (latency, throughput, interpreter, cache, memory), and of interruptions alone.
        At the budget's length the worst of all CPUs, else those of the CPU that is worst there.
    sample_seconds: 0 where no sample was taken.
    own_cpu_share: What noisewatch itself used of one CPU.
    """

    schema: SchemaNumber
    at: float | None = None
    host: str | None = None
    noisewatch: str
    machine: MachinePart
    facts: FactsPart | None = None
    target: Cpus
    target_chosen_by: str | UnsetType = UNSET
    profile: str
    profile_reason: str | None = None
    configured_by: str | None = None
    verdict: Outcome
    exit_status: Annotated[int, Meta(ge=0, le=255)]
    findings: list[FindingPart] | UnsetType = UNSET
    causes: list[CausePart] | UnsetType = UNSET
    calibration: CalibrationPart | None
    noise_floor: list[FloorPart] | None
    noise_floor_of: str | None = None
    noise_floor_chance: Chance | None = None
    noise_floor_by_work: FloorsByWork | None = None
    noise_floor_drift: DriftPart | None = None
    detect: DetectionPart | None = None
    sample_seconds: Amount
    own_cpu_share: Amount | None
