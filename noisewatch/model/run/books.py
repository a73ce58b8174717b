"""Whether the time of the target CPUs adds up: what tasks had there is the command's own, or foreign.

The kernel counts twice, and in different places: what each CPU ran, and what a command and all its descendants that
were waited for have had. Where the first is more than the second, somebody else ran; where it is less, the command has
left the CPUs, or one of the counts is wrong. No privilege is needed for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.records import dataclass
from noisewatch.units import describe_ns

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot

_EXACT_DOUBT_NS = 1_000_000  # a task that has the CPU is charged when its tick comes, or when it leaves
_EXACT_DOUBT_SHARE = 0.002
_TICKED_DOUBT_NS = 2 * TICK_NS  # of each CPU: counters in steps of 10 ms at both ends
_NO_COUNTS = "what the target CPUs ran is not known: /proc/stat gave no counts of {}"
_HAS_LEFT = "the command had {} of CPU time more than its target CPUs ran: it has left them, or the counts are wrong"


@dataclass(frozen=True, slots=True)
class Books:
    """Nanoseconds of all target CPUs together within a repetition. None is unknown, and `reason` says why.

    `foreign_ns` may be off by `doubt_ns`. `is_exact`: the CPUs' time is counted in nanoseconds, and not in ticks.
    """

    own_ns: int
    tasks_ns: int | None
    foreign_ns: int | None
    doubt_ns: int
    is_exact: bool
    reason: str | None = None


def balance(before: Snapshot, after: Snapshot, cpus: CpuSet, own_ns: int) -> Books:
    """The books of the CPUs between two snapshots, in which a command began and ended that had `own_ns` itself."""
    length_ns = after.taken_at_ns - before.taken_at_ns
    ran = {cpu: _ran_ns(before, after, cpu) for cpu in cpus}
    unknown = [cpu for cpu, found in ran.items() if found is None]
    if unknown or not cpus:
        return Books(own_ns, None, None, 0, False, _NO_COUNTS.format(name_cpus(unknown)))
    known = [found for found in ran.values() if found is not None]
    tasks_ns = sum(ns for ns, _ in known)
    is_exact = all(exact for _, exact in known)
    doubt_ns = _EXACT_DOUBT_NS if is_exact else _TICKED_DOUBT_NS * len(known)
    doubt_ns += round(length_ns * _EXACT_DOUBT_SHARE)
    if own_ns > tasks_ns + doubt_ns:
        return Books(own_ns, tasks_ns, None, doubt_ns, is_exact, _HAS_LEFT.format(describe_ns(own_ns - tasks_ns)))
    return Books(own_ns, tasks_ns, max(tasks_ns - own_ns, 0), doubt_ns, is_exact)


def ran_ns_of(before: Snapshot, after: Snapshot, cpus: Iterable[int]) -> dict[int, int | None]:
    """What tasks had of each CPU; None is unknown."""
    found = {cpu: _ran_ns(before, after, cpu) for cpu in cpus}
    return {cpu: None if ran is None else ran[0] for cpu, ran in found.items()}


def _ran_ns(before: Snapshot, after: Snapshot, cpu: int) -> tuple[int, bool] | None:
    """What tasks had, without what interrupted them, and whether it is exact.

    Where time counts when a task leaves the CPU, one that never does shows in the ticks alone.
    """
    first, last = (before.cpu_time or {}).get(cpu), (after.cpu_time or {}).get(cpu)
    if first is None or last is None or last.total_ns < first.total_ns:
        return None
    ticked_ns = last.user_ns + last.nice_ns + last.system_ns - first.user_ns - first.nice_ns - first.system_ns
    has_moved = before.run_time != after.run_time  # else it stood still: we have run ourselves
    old, new = (before.run_time or {}).get(cpu), (after.run_time or {}).get(cpu) if has_moved else None
    if old is None or new is None or new.ran_ns < old.ran_ns:
        return (ticked_ns, False) if ticked_ns >= 0 else None
    exact_ns = new.ran_ns - old.ran_ns
    if new.stays is not None:  # /proc/schedstat counts what interrupted a task as the task's
        interrupted = (
            (last.irq_ns, first.irq_ns),
            (last.softirq_ns, first.softirq_ns),
            (last.steal_ns, first.steal_ns),
        )
        exact_ns -= min(sum((now or 0) - (then or 0) for now, then in interrupted), exact_ns)
    return max(exact_ns, ticked_ns - _TICKED_DOUBT_NS), True
