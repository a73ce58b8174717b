"""Placement of a command's threads, from looks at them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.kernel.memory.nodes import NodePages
from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.model.run.placement import NOWHERE_ELSE, Placement, ThreadPlacement, elsewhere_by_pages, idle_shares
from noisewatch.model.run.placement_tally import MOST_EXITED, PlacementTally
from tests.kernel.tasks.commands import by_tid, thread_look
from tests.model.run.places import ALL, ONE_NODE, TWO_KINDS, TWO_NODES, place, placement_of
from tests.written.quiet_machine import quiet_files, stat_file
from tests.written.repetitions import repeat


def looks_of(*moments: list[ThreadLook]) -> list[CommandLook]:
    return [CommandLook(at * 100_000_000, by_tid(*threads)) for at, threads in enumerate(moments)]


def _placement_of(*moments: list[ThreadLook]) -> Placement:
    return placement_of(looks_of(*moments), ALL, TWO_NODES, NOWHERE_ELSE)


def _only(placement: Placement) -> ThreadPlacement:
    (thread,) = placement.threads
    return thread


def test_time_counts_for_the_cpu_of_both_looks() -> None:
    thread = _only(_placement_of([thread_look(9, 2, 10)], [thread_look(9, 2, 110)]))
    assert thread.ns_by_cpu == {2: 110}
    assert (thread.moves, thread.ran_ns) == (0, 110)


def test_time_around_a_move_is_divided_between_both_cpus() -> None:
    thread = _only(_placement_of([thread_look(9, 2, 10)], [thread_look(9, 1, 110)]))
    assert thread.ns_by_cpu == {2: 60, 1: 50}
    assert thread.moves == 1


def test_move_to_another_node_is_distinguished_from_one_within() -> None:
    thread = _only(_placement_of([thread_look(9, 0)], [thread_look(9, 1, 10)], [thread_look(9, 2, 20)]))
    assert (thread.moves, thread.node_moves, thread.kind_moves) == (2, 1, 0)
    assert thread.ns_by_node == {0: 15, 1: 5}


def test_move_to_another_kind_of_core_is_counted() -> None:
    looks = looks_of([thread_look(9, 1)], [thread_look(9, 2, 10)])
    thread = _only(placement_of(looks, ALL, TWO_KINDS, NOWHERE_ELSE))
    assert (thread.node_moves, thread.kind_moves) == (0, 1)
    assert thread.ns_by_kind == {"performance": 5, "efficiency": 5}


def test_unknown_nodes_have_no_moves_between_them() -> None:
    looks = looks_of([thread_look(9, 1)], [thread_look(9, 2, 10)])
    placement = placement_of(looks, ALL, {}, NOWHERE_ELSE)
    assert (_only(placement).moves, _only(placement).node_moves) == (1, 0)
    assert placement.nodes == {None}


def test_siblings_are_one_core() -> None:
    places = {0: place(0, node=0, core=0), 1: place(1, node=0, core=0)}
    thread = _only(placement_of(looks_of([thread_look(9, 0, 4)], [thread_look(9, 1, 8)]), ALL, places, NOWHERE_ELSE))
    assert thread.ns_by_core == {0: 8}


def test_migrations_count_from_the_first_look() -> None:
    thread = _only(_placement_of([thread_look(9, migrations=4)], [thread_look(9, ran_ns=1, migrations=9)]))
    assert (thread.migrations, thread.least_moves) == (5, 5)


def test_all_migrations_of_a_later_thread_count() -> None:
    placement = _placement_of([], [thread_look(9, migrations=4)])
    assert _only(placement).migrations == 4


def test_migrations_are_unknown_if_a_look_has_no_count() -> None:
    assert _only(_placement_of([thread_look(9)], [thread_look(9, ran_ns=1, migrations=9)])).migrations is None


def test_reused_thread_number_is_another_thread() -> None:
    placement = _placement_of([thread_look(9, 0, 50)], [thread_look(9, 2, 30, started_ticks=101)])
    assert [(thread.ran_ns, thread.node_moves) for thread in placement.threads] == [(50, 0), (30, 0)]


def test_ended_threads_are_kept_and_the_busiest_comes_first() -> None:
    placement = _placement_of([thread_look(8, ran_ns=5), thread_look(9, ran_ns=7)], [thread_look(8, ran_ns=6)])
    assert [(thread.tid, thread.ran_ns) for thread in placement.threads] == [(9, 7), (8, 6)]


def test_many_short_threads_are_summed() -> None:
    count = 3 * MOST_EXITED
    placement = _placement_of(*([thread_look(tid, ran_ns=tid)] for tid in range(1, count + 1)))
    assert len(placement.threads) <= 2 * MOST_EXITED + 1
    assert placement.seen_ns == sum(range(1, count + 1))
    assert placement.threads[0].tid == count


def test_seen_share_is_of_all_cpu_time() -> None:
    tally = PlacementTally(ALL, TWO_NODES)
    tally.add(looks_of([thread_look(9, ran_ns=25)])[0])
    assert tally.placement(NOWHERE_ELSE, used_ns=100).seen_share == 0.25
    assert tally.placement(NOWHERE_ELSE).seen_share is None


def _ready(tid: int, cpu: int) -> ThreadLook:
    return thread_look(tid, cpu, state="R")


def test_ready_threads_on_one_cpu_while_another_is_free_are_stacked() -> None:
    placement = _placement_of([_ready(8, 2), _ready(9, 2)], [_ready(8, 2), _ready(9, 3)])
    stacking = placement.stacking
    assert stacking is not None
    assert (stacking.share, stacking.most_ready) == (0.5, 2)
    assert stacking.stacked == {2}
    assert stacking.tids == {8, 9}
    assert stacking.free == {0, 1, 3}


@pytest.mark.parametrize(
    "threads",
    [
        [_ready(8, 2), _ready(9, 3)],
        [_ready(8, 2), thread_look(9, 2)],
        [_ready(tid, tid % 4) for tid in range(8)],
        [_ready(8, 7), _ready(9, 7)],
    ],
    ids=["apart", "one sleeps", "no CPU free", "on no target CPU"],
)
def test_other_threads_are_not_stacked(threads: list[ThreadLook]) -> None:
    assert _placement_of(threads).stacking is None


def test_cpu_that_a_thread_without_a_turn_may_need_is_not_free() -> None:
    threads = by_tid(_ready(7, 3), _ready(8, 2), _ready(9, 2))
    target = frozenset({2, 3})
    with_turn = placement_of([CommandLook(0, threads, frozenset())], target, ONE_NODE, NOWHERE_ELSE)
    without = placement_of([CommandLook(0, threads, frozenset({7}))], target, ONE_NODE, NOWHERE_ELSE)
    assert (with_turn.stacking, without.stacking) == (None, None)


def test_cpu_that_other_processes_used_is_not_free() -> None:
    tally = PlacementTally(frozenset({2, 3}), ONE_NODE)
    for look in looks_of(*[[_ready(8, 2), _ready(9, 2)]] * 4):
        tally.add(look)
    shares = [
        None if stacking is None else stacking.share
        for idle in (1.0, 0.25, 0.0)
        for stacking in [tally.placement(NOWHERE_ELSE, idle_share_by_cpu={3: idle}).stacking]
    ]
    assert shares == [1.0, 0.25, None]


def test_thread_without_a_turn_has_no_time_and_no_move() -> None:
    first = CommandLook(0, by_tid(thread_look(9, 2, 10)))
    second = CommandLook(1, by_tid(thread_look(9, 2, 10)), frozenset({9}))
    assert _only(placement_of([first, second], ALL, TWO_NODES, NOWHERE_ELSE)).ns_by_cpu == {2: 10}


def test_idle_share_is_the_time_without_running_tasks() -> None:
    moments = [quiet_files(at) | {"/proc/stat": stat_file({2: 25 * at, 3: 0}, 100 * at)} for at in (0, 1)]
    span = repeat(*moments, seconds=1.0).span
    assert idle_shares(span.before, span.after, frozenset({2, 3, 9})) == {2: 0.75, 3: 1.0}
    assert idle_shares(span.before, span.before, frozenset({2})) == {}


_STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=12)


@given(st.dictionaries(st.integers(1, 9), _STEPS))
def test_run_time_is_neither_lost_nor_invented(steps_by_tid: dict[int, list[tuple[int, int, bool]]]) -> None:
    """Threads move between CPUs, run there, and may have no turn in the next look."""
    tally, ran = PlacementTally(ALL, TWO_NODES), dict.fromkeys(steps_by_tid, 0)
    expected = dict(ran)
    for at in range(max(map(len, steps_by_tid.values()), default=0)):
        threads, without_turn = [], set()
        for tid, steps in steps_by_tid.items():
            cpu, more, has_turn = steps[min(at, len(steps) - 1)] if steps else (0, 0, False)
            ran[tid] += more
            threads.append(thread_look(tid, cpu, ran[tid]))
            if has_turn:
                expected[tid] = ran[tid]
            else:
                without_turn.add(tid)
        tally.add(CommandLook(at, by_tid(*threads), frozenset(without_turn)))
    placement = tally.placement(NOWHERE_ELSE)
    assert {thread.tid: thread.ran_ns for thread in placement.threads if thread.ran_ns} == {
        tid: ns for tid, ns in expected.items() if ns
    }
    for thread in placement.threads:
        for parts in (thread.ns_by_core, thread.ns_by_node, thread.ns_by_kind):
            assert sum(parts.values()) == sum(thread.ns_by_cpu.values())
        assert thread.node_moves <= thread.moves <= 11


def test_pages_allocated_for_other_nodes_bound_the_commands_remote_memory() -> None:
    before = {0: NodePages(100, 10), 1: NodePages(50, 5)}
    after = {0: NodePages(400, 110), 1: NodePages(350, 5)}
    memory = elsewhere_by_pages(before, after, frozenset({1}), 4096)
    assert (memory.share, memory.size_bytes, memory.is_bound) == (0.25, 100 * 4096, True)


def test_absence_of_remote_pages_is_certain() -> None:
    pages = {0: NodePages(100, 10), 1: NodePages(50, 5)}
    memory = elsewhere_by_pages(pages, {0: NodePages(900, 10), 1: NodePages(90, 9)}, frozenset({1}), 4096)
    assert (memory.share, memory.size_bytes, memory.is_bound) == (0.0, 0, False)


def test_count_that_ran_backwards_is_unknown() -> None:
    memory = elsewhere_by_pages({0: NodePages(1, 9)}, {0: NodePages(1, 2)}, frozenset({1}), 4096)
    assert (memory.share, memory.reason is None) == (None, False)


def test_look_at_a_stopped_thread_counts_half_of_the_time_on_both_sides() -> None:
    ran, stopped = thread_look(9, 2, 10), replace(thread_look(9, 2, 10), state="T")
    moments = [[ran], [stopped], [stopped, thread_look(8, 2, 50)], [ran]]
    assert _placement_of(*moments).stopped_ns == 200_000_000
    assert _placement_of([ran], [ran], [ran]).stopped_ns == 0
    assert _placement_of([stopped]).stopped_ns == 50_000_000


def test_time_between_two_looks_outside_the_target_counts_as_outside() -> None:
    looks = looks_of([thread_look(9, 0, 10)], [thread_look(9, 0, 30)], [thread_look(9, 1, 50)], [thread_look(9, 2, 90)])
    placement = placement_of(looks, frozenset({2, 3}), ONE_NODE, NOWHERE_ELSE)
    assert placement.outside_ns_by_cpu == {0: 20 + 10, 1: 10}
