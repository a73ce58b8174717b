"""The memory nodes: their distances, the nodes allowed to this process, and how much memory each node provided.

    /sys/devices/system/node/has_memory        0-1          (nodes without memory are not listed)
    /sys/devices/system/node/node0/meminfo     Node 0 MemTotal:       32827292 kB
    /sys/devices/system/node/node0/distance    10 21        (to each online node, in order; 10 is to itself)

https://docs.kernel.org/admin-guide/abi-stable.html. Memory on a card (CXL) or next to the cores (HBM) has its own
nodes, without CPUs.

The nodes from which this process may get memory, and the nodes that it prefers. The processes that it starts inherit
both:

    /proc/self/status                     Mems_allowed_list:    0-1     from its cpuset: a cgroup, a container, a job
    /proc/self/numa_maps                  55705b28f000 default file=/usr/bin/python3 mapped=2 N0=2 …

A mapping without a policy of its own shows the process's policy, for example inherited from numactl: default, local,
bind:0, prefer:1, prefer (many):0-1, interleave:0-1, weighted interleave:0-1; with flags bind=static:0. Only the start
of the file is read, because each mapping costs time.

https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html, https://man7.org/linux/man-pages/man7/numa.7.html,
mm/mempolicy.c (mpol_to_str)

The nodes from which memory was allocated:

    /sys/devices/system/node/node0/numastat      numa_hit 34090660      pages, since boot, handed out from this node
                                                 local_node 34090660    to tasks on CPUs of this node
                                                 other_node 0           to tasks on CPUs of other nodes
    /proc/sys/vm/numa_stat                       1                      (0: numastat does not count; Linux 4.15)

https://docs.kernel.org/admin-guide/numastat.html, https://docs.kernel.org/admin-guide/sysctl/vm.html#numa-stat.
These counters are used because reading a process's numa_maps blocks changes to its memory, and a cgroup's
memory.numa_stat includes all its processes, and cached memory left by earlier runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_cpu_list, parse_nonempty_cpu_list
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.topology import NODES, read_memory_nodes
from noisewatch.kernel.numbers import are_counts, is_count, require_match
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json
from noisewatch.patterns import regex

HAS_MEMORY = f"{NODES}/has_memory"
_TOTAL = regex(r"^Node \d{1,5} MemTotal: +(\d{1,20}) kB$", re.MULTILINE)


class MemoryNodes(Struct, frozen=True):
    """The nodes with memory (None: unknown), and the reported distances from each node to every other."""

    with_memory: frozenset[int] | None
    distances: Mapping[int, Mapping[int, int]]

    def distance(self, one: int, other: int) -> int | None:
        """Return the firmware's distance between two nodes, 10 from a node to itself; None means unknown."""
        return self.distances.get(one, {}).get(other)


def read_nodes(reader: Reader) -> MemoryNodes:
    """Return the current memory nodes."""
    nodes = sorted(read_memory_nodes(reader) or ())
    distances = {node: row for node in nodes if (row := _read_distances(reader, node, nodes)) is not None}
    with_memory = reader.parse(HAS_MEMORY, parse_cpu_list, expected=False)
    return MemoryNodes(_read_with_memory(reader, nodes) if with_memory is None else with_memory, distances)


def parse_total_kb(text: str) -> int:
    """Return a node's total memory (kB). Raise Malformed."""
    return int(require_match(_TOTAL.search(text), "a line `Node 0 MemTotal: 32827292 kB`", text[:40])[1])


def parse_distances(text: str) -> tuple[int, ...]:
    """Return a node's distances to all online nodes, in order. Raise Malformed."""
    words = text.split()
    if not words or not are_counts(words):
        raise Malformed("distances such as `10 21`", text.strip())
    return tuple(map(int, words))


def _read_distances(reader: Reader, node: int, nodes: list[int]) -> Mapping[int, int] | None:
    distances = reader.parse(f"{NODES}/node{node}/distance", parse_distances, expected=False)
    return dict(zip(nodes, distances, strict=True)) if distances is not None and len(distances) == len(nodes) else None


def _read_with_memory(reader: Reader, nodes: list[int]) -> frozenset[int] | None:
    """Return the nodes whose meminfo shows memory, or None if any meminfo is unreadable."""
    totals = {node: reader.parse(f"{NODES}/node{node}/meminfo", parse_total_kb) for node in nodes}
    if not totals or None in totals.values():
        return None
    return frozenset(node for node, total in totals.items() if total)


QUESTION = "memory policy of this process"
_MAPS = "/proc/self/numa_maps"
_FIRST_BYTES = 512
_LINE = regex(r"[0-9a-f]+ (.+?) (?:file=|heap|stack|huge|anon=|dirty=|mapped=|active=|N\d+=|kernelpagesize)")
_ALLOWED = regex(r"^Mems_allowed_list:\t([0-9,-]+)$", re.MULTILINE)
_POLICY = regex(
    r"(default|local|bind|prefer|prefer \(many\)|interleave|weighted interleave)(?:=[a-z|]+)?(?::([0-9,-]*))?"
)


class MemoryPolicy(Struct, frozen=True):
    """A memory policy: its name in the kernel's spelling, and its nodes. The default and local policies have none."""

    mode: str
    nodes: CpuSet


def read_memory_policy(reader: Reader) -> MemoryPolicy | None:
    """Return this process's policy, or None if it cannot be read, as on a kernel without NUMA."""
    answer = reader.ask(QUESTION, _ask)
    return parse_policy(answer) if isinstance(answer, str) else None


def _ask() -> Json:
    """Return the first mapping's policy in the kernel's spelling, or None if it is malformed."""
    descriptor = os.open(_MAPS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return policy_in(os.read(descriptor, _FIRST_BYTES).decode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def policy_in(maps: str) -> str | None:
    """Return the policy in the first line of numa_maps, or None if the line is malformed."""
    match = _LINE.match(maps)
    return match[1] if match is not None else None


def parse_policy(text: str) -> MemoryPolicy | None:
    """Parse a policy; return None if its format is unknown."""
    match = _POLICY.fullmatch(text)
    try:
        return MemoryPolicy(match[1], parse_cpu_list(match[2] or "")) if match is not None else None
    except Malformed:
        return None


def parse_allowed_nodes(status: str) -> CpuSet:
    """Return the nodes from which a process may get memory, from its status file. Raise Malformed."""
    return parse_nonempty_cpu_list(
        require_match(_ALLOWED.search(status), "a line `Mems_allowed_list: 0`", status[-20:])[1]
    )


def read_nodes_with_memory(reader: Reader) -> CpuSet | None:
    """Return the nodes that have memory, or None if the kernel does not list them."""
    return reader.parse(HAS_MEMORY, parse_nonempty_cpu_list, expected=False)


_COUNTS = "/proc/sys/vm/numa_stat"
_COUNTING_IS_OFF = f"{_COUNTS} is 0: the kernel does not count where memory comes from"


class NodePages(Struct, frozen=True):
    """The pages that a node has provided: to tasks on its own CPUs, and to tasks on other nodes' CPUs."""

    to_own_cpus: int
    to_others: int


def parse_numastat(text: str) -> NodePages:
    """Parse a node's numastat. Raise Malformed."""
    words = text.split()
    counts = dict(zip(words[::2], words[1::2], strict=False))
    local, other = counts.get("local_node", ""), counts.get("other_node", "")
    if not is_count(local) or not is_count(other):
        raise Malformed("lines `local_node 34090660` and `other_node 0`", text[:40])
    return NodePages(int(local), int(other))


def read_node_pages(reader: Reader, nodes: frozenset[int]) -> Mapping[int, NodePages] | str:
    """Return the pages that each node has provided since boot, or why they are unknown."""
    try:
        if reader.text(_COUNTS, expected=False).strip() == "0":
            return _COUNTING_IS_OFF
    except Absent:
        pass  # older kernels always count
    except Unreadable as error:
        return str(error)
    pages_by_node: dict[int, NodePages] = {}
    for node in sorted(nodes):
        path = f"{NODES}/node{node}/numastat"
        pages = reader.parse(path, parse_numastat)
        if pages is None:
            return f"{path}: {reader.reason_by_path.get(path, 'not read')}"
        pages_by_node[node] = pages
    return pages_by_node
