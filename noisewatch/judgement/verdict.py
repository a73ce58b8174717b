"""The verdict: all findings together, composed in this one place.

A fail of a blocking check makes the machine unstable. An unknown blocking check makes it unknown, unless a
measurement has answered the same question. A known failure outranks an unknown; warnings are allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisewatch.judgement.case import Case
from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.declaration import (
    BLOCKING,
    FAIL,
    IGNORED,
    NOT_APPLICABLE,
    PASS,
    UNKNOWN,
    WARN,
    Answer,
    Check,
)

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "unknown"
EXIT_STATUS = {STABLE: 0, UNSTABLE: 1, UNDECIDED: 3}


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's answer on this machine. `answered_by` names the measurement that stands in for an unknown."""

    check: Check
    answer: Answer
    answered_by: str | None = None

    @property
    def severity(self) -> str:
        return self.answer.severity or self.check.severity

    @property
    def status(self) -> str:
        return self.answer.status

    @property
    def is_blocking_failure(self) -> bool:
        return self.status == FAIL and self.severity == BLOCKING

    @property
    def is_blocking_unknown(self) -> bool:
        return self.status == UNKNOWN and self.severity == BLOCKING and self.answered_by is None

    @property
    def is_warning(self) -> bool:
        return self.status in (WARN, FAIL) and not self.is_blocking_failure


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all surfaces derive from, the exit status included."""

    verdict: str
    findings: tuple[Finding, ...]
    case: Case
    profile: str = "micro"
    is_strict: bool = False

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.verdict]

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_blocking_failure]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_warning]

    @property
    def unknowns(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == UNKNOWN]

    @property
    def passes(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == PASS]


def judge(case: Case, checks: Iterable[Check] = CATALOGUE, strict: bool = False) -> Verdict:
    """The verdict on the case. `strict` makes warnings and unknowns unstable."""
    findings = link_measurements([Finding(each, _answer(each, case)) for each in checks])
    return Verdict(compose(findings, strict), tuple(findings), case, is_strict=strict)


def _answer(each: Check, case: Case) -> Answer:
    if each.asks_rates and case.interval is None and case.no_sample_reason is None:
        return Answer(IGNORED, "not asked", reason="settings only, as requested")
    if each.asks_calibration and case.calibrated is None and case.no_calibration_reason is None:
        return Answer(IGNORED, "not asked", reason="no calibration, as requested")
    return each.answer(case)


def link_measurements(findings: list[Finding]) -> list[Finding]:
    """The findings, with unknowns that a measurement has answered marked so; one that failed is no answer."""
    measured = {finding.check.id for finding in findings if finding.status in (PASS, WARN)}
    return [
        Finding(finding.check, finding.answer, finding.check.answered_by)
        if finding.status == UNKNOWN and finding.check.answered_by in measured
        else finding
        for finding in findings
    ]


def compose(findings: Iterable[Finding], strict: bool = False) -> str:
    """STABLE, UNSTABLE or UNDECIDED; a machine about which nothing was asked is undecided."""
    findings = list(findings)
    if any(finding.is_blocking_failure for finding in findings):
        return UNSTABLE
    if strict and any(finding.is_warning or finding.status == UNKNOWN for finding in findings):
        return UNSTABLE
    asked = [finding for finding in findings if finding.status not in (IGNORED, NOT_APPLICABLE)]
    if not asked or any(finding.is_blocking_unknown for finding in findings):
        return UNDECIDED
    return STABLE
