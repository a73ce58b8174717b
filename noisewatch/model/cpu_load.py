"""How each CPU spent an interval."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.sources.cpu_time import CpuTime
from noisewatch.sources.snapshot import Snapshot

# A CPU whose accounted time covers less of the interval is not accounted for: it was offline, or ticks were lost.
_TRUSTED_SHARE = 0.9
_SLACK_NS = 30_000_000  # of counters in steps of 10 ms


@dataclass(frozen=True, slots=True)
class CpuLoad:
    """Nanoseconds within the interval, from /proc/stat in steps of 10 ms. None is unknown."""

    tasks_ns: int  # user, nice and system
    exact_tasks_ns: int | None  # of tasks that left the CPU in the interval, from /proc/schedstat
    irq_ns: int | None
    softirq_ns: int | None
    steal_ns: int | None
    steal_since_boot_ns: int | None

    @property
    def busy_ns(self) -> int:
        """All but idle and waiting for I/O."""
        return self.tasks_ns + sum(part or 0 for part in (self.irq_ns, self.softirq_ns, self.steal_ns))


def measure_loads(before: Snapshot, after: Snapshot, interval_ns: int) -> dict[int, CpuLoad]:
    """The load of each CPU that is in both; a CPU whose counters cannot be trusted is left out.

    They cannot where one runs backwards (the row was cut short, or the CPU was offline in between), or where they
    stand still altogether (some sandboxes serve constants).
    """
    old_times, new_times = before.cpu_time or {}, after.cpu_time or {}
    old_runs, new_runs = before.run_time_ns or {}, after.run_time_ns or {}
    loads = {}
    for cpu in old_times.keys() & new_times.keys():
        exact_ns = _difference(old_runs.get(cpu), new_runs.get(cpu))
        load = _load(old_times[cpu], new_times[cpu], exact_ns, interval_ns)
        if load is not None:
            loads[cpu] = load
    return loads


def _load(before: CpuTime, after: CpuTime, exact_ns: int | None, interval_ns: int) -> CpuLoad | None:
    tasks_ns = after.user_ns + after.nice_ns + after.system_ns - before.user_ns - before.nice_ns - before.system_ns
    parts = [_difference(getattr(before, name), getattr(after, name)) for name in ("irq_ns", "softirq_ns", "steal_ns")]
    ran_backwards = min(tasks_ns, *(part for part in parts if part is not None), 0) < 0
    accounted_ns = after.total_ns - before.total_ns
    if ran_backwards or accounted_ns < interval_ns * _TRUSTED_SHARE - _SLACK_NS:
        return None
    return CpuLoad(tasks_ns, exact_ns, parts[0], parts[1], parts[2], after.steal_ns)


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
