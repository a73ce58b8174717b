"""The memory nodes from which memory was allocated.

    /sys/devices/system/node/node0/numastat      numa_hit 34090660      pages, since boot, handed out from this node
                                                 local_node 34090660    to tasks on CPUs of this node
                                                 other_node 0           to tasks on CPUs of other nodes
    /proc/sys/vm/numa_stat                       1                      0: nothing of that is counted; Linux 4.15

https://docs.kernel.org/admin-guide/numastat.html, https://docs.kernel.org/admin-guide/sysctl/vm.html#numa-stat.
numa_maps of a process has its own memory, but blocks changes of its memory while it is read. memory.numa_stat of a
control group includes all processes of the group, and what earlier runs have left in its cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.records import dataclass

_COUNTS = "/proc/sys/vm/numa_stat"
_NOT_COUNTED = f"{_COUNTS} is 0: the kernel does not count where memory comes from"


@dataclass(frozen=True, slots=True)
class NodePages:
    """Pages that a node has allocated, for tasks on its own CPUs and on those of other nodes."""

    to_own_cpus: int
    to_others: int


def parse_numastat(text: str) -> NodePages:
    """Parse the counts. Raise Malformed."""
    words = text.split()
    counts = dict(zip(words[::2], words[1::2], strict=False))
    local, other = counts.get("local_node", ""), counts.get("other_node", "")
    if not is_count(local) or not is_count(other):
        raise Malformed("lines `local_node 34090660` and `other_node 0`", text[:40])
    return NodePages(int(local), int(other))


def read_node_pages(reader: Reader, nodes: frozenset[int]) -> Mapping[int, NodePages] | str:
    """Return what each of the nodes has allocated since boot, or why that is unknown."""
    try:
        if reader.text(_COUNTS, expected=False).strip() == "0":
            return _NOT_COUNTED
    except Absent:
        pass  # an older kernel counts always
    except Unreadable as error:
        return str(error)
    found: dict[int, NodePages] = {}
    for node in sorted(nodes):
        path = f"{NODES}/node{node}/numastat"
        pages = reader.parsed(path, parse_numastat)
        if pages is None:
            return f"{path}: {reader.reason_by_path.get(path, 'not read')}"
        found[node] = pages
    return found
