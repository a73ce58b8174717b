"""Where a command's threads ran by their runs, which come CPU by CPU."""

from __future__ import annotations

from itertools import permutations

import pytest

from noisewatch.kernel.trace.own_threads import MOST_THREADS, OwnPlaces, TracedThread

_RUNS = [(9, "bench", 1, 0, 10), (9, "bench", 2, 20, 50), (9, "bench", 1, 60, 70), (8, "other", 2, 10, 20)]


def _by_tid(places: OwnPlaces) -> dict[int, TracedThread]:
    return {thread.tid: thread for thread in places.threads}


@pytest.mark.parametrize("runs", [*permutations(_RUNS)], ids=str)
def test_the_order_in_which_the_cpus_are_taken_in_does_not_matter(runs: list[tuple[int, str, int, int, int]]) -> None:
    places = OwnPlaces()
    for run in runs:
        places.add(*run)
    places.settle(100)
    thread = _by_tid(places)[9]
    assert (thread.name, thread.ran_ns, thread.ns_by_cpu) == ("bench", 50, {1: 20, 2: 30})
    assert thread.moves == {(1, 2): 1, (2, 1): 1}
    assert _by_tid(places)[8] == TracedThread(8, "other", {2: 10}, {})


def test_what_another_cpu_may_still_tell_of_is_waited_for() -> None:
    """The trace of CPU 1 is complete until 70, the trace of CPU 2 only until 15."""
    places = OwnPlaces()
    places.add(9, "bench", 1, 0, 10)
    places.add(9, "bench", 1, 60, 70)
    places.settle(15)
    places.add(9, "bench", 2, 20, 50)
    places.settle(100)
    assert _by_tid(places)[9].moves == {(1, 2): 1, (2, 1): 1}


def test_a_run_that_is_told_in_two_parts_is_no_move() -> None:
    places = OwnPlaces()
    places.add(9, "bench", 1, 0, 10)
    places.settle(10)
    places.add(9, "", 1, 10, 20)
    places.settle(20)
    assert _by_tid(places)[9] == TracedThread(9, "bench", {1: 20}, {})


def test_of_many_threads_those_that_ran_least_are_added_up() -> None:
    places = OwnPlaces()
    for tid in range(3 * MOST_THREADS):
        places.add(tid, "crowd", tid % 2, tid, tid + 1)
        places.settle(tid)
    places.add(0, "bench", 1, 10_000, 20_000)
    places.settle(20_000)
    assert len(places.threads) <= 2 * MOST_THREADS
    assert sum(thread.ran_ns for thread in places.threads) + places.other_ns == 3 * MOST_THREADS + 10_000
    assert max(_by_tid(places).values(), key=lambda thread: thread.ran_ns).tid == 0


def test_a_name_is_cleaned() -> None:
    places = OwnPlaces()
    places.add(9, "\x1b[2Jbench", 1, 0, 10)
    (thread,) = places.threads
    assert "\x1b" not in thread.name
