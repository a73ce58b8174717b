"""The growth of counters in an interval, and the reasons why interrupts or task time of CPUs may be uncounted.

A CPU without a column took an unknown number of interrupts, not none. Work between two ticks may be missing in
/proc/stat; /proc/schedstat or cpuacct count it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.kernel.cpus.cpu_time import CPUACCT, SCHEDSTAT
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, Interrupts
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.model.interval.interrupt_counts import unchanged_reason
from noisewatch.model.interval.interval import Interval, growth
from noisewatch.model.interval.softirq_causes import DEVICE_WORK

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot

    Counters = Callable[[Snapshot], Mapping[str, int | None] | None]  # counts by name, or None

_CUT_OFF = f"{INTERRUPTS} was cut off: its last per-CPU rows are missing"


def uncounted_reason(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Return why not all interrupts of these CPUs are known, or None if they are."""
    counts = interval.interrupts
    if interval.before.interrupts is None or interval.after.interrupts is None:
        return case.unread_reason(INTERRUPTS)
    if counts.rows is None:
        return counts.reason or "unknown"
    if interval.before.interrupts.is_cut_off or interval.after.interrupts.is_cut_off:
        return _CUT_OFF
    if not cpus:
        return NO_TARGET
    return _without_column(cpus - counts.cpus)


def uncounted_softirqs_reason(case: Case, interval: Interval) -> str | None:
    """Return why the softirqs of the target CPUs are unknown, or None if they are known."""
    before, after = interval.before.softirqs, interval.after.softirqs
    if before is None or after is None:
        return case.unread_reason(SOFTIRQS)
    if interval.softirqs.rows is None:
        return interval.softirqs.reason
    if not {row.label for row in after.rows} & DEVICE_WORK:
        return f"{SOFTIRQS} has no rows of device softirqs"
    if not case.target:
        return NO_TARGET
    missing = case.target - (set(before.cpus) & set(after.cpus))
    return f"{SOFTIRQS} has no column for {name_cpus(missing)}" if missing else None


def uncounted_since_boot_reason(case: Case, table: Interrupts, cpus: CpuSet) -> str | None:
    """Return why the table may lack interrupts of these CPUs since boot, or None if none is missing."""
    if table.uncounted:
        return case.unread_reason(INTERRUPTS)
    if table.is_cut_off:
        return _CUT_OFF
    return _without_column(cpus - frozenset(table.cpus))


def _without_column(cpus: CpuSet) -> str | None:
    return f"{INTERRUPTS} has no column for {name_cpus(cpus)}" if cpus else None


def untimed_reason(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Return why tasks may have run unnoticed on these CPUs.

    Return None if their time is known exactly, or if the kernel counts no exact times.
    """
    loads = {cpu: interval.load_by_cpu.get(cpu) for cpu in sorted(cpus)}
    unreadable = [cpu for cpu, load in loads.items() if load is not None and load.exact_tasks_ns is None]
    reason = case.snapshot.reason_by_path.get(SCHEDSTAT)
    is_exported = interval.before.run_time is not None or interval.after.run_time is not None
    if not unreadable or not (reason or is_exported):
        return None
    if reason is None and interval.before.run_time == interval.after.run_time:
        is_by_queue = any(run_time.stays is not None for run_time in (interval.after.run_time or {}).values())
        return unchanged_reason(SCHEDSTAT if is_by_queue else CPUACCT)
    return f"{SCHEDSTAT}: {reason or f'the time of {name_cpus(unreadable)} ran backwards or is missing'}"


def growth_by_name(interval: Interval, counters: Counters, names: Iterable[str]) -> dict[str, int | None]:
    """Return each counter's growth in the interval; None if unknown or if the counter decreased."""
    before, after = counters(interval.before) or {}, counters(interval.after) or {}
    return {name: growth(before.get(name), after.get(name)) for name in names}


def total(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the counts, or None if there is none or any is unknown."""
    listed = list(counts)
    known_counts = [count for count in listed if count is not None]
    return sum(known_counts) if listed and len(known_counts) == len(listed) else None


def vmstat_growth(interval: Interval, name: str) -> int | None:
    """Return the growth of a counter in /proc/vmstat, or None if unknown.

    `allocstall*` is the sum of all counters that begin with `allocstall`: newer kernels have one per zone.
    """
    names = interval.compute_once(_vmstat_names, lambda: _vmstat_names(interval))
    if name.endswith("*"):
        return total(
            growth_by_name(
                interval, _vmstat, [candidate for candidate in names if candidate.startswith(name[:-1])]
            ).values()
        )
    return growth_by_name(interval, _vmstat, [name])[name] if name in names else None


def total_vmstat_growth(case: Case, name: str) -> int | None:
    """Return the growth of a counter in /proc/vmstat, summed over sample and calibration, or None if unknown."""
    return total(vmstat_growth(interval, name) for interval in case.intervals)


def unknown_growth_reason(case: Case) -> str:
    """Return why the growth of a counter of /proc/vmstat is unknown."""
    is_still = any(
        _vmstat(interval.before) is not None and _vmstat(interval.before) == _vmstat(interval.after)
        for interval in case.intervals
    )
    return unchanged_reason(VMSTAT) if is_still else case.unread_reason(VMSTAT)


def _vmstat(snapshot: Snapshot) -> Mapping[str, int] | None:
    return snapshot.background.memory.count_by_name


def _vmstat_names(interval: Interval) -> frozenset[str]:
    """Return the names of all counters of /proc/vmstat; empty if the file is unread, or no counter changed."""
    before, after = _vmstat(interval.before), _vmstat(interval.after)
    if before is None or after is None or before == after:
        return frozenset()
    return frozenset(before).union(after)
