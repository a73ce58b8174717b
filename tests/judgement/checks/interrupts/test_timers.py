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
    """The quiet machine's table, in which the timer of CPU 2 has counted so much."""
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines()
    known = next(row for row in rows if row.split()[0] == "LOC:")
    rows[rows.index(known)] = f"LOC: 9600 9600 {count} 120   Local timer interrupts"
    return {"/proc/interrupts": "\n".join(rows) + "\n"}


def _profiled(rate_per_s: int, share: float, function: str | None = "perf_swevent_hrtimer") -> Trace:
    """Two seconds of CPU 2, in which a profiler's timer came so often, and had so much of it."""
    said = written_trace()
    said["cpus"][0]["sources"].append(["tick", "local_timer", 0, function])
    said["cpus"][0]["spells"].append([2 * rate_per_s, round(2_000 * _MS * share), 90_000, [65_536, 2 * rate_per_s]])
    return parse_trace(said)


@pytest.mark.parametrize(("rate_per_s", "share"), [(4_000, 0.19), (600, 0.02)])
def test_a_timer_that_the_trace_measured_is_told_by_its_name_and_judged_by_its_share(
    rate_per_s: int, share: float
) -> None:
    answer = finding_after(
        "timers-on-target", _timers(6.0, 120 + 3 * (250 + rate_per_s)), _profiled(rate_per_s, share)
    ).answer
    assert (answer.status, answer.measured, answer.unit) == ("fail", pytest.approx(share), "share")
    (culprit,) = answer.culprits
    assert (culprit.name, culprit.is_inferred) == ("perf_swevent_hrtimer (a profiler's)", False)
    assert culprit.share == pytest.approx(share)
    assert f"perf_swevent_hrtimer (a profiler's) took {share:.1%} of CPU 2 during the calibration" in answer.said


@pytest.mark.parametrize(
    ("rate_per_s", "share", "status"), [(1_200, 0.005, "fail"), (200, 0.005, "warn"), (90, 0.005, "warn")]
)
def test_a_timer_that_the_trace_measured_is_judged_by_how_often_it_comes_as_well(
    rate_per_s: int, share: float, status: str
) -> None:
    found = finding_after("timers-on-target", _timers(6.0, 120), _profiled(rate_per_s, share))
    assert (found.status, set(found.answer.cpus)) == (status, {2})
    assert [round(each.share or 0.0, 4) for each in found.answer.culprits] == [share]


def test_a_short_timer_that_the_trace_measured_passes() -> None:
    assert finding_after("timers-on-target", _timers(6.0, 120), _profiled(90, 0.0009)).status == "pass"


def test_of_timers_that_the_trace_cannot_name_it_tells_the_time_and_no_more_are_beyond_the_tick_than_counted() -> None:
    answer = finding_after("timers-on-target", _timers(6.0, 120 + 3 * 1_100), _profiled(1_100, 0.02, None)).answer
    assert (answer.status, answer.measured) == ("warn", pytest.approx(850 * 5e-6))
    assert [(each.name, each.share, each.is_inferred) for each in answer.culprits] == [
        ("timer interrupts", 0.02, False)
    ]


def test_a_timer_that_has_ended_with_the_sample_stays_an_estimate() -> None:
    sample, loaded = intervals_until(_timers(6.0, 120 + 3 * 3_000), _timers(3.0, 120 + 3 * 3_000))
    case = case_of(sample, loaded, _profiled(20, 0.001), Budget(max_cv=1.0))
    answer = finding_in(case, "timers-on-target").answer
    assert [(each.name, each.is_inferred) for each in answer.culprits] == [("timer interrupts", True)]


def test_a_timer_of_both_the_sample_and_the_calibration_is_named_once_and_as_often_as_it_came_at_most() -> None:
    sample, loaded = intervals_until(_timers(6.0, 120 + 3 * 3_000 + 3 * 5_000), _timers(3.0, 120 + 3 * 3_000))
    answer = finding_in(Case(sample.after, sample, under_load=loaded), "timers-on-target").answer
    assert [(each.cpu, round(each.rate_per_s or 0, -2)) for each in answer.culprits] == [(2, 5_000)]
