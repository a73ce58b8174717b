"""Which memory nodes have memory, and how far they are from each other."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.nodes import HAS_MEMORY, read_nodes
from tests.written import reading

_TWO = {f"{NODES}/node0/distance": "10 21\n", f"{NODES}/node4/distance": "21 10\n"}
_MEMINFO = "Node 4 MemTotal:       {} kB\nNode 4 MemFree:        16000 kB\n"


def test_distances_are_those_of_the_online_nodes_in_their_order() -> None:
    nodes = read_nodes(reading(_TWO | {HAS_MEMORY: "0,4\n"}))
    assert nodes.with_memory == frozenset({0, 4})
    assert (nodes.distance(0, 4), nodes.distance(4, 4), nodes.distance(0, 1)) == (21, 10, None)


def test_a_node_that_names_fewer_distances_than_there_are_nodes_tells_nothing() -> None:
    assert read_nodes(reading(_TWO | {f"{NODES}/node0/distance": "10\n"})).distance(0, 4) is None


@pytest.mark.parametrize(("total", "found"), [("32827292", {0, 4}), ("0", {0})])
def test_where_no_list_tells_each_node_is_asked(total: str, found: set[int]) -> None:
    files = _TWO | {
        f"{NODES}/node0/meminfo": _MEMINFO.format(5),
        f"{NODES}/node4/meminfo": _MEMINFO.format(total),
    }
    assert read_nodes(reading(files)).with_memory == frozenset(found)


def test_a_node_that_does_not_tell_leaves_all_unknown() -> None:
    assert read_nodes(reading(_TWO | {f"{NODES}/node0/meminfo": _MEMINFO.format(5)})).with_memory is None
    assert read_nodes(reading({})).with_memory is None
