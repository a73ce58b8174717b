"""The cores of a machine, as a choice between them needs them."""

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
    """The threads of a core that run. None is unknown, as are the other threads where `has_siblings` is False.

    `strength` is compared part by part: capacity, highest frequency (kHz), rank; 0 where one is unknown.
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
        """The CPU that stands for it."""
        return min(self.cpus)

    @property
    def speed_of_kind(self) -> int:
        """The higher, the faster."""
        return _SPEED_OF_KIND[self.kind]


def online_of(case: Case) -> CpuSet:
    """The CPUs that are said to be online; where nobody says it, those whose time is counted."""
    online = case.snapshot.online.online
    return case.running if online is None else online


def cores_of(case: Case, cpus: CpuSet, ranking: Mapping[int, int] | None = None) -> list[Core]:
    """The cores of these CPUs with all of their threads that run, by their first CPU."""
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
    """What is never proposed: CPU 0's core, and the first that the user's other work may run on where that is another.

    None `usable`: it is not known where it may run.
    """
    boot = [core for core in cores if BOOT_CPU in core.cpus]
    own = [core for core in cores if usable is None or core.cpus & usable]
    first = next((core for core in own if not core.cpus & isolated), next(iter(own), None))
    return boot if first is None or any(core in boot for core in own) else [*boot, first]


def alike(cores: Iterable[Core]) -> list[list[Core]]:
    """The cores of one kind below one last-level cache of one node."""
    return grouped(cores, lambda core: (core.node, core.cache, core.kind, core.design, core.strength[0]))
