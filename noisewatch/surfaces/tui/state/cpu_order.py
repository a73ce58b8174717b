"""The order in which CPUs are shown: by node, last-level cache, core and sibling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisewatch.operations.frame.places import PlaceLine

_Key = tuple[float, ...]


class CpuPlaces:
    """The last place that is known of each CPU: one that went offline keeps its own."""

    def __init__(self) -> None:
        self.by_cpu: Mapping[int, PlaceLine] | None = None
        self._keys: dict[int, _Key] = {}

    def add(self, places: Sequence[PlaceLine] | None) -> None:
        """Takes in what a frame tells."""
        if places is None:
            return
        self.by_cpu = {**(self.by_cpu or {}), **{place.cpu: place for place in places}}
        self._keys = _keys(self.by_cpu)

    def ordered(self, cpus: Iterable[int]) -> list[int]:
        """The CPUs by node, cache, core and sibling; those of which no place is known last, by number."""
        return sorted(cpus, key=lambda cpu: (cpu not in self._keys, self._keys.get(cpu, ()), cpu))


def _keys(place_by_cpu: Mapping[int, PlaceLine]) -> dict[int, _Key]:
    """What is unknown of a CPU comes last. Caches and cores are known by their first CPU: numbers may have gaps."""
    first_by_cache: dict[str, int] = {}
    for cpu, place in sorted(place_by_cpu.items()):
        if place.cache is not None:
            first_by_cache.setdefault(place.cache, cpu)
    last = float("inf")
    return {
        cpu: (
            last if place.node is None else place.node,
            last if place.package is None else place.package,
            last if place.cache is None else first_by_cache[place.cache],
            min(place.siblings or (cpu,)),
        )
        for cpu, place in place_by_cpu.items()
    }
