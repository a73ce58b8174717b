"""The verdict as JSON and as JSON lines."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from noisewatch import __version__
from noisewatch.documents.document import SCHEMA, fill_part, to_json
from noisewatch.documents.verdict import CausePart, FindingPart, VerdictDocument
from noisewatch.judgement.causes import Cause, causes_of
from noisewatch.judgement.finding_words import full_statement
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.calibration.json import describe_calibration, describe_detection, describe_noise
from noisewatch.surfaces.reports.parts.json import describe_culprit, describe_facts, describe_fix, describe_machine
from noisewatch.surfaces.reports.verdict.formats import RenderOptions


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the document of `preflight --format json`."""
    return to_json(_verdict_document(verdict, options), indent=1)


def render_lines(verdict: Verdict, options: RenderOptions) -> str:
    """Return the lines of `preflight --format jsonl`: a head with all other keys, then a line for each finding."""
    document = _verdict_document(verdict, options)
    return "".join(map(to_json, [replace(document, findings=UNSET), *(document.findings or ())]))


def _verdict_document(verdict: Verdict, options: RenderOptions) -> VerdictDocument:
    """Return the whole document; `at` is null for a copy or a recording, whose time is unknown here."""
    at_s = options.at_s if verdict.case.snapshot.is_live else None
    described = describe_verdict(verdict, options.own_cpu_share, options.exit_status, options.identifies)
    return replace(described, at=at_s, host=options.host)


def describe_verdict(
    verdict: Verdict, own_cpu_share: float | None, exit_status: int, identifies: bool = False
) -> VerdictDocument:
    """Return the verdict, without the time and the host's name; culprits have commands only if `identifies`.

    `own_cpu_share` is noisewatch's own share of one CPU; null without a live sample.
    """
    case = verdict.case
    calibrated = case.calibrated
    return VerdictDocument(
        schema=SCHEMA,
        noisewatch=__version__,
        machine=describe_machine(case.snapshot),
        facts=describe_facts(case.snapshot),
        target=sorted(case.target),
        target_chosen_by=case.snapshot.target.chosen_by,
        profile=verdict.profile,
        profile_reason=case.rules.profile_reason,
        configured_by=case.rules.configured_by,
        verdict=verdict.verdict,
        exit_status=exit_status,
        findings=[_finding(finding, identifies) for finding in verdict.findings],
        causes=[_cause(cause) for cause in causes_of(verdict)],
        calibration=None if calibrated is None else describe_calibration(calibrated),
        **describe_noise(calibrated),
        detect=describe_detection(calibrated, case.budget.detect),
        sample_seconds=case.interval.seconds if case.interval is not None else 0,
        own_cpu_share=own_cpu_share,
    )


def _finding(finding: Finding, identifies: bool) -> FindingPart:
    answer = finding.answer
    return fill_part(
        FindingPart,
        answer,
        id=finding.check.id,
        area=finding.check.area,
        severity=finding.severity,
        limit_role=answer.limit_role if answer.limit is not None else None,
        cpus=sorted(answer.cpus),
        said=full_statement(answer),
        answered_by=finding.answered_by,
        evidence=dict(answer.evidence),
        culprits=[describe_culprit(culprit, identifies) for culprit in answer.culprits],
        fix=describe_fix(answer.fix),
    )


def _cause(cause: Cause) -> CausePart:
    return fill_part(
        CausePart,
        cause,
        findings=[finding.check.id for finding in cause.findings],
        settles=[finding.check.id for finding in cause.settles],
        fix=describe_fix(cause.fix),
        target=None if cause.target is None else sorted(cause.target),
    )
