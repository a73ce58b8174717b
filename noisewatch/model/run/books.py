"""The books of a repetition: the tasks' time on the target CPUs, split into the command's own time and foreign time.

The kernel counts twice, in different places: the time for which each CPU ran tasks, and the time of the command and all
descendants that were waited for. If the CPUs' time is larger, another process ran. If it is smaller, the command has
left the CPUs, or a count is wrong. No privilege is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.units import describe_ns

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.cpu_time import CpuTime
    from noisewatch.kernel.snapshot.snapshot import Snapshot

# In quiet repetitions of 10 and 100 ms (Linux 6.18, 2 CPUs), foreign time was 25 to 70 µs too high in half of the
# cases, and by less than 150 µs in nine of ten: a process runs before and after the kernel counts its time.
_EXACT_DOUBT_NS = 100_000
_DOUBT_PER_CPU_NS = 20_000  # the CPUs are not read simultaneously
_TICKED_DOUBT_NS = 2 * TICK_NS  # for each CPU, because its counters have steps of 10 ms at both ends
_TICKED_DOUBT_SHARE = 0.01  # share of the time: a tick only samples the task that is on the CPU
_TRUSTED_SHARE = 0.6  # least share of the elapsed time; with less, the counters are constant, or the CPU went offline
_NO_COUNTS = "the run time of the target CPUs is unknown: /proc/stat has no usable counts of {}"
_HAS_LEFT = "the command used {} more CPU time than its target CPUs counted: it also ran elsewhere, or a count is wrong"


class Books(Struct, frozen=True):
    """The time (ns) of all target CPUs together within a repetition. None means unknown; `reason` explains why.

    `foreign_ns` may be wrong by `doubt_ns`. If `is_exact`, the CPUs' time is counted in nanoseconds, otherwise in
    ticks.
    """

    own_ns: int
    tasks_ns: int | None
    foreign_ns: int | None
    doubt_ns: int
    is_exact: bool
    reason: str | None = None


class RanTime(Struct, frozen=True):
    """The time (ns) for which tasks ran on a CPU, with its maximum error.

    If `is_late`, the kernel counts a task's time when it leaves the CPU, and no task has left: one ran throughout, or
    none.
    """

    ns: int
    doubt_ns: int
    is_exact: bool
    is_late: bool


def balance(before: Snapshot, after: Snapshot, cpus: CpuSet, own_ns: int, unsure_ns: int = 0) -> Books:
    """Return the books of the CPUs between two snapshots around a command that used `own_ns` itself.

    Another `unsure_ns` of CPU time may or may not be the command's.
    """
    ran = {cpu: ran_between(before, after, cpu) for cpu in cpus}
    unknown = [cpu for cpu, run_time in ran.items() if run_time is None]
    if unknown or not cpus:
        return Books(own_ns, None, None, 0, False, _NO_COUNTS.format(name_cpus(unknown)))
    run_times = [run_time for run_time in ran.values() if run_time is not None]
    tasks_ns = sum(run_time.ns for run_time in run_times)
    is_exact = all(run_time.is_exact for run_time in run_times)
    doubt_ns = sum(run_time.doubt_ns for run_time in run_times) + (_EXACT_DOUBT_NS if is_exact else 0) + unsure_ns
    if own_ns > tasks_ns + doubt_ns:
        return Books(own_ns, tasks_ns, None, doubt_ns, is_exact, _HAS_LEFT.format(describe_ns(own_ns - tasks_ns)))
    return Books(own_ns, tasks_ns, max(tasks_ns - own_ns, 0), doubt_ns, is_exact)


def ran_between(before: Snapshot, after: Snapshot, cpu: int) -> RanTime | None:
    """Return the time for which tasks ran on the CPU, or None if unknown.

    If the kernel counts a task's time only when it leaves the CPU, the time of a task that stays is only in the ticks.
    """
    first, last = (before.cpu_time or {}).get(cpu), (after.cpu_time or {}).get(cpu)
    if first is None or last is None or last.total_ns < first.total_ns:
        return None
    length_ns = after.taken_at_ns - before.taken_at_ns
    ticked_ns = max(_tasks_ns(last) - _tasks_ns(first), 0)
    has_moved = before.run_time != after.run_time  # constant counters are broken: at least noisewatch has run
    old, new = (before.run_time or {}).get(cpu), (after.run_time or {}).get(cpu) if has_moved else None
    if old is None or new is None or new.ran_ns < old.ran_ns:
        if not accounts_for_time(first, last, length_ns):
            return None
        return RanTime(ticked_ns, _TICKED_DOUBT_NS + round(length_ns * _TICKED_DOUBT_SHARE), False, False)
    counts_at_switch = new.stays is not None  # /proc/schedstat counts interruptions as the interrupted task's time
    doubt_ns = _DOUBT_PER_CPU_NS + (max(_interrupted_ns(last) - _interrupted_ns(first), 0) if counts_at_switch else 0)
    ran_ns = min(max(new.ran_ns - old.ran_ns, ticked_ns - _TICKED_DOUBT_NS), length_ns)
    if counts_at_switch:
        doubt_ns += _earlier_ns(ran_ns, first, last, length_ns)
    return RanTime(ran_ns, doubt_ns, True, counts_at_switch and new.stays == old.stays)


def accounts_for_time(first: CpuTime, last: CpuTime, length_ns: int) -> bool:
    """Return whether a CPU's counters grew by most of the time between two rows; one tick may be missing."""
    return last.total_ns - first.total_ns >= length_ns * _TRUSTED_SHARE - TICK_NS


def _earlier_ns(ran_ns: int, first: CpuTime, last: CpuTime, length_ns: int) -> int:
    """Return the upper bound (ns) of the counted time that was spent before the first row.

    Some counts grow only when a task leaves the CPU. The task may have run there since before the first row.
    """
    idle_ns = last.idle_ns - first.idle_ns + (last.iowait_ns or 0) - (first.iowait_ns or 0)
    earlier_ns = ran_ns - max(length_ns - max(idle_ns, 0), 0)
    return earlier_ns + TICK_NS if earlier_ns > TICK_NS else 0


def _tasks_ns(time: CpuTime) -> int:
    return time.user_ns + time.nice_ns + time.system_ns


def _interrupted_ns(time: CpuTime) -> int:
    return (time.irq_ns or 0) + (time.softirq_ns or 0) + (time.steal_ns or 0)
