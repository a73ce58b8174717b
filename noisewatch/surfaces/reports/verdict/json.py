"""The verdict as JSON and as JSON lines."""

from __future__ import annotations

import json
from typing import Any

from noisewatch import __version__
from noisewatch.judgement.causes import Cause, causes_of
from noisewatch.judgement.finding_words import said_in_full
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.calibration.detection import describe_detection
from noisewatch.surfaces.reports.calibration.json import describe_calibration, describe_noise
from noisewatch.surfaces.reports.machine.json import SCHEMA, describe_facts, describe_machine
from noisewatch.surfaces.reports.parts.culprits import describe_culprit, describe_fix
from noisewatch.surfaces.reports.verdict.formats import RenderOptions


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """Return the document of `preflight --format json`."""
    return json.dumps(_described(verdict, occasion), indent=1) + "\n"


def _described(verdict: Verdict, occasion: RenderOptions) -> dict[str, Any]:
    """Return the whole document; `at` is null for a copy or a recording, whose time is unknown here."""
    at_s = occasion.at_s if verdict.case.snapshot.is_live else None
    described = describe_verdict(verdict, occasion.own_cpu_share, occasion.exit_status)
    return {"schema": described["schema"], "at": at_s, "host": occasion.host, **described}


def describe_verdict(verdict: Verdict, own_cpu_share: float | None, exit_status: int) -> dict[str, Any]:
    """Return the verdict alone.

    `own_cpu_share` is noisewatch's own share of one CPU; null without a live sample.
    """
    case = verdict.case
    calibrated = case.calibrated
    return {
        "schema": SCHEMA,
        "noisewatch": __version__,
        "machine": describe_machine(case.snapshot),
        "facts": describe_facts(case.snapshot),
        "target": sorted(case.target),
        "target_chosen_by": case.snapshot.target.chosen_by,
        "profile": verdict.profile,
        "profile_reason": case.rules.profile_reason,
        "configured_by": case.rules.configured_by,
        "verdict": verdict.verdict,
        "exit_status": exit_status,
        "findings": [_finding(finding) for finding in verdict.findings],
        "causes": [_cause(cause) for cause in causes_of(verdict)],
        "calibration": None if calibrated is None else describe_calibration(calibrated),
        **describe_noise(calibrated),
        "detect": describe_detection(calibrated, case.budget.detect),
        "sample_seconds": case.interval.seconds if case.interval is not None else 0,
        "own_cpu_share": own_cpu_share,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    answer = finding.answer
    return {
        "id": finding.check.id,
        "area": finding.check.area,
        "severity": finding.severity,
        "status": answer.status,
        "measured": answer.measured,
        "limit": answer.limit,
        "limit_role": answer.limit_role if answer.limit is not None else None,
        "unit": answer.unit,
        "cpus": sorted(answer.cpus),
        "said": said_in_full(answer),
        "reason": answer.reason,
        "answered_by": finding.answered_by,
        "evidence": dict(answer.evidence),
        "culprits": [describe_culprit(culprit) for culprit in answer.culprits],
        "fix": None if answer.fix is None else describe_fix(answer.fix),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "gravity": cause.gravity,
        "findings": [each.check.id for each in cause.findings],
        "settles": [each.check.id for each in cause.settles],
        "fix": None if cause.fix is None else describe_fix(cause.fix),
        "advice": cause.advice,
        "target": None if cause.target is None else sorted(cause.target),
        "way": cause.way,
    }


def render_lines(verdict: Verdict, occasion: RenderOptions) -> str:
    """Return the lines of `preflight --format jsonl`: a head with all other keys, then a line for each finding."""
    head = _described(verdict, occasion)
    findings = head.pop("findings")
    return "".join(json.dumps(each) + "\n" for each in (head, *findings))
