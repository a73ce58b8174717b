"""What the target CPUs share with others, and who works there."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.model.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval import Interval
from noisewatch.sources.cpulist import CpuSet

_MOST_CULPRITS = 3


def cache_of(case: Case, cpu: int) -> CpuSet | None:
    """The CPUs of its last-level cache; those of its package where none is told that reaches beyond the core.

    Firmware often describes no cache of the system, and what is last in the list is then the core's own.
    """
    place = case.snapshot.topology.get(cpu)
    if place is None:
        return None
    cache = place.last_level_cache
    if place.package is None or (cache is not None and not cache <= (place.siblings or frozenset({cpu}))):
        return cache
    return frozenset(other for other, its in case.snapshot.topology.items() if its.package == place.package)


def nodes(case: Case) -> frozenset[int] | None:
    """The memory nodes, also those without CPUs; None where one is unknown."""
    found = {place.node for place in case.snapshot.topology.values()}
    if not found or None in found:
        return None
    return frozenset(node for node in found if node is not None) | (case.snapshot.settings.memory_nodes or frozenset())


def busiest(interval: Interval, cpus: CpuSet) -> tuple[Disturbance, ...]:
    """What takes most of the time on those CPUs."""
    found = [each for cpu in sorted(cpus) for each in disturbances_of(interval, cpu) if each.share]
    return tuple(sorted(found, key=lambda each: -(each.share or 0.0))[:_MOST_CULPRITS])
