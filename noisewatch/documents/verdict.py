"""The verdict of `noisewatch preflight --format json`; with `jsonl`, one line for the head and one for each finding."""

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

    measured: The measured value, of a type that depends on the check; null if there is no single value.
    limit: The limit, in the unit of `measured`.
    limit_role: "limit": `measured` must not exceed the limit; "minimum": it must not fall below it; "looked back" or
        "looked ahead": the limit is the period that the check considered.
    said: A sentence for people, not for programs.
    reason: Why the answer is unknown, not applicable or ignored, or why a warning may be a failure.
    answered_by: The id of the check whose measurement replaces the unknown answer.
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
    """Findings that one action settles, or that have one culprit. No finding is in two causes.

    gravity: The gravity of its first finding.
    findings: Ids of the findings.
    settles: Ids of the findings that are settled by the fix, or by choosing the CPUs of `target`.
    fix: The combined fix of all its findings, with each step only once.
    advice: What to do if no command settles the findings.
    target: Better target CPUs, if choosing other CPUs settles findings.
    way: How to answer the open questions; null if there are none.
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

    null means unknown; "none" or an empty list means known to be absent. Keys contain their units (ns, khz; a share is
    a fraction of 1). Keys may be added, but are not removed.

    at: The time of the verdict, in seconds since 1970; null for a recording or a copy.
    host: The host's name; only with --identify, and never for a recording or a copy.
    noisewatch: The version of noisewatch that judged the machine.
    profile_reason: The kind of machine from which the profile follows; null if the user named the profile, or if it is
        the default.
    findings: With jsonl, each finding is a line of its own.
    causes: Failures, warnings, and unknown answers that block, grouped by what to do; the gravest cause first.
    noise_floor_of: The kind of work for which `noise_floor` holds (mixed, latency, throughput, interpreter, cache,
        memory or bandwidth), or the workload.
    noise_floor_chance: The probability that the benchmark's samples stay within the budget: for the requested kind of
        work or the workload, otherwise the lowest of all kinds but bandwidth.
    noise_floor_by_work: The noise floors by kind of work (latency, throughput, interpreter, cache, memory, bandwidth),
        and of `interruptions` alone. At the budget's sample length, each figure is the worst of all CPUs; the floors at
        other lengths are those of the CPU with the largest `cv_high` at the budget's length.
    sample_seconds: How long load, tasks and interrupts were sampled (`--sample`); 0 if they were not.
    own_cpu_share: The share of one CPU that noisewatch itself used.
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
