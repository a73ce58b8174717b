"""What the target CPUs share with others, and who works there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Case
from noisewatch.kernel.cpus.topology import CPUS, CpuPlace
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval

_MOST_CULPRITS = 3


def cache_neighbourhoods(case: Case) -> Mapping[int, CpuSet | None]:
    """By target CPU, those that share its last-level cache, or may: the whole package, if only the core's are told.

    Firmware often describes none, so that who works in the package is not known to be elsewhere. None where the package
    is not told either, nor that of each CPU that runs.
    """
    return case.kept("cache neighbourhoods", _cache_neighbourhoods)


def _cache_neighbourhoods(case: Case) -> Mapping[int, CpuSet | None]:
    topology = case.snapshot.topology
    by_package: dict[int | None, set[int]] = defaultdict(set)
    for cpu, place in topology.items():
        by_package[place.package].add(cpu)
    is_each_placed = case.running <= topology.keys()
    packages = {
        package: frozenset(cpus) for package, cpus in by_package.items() if package is not None and is_each_placed
    }
    return {cpu: _neighbourhood(topology.get(cpu), case.running, packages) for cpu in case.target}


def _neighbourhood(place: CpuPlace | None, running: CpuSet, packages: Mapping[int, CpuSet]) -> CpuSet | None:
    if place is None:
        return None
    cache = place.last_level_cache
    if cache is not None and (running <= cache or not cache <= (place.siblings or frozenset({place.cpu}))):
        return cache
    return place.package_cpus if place.package is None else packages.get(place.package)


def uncached(case: Case) -> list[int]:
    """The target CPUs whose last-level cache is not known."""
    return case.kept("uncached", _uncached)


def _uncached(case: Case) -> list[int]:
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
