"""Time of target CPUs that the threads read do not explain: while much is missing, its owner is searched for.

How long tasks ran on a CPU is known without reading any of them, from /proc/stat in ticks, and from /proc/schedstat or
cpuacct to the nanosecond, though there only when a task leaves the CPU (noisewatch/kernel/cpus/cpu_time.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.cpu_time import TICK_NS, CpuTime, RunTime
from noisewatch.records import dataclass

MUCH = 0.04  # of a CPU: below 5 % by as much as a tick of 10 ms is of a second
_TASKS = 3  # states of a row in which a task runs: user, nice and system
_FEWEST_TICKS = 2  # the error of /proc/stat


@dataclass(frozen=True, slots=True)
class TimeOfTasks:
    """The counters of the CPUs' time at one moment; None is unknown."""

    at_ns: int
    cpu_time: Mapping[int, CpuTime] | None
    run_time: Mapping[int, RunTime] | None


class MissingTime:
    """The unexplained time of each target CPU since the last reading (ns)."""

    def __init__(self) -> None:
        self._before: TimeOfTasks | None = None
        self._missing_ns: dict[int, int] = {}
        self._length_ns = 0

    def begin(self, now: TimeOfTasks | None, target: CpuSet) -> None:
        """Start with all time of tasks as missing: no thread has been read."""
        before, self._before, self._missing_ns, self._length_ns = self._before, now, {}, 0
        if before is None or now is None or now.at_ns <= before.at_ns:
            return
        self._length_ns = now.at_ns - before.at_ns
        old_times, new_times = before.cpu_time or {}, now.cpu_time or {}
        old_runs, new_runs = before.run_time or {}, now.run_time or {}
        for cpu in target & old_times.keys() & new_times.keys():
            ran_ns = (sum(new_times[cpu].ticks[:_TASKS]) - sum(old_times[cpu].ticks[:_TASKS])) * TICK_NS
            if cpu in old_runs and cpu in new_runs:
                ran_ns = max(ran_ns, new_runs[cpu].ran_ns - old_runs[cpu].ran_ns)
            self._missing_ns[cpu] = min(ran_ns, self._length_ns)

    def explain(self, cpu: int, ran_ns: int) -> int:
        """Subtract a thread's time, and return the part that can be since the last reading."""
        ran_ns = min(ran_ns, self._length_ns)
        if cpu in self._missing_ns:
            self._missing_ns[cpu] -= ran_ns
        return ran_ns

    @property
    def most_ns(self) -> int:
        """The largest missing time of a CPU."""
        return max(self._missing_ns.values(), default=0)

    @property
    def much_ns(self) -> int:
        """The time of one thread that is worth a search."""
        return max(round(self._length_ns * MUCH), _FEWEST_TICKS * TICK_NS)

    @property
    def is_much(self) -> bool:
        """Whether the missing time of a CPU is as much as a thread worth naming may have had."""
        return self.most_ns >= self.much_ns
