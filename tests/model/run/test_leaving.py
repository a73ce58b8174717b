"""A command's time outside the target CPUs, by polls of its first thread's affinity."""

from __future__ import annotations

import pytest

from noisewatch.machine.command.ending import AffinitySpan
from noisewatch.model.run.leaving import NEVER_OUTSIDE, TimeOutside, time_outside

_TARGET = frozenset({2, 3})


def _span(cpus: set[int], first_ns: int, last_ns: int) -> AffinitySpan:
    return AffinitySpan(frozenset(cpus), f"{first_ns} 0 1\n", f"{last_ns} 0 1\n")


def test_time_counts_from_the_first_to_the_last_poll_with_other_cpus() -> None:
    """The upper bound counts from the last poll before to the first poll after."""
    spans = [_span({2, 3}, 0, 10), _span({0}, 15, 40), _span({2}, 50, 90), _span({0, 1}, 91, 100)]
    assert time_outside(spans, _TARGET) == TimeOutside(25 + 9, 40 + 10, frozenset({0, 1}))


def test_an_affinity_with_target_cpus_and_others_may_be_time_outside() -> None:
    assert time_outside([_span({2}, 0, 10), _span({0, 2}, 20, 90)], _TARGET) == TimeOutside(0, 80, frozenset({0}))


def test_an_affinity_with_target_cpus_only_does_not_count() -> None:
    assert time_outside([_span({2}, 0, 90), _span({3}, 91, 100)], _TARGET) == NEVER_OUTSIDE
    assert time_outside([AffinitySpan(frozenset({2}), "", "")], _TARGET) == NEVER_OUTSIDE
    assert time_outside([], _TARGET) == NEVER_OUTSIDE


@pytest.mark.parametrize("scheduling", ["", "rubbish", "0 0 0\n"])
def test_time_outside_is_unknown_if_the_kernel_does_not_report_it(scheduling: str) -> None:
    spans = [AffinitySpan(frozenset(cpus), scheduling, scheduling) for cpus in ({2}, {0}, {2})]
    assert time_outside(spans, _TARGET) == TimeOutside(0, None, frozenset({0}))


@pytest.mark.parametrize("spans", [[(0, 10), (20, 15)], [(0, 10), (5, 20)], [(0, 30), (10, 20), (25, 40)]])
def test_time_outside_is_unknown_if_the_count_falls(spans: list[tuple[int, int]]) -> None:
    """If a thread other than the first calls execve, the process continues with the count of that thread."""
    outside = time_outside([_span({at % 2}, *counts) for at, counts in enumerate(spans)], frozenset({0}))
    assert outside == TimeOutside(0, None, frozenset({1}))


def test_span_at_the_end_counts_up_to_its_last_poll() -> None:
    assert time_outside([_span({2}, 5, 10), _span({0}, 30, 90)], _TARGET) == TimeOutside(60, 80, frozenset({0}))
    assert time_outside([_span({0}, 30, 90), _span({2}, 95, 99)], _TARGET) == TimeOutside(60, 95, frozenset({0}))
