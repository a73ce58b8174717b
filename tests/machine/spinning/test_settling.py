"""Fixed work that is repeated until a callback decides that it is enough."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from noisewatch.machine.spinning.settling import settle, times_of

_CPU = max(os.sched_getaffinity(0))


def test_time_of_a_second_is_the_median_of_its_samples() -> None:
    s = 10**9
    assert times_of([(0, 10), (s // 2, 30), (s - 1, 20), (s, 7), (3 * s, 5)]) == [20, 7, 5]


def test_work_ends_when_it_is_enough() -> None:
    calls: list[Mapping[int, Sequence[float]]] = []

    def is_enough(times_by_cpu: Mapping[int, Sequence[float]]) -> bool:
        calls.append(dict(times_by_cpu))
        return True

    totals: list[float] = []
    result = settle([_CPU], 30.0, is_enough, lambda done_s, total_s: totals.append(total_s))
    (cpu,) = result["cpus"]
    assert (cpu["cpu"], cpu["state"], set(totals)) == (_CPU, "done", {30.0})
    assert [len(times[_CPU]) for times in calls] == [1]
    assert 1 <= len(cpu["times_ns"]) < 10
