"""Groups of CPUs: by core, by memory node, and by kind of core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from noisewatch.kernel.cpus.topology import CpuPlace

_Key = TypeVar("_Key")


class CpuGroups:
    """The groups of each CPU; None is unknown."""

    def __init__(self, topology: Mapping[int, CpuPlace]) -> None:
        self._topology = topology

    def core(self, cpu: int) -> int:
        """Return the core, as the number of its first CPU."""
        place = self._topology.get(cpu)
        return min(place.siblings) if place is not None and place.siblings else cpu

    def node(self, cpu: int) -> int | None:
        place = self._topology.get(cpu)
        return place.node if place is not None else None

    def kind(self, cpu: int) -> str | None:
        """Return the kind of core."""
        place = self._topology.get(cpu)
        return place.kind if place is not None else None


def differ(group: Callable[[int], object], one: int, other: int) -> bool:
    """Return whether the groups of both CPUs are known and different."""
    groups = group(one), group(other)
    return None not in groups and groups[0] != groups[1]


def grouped(ns_by_cpu: Mapping[int, float], group: Callable[[int], _Key]) -> Mapping[_Key, float]:
    """Return the sums of the times by group."""
    sums: dict[_Key, float] = {}
    for cpu, ns in ns_by_cpu.items():
        key = group(cpu)
        sums[key] = sums.get(key, 0.0) + ns
    return sums
