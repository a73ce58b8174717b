"""The verdict as a JUnit report: a suite for each area, a case for each check.

Failures and errors decide the verdict. A warning passes, and is in the case's output. Unknown checks that do not decide
the verdict are skipped, as are checks that do not apply: neither passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from xml.etree.ElementTree import Element, SubElement

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.finding_words import (
    commands_of,
    counts_text,
    culprit_line,
    describe_host,
    measured_seconds,
    measurement_text,
    sentence,
)
from noisewatch.judgement.noise.by_work import chance_line
from noisewatch.judgement.terms import Gravity, Outcome
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.parts.junit import add_case, add_result, add_suite, document_with_totals, timestamp
from noisewatch.surfaces.reports.verdict.formats import RenderOptions

_RESULTS = {
    Gravity.FAILED: "failure",
    Gravity.UNANSWERED: "error",
    Gravity.OPEN: "skipped",
    Gravity.LEFT_OUT: "skipped",
}
_WITH_OUTPUT = (Gravity.WARNED, Gravity.NOTED)


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format junit`."""
    started_at = timestamp(options.at_s - measured_seconds(verdict))
    root = Element("testsuites", name="noisewatch preflight")
    for area in dict.fromkeys(finding.check.area for finding in verdict.findings):
        suite = add_suite(root, area, started_at, _properties(verdict, options))
        for finding in verdict.findings:
            if finding.check.area == area:
                _add_case(suite, finding, verdict)
    if verdict.verdict != Outcome.STABLE and not any(True for _ in chain(root.iter("failure"), root.iter("error"))):
        case = add_case(add_suite(root, "verdict", started_at), "verdict")
        add_result(case, "error", f"the verdict is {verdict.verdict}: {counts_text(verdict)}", "blocking")
    return document_with_totals(root, f"{measured_seconds(verdict):.3f}")


def _properties(verdict: Verdict, options: RenderOptions) -> dict[str, str]:
    calibrated = verdict.case.calibrated
    return {
        "noisewatch": __version__,
        "machine": describe_host(verdict.case.snapshot),
        "target": format_cpu_list(verdict.case.target),
        "profile": verdict.profile,
        "measured": measurement_text(verdict),
        "noise_floor": "not measured" if calibrated is None else chance_line(calibrated),
        "verdict": verdict.verdict,
        "exit_status": str(options.exit_status),
    }


def _add_case(suite: Element, finding: Finding, verdict: Verdict) -> None:
    case, gravity = add_case(suite, finding.check.id), finding.gravity(verdict.is_strict)
    if gravity in (Gravity.FAILED, Gravity.UNANSWERED):
        add_result(case, _RESULTS[gravity], sentence(finding), finding.severity, _details(finding))
    elif gravity in _RESULTS:
        add_result(case, _RESULTS[gravity], sentence(finding))
    elif gravity in _WITH_OUTPUT:
        SubElement(case, "system-out").text = "\n".join([f"{gravity}: {sentence(finding)}", *_details(finding)])


def _details(finding: Finding) -> Iterator[str]:
    """Yield the question, the culprits and the commands."""
    yield finding.check.question
    yield from map(culprit_line, finding.answer.culprits)
    yield from (f"{name}: {command}" for name, command in commands_of(finding.answer.fix))
