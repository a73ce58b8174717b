"""Timers that a trace measured during the calibration, or that only the interrupt tables show."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.trace.runs import Trace, parse_trace
from tests.judgement.checks.calibration.meanwhile import case_of, finding_after, intervals_until
from tests.judgement.judging import finding_in
from tests.written.quiet_machine import quiet_files
from tests.written.trace import written_trace

_MS = 1_000_000


def _timers(seconds: float, count: int) -> dict[str, str]:
    """Return the quiet machine's interrupt table with this timer count for CPU 2."""
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines()
    old_row = next(row for row in rows if row.split()[0] == "LOC:")
    rows[rows.index(old_row)] = f"LOC: 9600 9600 {count} 120   Local timer interrupts"
    return {"/proc/interrupts": "\n".join(rows) + "\n"}


def _profiler_trace(rate_per_s: int, share: float, function: str | None = "perf_swevent_hrtimer") -> Trace:
    """Return a trace of two seconds of CPU 2, with a profiler's timer of this rate and share of the time."""
    written = written_trace()
    written["cpus"][0]["sources"].append(["tick", "local_timer", 0, function])
    written["cpus"][0]["spells"].append([2 * rate_per_s, round(2_000 * _MS * share), 90_000, [65_536, 2 * rate_per_s]])
    return parse_trace(written)


@pytest.mark.parametrize(("rate_per_s", "share"), [(4_000, 0.19), (600, 0.02)])
def test_a_traced_timer_is_named_and_judged_by_its_share(rate_per_s: int, share: float) -> None:
    answer = finding_after(
        "timers-on-target", _timers(6.0, 120 + 3 * (250 + rate_per_s)), _profiler_trace(rate_per_s, share)
    ).answer
    assert (answer.status, answer.measured, answer.unit) == ("fail", pytest.approx(share), "share")
    (culprit,) = answer.culprits
    assert (culprit.name, culprit.is_inferred) == ("perf_swevent_hrtimer (a profiler's)", False)
    assert culprit.share == pytest.approx(share)
    assert f"perf_swevent_hrtimer (a profiler's) took {share:.1%} of CPU 2 during the calibration" in answer.said


@pytest.mark.parametrize(
    ("rate_per_s", "share", "status"), [(1_200, 0.005, "fail"), (200, 0.005, "warn"), (90, 0.005, "warn")]
)
def test_a_traced_timer_is_judged_by_its_rate_as_well(rate_per_s: int, share: float, status: str) -> None:
    finding = finding_after("timers-on-target", _timers(6.0, 120), _profiler_trace(rate_per_s, share))
    assert (finding.status, set(finding.answer.cpus)) == (status, {2})
    assert [round(culprit.share or 0.0, 4) for culprit in finding.answer.culprits] == [share]


def test_a_short_traced_timer_passes() -> None:
    assert finding_after("timers-on-target", _timers(6.0, 120), _profiler_trace(90, 0.0009)).status == "pass"


def test_unnamed_traced_timers_have_the_traced_share_and_the_counted_rate() -> None:
    answer = finding_after("timers-on-target", _timers(6.0, 120 + 3 * 1_100), _profiler_trace(1_100, 0.02, None)).answer
    assert (answer.status, answer.measured) == ("warn", pytest.approx(850 * 5e-6))
    assert [(culprit.name, culprit.share, culprit.is_inferred) for culprit in answer.culprits] == [
        ("timer interrupts", 0.02, False)
    ]


def test_a_timer_that_ended_with_the_sample_stays_an_estimate() -> None:
    sample, loaded = intervals_until(_timers(6.0, 120 + 3 * 3_000), _timers(3.0, 120 + 3 * 3_000))
    case = case_of(sample, loaded, _profiler_trace(20, 0.001), Budget(max_cv=1.0))
    answer = finding_in(case, "timers-on-target").answer
    assert [(culprit.name, culprit.is_inferred) for culprit in answer.culprits] == [("timer interrupts", True)]


def test_a_timer_of_sample_and_calibration_is_named_once_with_the_larger_rate() -> None:
    sample, loaded = intervals_until(_timers(6.0, 120 + 3 * 3_000 + 3 * 5_000), _timers(3.0, 120 + 3 * 3_000))
    answer = finding_in(Case(sample.after, sample, under_load=loaded), "timers-on-target").answer
    assert [(culprit.cpu, round(culprit.rate_per_s or 0, -2)) for culprit in answer.culprits] == [(2, 5_000)]
