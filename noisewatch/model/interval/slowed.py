"""Slowdowns of the target CPUs' cores and packages in an interval, by heat or by a power limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.frequency.heat import cpus_of_core, cpus_of_package, limited_path, throttle_path
from noisewatch.model.interval.interval import Interval
from noisewatch.records import dataclass

BY_HEAT, BY_POWER = "heat", "power"


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How often a core or a package was slowed.

    `by` is the reason, `what` is `core` or `package`, `path` is the file of the counter, and `times` is the number of
    slowdowns in the interval, or None if unknown.
    """

    by: str
    what: str
    path: str
    cpus: CpuSet
    times: int | None


def slowed_between(interval: Interval) -> Iterator[Slowdown]:
    """Yield all counted cores and packages, including those that were not slowed."""
    before, after = interval.before.background.throttling, interval.after.background.throttling
    yield from _grown(interval, BY_HEAT, "core", before.count_by_core_cpu, after.count_by_core_cpu)
    yield from _grown(interval, BY_HEAT, "package", before.count_by_package_cpu, after.count_by_package_cpu)
    yield from _grown(interval, BY_POWER, "core", before.limited_by_core_cpu, after.limited_by_core_cpu)
    yield from _grown(interval, BY_POWER, "package", before.limited_by_package_cpu, after.limited_by_package_cpu)


def _grown(
    interval: Interval, by: str, what: str, before: Mapping[int, int | None], after: Mapping[int, int | None]
) -> Iterator[Slowdown]:
    path: Callable[[int, str], str] = throttle_path if by == BY_HEAT else limited_path
    sharing = cpus_of_core if what == "core" else cpus_of_package
    target, topology = interval.after.target.cpus, interval.after.topology
    for cpu in {**after, **before}:  # a counter that disappeared is unknown
        first, last = before.get(cpu), after.get(cpu)
        times = last - first if first is not None and last is not None and last >= first else None
        yield Slowdown(by, what, path(cpu, what), sharing(cpu, target, topology), times)
