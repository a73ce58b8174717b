"""Memory nodes: their memory and distances."""

from __future__ import annotations

import pytest

from noisewatch.cpus import format_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.nodes import (
    HAS_MEMORY,
    QUESTION,
    MemoryPolicy,
    NodePages,
    parse_allowed_nodes,
    parse_numastat,
    parse_policy,
    policy_in,
    read_memory_policy,
    read_node_pages,
    read_nodes,
)
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
from tests.written import WrittenMachine, reading

_TWO = {f"{NODES}/node0/distance": "10 21\n", f"{NODES}/node4/distance": "21 10\n"}
_MEMINFO = "Node 4 MemTotal:       {} kB\nNode 4 MemFree:        16000 kB\n"


def test_distances_are_those_of_online_nodes_in_order() -> None:
    nodes = read_nodes(reading(_TWO | {HAS_MEMORY: "0,4\n"}))
    assert nodes.with_memory == frozenset({0, 4})
    assert (nodes.distance(0, 4), nodes.distance(4, 4), nodes.distance(0, 1)) == (21, 10, None)


def test_node_with_too_few_distances_is_unknown() -> None:
    assert read_nodes(reading(_TWO | {f"{NODES}/node0/distance": "10\n"})).distance(0, 4) is None


@pytest.mark.parametrize(("total", "with_memory"), [("32827292", {0, 4}), ("0", {0})])
def test_each_node_is_read_without_a_list(total: str, with_memory: set[int]) -> None:
    files = _TWO | {
        f"{NODES}/node0/meminfo": _MEMINFO.format(5),
        f"{NODES}/node4/meminfo": _MEMINFO.format(total),
    }
    assert read_nodes(reading(files)).with_memory == frozenset(with_memory)


def test_unreadable_node_leaves_all_unknown() -> None:
    assert read_nodes(reading(_TWO | {f"{NODES}/node0/meminfo": _MEMINFO.format(5)})).with_memory is None
    assert read_nodes(reading({})).with_memory is None


NUMASTAT = "numa_hit 90\nnuma_miss 3\nnuma_foreign 0\ninterleave_hit 1\nlocal_node {own}\nother_node {others}\n"
_FIRST, _SECOND = (f"/sys/devices/system/node/node{node}/numastat" for node in (0, 1))
_SWITCH = "/proc/sys/vm/numa_stat"


def test_pages_are_counted_by_the_node_of_their_cpus() -> None:
    assert parse_numastat(NUMASTAT.format(own=80, others=13)) == NodePages(80, 13)


def test_all_nodes_are_read() -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), _SECOND: NUMASTAT.format(own=3, others=4), _SWITCH: "1\n"}
    assert read_node_pages(reading(files), frozenset({0, 1})) == {0: NodePages(1, 2), 1: NodePages(3, 4)}


def test_unreadable_node_leaves_all_counts_unknown() -> None:
    reason = read_node_pages(reading({_FIRST: NUMASTAT.format(own=1, others=2)}), frozenset({0, 1}))
    assert reason == f"{_SECOND}: no such file"


def test_counts_are_unknown_if_the_kernel_does_not_keep_them() -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), _SWITCH: "0\n"}
    assert "is 0" in str(read_node_pages(reading(files), frozenset({0})))


@pytest.mark.parametrize(("more", "is_copy"), [({_SWITCH: ""}, False), ({}, True)])
def test_counts_are_unknown_if_the_switch_is(more: dict[str, str], is_copy: bool) -> None:
    files = {_FIRST: NUMASTAT.format(own=1, others=2), **more}
    assert str(read_node_pages(reading(files, is_copy=is_copy), frozenset({0}))).startswith(f"{_SWITCH}: ")


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ("55705b28f000 default file=/usr/bin/head mapped=2 N0=2 kernelpagesize_kB=4", "default"),
        ("55705b28f000 bind:0-1 file=/usr/bin/head mapped=2", "bind:0-1"),
        ("7f00 prefer (many):0,2 anon=1 dirty=1", "prefer (many):0,2"),
        ("7f00 weighted interleave:0-1 heap anon=1", "weighted interleave:0-1"),
        ("7f00 bind=static|balancing:0 stack anon=1", "bind=static|balancing:0"),
        ("rubbish", None),
        ("", None),
    ],
)
def test_policy_of_the_process_is_that_of_its_first_mapping(line: str, policy: str | None) -> None:
    assert policy_in(f"{line}\n7f01 interleave:7 anon=1\n") == policy


@pytest.mark.parametrize(
    ("text", "mode", "nodes"),
    [
        ("default", "default", ""),
        ("local", "local", ""),
        ("bind=static|balancing:0", "bind", "0"),
        ("prefer (many):0,2", "prefer (many)", "0,2"),
        ("weighted interleave:0-1", "weighted interleave", "0-1"),
    ],
)
def test_policy_has_a_mode_and_nodes(text: str, mode: str, nodes: str) -> None:
    policy = parse_policy(text)
    assert policy is not None
    assert (policy.mode, format_cpu_list(policy.nodes)) == (mode, nodes)


@pytest.mark.parametrize("text", ["", "binds:0", "bind:1-0", "bind:x", "default "])
def test_impossible_policy_is_unknown(text: str) -> None:
    assert parse_policy(text) is None


@pytest.mark.parametrize("answer", [None, 1, [], {"policy": "default"}], ids=str)
def test_malformed_answer_is_unknown(answer: object) -> None:
    assert read_memory_policy(Reader(WrittenMachine(answers={QUESTION: answer}))) is None


def test_this_host_reports_its_policy_or_a_reason() -> None:
    reader = Reader(LiveMachine())
    policy = read_memory_policy(reader)
    assert policy == MemoryPolicy("default", frozenset()) or QUESTION in reader.reason_by_path


def test_allowed_nodes_are_read_from_a_list() -> None:
    assert parse_allowed_nodes("Mems_allowed:\t3\nMems_allowed_list:\t0-1,4\nvoluntary:\t1\n") == {0, 1, 4}
    for status in ("", "Mems_allowed:\t3\n", "Mems_allowed_list:\t\n"):
        with pytest.raises(Malformed):
            parse_allowed_nodes(status)
