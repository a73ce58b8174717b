"""The time of each CPU in an interval: tasks, interrupts, the hypervisor."""

from __future__ import annotations

from functools import cached_property
from operator import sub
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kernel.cpus.cpu_time import IRQ, SOFTIRQ, STEAL, TICK_NS

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.cpu_time import RunTime
    from noisewatch.kernel.snapshot.snapshot import Snapshot

# A CPU with less accounted time was offline or is simulated by a sandbox: its load is unknown.
_TRUSTED_SHARE = 0.6
_SLACK_NS = 30_000_000  # error of counters in steps of 10 ms
# A tick samples the task that is on the CPU, at least every 10 ms (CONFIG_HZ=100).
_LONGEST_TICK_PERIOD_NS = 10_000_000


class CpuLoad(Struct, frozen=True, dict=True):
    """The time (ns) of one CPU within the interval, from /proc/stat in steps of 10 ms. None means unknown.

    Most kernels sample a CPU's state at each tick, and miss tasks that run between two ticks. If the tick stops on idle
    CPUs, idle time is exact, and any time missing from the sum of all counters was busy.
    """

    tasks_ns: int  # user, nice and system
    exact_tasks_ns: int | None  # time of tasks, even those that run only between ticks; includes interruptions of tasks
    irq_ns: int | None
    softirq_ns: int | None
    steal_ns: int | None
    steal_since_boot_ns: int | None

    @cached_property
    def interrupted_ns(self) -> int:
        """The time of interrupts and the hypervisor."""
        return (self.irq_ns or 0) + (self.softirq_ns or 0) + (self.steal_ns or 0)

    @cached_property
    def ran_ns(self) -> int:
        """The time of tasks: the ticks' count or the exact count, whichever is larger."""
        return max(self.tasks_ns, (self.exact_tasks_ns or 0) - self.interrupted_ns)

    @cached_property
    def busy_ns(self) -> int:
        """All time except idle time and waits for I/O: the ticks' count or the exact count, whichever is larger."""
        return max(self.tasks_ns + self.interrupted_ns, self.exact_tasks_ns or 0)


def measure_loads(before: Snapshot, after: Snapshot, interval_ns: int) -> dict[int, CpuLoad]:
    """Return the load of each CPU in both snapshots; CPUs with untrustworthy counters are left out.

    A CPU's counters are not trusted if a busy time decreases (the row was truncated, or the CPU was offline in
    between), or if they account for less than 60% of the interval (in some sandboxes they are constant).
    """
    old_times, new_times = before.cpu_time or {}, after.cpu_time or {}
    old_runs, new_runs = before.run_time or {}, after.run_time or {}
    if old_runs == new_runs:  # constant counters are broken: at least noisewatch has run
        new_runs = {}
    loads: dict[int, CpuLoad] = {}
    alike: dict[_Figures, CpuLoad] = {}  # on a large machine, most CPUs are idle and share one load
    for cpu in old_times.keys() & new_times.keys():
        figures = _figures(
            old_times[cpu].ticks, new_times[cpu].ticks, old_runs.get(cpu), new_runs.get(cpu), interval_ns
        )
        if figures is None:
            continue
        load = alike.get(figures)
        if load is None:
            load = alike[figures] = CpuLoad(*figures)
        loads[cpu] = load
    return loads


_Figures = tuple[int, int | None, int | None, int | None, int | None, int | None]  # the fields of a CpuLoad, in order


def _figures(
    before: tuple[int, ...],
    after: tuple[int, ...],
    ran_before: RunTime | None,
    ran_after: RunTime | None,
    interval_ns: int,
) -> _Figures | None:
    """Compute the figures of a load from the ticks by state; None if the counters cannot be trusted."""
    moved = [*map(sub, after, before)]
    state_count = len(moved)
    tasks = moved[0] + moved[1] + moved[2]
    irq = moved[IRQ] if state_count > IRQ else None
    softirq = moved[SOFTIRQ] if state_count > SOFTIRQ else None
    steal = moved[STEAL] if state_count > STEAL else None
    busy = tasks + (irq or 0) + (softirq or 0) + (steal or 0)
    accounted_ns = (sum(after) - sum(before)) * TICK_NS
    if min(tasks, irq or 0, softirq or 0, steal or 0) < 0 or accounted_ns < interval_ns * _TRUSTED_SHARE:
        return None
    exact_ns = _exact_ns(ran_before, ran_after, busy * TICK_NS, interval_ns)
    missing_ns = interval_ns - accounted_ns
    if exact_ns is None and missing_ns > _SLACK_NS:
        exact_ns = busy * TICK_NS + missing_ns
    since_boot = after[STEAL] if len(after) > STEAL else None
    return tasks * TICK_NS, exact_ns, _ns(irq), _ns(softirq), _ns(steal), _ns(since_boot)


def _ns(ticks: int | None) -> int | None:
    return None if ticks is None else ticks * TICK_NS


def _exact_ns(before: RunTime | None, after: RunTime | None, ticked_ns: int, interval_ns: int) -> int | None:
    """Return the time (ns) that tasks ran, or None if it is unknown or decreases.

    If the kernel counts a task's time only when it leaves the CPU, a task that arrived before the interval adds its
    earlier time too. So the result is limited to the ticks' count plus one tick period for each stay on the CPU: ticks
    may miss that much.
    """
    if before is None or after is None or after.ran_ns < before.ran_ns:
        return None
    ran_ns = min(after.ran_ns - before.ran_ns, interval_ns)
    if before.stays is None or after.stays is None:
        return ran_ns
    stays = max(after.stays - before.stays, 0) + 1  # one more for the stay that began before the interval
    return min(ran_ns, ticked_ns + max(stays * _LONGEST_TICK_PERIOD_NS, _SLACK_NS))
