"""`--format problem-detector`: one line of 80 bytes, the gravest first."""

from __future__ import annotations

import pytest

from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.formats import FORMATS
from tests.surfaces.reports.verdicts import (
    failed_verdict,
    hostile_verdict,
    quiet_verdict,
    rendered,
    strict_verdict,
    unknown_verdict,
    verdict_on_nothing,
    warned_verdict,
)


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (quiet_verdict(), "STABLE: CPUs 2-3, profile micro"),
        (warned_verdict(), "STABLE, 1 warn: target-not-isolated: cpu 2 is not isolated"),
        (failed_verdict(), "UNSTABLE, 3 fail (2 blocking): tasks-on-target: hog (limit 0.5%)"),
        (unknown_verdict(), "UNKNOWN, 1 unknown (1 blocking): governor-not-performance: no such file"),
        (strict_verdict("warn"), "UNSTABLE, 1 warn: target-not-isolated: because"),
        (strict_verdict("unknown"), "UNSTABLE, 1 unknown (0 blocking): target-not-isolated: because"),
        (verdict_on_nothing(), "UNKNOWN: CPUs 2-3, profile micro"),
    ],
    ids=["stable", "warned", "failed", "unknown", "strict warning", "strict unknown", "nothing asked"],
)
def test_line_has_the_verdict_and_the_gravest_finding(verdict: Verdict, line: str) -> None:
    assert rendered("problem-detector", verdict) == f"{line}\n"


@pytest.mark.parametrize("name", ["x" * 500, "é" * 500, "😀" * 500])
def test_long_line_is_cut_at_the_limit_of_the_detector(name: str) -> None:
    line = rendered("problem-detector", hostile_verdict(name)).removesuffix("\n")
    assert len(line.encode()) == 80
    assert line.endswith("...")


def test_error_message_fits_the_line() -> None:
    line = FORMATS["problem-detector"].describe_trouble("x" * 500)
    assert line.startswith("UNKNOWN: xxx")
    assert len(line.encode()) == 81
