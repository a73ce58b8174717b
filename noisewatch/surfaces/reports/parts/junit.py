"""The parts that all JUnit reports share: properties, totals and timestamps.

There is no standard; https://github.com/testmoapp/junitxml collects what most tools read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from noisewatch.text import printable

_TOTALS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def timestamp(at_s: float) -> str:
    """Format Unix time as in JUnit reports: in UTC, without a time zone."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def add_suite(root: Element, name: str, began: str, properties: Mapping[str, str] | None = None) -> Element:
    suite = SubElement(root, "testsuite", name=f"noisewatch.{name}", timestamp=began)
    if properties is not None:
        listed = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(listed, "property", name=key, value=printable(value))
    return suite


def add_case(suite: Element, name: str, time: str = "0") -> Element:
    return SubElement(suite, "testcase", name=name, classname=suite.get("name", ""), time=time)


def add_result(case: Element, tag: str, message: str, kind: str | None = None, details: Iterable[str] = ()) -> None:
    """Add a failure, an error or the reason why the case was skipped."""
    result = SubElement(case, tag, message=printable(message))
    if kind is not None:
        result.set("type", kind)
    result.text = "\n".join(map(printable, details)) or None


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
