"""What of a command's placement disturbed a repetition, and what is not known of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.placement import placement_reasons, why_placement_unknown
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
    """What those looks come to."""
    tally = PlacementTally(target, places)
    for threads in moments:
        tally.add(CommandLook(0, by_tid(*threads)))
    return tally.placement(NOWHERE_ELSE, used_ns)


def _kinds(placement: Placement) -> tuple[list[ReasonKind], list[ReasonKind]]:
    reasons, own = placement_reasons(placement, SECOND_NS)
    return [reason.kind for reason in reasons], [reason.kind for reason in own]


def test_a_thread_that_went_to_another_node_disturbed_the_repetition_and_is_named() -> None:
    placement = placed([thread_look(9, 1, 5, name="worker")], [thread_look(9, 2, 50, name="worker")])
    (reason,), own = placement_reasons(placement, SECOND_NS)
    assert (reason.kind, reason.name, reason.pid) == (ReasonKind.NODE_CHANGED, "worker", 9)
    assert own == []


def test_a_thread_that_went_to_another_kind_of_core_did_too() -> None:
    placement = placed([thread_look(9, 1, 5)], [thread_look(9, 2, 50)], places=TWO_KINDS)
    assert _kinds(placement) == ([ReasonKind.CORES_CHANGED], [])


def test_a_stranger_that_debugged_it_disturbed_it_and_is_named() -> None:
    tally = PlacementTally(ALL, ONE_NODE)
    for debuggers in (frozenset({(77, "strace")}), frozenset[tuple[int, str]]()):
        tally.add(CommandLook(0, by_tid(thread_look(9)), debuggers=debuggers))
    (reason,), own = placement_reasons(tally.placement(NOWHERE_ELSE), SECOND_NS)
    assert describe_reason(reason) == "strace (pid 77) stopped it, as a debugger does"
    assert (reason.kind, own) == (ReasonKind.DEBUGGED, [])


def test_a_move_within_a_node_is_no_disturbance() -> None:
    assert _kinds(placed([thread_look(9, 0, 5)], [thread_look(9, 1, 50)])) == ([], [])


def test_a_thread_that_hardly_ran_may_go_where_it_likes() -> None:
    placement = placed(
        [thread_look(8, 1, 5), thread_look(9, 1, 5)], [thread_look(8, 1, 100_000), thread_look(9, 2, 10)]
    )
    assert _kinds(placement) == ([], [])
    moved = [thread_look(9, 1, 5)], [thread_look(9, 2, 50)]
    assert _kinds(placed(*moved, used_ns=4_999))[0] == [ReasonKind.NODE_CHANGED]
    assert _kinds(placed(*moved, used_ns=5_001))[0] == []


def _stacked(waited_ns: int | None, looks: int = 3) -> Placement:
    threads = [thread_look(tid, 2, 5, state="R", waited_ns=waited_ns) for tid in (8, 9)]
    return placed(*[threads] * looks, places=ONE_NODE)


def test_own_threads_that_shared_a_cpu_are_the_commands_own_cause() -> None:
    reasons, (own,) = placement_reasons(_stacked(waited_ns=200_000_000), SECOND_NS)
    assert reasons == []
    assert (own.kind, own.cpu, own.ns, own.name) == (ReasonKind.STACKED, 2, 400_000_000, "2 of its threads")


@pytest.mark.parametrize(("waited_ns", "looks", "is_told"), [(None, 3, True), (10, 3, False), (200_000_000, 1, False)])
def test_threads_that_shared_a_cpu_for_a_moment_are_not(waited_ns: int | None, looks: int, is_told: bool) -> None:
    assert (_kinds(_stacked(waited_ns, looks))[1] == [ReasonKind.STACKED]) is is_told


_SEEN = [thread_look(9, 1, 90, migrations=0)]


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (placed(_SEEN, used_ns=100), None),
        (placed(_SEEN, used_ns=300), "30%"),
        (placed([thread_look(9, 1, 90)], used_ns=100), "does not count it"),
        (placed([thread_look(9, 1, 90)], used_ns=100, places=ONE_NODE), None),
        (placed(_SEEN), "how much of its CPU time"),
        (placed(used_ns=100), "no look"),
        (placed(used_ns=100, target=frozenset({0, 1})), None),
        (placed(used_ns=100, target=frozenset({2})), None),
        (placed(used_ns=100, places=ONE_NODE), None),
        (placed(used_ns=100, places=TWO_KINDS), "no look"),
        (placed(_SEEN, used_ns=100, places=UNKNOWN_NODES), "memory node"),
        (placed(_SEEN, used_ns=100, places={}), "memory node"),
        (placed(_SEEN, used_ns=100, places=ONE_NODE | {3: place(3, node=0, kind=None)}), "kind"),
        (placed(used_ns=100, places={cpu: place(cpu, node=0, kind=None) for cpu in ALL}), None),
    ],
)
def test_what_could_not_be_seen_is_unknown_where_it_matters(placement: Placement, words: str | None) -> None:
    reason = why_placement_unknown(placement)
    assert reason is None if words is None else words in str(reason)


def _followed(*steps: tuple[int, int], begun: int | None = 0) -> str | None:
    """Return why the placement of a thread with these migrations is unknown, where each look found it on one CPU."""
    tally = PlacementTally(ALL, TWO_NODES, {9: begun})
    for at, (cpu, migrations) in enumerate(steps, start=1):
        tally.add(CommandLook(0, by_tid(thread_look(9, cpu, 100 * at, migrations=migrations))))
    return why_placement_unknown(tally.placement(NOWHERE_ELSE, 100 * len(steps)))


def test_where_a_thread_went_between_looks_that_found_it_in_one_place_is_unknown() -> None:
    away = _followed(*[(0, 10 * at) for at in range(1, 5)])
    assert away is not None
    assert "moved more often than observed" in away
    assert "known for only 0%" in away


@pytest.mark.parametrize(
    "steps",
    [
        [(0, 0)] * 5,
        [(0, 0), (1, 1), (1, 1), (1, 1), (1, 1)],
        [(0, 0), (0, 0), (0, 3), (0, 3), (0, 3)],
        [(0, 2), (0, 2), (0, 2), (0, 2), (0, 2)],
    ],
    ids=["it stayed", "it was seen to move", "a fifth of its time is in doubt", "so is the begin"],
)
def test_where_a_thread_was_but_for_a_small_part_of_its_time_is_known(steps: list[tuple[int, int]]) -> None:
    assert _followed(*steps) is None


def test_migrations_before_the_command_began_and_those_of_its_children_are_told_apart() -> None:
    assert _followed(*[(0, 3)] * 5, begun=3) is None
    assert "does not count it" in str(_followed(*[(0, 3)] * 2, begun=None))
    child = PlacementTally(ALL, TWO_NODES, {8: 3})
    child.add(CommandLook(0, by_tid(thread_look(9, 0, 100, migrations=3))))
    assert "known for only 0%" in str(why_placement_unknown(child.placement(NOWHERE_ELSE, 100)))


_QUIET = RepetitionVerdict(RunOutcome.UNDISTURBED)


def test_a_quiet_repetition_whose_threads_moved_is_disturbed() -> None:
    moved = placed([thread_look(9, 1, 5)], [thread_look(9, 2, 50)], used_ns=50)
    verdict = with_placement(_QUIET, moved, SECOND_NS)
    assert (verdict.outcome, [each.kind for each in verdict.reasons]) == ("disturbed", [ReasonKind.NODE_CHANGED])


def test_a_quiet_repetition_whose_threads_nobody_saw_is_unknown_where_that_matters() -> None:
    assert with_placement(_QUIET, placed(used_ns=100), SECOND_NS).outcome == RunOutcome.UNKNOWN
    assert with_placement(_QUIET, placed(used_ns=100, target=frozenset({2})), SECOND_NS) == _QUIET


def test_what_was_known_and_unknown_before_stays_so() -> None:
    before = RepetitionVerdict(RunOutcome.UNKNOWN, unknowns=("steal",))
    after = with_placement(before, placed(used_ns=100, target=frozenset({2})), SECOND_NS)
    assert after == before


def test_where_a_trace_tells_no_look_is_needed() -> None:
    unseen = placed(used_ns=100)
    assert why_placement_unknown(unseen) is not None
    assert why_placement_unknown(replace(unseen, traced_share=1.0)) is None
