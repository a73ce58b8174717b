"""Disturbances by a command's placement, and reasons why the placement is unknown."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.placement import placement_reasons, unknown_placement_reason
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, describe_reason
from noisewatch.judgement.run.repetition_verdict import with_placement
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.model.run.placement import NOWHERE_ELSE, Placement
from noisewatch.model.run.placement_tally import PlacementTally
from tests.kernel.tasks.commands import by_tid, thread_look
from tests.model.run.places import ALL, ONE_NODE, TWO_KINDS, TWO_NODES, UNKNOWN_NODES, place

SECOND_NS = 1_000_000_000


def placed(
    *moments: list[ThreadLook],
    places: Mapping[int, CpuPlace] = TWO_NODES,
    target: CpuSet = ALL,
    used_ns: int | None = None,
) -> Placement:
    """Return the placement that these looks observe."""
    tally = PlacementTally(target, places)
    for threads in moments:
        tally.add(CommandLook(0, by_tid(*threads)))
    return tally.placement(NOWHERE_ELSE, used_ns)


def _kinds(placement: Placement) -> tuple[list[ReasonKind], list[ReasonKind]]:
    reasons, own = placement_reasons(placement, SECOND_NS)
    return [reason.kind for reason in reasons], [reason.kind for reason in own]


def test_a_thread_that_moved_to_another_node_disturbs_and_is_named() -> None:
    placement = placed([thread_look(9, 1, 5, name="worker")], [thread_look(9, 2, 50, name="worker")])
    (reason,), own = placement_reasons(placement, SECOND_NS)
    assert (reason.kind, reason.name, reason.pid) == (ReasonKind.NODE_CHANGED, "worker", 9)
    assert own == []


def test_a_thread_that_moved_to_another_kind_of_core_disturbs() -> None:
    placement = placed([thread_look(9, 1, 5)], [thread_look(9, 2, 50)], places=TWO_KINDS)
    assert _kinds(placement) == ([ReasonKind.CORES_CHANGED], [])


def test_a_foreign_debugger_disturbs_and_is_named() -> None:
    tally = PlacementTally(ALL, ONE_NODE)
    for debuggers in (frozenset({(77, "strace")}), frozenset[tuple[int, str]]()):
        tally.add(CommandLook(0, by_tid(thread_look(9)), debuggers=debuggers))
    (reason,), own = placement_reasons(tally.placement(NOWHERE_ELSE), SECOND_NS)
    assert describe_reason(reason) == "strace (pid 77) stopped the command, as a debugger does"
    assert (reason.kind, own) == (ReasonKind.DEBUGGED, [])


def test_a_move_within_a_node_does_not_disturb() -> None:
    assert _kinds(placed([thread_look(9, 0, 5)], [thread_look(9, 1, 50)])) == ([], [])


def test_a_move_of_a_thread_that_hardly_ran_does_not_disturb() -> None:
    placement = placed(
        [thread_look(8, 1, 5), thread_look(9, 1, 5)], [thread_look(8, 1, 100_000), thread_look(9, 2, 10)]
    )
    assert _kinds(placement) == ([], [])
    moved = [thread_look(9, 1, 5)], [thread_look(9, 2, 50)]
    assert _kinds(placed(*moved, used_ns=4_999))[0] == [ReasonKind.NODE_CHANGED]
    assert _kinds(placed(*moved, used_ns=5_001))[0] == []


def _stacked_placement(waited_ns: int | None, looks: int = 3) -> Placement:
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=waited_ns) for tid in (8, 9)]
    return placed(*[threads] * looks, places=ONE_NODE)


def test_own_threads_stacked_on_a_cpu_are_an_own_reason() -> None:
    reasons, (own,) = placement_reasons(_stacked_placement(waited_ns=200_000_000), SECOND_NS)
    assert reasons == []
    assert (own.kind, own.cpu, own.ns, own.name) == (ReasonKind.STACKED, 2, 400_000_000, "2 of the command's threads")


@pytest.mark.parametrize(
    ("waited_ns", "looks", "is_reason"), [(None, 3, True), (10, 3, False), (200_000_000, 1, False)]
)
def test_threads_stacked_for_a_moment_are_not_a_reason(waited_ns: int | None, looks: int, is_reason: bool) -> None:
    assert (_kinds(_stacked_placement(waited_ns, looks))[1] == [ReasonKind.STACKED]) is is_reason


_LOOK = [thread_look(9, 1, 90, migrations=0)]


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (placed(_LOOK, used_ns=100), None),
        (placed(_LOOK, used_ns=300), "30%"),
        (placed([thread_look(9, 1, 90)], used_ns=100), "does not count moves"),
        (placed([thread_look(9, 1, 90)], used_ns=100, places=ONE_NODE), None),
        (placed(_LOOK), "how much of the command's CPU time"),
        (placed(used_ns=100), "were not observed"),
        (placed(used_ns=100, target=frozenset({0, 1})), None),
        (placed(used_ns=100, target=frozenset({2})), None),
        (placed(used_ns=100, places=ONE_NODE), None),
        (placed(used_ns=100, places=TWO_KINDS), "were not observed"),
        (placed(_LOOK, used_ns=100, places=UNKNOWN_NODES), "memory node"),
        (placed(_LOOK, used_ns=100, places={}), "memory node"),
        (placed(_LOOK, used_ns=100, places=ONE_NODE | {3: place(3, node=0, kind=None)}), "kind"),
        (placed(used_ns=100, places={cpu: place(cpu, node=0, kind=None) for cpu in ALL}), None),
    ],
)
def test_unobserved_placement_is_unknown_where_nodes_or_kinds_of_core_differ(
    placement: Placement, words: str | None
) -> None:
    reason = unknown_placement_reason(placement)
    assert reason is None if words is None else words in str(reason)


def _unknown_reason(*steps: tuple[int, int], begun: int | None = 0) -> str | None:
    """Return why a thread's placement is unknown, from its CPU and its count of migrations at each look."""
    tally = PlacementTally(ALL, TWO_NODES, {9: begun})
    for at, (cpu, migrations) in enumerate(steps, start=1):
        tally.add(CommandLook(0, by_tid(thread_look(9, cpu, 100 * at, migrations=migrations))))
    return unknown_placement_reason(tally.placement(NOWHERE_ELSE, 100 * len(steps)))


def test_moves_between_looks_make_the_placement_unknown() -> None:
    reason = _unknown_reason(*[(0, 10 * at) for at in range(1, 5)])
    assert reason is not None
    assert "moved more often than observed" in reason
    assert "known for only 0%" in reason


@pytest.mark.parametrize(
    "steps",
    [
        [(0, 0)] * 5,
        [(0, 0), (1, 1), (1, 1), (1, 1), (1, 1)],
        [(0, 0), (0, 0), (0, 3), (0, 3), (0, 3)],
        [(0, 2), (0, 2), (0, 2), (0, 2), (0, 2)],
    ],
    ids=["it stayed", "an observed move", "a fifth of its time is in doubt", "moves before the first look"],
)
def test_a_placement_unknown_for_a_small_part_of_the_time_is_accepted(steps: list[tuple[int, int]]) -> None:
    assert _unknown_reason(*steps) is None


def test_migrations_before_the_command_began_do_not_count_except_for_its_children() -> None:
    assert _unknown_reason(*[(0, 3)] * 5, begun=3) is None
    assert "does not count moves" in str(_unknown_reason(*[(0, 3)] * 2, begun=None))
    child = PlacementTally(ALL, TWO_NODES, {8: 3})
    child.add(CommandLook(0, by_tid(thread_look(9, 0, 100, migrations=3))))
    assert "known for only 0%" in str(unknown_placement_reason(child.placement(NOWHERE_ELSE, 100)))


_QUIET = RepetitionVerdict(RunOutcome.UNDISTURBED)


def test_moved_threads_disturb_a_quiet_repetition() -> None:
    moved = placed([thread_look(9, 1, 5)], [thread_look(9, 2, 50)], used_ns=50)
    verdict = with_placement(_QUIET, moved, SECOND_NS)
    assert (verdict.outcome, [reason.kind for reason in verdict.reasons]) == ("disturbed", [ReasonKind.NODE_CHANGED])


def test_a_quiet_repetition_with_unobserved_threads_is_unknown_on_several_nodes() -> None:
    assert with_placement(_QUIET, placed(used_ns=100), SECOND_NS).outcome == RunOutcome.UNKNOWN
    assert with_placement(_QUIET, placed(used_ns=100, target=frozenset({2})), SECOND_NS) == _QUIET


def test_irrelevant_placement_keeps_an_unknown_verdict() -> None:
    before = RepetitionVerdict(RunOutcome.UNKNOWN, unknowns=("steal",))
    after = with_placement(before, placed(used_ns=100, target=frozenset({2})), SECOND_NS)
    assert after == before


def test_a_placement_that_was_traced_needs_no_look() -> None:
    unobserved = placed(used_ns=100)
    assert unknown_placement_reason(unobserved) is not None
    assert unknown_placement_reason(replace(unobserved, traced_share=1.0)) is None
