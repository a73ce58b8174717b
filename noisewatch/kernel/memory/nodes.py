"""The nodes that have memory, and their distances from each other.

    /sys/devices/system/node/has_memory        0-1          (a node of CPUs alone is not among them)
    /sys/devices/system/node/node0/meminfo     Node 0 MemTotal:       32827292 kB
    /sys/devices/system/node/node0/distance    10 21        (to each online node in their order; 10 is to itself)

https://docs.kernel.org/admin-guide/abi-stable.html. Memory on a card (CXL) or beside the cores (HBM) has nodes of its
own, without CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.cpus import parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.topology import NODES, read_memory_nodes
from noisewatch.kernel.numbers import are_counts
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

HAS_MEMORY = f"{NODES}/has_memory"
_TOTAL = regex(r"^Node \d{1,5} MemTotal: +(\d{1,20}) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MemoryNodes:
    """The memory nodes: those `with_memory` (None: unknown), and by node the `distances` that are reported."""

    with_memory: frozenset[int] | None
    distances: Mapping[int, Mapping[int, int]]

    def distance(self, one: int, other: int) -> int | None:
        """Return the distance in the firmware's table, 10 for the node itself; None is unknown."""
        return self.distances.get(one, {}).get(other)


def read_nodes(reader: Reader) -> MemoryNodes:
    """Return the nodes now."""
    nodes = sorted(read_memory_nodes(reader) or ())
    distances = {node: found for node in nodes if (found := _read_distances(reader, node, nodes)) is not None}
    with_memory = reader.parsed(HAS_MEMORY, parse_cpu_list, expected=False)
    return MemoryNodes(_read_with_memory(reader, nodes) if with_memory is None else with_memory, distances)


def parse_total_kb(text: str) -> int:
    """Return the memory of a node. Raise Malformed."""
    match = _TOTAL.search(text)
    if match is None:
        raise Malformed("a line `Node 0 MemTotal: 32827292 kB`", text[:40])
    return int(match[1])


def parse_distances(text: str) -> tuple[int, ...]:
    """Return the distances to all online nodes. Raise Malformed."""
    words = text.split()
    if not words or not are_counts(words):
        raise Malformed("distances such as `10 21`", text.strip())
    return tuple(map(int, words))


def _read_distances(reader: Reader, node: int, nodes: list[int]) -> Mapping[int, int] | None:
    found = reader.parsed(f"{NODES}/node{node}/distance", parse_distances, expected=False)
    return dict(zip(nodes, found, strict=True)) if found is not None and len(found) == len(nodes) else None


def _read_with_memory(reader: Reader, nodes: list[int]) -> frozenset[int] | None:
    """Return the nodes with memory by their meminfo, or None if one is unreadable."""
    totals = {node: reader.parsed(f"{NODES}/node{node}/meminfo", parse_total_kb) for node in nodes}
    if not totals or None in totals.values():
        return None
    return frozenset(node for node, total in totals.items() if total)
