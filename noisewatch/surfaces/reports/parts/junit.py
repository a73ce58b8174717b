"""The parts that all JUnit reports share: properties, totals and timestamps.

There is no standard; what most tools read is collected at https://github.com/testmoapp/junitxml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from noisewatch.text import printable

_TOTALS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def timestamp(at_s: float) -> str:
    """Format Unix time as JUnit reports have it."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def add_properties(suite: Element, described: Mapping[str, str]) -> None:
    properties = SubElement(suite, "properties")
    for name, value in described.items():
        SubElement(properties, "property", name=name, value=printable(value))


def error_case(name: str, suite: str, message: str, kind: str) -> Element:
    case = Element("testcase", name=name, classname=suite, time="0")
    SubElement(case, "error", message=message, type=kind)
    return case


def document_with_totals(root: Element, time_s: str) -> str:
    """Return the text of a report with complete suites, with the totals of each suite and of all."""
    for suite in root:
        _count(suite, [suite], suite.get("time", "0"))
    _count(root, list(root), time_s)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _count(element: Element, suites: Sequence[Element], time_s: str) -> None:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for name, tag in _TOTALS:
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", time_s)
