"""Counters of /proc/vmstat, and by how much they grew."""

from __future__ import annotations

from collections.abc import Callable

from noisewatch.judgement.case import Case
from noisewatch.model.interval import Interval


def grown(interval: Interval, name: str) -> int | None:
    """By how much the counter grew; None is unknown."""
    return _grown(interval, lambda counter: counter == name)


def grown_in_all(case: Case, name: str) -> int | None:
    """By how much it grew in the sample and under load together; None is unknown, in either."""
    return _sum(case, lambda counter: counter == name)


def grown_in_zones(case: Case, prefix: str) -> int | None:
    """The same of all counters that begin so: newer kernels have one for each zone of memory."""
    return _sum(case, lambda counter: counter.startswith(prefix))


def _sum(case: Case, is_wanted: Callable[[str], bool]) -> int | None:
    counts = [_grown(interval, is_wanted) for interval in case.intervals]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _grown(interval: Interval, is_wanted: Callable[[str], bool]) -> int | None:
    before, after = (each.background.memory.count_by_name for each in (interval.before, interval.after))
    if before is None or after is None:
        return None
    wanted = {name for name in before if is_wanted(name)}
    if not wanted or wanted != {name for name in after if is_wanted(name)}:
        return None
    steps = [after[name] - before[name] for name in wanted]
    return sum(steps) if min(steps) >= 0 else None
