"""How much of their time threads can have had within an interval."""

from __future__ import annotations

from dataclasses import replace

from noisewatch.model.interval.cpu_load import CpuLoad
from noisewatch.model.interval.task_runs import TaskRun, fit_to_interval
from tests.written import SECOND_NS


def _hog(ran_ns: int) -> TaskRun:
    return TaskRun(
        cpu=2,
        tid=900,
        pid=900,
        name="hog",
        is_kernel=False,
        is_bound=False,
        is_own=False,
        ran_ns=ran_ns,
        allowed=None,
    )


def test_threads_that_were_looked_at_later_than_the_cpus_have_no_more_than_the_interval_is_long() -> None:
    """A stall of the machine between the two makes the threads' interval seconds longer."""
    load = {2: CpuLoad(1_020_000_000, None, 0, 0, 0, 0)}
    hog = _hog(2_800_000_000)
    (cut,) = fit_to_interval([hog], load, SECOND_NS, later_ns=1_820_000_000)
    assert (cut.ran_ns, cut.is_inferred) == (SECOND_NS, True)
    shared = fit_to_interval([hog, replace(hog, tid=901, ran_ns=200_000_000)], load, SECOND_NS, later_ns=2 * SECOND_NS)
    assert [run.ran_ns for run in shared] == [933_333_333, 66_666_666]


def test_threads_keep_what_the_counters_of_their_cpu_hold_and_never_less_than_an_even_share() -> None:
    hog = _hog(600_000_000)
    busy, unseen = ({2: CpuLoad(tasks_ns, None, 0, 0, 0, 0)} for tasks_ns in (500_000_000, 0))
    assert [run.ran_ns for run in fit_to_interval([hog], busy, SECOND_NS, SECOND_NS)] == [530_000_000]
    assert [run.ran_ns for run in fit_to_interval([hog], unseen, SECOND_NS, SECOND_NS)] == [300_000_000]
    assert fit_to_interval([hog], unseen, SECOND_NS) == [hog]
