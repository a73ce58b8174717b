"""Advice for a better placement of a command."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.placement import placement_advice
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_threads import ThreadLook
from noisewatch.model.run.placement import MemoryElsewhere, Placement
from tests.judgement.run.test_placement_reasons import SECOND_NS, placed
from tests.kernel.tasks.commands import thread_look
from tests.model.run.places import ONE_NODE, TWO_KINDS, TWO_NODES

_ELSEWHERE = MemoryElsewhere(0.3, 50_000_000, is_bound=True)


def _lines(
    placement: Placement, places: Mapping[int, CpuPlace] = TWO_NODES, isolated: CpuSet = frozenset()
) -> list[str]:
    return [
        f"{advice.fault}: {' '.join(advice.before)}"
        for advice in placement_advice(placement, SECOND_NS, places, isolated)
    ]


def _moving_looks(first: int, second: int) -> list[list[ThreadLook]]:
    """Return the looks at a thread that moves from one CPU to another, on which it runs for longer."""
    return [[thread_look(9, first, 5)], [thread_look(9, second, 50)], [thread_look(9, second, 500)]]


def test_a_thread_that_moved_between_nodes_is_bound_to_the_one_with_most_of_its_time() -> None:
    assert _lines(placed(*_moving_looks(1, 2))) == ["nodes: numactl --cpunodebind=1 --membind=1"]


@pytest.mark.parametrize(("target", "isolated"), [({0, 1, 2}, ()), ({0, 1, 2, 3}, (2, 3))])
def test_part_of_a_node_or_isolated_cpus_are_listed(target: set[int], isolated: tuple[int, ...]) -> None:
    listed = "2" if 3 not in target else "2-3"
    lines = _lines(placed(*_moving_looks(1, 2), target=frozenset(target)), isolated=frozenset(isolated))
    assert lines == [f"nodes: taskset -c {listed} numactl --membind=1"]


def test_a_thread_that_moved_between_kinds_of_cores_is_pinned_to_the_fast_ones() -> None:
    assert _lines(placed(*_moving_looks(1, 2), places=TWO_KINDS), TWO_KINDS) == ["cores: taskset -c 0-1"]


def test_memory_on_other_nodes_is_bound_to_the_target_node() -> None:
    placement = replace(placed([thread_look(9, 2, 5)], target=frozenset({2, 3})), memory=_ELSEWHERE)
    assert _lines(placement) == ["memory: numactl --cpunodebind=1 --membind=1"]


@pytest.mark.parametrize(
    "memory", [MemoryElsewhere(0.01, 1 << 30), MemoryElsewhere(0.5, 4096), MemoryElsewhere(None, None, reason="?")]
)
def test_little_or_unknown_memory_needs_no_advice(memory: MemoryElsewhere) -> None:
    assert _lines(replace(placed([thread_look(9, 2, 5)], target=frozenset({2, 3})), memory=memory)) == []


def test_stacked_threads_are_spread_over_the_target_cpus() -> None:
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=SECOND_NS // 2) for tid in (8, 9)]
    placement = placed(threads, threads, places=ONE_NODE, target=frozenset({2, 3}))
    assert _lines(placement, ONE_NODE) == ["stacked: noisewatch run --cpus 2-3 --spread --"]


def _wandering_looks(ran: int) -> list[list[ThreadLook]]:
    return [[thread_look(9, at % 2, at * ran), thread_look(8, 3, at)] for at in range(5)]


def test_a_busy_thread_that_keeps_moving_is_pinned() -> None:
    assert _lines(placed(*_wandering_looks(1000), places=ONE_NODE), ONE_NODE) == ["moving: taskset -c 0"]


def test_threads_that_share_the_work_are_not_pinned() -> None:
    assert _lines(placed(*_wandering_looks(2), places=ONE_NODE), ONE_NODE) == []


def test_a_moving_thread_with_a_small_part_of_the_time_is_not_pinned() -> None:
    assert _lines(placed(*_wandering_looks(1000), places=ONE_NODE, used_ns=4500), ONE_NODE) != []
    assert _lines(placed(*_wandering_looks(1000), places=ONE_NODE, used_ns=9000), ONE_NODE) == []


def test_a_command_that_stayed_needs_no_advice() -> None:
    assert _lines(placed([thread_look(9, 2, 5)], [thread_look(9, 2, 50)])) == []
    assert _lines(placed()) == []
