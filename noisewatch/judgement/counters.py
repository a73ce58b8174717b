"""Counters of /proc/vmstat, and by how much they grew."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.judgement.case import Case
from noisewatch.kernel.memory.counters import VMSTAT
from noisewatch.model.interval.interrupt_counts import stood_still
from noisewatch.model.interval.interval import Interval

_Counters = Mapping[str, int]


def grown(interval: Interval, name: str) -> int | None:
    """By how much the counter grew; None is unknown."""
    return _grown(interval, lambda counters: frozenset({name} & counters.keys()))


def why_not_grown(case: Case) -> str:
    """Why it is unknown by how much a counter grew."""
    moments = [[each.background.memory.count_by_name for each in (i.before, i.after)] for i in case.intervals]
    is_still = any(before is not None and before == after for before, after in moments)
    return stood_still(VMSTAT) if is_still else case.why_unknown(VMSTAT)


def grown_in_all(case: Case, name: str) -> int | None:
    """By how much it grew in the sample and under load together; None is unknown, in either."""
    return _sum([grown(interval, name) for interval in case.intervals])


def grown_in_zones(case: Case, prefix: str) -> int | None:
    """The same of all counters that begin so: newer kernels have one for each zone of memory."""

    def names(counters: _Counters) -> frozenset[str]:
        return frozenset(name for name in counters if name.startswith(prefix))

    return _sum([_grown(interval, names) for interval in case.intervals])


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _grown(interval: Interval, names: Callable[[_Counters], frozenset[str]]) -> int | None:
    before, after = (each.background.memory.count_by_name for each in (interval.before, interval.after))
    if before is None or after is None or before == after:
        return None
    wanted = names(before)
    if not wanted or (before.keys() != after.keys() and wanted != names(after)):
        return None
    steps = [after[name] - before[name] for name in wanted]
    return sum(steps) if min(steps) >= 0 else None
