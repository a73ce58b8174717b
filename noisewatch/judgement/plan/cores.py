"""The cores of a machine, with what a choice between them needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.grouping import grouped
from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.cpus.target_choice import highest_clocks
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.records import dataclass

BOOT_CPU = 0
_SPEED_OF_KIND: Mapping[str | None, int] = {"performance": 2, "none": 1, None: 1, "efficiency": 0}


@dataclass(frozen=True, slots=True)
class Core:
    """The running threads of a core. None is unknown; if `has_siblings` is False, its other threads are unknown too.

    `strength` is compared part by part: capacity, highest frequency (kHz), rank; 0 if unknown.
    """

    cpus: CpuSet
    has_siblings: bool
    node: int | None
    cache: CpuSet | None
    kind: str | None
    strength: tuple[int, int, int]
    design: str | None = None

    @property
    def first(self) -> int:
        """The lowest CPU number, which represents the core."""
        return min(self.cpus)

    @property
    def speed_of_kind(self) -> int:
        """The rank of the core's kind: higher is faster."""
        return _SPEED_OF_KIND[self.kind]


def online_of(case: Case) -> CpuSet:
    """Return the CPUs listed as online, or if there is no list, those with time counters."""
    online = case.snapshot.online.online
    return case.running if online is None else online


def cores_of(case: Case, cpus: CpuSet, ranking: Mapping[int, int] | None = None) -> list[Core]:
    """Return the cores of these CPUs with all their running threads, sorted by their first CPU."""
    found: dict[int, Core] = {}
    clocks = highest_clocks(case)
    for cpu in sorted(cpus):
        core = _core(case, cpu, clocks, ranking or {})
        found.setdefault(core.first, core)
    return list(found.values())


def _core(case: Case, cpu: int, clocks: Mapping[int, int], ranking: Mapping[int, int]) -> Core:
    place = case.snapshot.topology.get(cpu)
    siblings = _siblings(place, case) if place is not None else None
    return Core(
        cpus=siblings or frozenset({cpu}),
        has_siblings=siblings is not None,
        node=place.node if place is not None else None,
        cache=place.last_level_cache if place is not None else None,
        kind=place.kind if place is not None else None,
        strength=(_capacity(place), clocks.get(cpu, 0), ranking.get(cpu, 0)),
        design=place.design if place is not None else None,
    )


def _siblings(place: CpuPlace, case: Case) -> CpuSet | None:
    known = place.siblings is not None and place.cpu in place.siblings
    return (place.siblings or frozenset()) & (online_of(case) | {place.cpu}) if known else None


def _capacity(place: CpuPlace | None) -> int:
    return place.capacity or 0 if place is not None else 0


def for_housekeeping(cores: Sequence[Core], usable: CpuSet | None, isolated: CpuSet) -> list[Core]:
    """Return the cores that are never proposed: CPU 0's core, and if it is unusable the first usable one.

    `usable` are the CPUs that the user's other work may run on; None is unknown.
    """
    boot = [core for core in cores if BOOT_CPU in core.cpus]
    own = [core for core in cores if usable is None or core.cpus & usable]
    first = next((core for core in own if not core.cpus & isolated), next(iter(own), None))
    return boot if first is None or any(core in boot for core in own) else [*boot, first]


def alike(cores: Iterable[Core]) -> list[list[Core]]:
    """Return the cores grouped by kind, capacity, last-level cache and node."""
    return grouped(cores, lambda core: (core.node, core.cache, core.kind, core.design, core.strength[0]))
