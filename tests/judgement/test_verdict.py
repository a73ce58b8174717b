"""How findings compose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.declaration import Answer
from noisewatch.judgement.verdict import Finding, compose, link_measurements


def _finding(
    status: str, severity: str = "blocking", answered_by: str | None = None, check_id: str = "a-check"
) -> Finding:
    declared = replace(CATALOGUE[0], id=check_id, severity=severity, answered_by=answered_by)
    return Finding(declared, Answer(status, "said"))


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([_finding("pass")], "stable"),
        ([_finding("pass"), _finding("warn")], "stable"),
        ([_finding("pass"), _finding("fail", "warning")], "stable"),
        ([_finding("pass"), _finding("fail", "information")], "stable"),
        ([_finding("pass"), _finding("unknown", "warning")], "stable"),
        ([_finding("pass"), _finding("fail")], "unstable"),
        ([_finding("pass"), _finding("unknown")], "unknown"),
        ([_finding("fail"), _finding("unknown")], "unstable"),
        ([_finding("not-applicable"), _finding("ignored")], "unknown"),
        ([_finding("unknown", "warning")], "unknown"),
        ([], "unknown"),
    ],
)
def test_a_known_failure_outranks_an_unknown_which_outranks_a_pass(findings: list[Finding], verdict: str) -> None:
    assert compose(findings) == verdict


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (_finding("warn"), "unstable"),
        (_finding("unknown", "warning"), "unstable"),
        (_finding("fail", "warning"), "unstable"),
        (_finding("fail", "information"), "stable"),
        (_finding("unknown", "information"), "stable"),
        (_finding("pass"), "stable"),
    ],
)
def test_strict_makes_warnings_and_unknowns_unstable(found: Finding, verdict: str) -> None:
    assert compose([_finding("pass"), found], strict=True) == verdict


def test_an_unknown_that_a_measurement_answered_does_not_block() -> None:
    setting = _finding("unknown", answered_by="a-measurement")
    measured = _finding("pass", check_id="a-measurement")
    linked = link_measurements([setting, measured])
    assert [each.answered_by for each in linked] == ["a-measurement", None]
    assert compose(linked) == "stable"


@pytest.mark.parametrize("status", ["unknown", "not-applicable", "ignored"])
def test_a_measurement_that_was_not_made_answers_nothing(status: str) -> None:
    setting = _finding("unknown", answered_by="a-measurement")
    linked = link_measurements([setting, _finding("pass"), _finding(status, "warning", check_id="a-measurement")])
    assert compose(linked) == "unknown"
