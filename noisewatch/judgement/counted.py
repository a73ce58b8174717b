"""Whether the interrupts of some CPUs were counted: a CPU without a column took an unknown number of them, not none."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.kernel.interrupts.table import PATH, Interrupts
from noisewatch.model.interval.interval import Interval

_CUT_OFF = f"{PATH} was cut off: the rows of the CPUs' own, which come last, are missing"


def why_uncounted(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Why not all interrupts of these CPUs are known; None where they are."""
    counts = interval.interrupts
    if interval.before.interrupts is None or interval.after.interrupts is None:
        return case.why_unknown(PATH)
    if counts.rows is None:
        return counts.reason or "unknown"
    if interval.before.interrupts.is_cut_off or interval.after.interrupts.is_cut_off:
        return _CUT_OFF
    if not cpus:
        return "there is no CPU to judge"
    return _without_column(cpus - counts.cpus)


def why_untold(case: Case, table: Interrupts, cpus: CpuSet) -> str | None:
    """Why the table does not tell of all interrupts of these CPUs since boot; None where it does."""
    if table.uncounted:
        return case.why_unknown(PATH)
    if table.is_cut_off:
        return _CUT_OFF
    return _without_column(cpus - frozenset(table.cpus))


def _without_column(cpus: CpuSet) -> str | None:
    return f"{PATH} has no column for {name_cpus(cpus)}" if cpus else None
