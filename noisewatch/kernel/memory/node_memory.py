"""From which memory nodes memory was handed out, and in which the memory of a control group lies.

    /sys/devices/system/node/node0/numastat      numa_hit 34090660      pages, since boot, handed out from this node
                                                 local_node 34090660    to tasks on CPUs of this node
                                                 other_node 0           to tasks on CPUs of other nodes
    /proc/sys/vm/numa_stat                       1                      0: nothing of that is counted; Linux 4.15
    /sys/fs/cgroup/…/memory.numa_stat            anon N0=8192 N1=0      bytes; Linux 5.10

https://docs.kernel.org/admin-guide/numastat.html, https://docs.kernel.org/admin-guide/sysctl/vm.html#numa-stat,
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files. numa_maps of a process tells as much, but
keeps the process from changing its memory for as long as it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.numbers import is_count, lines_of
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_COUNTS = "/proc/sys/vm/numa_stat"
_NOT_COUNTED = f"{_COUNTS} is 0: the kernel does not count where memory comes from"
_KINDS = ("anon", "file")  # file includes shmem
_NODE_BYTES = regex(r"N([0-9]{1,5})=([0-9]{1,20})")


@dataclass(frozen=True, slots=True)
class NodePages:
    """Pages that a node has handed out, to tasks on its own CPUs and on those of other nodes."""

    to_own_cpus: int
    to_others: int


def parse_numastat(text: str) -> NodePages:
    """The counts. Raises Malformed."""
    words = text.split()
    counts = dict(zip(words[::2], words[1::2], strict=False))
    local, other = counts.get("local_node", ""), counts.get("other_node", "")
    if not is_count(local) or not is_count(other):
        raise Malformed("lines `local_node 34090660` and `other_node 0`", text[:40])
    return NodePages(int(local), int(other))


def parse_memory_numa_stat(text: str) -> Mapping[int, int]:
    """Bytes by node: what the group has written itself, and the files that it has read. Raises Malformed."""
    bytes_by_node: dict[int, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        words = line.split()
        for place in words[1:] if words and words[0] in _KINDS else ():
            match = _NODE_BYTES.fullmatch(place)
            if match is None:
                raise Malformed("`anon N0=8192 N1=0`", line, number)
            node = int(match[1])
            bytes_by_node[node] = bytes_by_node.get(node, 0) + int(match[2])
    if not bytes_by_node:
        raise Malformed("`anon N0=8192 N1=0`", text[:40], 1)
    return bytes_by_node


def read_node_pages(reader: Reader, nodes: frozenset[int]) -> Mapping[int, NodePages] | str:
    """What each of the nodes has handed out since boot, or why that is not known."""
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
