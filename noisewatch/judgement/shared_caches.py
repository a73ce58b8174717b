"""The caches and nodes that the target CPUs share with other CPUs, and the work there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Case
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval

_MAX_CULPRITS = 3


def cache_neighbourhoods(case: Case) -> Mapping[int, CpuSet | None]:
    """Return for each target CPU the CPUs that share, or may share, its last-level cache.

    Firmware often describes only a core's own caches; then all CPUs of the package may share one. The value is None if
    the package of this or any running CPU is unknown too.
    """
    return case.remember("cache neighbourhoods", _cache_neighbourhoods)


def _cache_neighbourhoods(case: Case) -> Mapping[int, CpuSet | None]:
    topology = case.snapshot.topology
    package_by_cpu = {cpu: place.package for cpu, place in topology.items() if place.package is not None}
    by_package: dict[int, set[int]] = defaultdict(set)
    for cpu, package in package_by_cpu.items():
        by_package[package].add(cpu)
    are_all_placed = case.running <= package_by_cpu.keys()
    packages = {package: frozenset(cpus) for package, cpus in by_package.items() if are_all_placed}
    return {cpu: _neighbourhood(topology.get(cpu), case.running, packages) for cpu in case.target}


def _neighbourhood(place: CpuPlace | None, running: CpuSet, packages: Mapping[int, CpuSet]) -> CpuSet | None:
    if place is None:
        return None
    cache = place.last_level_cache
    if cache is not None and (running <= cache or not cache <= (place.siblings or frozenset({place.cpu}))):
        return cache
    return place.package_cpus if place.package is None else packages.get(place.package)


def cpus_without_cache(case: Case) -> list[int]:
    """Return the target CPUs whose last-level cache is unknown."""
    return case.remember("cpus_without_cache", _cpus_without_cache)


def _cpus_without_cache(case: Case) -> list[int]:
    topology = case.snapshot.topology
    places = {cpu: topology.get(cpu) for cpu in sorted(case.target)}
    return [cpu for cpu, place in places.items() if place is None or place.last_level_cache is None]


def unknown_cache_reason(case: Case, cpus: Iterable[int]) -> str:
    """Return why the caches of these CPUs (or, without any, of all CPUs) are unknown."""
    return case.unread_reason(*(f"{CPUS}/cpu{cpu}/cache" for cpu in cpus), CPUS)


def nodes(case: Case) -> frozenset[int] | None:
    """Return all memory nodes, with and without CPUs, or None if a CPU's node is unknown."""
    nodes = {place.node for place in case.snapshot.topology.values()}
    if not nodes or None in nodes:
        return None
    return frozenset(node for node in nodes if node is not None) | (case.snapshot.settings.memory_nodes or frozenset())


def busiest_culprits(interval: Interval, cpus: CpuSet) -> tuple[Disturbance, ...]:
    """Return the culprits with the largest shares of these CPUs' time."""
    sources = [culprit for cpu in sorted(cpus) for culprit in disturbances_of(interval, cpu) if culprit.share]
    return tuple(sorted(sources, key=lambda culprit: -(culprit.share or 0.0))[:_MAX_CULPRITS])
