"""Where threads ran: by a trace where it holds all that the command had, else by the looks."""

from __future__ import annotations

import pytest

from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.kernel.trace.own_threads import TracedThread
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.model.run.placement import NOWHERE_ELSE, CpuGroups, Placement
from noisewatch.model.run.placement_tally import PlacementTally, placed_by_trace
from tests.kernel.tasks.commands import by_tid, thread_look
from tests.model.run.places import ALL, TWO_NODES

_MS = 1_000_000


def _window(*threads: TracedThread, doubt_ns: int = 0) -> TraceWindow:
    by_cpu = {cpu: sum(thread.ns_by_cpu.get(cpu, 0) for thread in threads) for cpu in ALL}
    return TraceWindow(0, 100 * _MS, by_cpu, (), doubt_ns=doubt_ns, threads=threads)


def _looked(*moments: list[ThreadLook], used_ns: int | None) -> Placement:
    tally = PlacementTally(ALL, TWO_NODES)
    for threads in moments:
        tally.add(CommandLook(0, by_tid(*threads)))
    return tally.placement(NOWHERE_ELSE, used_ns)


def _placed(looked: Placement, window: TraceWindow) -> Placement:
    return placed_by_trace(looked, window, CpuGroups(TWO_NODES))


_THERE_AND_BACK = TracedThread(9, "bench", {1: 60 * _MS, 2: 20 * _MS}, {(1, 2): 3, (2, 1): 3})


def test_a_thread_that_no_look_saw_is_told_with_all_its_time_and_moves() -> None:
    placement = _placed(_looked(used_ns=80 * _MS), _window(_THERE_AND_BACK))
    (thread,) = placement.threads
    assert (placement.is_traced, placement.looks, placement.seen_share, placement.sure_share) == (True, 0, 1.0, 1.0)
    assert (thread.ran_ns, thread.ns_by_node) == (80 * _MS, {0: 60 * _MS, 1: 20 * _MS})
    assert (thread.moves, thread.node_moves, thread.kind_moves) == (6, 6, 0)


def test_what_the_looks_could_not_be_sure_of_is_sure() -> None:
    """The looks show the thread on one CPU, but the kernel counted migrations."""
    moments = [[thread_look(9, 1, count * 40 * _MS, migrations=3 * count)] for count in (1, 2)]
    looked = _looked(*moments, used_ns=80 * _MS)
    placement = _placed(looked, _window(_THERE_AND_BACK))
    assert looked.hidden_ns > 0
    assert (placement.hidden_ns, placement.threads[0].node_moves) == (0, 6)
    assert placement.threads[0].waited_ns == looked.threads[0].waited_ns


def test_time_that_was_on_no_traced_cpu_is_not_seen() -> None:
    looked = _looked([thread_look(9, 1, 40 * _MS)], used_ns=160 * _MS)
    share = _placed(looked, _window(_THERE_AND_BACK)).seen_share
    assert share == pytest.approx(0.5, abs=0.01)


def test_time_that_may_have_been_anothers_is_in_doubt() -> None:
    looked = _looked([thread_look(9, 1, 40 * _MS)], used_ns=80 * _MS)
    assert _placed(looked, _window(_THERE_AND_BACK, doubt_ns=4 * _MS)).sure_share == 0.95


def test_where_more_is_in_doubt_than_the_looks_saw_these_tell() -> None:
    sure, unsure = (_looked([thread_look(9, 1, ms * _MS, migrations=0)], used_ns=80 * _MS) for ms in (70, 20))
    window = _window(_THERE_AND_BACK, doubt_ns=40 * _MS)
    assert (_placed(sure, window).is_traced, _placed(unsure, window).is_traced) == (False, True)


def test_time_that_a_look_saw_on_a_cpu_that_is_not_traced_leaves_it_to_the_looks() -> None:
    looked = _looked([thread_look(9, 7, 1 * _MS)], used_ns=80 * _MS)
    assert _placed(looked, _window(_THERE_AND_BACK)) is looked


def test_without_the_commands_time_nobody_knows_whether_a_trace_has_it_all() -> None:
    looked = _looked([thread_look(9, 1, 40 * _MS)], used_ns=None)
    assert _placed(looked, _window(_THERE_AND_BACK)) is looked


def test_a_thread_that_waited_all_the_time_counts_among_those_that_shared_a_cpu() -> None:
    stacked = [thread_look(9, 1, 10, state="R"), thread_look(10, 1, 0, waited_ns=7 * _MS, state="R")]
    looked = _looked(stacked, stacked, used_ns=80 * _MS)
    assert looked.stacking is not None
    placement = _placed(looked, _window(_THERE_AND_BACK))
    assert [(thread.tid, thread.ran_ns) for thread in placement.threads] == [(9, 80 * _MS), (10, 0)]
    assert placement.threads[1].waited_ns == looked.threads[1].waited_ns
