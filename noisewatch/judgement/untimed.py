"""Whether work that hides between two ticks would have been seen: /proc/schedstat tells of it, or cpuacct."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.kernel.cpus.cpu_time import CPUACCT, SCHEDSTAT
from noisewatch.model.interval.interrupt_counts import stood_still
from noisewatch.model.interval.interval import Interval


def why_untimed(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Why tasks may have run unseen on those CPUs; None where none can, or where this kernel has no such file."""
    loads = {cpu: interval.load_by_cpu.get(cpu) for cpu in sorted(cpus)}
    silent = [cpu for cpu, load in loads.items() if load is not None and load.exact_tasks_ns is None]
    reason = case.snapshot.reason_by_path.get(SCHEDSTAT)
    is_told = interval.before.run_time is not None or interval.after.run_time is not None
    if not silent or not (reason or is_told):
        return None
    if reason is None and interval.before.run_time == interval.after.run_time:
        is_by_queue = any(each.stays is not None for each in (interval.after.run_time or {}).values())
        return stood_still(SCHEDSTAT if is_by_queue else CPUACCT)
    return f"{SCHEDSTAT}: {reason or f'the time of {name_cpus(silent)} ran backwards or is missing'}"
