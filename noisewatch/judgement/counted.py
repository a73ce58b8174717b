"""Counts of an interval: interrupts of some CPUs, the time of their tasks, and the growth of counters.

A CPU without a column took an unknown number of interrupts, not none. Work may hide between two ticks; /proc/schedstat
or cpuacct show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.kernel.cpus.cpu_time import CPUACCT, SCHEDSTAT
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS, Interrupts
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.model.interval.interrupt_counts import stood_still
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.softirq_causes import DEVICE_WORK

_CUT_OFF = f"{INTERRUPTS} was cut off: the per-CPU rows at its end are missing"


def why_uncounted(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Return why not all interrupts of these CPUs are known, or None if they are."""
    counts = interval.interrupts
    if interval.before.interrupts is None or interval.after.interrupts is None:
        return case.why_unknown(INTERRUPTS)
    if counts.rows is None:
        return counts.reason or "unknown"
    if interval.before.interrupts.is_cut_off or interval.after.interrupts.is_cut_off:
        return _CUT_OFF
    if not cpus:
        return NO_TARGET
    return _without_column(cpus - counts.cpus)


def why_softirqs_uncounted(case: Case, interval: Interval) -> str | None:
    """Return why the softirqs of the target CPUs are unknown, or None if they are known."""
    before, after = interval.before.softirqs, interval.after.softirqs
    if before is None or after is None:
        return case.why_unknown(SOFTIRQS)
    if interval.softirqs.rows is None:
        return interval.softirqs.reason
    if not {row.label for row in after.rows} & DEVICE_WORK:
        return f"{SOFTIRQS}: has no rows of device softirqs"
    if not case.target:
        return NO_TARGET
    missing = case.target - (set(before.cpus) & set(after.cpus))
    return f"{SOFTIRQS} has no column for {name_cpus(missing)}" if missing else None


def why_untold(case: Case, table: Interrupts, cpus: CpuSet) -> str | None:
    """Return why the table lacks interrupts of these CPUs since boot, or None if it has all."""
    if table.uncounted:
        return case.why_unknown(INTERRUPTS)
    if table.is_cut_off:
        return _CUT_OFF
    return _without_column(cpus - frozenset(table.cpus))


def _without_column(cpus: CpuSet) -> str | None:
    return f"{INTERRUPTS} has no column for {name_cpus(cpus)}" if cpus else None


def why_untimed(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Return why tasks may have run unobserved on these CPUs; None if none can, or if this kernel has no such file."""
    loads = {cpu: interval.load_by_cpu.get(cpu) for cpu in sorted(cpus)}
    silent = [cpu for cpu, load in loads.items() if load is not None and load.exact_tasks_ns is None]
    reason = case.snapshot.reason_by_path.get(SCHEDSTAT)
    is_exported = interval.before.run_time is not None or interval.after.run_time is not None
    if not silent or not (reason or is_exported):
        return None
    if reason is None and interval.before.run_time == interval.after.run_time:
        is_by_queue = any(each.stays is not None for each in (interval.after.run_time or {}).values())
        return stood_still(SCHEDSTAT if is_by_queue else CPUACCT)
    return f"{SCHEDSTAT}: {reason or f'the time of {name_cpus(silent)} ran backwards or is missing'}"


_Counters = Mapping[str, int]


def grown(interval: Interval, name: str) -> int | None:
    """Return the growth of the counter, or None if unknown."""
    return _grown(interval, lambda counters: frozenset({name} & counters.keys()))


def why_not_grown(case: Case) -> str:
    """Return why the growth of a counter is unknown."""
    moments = [[each.background.memory.count_by_name for each in (i.before, i.after)] for i in case.intervals]
    is_still = any(before is not None and before == after for before, after in moments)
    return stood_still(VMSTAT) if is_still else case.why_unknown(VMSTAT)


def grown_in_all(case: Case, name: str) -> int | None:
    """Return the growth of the counter in the sample and under load together, or None if unknown in either."""
    return _sum([grown(interval, name) for interval in case.intervals])


def grown_in_zones(case: Case, prefix: str) -> int | None:
    """Return the growth of all counters with this prefix in all intervals, or None: newer kernels have one per zone."""

    def names(counters: _Counters) -> frozenset[str]:
        return frozenset(name for name in counters if name.startswith(prefix))

    return _sum([_grown(interval, names) for interval in case.intervals])


def _sum(counts: list[int | None]) -> int | None:
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if counts and len(known_counts) == len(counts) else None


def _grown(interval: Interval, names: Callable[[_Counters], frozenset[str]]) -> int | None:
    known = interval.cached(_counters, lambda: _counters(interval))
    if known is None:
        return None
    before, after, are_same_names = known
    common_names = names(before)
    if not common_names or (not are_same_names and common_names != names(after)):
        return None
    steps = [after[name] - before[name] for name in common_names]
    return sum(steps) if min(steps) >= 0 else None


def _counters(interval: Interval) -> tuple[_Counters, _Counters, bool] | None:
    """Return the counters before and after, and whether their names are equal; None if unknown or constant."""
    before, after = (each.background.memory.count_by_name for each in (interval.before, interval.after))
    return (
        None if before is None or after is None or before == after else (before, after, before.keys() == after.keys())
    )
