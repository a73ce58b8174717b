"""A command's time outside the target CPUs, by polls of its first thread's affinity."""

from __future__ import annotations

from noisewatch.machine.command.ending import AffinitySpan
from noisewatch.model.run.leaving import NEVER_OUTSIDE, TimeOutside, time_outside

_TARGET = frozenset({2, 3})


def _span(cpus: set[int], first_ns: int, last_ns: int) -> AffinitySpan:
    return AffinitySpan(frozenset(cpus), f"{first_ns} 0 1\n", f"{last_ns} 0 1\n")


def test_time_counts_from_the_first_to_the_last_poll_with_other_cpus() -> None:
    spans = [_span({2, 3}, 0, 10), _span({0}, 15, 40), _span({2}, 50, 90), _span({0, 1}, 91, 100)]
    assert time_outside(spans, _TARGET) == TimeOutside(25 + 9, 30 + 10, frozenset({0, 1}))


def test_an_affinity_with_a_target_cpu_does_not_count() -> None:
    assert time_outside([_span({0, 2}, 0, 90)], _TARGET) == NEVER_OUTSIDE


def test_times_that_the_kernel_does_not_report_are_no_time() -> None:
    spans = [AffinitySpan(frozenset({0}), "", "")]
    assert time_outside(spans, _TARGET) == NEVER_OUTSIDE
