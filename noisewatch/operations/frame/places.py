"""The places of CPUs in the machine, as far as the screens group them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.cpus.topology import CpuPlace


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """One CPU's place, from sysfs. None is unknown; siblings are the CPUs of its core, itself included."""

    cpu: int
    node: int | None = None
    package: int | None = None
    core: int | None = None  # its number within the package, which may have gaps
    cache: str | None = None  # the last-level one: `L3#0`
    siblings: tuple[int, ...] | None = None


def place_lines(topology: Mapping[int, CpuPlace], cache_by_cpu: Mapping[int, str]) -> tuple[PlaceLine, ...] | None:
    """Return a line for each online CPU, by number, or None if no place is known."""
    lines = tuple(
        PlaceLine(
            cpu=cpu,
            node=place.node,
            package=place.package,
            core=place.core,
            cache=cache_by_cpu.get(cpu),
            siblings=None if place.siblings is None else tuple(sorted(place.siblings)),
        )
        for cpu, place in sorted(topology.items())
    )
    return lines if any(line != PlaceLine(line.cpu) for line in lines) else None
