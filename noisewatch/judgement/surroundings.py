"""What the target CPUs share with others, and who works there."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.judgement.case import Case
from noisewatch.model.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval import Interval
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.topology import CPUS

_MOST_CULPRITS = 3


def cache_neighbourhood(case: Case, cpu: int) -> CpuSet | None:
    """The CPUs that share its last-level cache, or may: the whole package, where only the core's own caches are told.

    Firmware often describes none, so that who works in the package is not known to be elsewhere. None where the package
    is not told either.
    """
    place = case.snapshot.topology.get(cpu)
    if place is None:
        return None
    cache = place.last_level_cache
    if cache is not None and (case.running <= cache or not cache <= (place.siblings or frozenset({cpu}))):
        return cache
    if place.package is None:
        return place.package_cpus
    return frozenset(other for other, its in case.snapshot.topology.items() if its.package == place.package)


def uncached(case: Case) -> list[int]:
    """The target CPUs whose last-level cache is not known."""
    topology = case.snapshot.topology
    return [cpu for cpu in sorted(case.target) if (at := topology.get(cpu)) is None or at.last_level_cache is None]


def why_no_cache(case: Case, cpus: Iterable[int]) -> str:
    """The reason that the caches of those CPUs, or of any, are not known."""
    return case.why_unknown(*(f"{CPUS}/cpu{cpu}/cache" for cpu in cpus), CPUS)


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
