"""Where memory was handed out, and where it lies."""

from __future__ import annotations

import pytest

from noisewatch.kernel.memory.nodes import NodePages, parse_numastat, read_node_pages
from tests.written import reading

NUMASTAT = "numa_hit 90\nnuma_miss 3\nnuma_foreign 0\ninterleave_hit 1\nlocal_node {own}\nother_node {others}\n"
_FIRST, _SECOND = (f"/sys/devices/system/node/node{node}/numastat" for node in (0, 1))
_SWITCH = "/proc/sys/vm/numa_stat"


def test_pages_are_told_apart_by_whose_cpus_they_went_to() -> None:
    assert parse_numastat(NUMASTAT.format(own=80, others=13)) == NodePages(80, 13)


def test_all_nodes_are_read() -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), _SECOND: NUMASTAT.format(own=3, others=4), _SWITCH: "1\n"}
    assert read_node_pages(reading(files), frozenset({0, 1})) == {0: NodePages(1, 2), 1: NodePages(3, 4)}


def test_a_node_that_cannot_be_read_leaves_all_of_it_unknown() -> None:
    found = read_node_pages(reading({_FIRST: NUMASTAT.format(own=1, others=2)}), frozenset({0, 1}))
    assert found == f"{_SECOND}: no such file"


def test_counts_that_the_kernel_does_not_keep_are_unknown() -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), _SWITCH: "0\n"}
    assert "is 0" in str(read_node_pages(reading(files), frozenset({0})))


@pytest.mark.parametrize(("more", "is_copy"), [({_SWITCH: ""}, False), ({}, True)])
def test_whether_pages_are_counted_has_to_be_known(more: dict[str, str], is_copy: bool) -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), **more}
    assert str(read_node_pages(reading(files, is_copy=is_copy), frozenset({0}))).startswith(f"{_SWITCH}: ")
