"""A benchmark tool's measurements: a run in its file, and a value with the kernel's counts.

A run is a process that measured some values during a repetition. A value's counts belong to the thread that
measured it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class HookedRun(Struct, frozen=True):
    """The unchanged data that our own pyperf hook wrote into the run. Times are on CLOCK_MONOTONIC."""

    began_ns: int
    ended_ns: int
    verdict: str
    reasons: str


class BenchmarkRun(Struct, frozen=True, kw_only=True):
    """One run in a benchmark tool's file. `benchmark` and `run` are indices in the file, from 0.

    `length_ns` is None if the file has no duration of the run. `ended_wall_ns` is the time of the last value (since
    1970, UTC). It contains several times if the file's local time occurred twice because the clock was set back, and
    none if the file has no end time of the run. The run began at most `length_ns` earlier.
    """

    benchmark: int
    run: int
    name: str
    value_count: int  # 0 for a run that only calibrates the number of loops
    ended_wall_ns: tuple[int, ...]
    length_ns: int | None
    hooked: HookedRun | None = None


class MeasuredValue(Struct, frozen=True, kw_only=True):
    """One value of a benchmark. Times are ns; `began_ns` is on CLOCK_MONOTONIC. None means unknown.

    In the time beyond `ran_ns` and `waited_ns` the thread slept, or interrupts and the hypervisor had the CPU, if the
    kernel excludes them from a thread's time (CONFIG_IRQ_TIME_ACCOUNTING and CONFIG_PARAVIRT_TIME_ACCOUNTING).
    """

    number: int  # from 1 on
    began_ns: int
    length_ns: int
    ran_ns: int
    waited_ns: int | None  # time for which the thread was ready while other tasks had its CPU
    others_ns: int  # time of the process's other threads, and of children that it waited for
    preemptions: int
    sleeps: int

    @property
    def rest_ns(self) -> int:
        return max(self.length_ns - self.ran_ns - (self.waited_ns or 0), 0)


class ValuesAround(Struct, frozen=True, kw_only=True):
    """The load of the CPU and its siblings from the first to the last value. None means unknown, see `unknowns`."""

    length_ns: int
    interrupted_ns: int | None  # estimated from counts of interrupts and typical costs, without the tick
    steal_ns: int | None  # counted in steps of 10 ms
    busy_ns_by_sibling: Mapping[int, int] | None  # counted in steps of 10 ms
    unknowns: tuple[str, ...] = ()
