"""The memory policy of a process, as numa_maps shows it."""

from __future__ import annotations

import pytest

from noisewatch.cpus import format_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kernel.memory.nodes import (
    QUESTION,
    MemoryPolicy,
    parse_allowed_nodes,
    parse_policy,
    policy_in,
    read_memory_policy,
)
from noisewatch.kernel.reader import Reader
from noisewatch.machine.live import LiveMachine
from tests.written import WrittenMachine


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
def test_the_first_mapping_tells_the_policy_of_the_process(line: str, policy: str | None) -> None:
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
def test_a_policy_is_its_mode_and_its_nodes(text: str, mode: str, nodes: str) -> None:
    found = parse_policy(text)
    assert found is not None
    assert (found.mode, format_cpu_list(found.nodes)) == (mode, nodes)


@pytest.mark.parametrize("text", ["", "binds:0", "bind:1-0", "bind:x", "default "])
def test_what_no_kernel_writes_is_unknown(text: str) -> None:
    assert parse_policy(text) is None


@pytest.mark.parametrize("answer", [None, 1, [], {"policy": "default"}], ids=str)
def test_another_answer_is_unknown(answer: object) -> None:
    assert read_memory_policy(Reader(WrittenMachine(answers={QUESTION: answer}))) is None


def test_this_host_tells_its_policy_or_why_not() -> None:
    reader = Reader(LiveMachine())
    found = read_memory_policy(reader)
    assert found == MemoryPolicy("default", frozenset()) or QUESTION in reader.reason_by_path


def test_the_allowed_nodes_are_a_list() -> None:
    assert parse_allowed_nodes("Mems_allowed:\t3\nMems_allowed_list:\t0-1,4\nvoluntary:\t1\n") == {0, 1, 4}
    for status in ("", "Mems_allowed:\t3\n", "Mems_allowed_list:\t\n"):
        with pytest.raises(Malformed):
            parse_allowed_nodes(status)
