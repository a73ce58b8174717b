"""How many checks there are of each status: what every report and every screen tells.

Frames carry it, so it is imported before the monitor's first picture, and needs nothing of the checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noisewatch.judgement.terms import Status

if TYPE_CHECKING:
    from noisewatch.judgement.verdict import Finding


@dataclass(frozen=True, slots=True)
class Counts:
    """Checks by status, whatever their severity; of those that fail, or are unknown, how many block.

    An unknown that a measurement has answered does not block.
    """

    fail: int
    blocking_fail: int
    warn: int
    unknown: int
    blocking_unknown: int
    passed: int
    not_applicable: int
    ignored: int

    @property
    def failing(self) -> str:
        """`14 fail (4 blocking)`."""
        return _with_blocking(self.fail, "fail", self.blocking_fail)

    @property
    def unanswered(self) -> str:
        """`59 unknown (0 blocking)`."""
        return _with_blocking(self.unknown, "unknown", self.blocking_unknown)

    def __str__(self) -> str:
        """`14 fail (4 blocking), 3 warn, 59 unknown (0 blocking), 40 pass`."""
        return f"{self.failing}, {self.warn} warn, {self.unanswered}, {self.passed} pass"


def count(findings: Iterable[Finding]) -> Counts:
    """The counts of a verdict's findings."""
    findings = list(findings)
    by_status = Counter(finding.status for finding in findings)
    return Counts(
        fail=by_status[Status.FAIL],
        blocking_fail=sum(finding.is_blocking_failure for finding in findings),
        warn=by_status[Status.WARN],
        unknown=by_status[Status.UNKNOWN],
        blocking_unknown=sum(finding.is_blocking_unknown for finding in findings),
        passed=by_status[Status.PASS],
        not_applicable=by_status[Status.NOT_APPLICABLE],
        ignored=by_status[Status.IGNORED],
    )


def _with_blocking(number: int, status: str, blocking: int) -> str:
    return f"{number} {status} ({blocking} blocking)" if number else f"0 {status}"
