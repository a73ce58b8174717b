"""The verdict as a JUnit report: a suite for each area, a case for each check.

There is no standard; what most tools read is collected at https://github.com/testmoapp/junitxml. A failure or an error
is what decides the verdict. A warning passes, and says so in its output. What is unknown but decides nothing is
skipped, as what does not apply: neither is a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from noisewatch import __version__
from noisewatch.cpus import format_cpu_list
from noisewatch.judgement.finding_words import (
    commands_of,
    counts,
    culprit_line,
    describe_host,
    measured,
    measured_seconds,
    sentence,
)
from noisewatch.judgement.terms import Gravity, Outcome
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable

_RESULTS = {
    Gravity.FAILED: "failure",
    Gravity.UNANSWERED: "error",
    Gravity.OPEN: "skipped",
    Gravity.LEFT_OUT: "skipped",
}
_WITH_OUTPUT = (Gravity.WARNED, Gravity.NOTED)
_COUNTED = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format junit`."""
    started_at = datetime.fromtimestamp(occasion.at_s - measured_seconds(verdict), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    root = Element("testsuites", name="noisewatch preflight")
    for area in dict.fromkeys(finding.check.area for finding in verdict.findings):
        suite = SubElement(root, "testsuite", name=f"noisewatch.{area}", timestamp=started_at)
        _add_properties(suite, verdict, occasion)
        suite.extend(_case(each, verdict) for each in verdict.findings if each.check.area == area)
    if verdict.verdict != Outcome.STABLE and not _has_failed(root):
        suite = SubElement(root, "testsuite", name="noisewatch.verdict", timestamp=started_at)
        suite.append(_nothing_asked(verdict))
    for suite in root:
        _count(suite, [suite], "0")
    _count(root, list(root), f"{measured_seconds(verdict):.3f}")
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _add_properties(suite: Element, verdict: Verdict, occasion: RenderOptions) -> None:
    properties = SubElement(suite, "properties")
    described = {
        "noisewatch": __version__,
        "machine": describe_host(verdict.case.snapshot),
        "target": format_cpu_list(verdict.case.target),
        "profile": verdict.profile,
        "measured": measured(verdict),
        "verdict": verdict.verdict,
        "exit_status": str(occasion.exit_status),
    }
    for name, value in described.items():
        SubElement(properties, "property", name=name, value=printable(value))


def _case(finding: Finding, verdict: Verdict) -> Element:
    case = Element("testcase", name=finding.check.id, classname=f"noisewatch.{finding.check.area}", time="0")
    gravity = finding.gravity(verdict.is_strict)
    if gravity in _RESULTS:
        result = SubElement(case, _RESULTS[gravity], message=sentence(finding))
        if gravity in (Gravity.FAILED, Gravity.UNANSWERED):
            result.set("type", finding.severity)
            result.text = "\n".join(_details(finding))
    if gravity in _WITH_OUTPUT:
        SubElement(case, "system-out").text = "\n".join([f"{gravity}: {sentence(finding)}", *_details(finding)])
    return case


def _details(finding: Finding) -> Iterator[str]:
    """What people want to read of it."""
    yield finding.check.question
    yield from map(culprit_line, finding.answer.culprits)
    yield from (f"{name}: {command}" for name, command in commands_of(finding.answer.fix))


def _has_failed(root: Element) -> bool:
    return any(True for _ in chain(root.iter("failure"), root.iter("error")))


def _nothing_asked(verdict: Verdict) -> Element:
    """No single check is to blame, as where none was asked; yet this must not look like success."""
    case = Element("testcase", name="verdict", classname="noisewatch.verdict", time="0")
    SubElement(case, "error", message=f"the verdict is {verdict.verdict}: {counts(verdict)}", type="blocking")
    return case


def _count(element: Element, suites: Sequence[Element], time_s: str) -> None:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for name, tag in _COUNTED:
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", time_s)
