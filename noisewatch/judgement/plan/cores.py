"""The cores of a machine, and the selection of the best ones: how selections are compared, and which are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from msgspec import Struct, field

from noisewatch.cpus import CpuSet
from noisewatch.grouping import group_by_key
from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.cpus.target import ALIKE, highest_clocks
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.memory.nodes import MemoryNodes

BOOT_CPU = 0
_SPEED_OF_KIND: Mapping[str | None, int] = {"performance": 2, "none": 1, None: 1, "efficiency": 0}


class Core(Struct, frozen=True):
    """The running threads of a core. None means unknown; if `has_siblings` is False, its other threads are unknown too.

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
    core_by_cpu: dict[int, Core] = {}
    clocks = highest_clocks(case)
    for cpu in sorted(cpus):
        core = _core(case, cpu, clocks, ranking or {})
        core_by_cpu.setdefault(core.first, core)
    return list(core_by_cpu.values())


def _core(case: Case, cpu: int, clocks: Mapping[int, int], ranking: Mapping[int, int]) -> Core:
    place = case.snapshot.topology.get(cpu)
    siblings = _siblings(place, case) if place is not None else None
    return Core(
        cpus=siblings or frozenset({cpu}),
        has_siblings=siblings is not None,
        node=place.node if place is not None else None,
        cache=place.last_level_cache if place is not None else None,
        kind=place.kind if place is not None else None,
        strength=(place.capacity or 0 if place is not None else 0, clocks.get(cpu, 0), ranking.get(cpu, 0)),
        design=place.design if place is not None else None,
    )


def _siblings(place: CpuPlace, case: Case) -> CpuSet | None:
    has_siblings = place.siblings is not None and place.cpu in place.siblings
    return (place.siblings or frozenset()) & (online_of(case) | {place.cpu}) if has_siblings else None


def for_housekeeping(cores: Sequence[Core], usable: CpuSet | None, isolated: CpuSet) -> list[Core]:
    """Return the cores that are never proposed: CPU 0's core and, if that is unusable, the first usable core.

    A core without isolated CPUs is preferred. `usable` are the CPUs that the user's other work may run on; None means
    unknown.
    """
    boot = [core for core in cores if BOOT_CPU in core.cpus]
    own = [core for core in cores if usable is None or core.cpus & usable]
    first = next((core for core in own if not core.cpus & isolated), next(iter(own), None))
    return boot if first is None or any(core in boot for core in own) else [*boot, first]


def alike(cores: Iterable[Core]) -> list[list[Core]]:
    """Return the cores grouped by kind, design, capacity, last-level cache and node."""
    return group_by_key(cores, lambda core: (core.node, core.cache, core.kind, core.design, core.strength[0]))


_FAR = 1 << 16  # an unknown distance counts as this
Cores = tuple[Core, ...]


class Preferences(Struct, frozen=True):
    """The inputs that decide between cores. `near` is None if it does not matter, or is unknown."""

    near: CpuSet | None = None
    isolated: CpuSet = frozenset()
    fixed_irqs_by_cpu: Mapping[int, int] = {}  # number of IRQs that only the kernel can move
    nodes: MemoryNodes = field(default_factory=lambda: MemoryNodes(None, {}))
    busy: CpuSet = frozenset()  # CPUs of the cores that are kept for all other work


def choose(cores: Sequence[Core], count: int, preferences: Preferences) -> Cores:
    """Return the best `count` cores. There must be at least `count`."""
    pools = [pool for pool in _pools(cores, preferences) if len(pool) >= count]
    return best_of((_pick(pool, count, preferences) for pool in pools), preferences)


def best_of(selections: Iterable[Cores], preferences: Preferences) -> Cores:
    """Return the best of one or more selections."""
    return min(selections, key=lambda cores: _rank(cores, preferences))


def _rank(cores: Cores, preferences: Preferences) -> tuple[object, ...]:
    """Return the sort key of a selection: permanent faults come before mere preferences."""
    nodes, caches = {core.node for core in cores}, {core.cache for core in cores}
    neighbours = sum(len(cache) for cache in caches if cache is not None) - sum(len(core.cpus) for core in cores)
    return (
        sum(not _is_near(core, preferences) for core in cores),
        sum(_lacks_memory(core, preferences) for core in cores),
        len({(core.kind, core.design) for core in cores}),
        -min(core.speed_of_kind for core in cores),
        len(nodes),
        len(caches),
        _spread(nodes, preferences.nodes),
        _are_unequal(cores),
        -sum(core.cpus <= preferences.isolated for core in cores),
        tuple(-part for part in min(core.strength for core in cores)),
        sum(_fixed_irqs(core, preferences) for core in cores),
        any(cache & preferences.busy for cache in caches if cache is not None),
        neighbours,
        tuple(sorted(core.first for core in cores)),
    )


def _is_near(core: Core, preferences: Preferences) -> bool:
    return preferences.near is None or core.cpus <= preferences.near


def _lacks_memory(core: Core, preferences: Preferences) -> bool:
    has_memory = preferences.nodes.with_memory
    return has_memory is not None and core.node is not None and core.node not in has_memory


def _fixed_irqs(core: Core, preferences: Preferences) -> int:
    return sum(preferences.fixed_irqs_by_cpu.get(cpu, 0) for cpu in core.cpus)


def _spread(nodes: set[int | None], distances: MemoryNodes) -> int:
    """Return the longest distance between two of the nodes."""
    numbers = sorted(node for node in nodes if node is not None)
    pairs = permutations(numbers, 2)
    known = (distances.distance(start, end) for start, end in pairs)
    return max((_FAR if distance is None else distance for distance in known), default=0)


def _are_unequal(cores: Cores) -> bool:
    """Return whether some cores are stronger than others by more than `ALIKE`."""
    parts = zip(*(core.strength for core in cores), strict=True)
    return any(1 - min(part) / max(part) > ALIKE.value for part in parts if max(part))


def _pools(cores: Sequence[Core], preferences: Preferences) -> Iterator[Sequence[Core]]:
    """Yield the sets of cores to choose from: all cores, and groups of cores with equal properties."""
    near = [core for core in cores if _is_near(core, preferences)]
    with_memory = [[core for core in pool if not _lacks_memory(core, preferences)] for pool in (near, cores)]
    for pool in (cores, near, *with_memory):
        yield pool
        for kind in group_by_key(pool, lambda core: (core.kind, core.design)):
            yield kind
            yield from _equally_strong(kind)


def _equally_strong(cores: Sequence[Core]) -> Iterator[Sequence[Core]]:
    """Yield for each strength the cores of that strength and those a little weaker, which count as equally strong."""
    for strength in {core.strength for core in cores}:
        minimum = [part * (1 - ALIKE.value) for part in strength]
        yield [
            core
            for core in cores
            if all(low <= part <= high for low, part, high in zip(minimum, core.strength, strength, strict=True))
        ]


def _pick(cores: Sequence[Core], count: int, preferences: Preferences) -> Cores:
    """Return `count` of the cores: from one memory node if a node has enough cores, else from neighbouring nodes."""
    nodes = group_by_key(cores, lambda core: core.node)
    enough = [node for node in nodes if len(node) >= count]
    if enough:
        return best_of((_pick_in_node(node, count, preferences) for node in enough), preferences)
    return best_of((_pick_from(start, nodes, count, preferences) for start in nodes), preferences)


def _pick_from(start: list[Core], nodes: list[list[Core]], count: int, preferences: Preferences) -> Cores:
    """Return all cores of the node `start`, and the missing ones from the nearest other nodes."""

    def order(node: list[Core]) -> tuple[int, int]:
        start_node, end_node = start[0].node, node[0].node
        if node is start:
            return -1, -len(node)
        distance = None
        if start_node is not None and end_node is not None:
            distance = preferences.nodes.distance(start_node, end_node)
        return _FAR if distance is None else distance, -len(node)

    chosen: list[Core] = []
    for node in sorted(nodes, key=order):
        missing = count - len(chosen)
        chosen += _pick_in_node(node, min(missing, len(node)), preferences) if missing else ()
    return tuple(chosen)


def _pick_in_node(cores: list[Core], count: int, preferences: Preferences) -> Cores:
    """Return `count` cores from one last-level cache if one has enough, else from several.

    Whole caches are then taken, the largest first, until one cache has the missing cores.
    """
    caches = sorted(group_by_key(cores, lambda core: core.cache), key=lambda cache: -len(cache))
    chosen: list[Core] = []
    while True:
        missing = count - len(chosen)
        enough = [cache for cache in caches if len(cache) >= missing]
        if enough:
            return best_of(((*chosen, *_pick_in_cache(cache, missing, preferences)) for cache in enough), preferences)
        chosen += caches.pop(0)


def _pick_in_cache(cores: list[Core], count: int, preferences: Preferences) -> Cores:
    def order(core: Core) -> tuple[object, ...]:
        strength = tuple(-part for part in core.strength)
        return not core.cpus <= preferences.isolated, strength, _fixed_irqs(core, preferences), core.first

    return tuple(sorted(cores, key=order)[:count])
