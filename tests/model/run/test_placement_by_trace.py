"""Placement of threads: from a trace that contains all of the command's time, otherwise from the looks."""

from __future__ import annotations

import pytest

from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.kernel.trace.own_threads import TracedThread
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.model.run.placement import NOWHERE_ELSE, CpuGroups, Placement
from noisewatch.model.run.placement_tally import PlacementTally, placement_by_trace
from tests.kernel.tasks.commands import by_tid, thread_look
from tests.model.run.places import ALL, TWO_NODES

_MS = 1_000_000


def _window(*threads: TracedThread, doubt_ns: int = 0) -> TraceWindow:
    by_cpu = {cpu: sum(thread.ns_by_cpu.get(cpu, 0) for thread in threads) for cpu in ALL}
    return TraceWindow(0, 100 * _MS, by_cpu, (), doubt_ns=doubt_ns, threads=threads)


def _place_by_looks(*moments: list[ThreadLook], used_ns: int | None) -> Placement:
    tally = PlacementTally(ALL, TWO_NODES)
    for threads in moments:
        tally.add(CommandLook(0, by_tid(*threads)))
    return tally.placement(NOWHERE_ELSE, used_ns)


def _place_by_trace(looked: Placement, window: TraceWindow) -> Placement:
    return placement_by_trace(looked, window, CpuGroups(TWO_NODES))


_THERE_AND_BACK = TracedThread(9, "bench", {1: 60 * _MS, 2: 20 * _MS}, {(1, 2): 3, (2, 1): 3})


def test_thread_that_no_look_saw_has_all_its_time_and_moves_by_trace() -> None:
    placement = _place_by_trace(_place_by_looks(used_ns=80 * _MS), _window(_THERE_AND_BACK))
    (thread,) = placement.threads
    assert (placement.is_traced, placement.looks, placement.seen_share, placement.sure_share) == (True, 0, 1.0, 1.0)
    assert (thread.ran_ns, thread.ns_by_node) == (80 * _MS, {0: 60 * _MS, 1: 20 * _MS})
    assert (thread.moves, thread.node_moves, thread.kind_moves) == (6, 6, 0)


def test_trace_settles_what_looks_leave_in_doubt() -> None:
    """The looks show the thread on one CPU, but the kernel counted migrations."""
    moments = [[thread_look(9, 1, count * 40 * _MS, migrations=3 * count)] for count in (1, 2)]
    looked = _place_by_looks(*moments, used_ns=80 * _MS)
    placement = _place_by_trace(looked, _window(_THERE_AND_BACK))
    assert looked.hidden_ns > 0
    assert (placement.hidden_ns, placement.threads[0].node_moves) == (0, 6)
    assert placement.threads[0].waited_ns == looked.threads[0].waited_ns


def test_time_on_cpus_that_were_not_traced_is_not_seen() -> None:
    looked = _place_by_looks([thread_look(9, 1, 40 * _MS)], used_ns=160 * _MS)
    share = _place_by_trace(looked, _window(_THERE_AND_BACK)).seen_share
    assert share == pytest.approx(0.5, abs=0.01)


def test_time_that_may_be_another_commands_is_in_doubt() -> None:
    looked = _place_by_looks([thread_look(9, 1, 40 * _MS)], used_ns=80 * _MS)
    assert _place_by_trace(looked, _window(_THERE_AND_BACK, doubt_ns=4 * _MS)).sure_share == 0.95


def test_looks_are_used_if_the_trace_is_more_in_doubt_than_they_are() -> None:
    sure, unsure = (_place_by_looks([thread_look(9, 1, ms * _MS, migrations=0)], used_ns=80 * _MS) for ms in (70, 20))
    window = _window(_THERE_AND_BACK, doubt_ns=40 * _MS)
    assert (_place_by_trace(sure, window).is_traced, _place_by_trace(unsure, window).is_traced) == (False, True)


def test_looks_are_used_if_one_saw_the_thread_on_an_untraced_cpu() -> None:
    looked = _place_by_looks([thread_look(9, 7, 1 * _MS)], used_ns=80 * _MS)
    assert _place_by_trace(looked, _window(_THERE_AND_BACK)) is looked


def test_looks_are_used_if_the_commands_time_is_unknown() -> None:
    looked = _place_by_looks([thread_look(9, 1, 40 * _MS)], used_ns=None)
    assert _place_by_trace(looked, _window(_THERE_AND_BACK)) is looked


def test_thread_that_always_waited_is_among_those_that_shared_a_cpu() -> None:
    stacked = [thread_look(9, 1, 10, state="R"), thread_look(10, 1, 0, waited_ns=7 * _MS, state="R")]
    looked = _place_by_looks(stacked, stacked, used_ns=80 * _MS)
    assert looked.stacking is not None
    placement = _place_by_trace(looked, _window(_THERE_AND_BACK))
    assert [(thread.tid, thread.ran_ns) for thread in placement.threads] == [(9, 80 * _MS), (10, 0)]
    assert placement.threads[1].waited_ns == looked.threads[1].waited_ns
