"""Schedules of calibrators that do not measure one another."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewatch.machine.spinning.calibration.buffer import (
    COMMAND,
    CYCLES,
    FETCH,
    GAPS,
    INTERPRETER,
    LATENCY,
    SPINS,
    STARTED,
    THROUGHPUT,
    WORKING,
    Slot,
    Slots,
    capacities_for,
    plan_slots,
    round_ends_of,
    starts_of,
)

_S = 1_000_000_000
_WORKING = {*WORKING, COMMAND}


def _overlap(one: list[Slot], other: list[Slot], kinds: set[str]) -> bool:
    return any(a[0] in kinds and b[0] in kinds and a[1] < b[2] and b[1] < a[2] for a in one for b in other)


@st.composite
def _machines(draw: st.DrawFn) -> tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]]:
    """CPUs in cores of one or two, and in caches of some cores."""
    core_count, threads, cores_per_cache = draw(st.integers(1, 8)), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    cpus = list(range(core_count * threads))
    core_of = {cpu: cpu % core_count for cpu in cpus}
    siblings = {cpu: frozenset(each for each in cpus if core_of[each] == core_of[cpu]) for cpu in cpus}
    caches = {
        cpu: frozenset(each for each in cpus if core_of[each] // cores_per_cache == core_of[cpu] // cores_per_cache)
        for cpu in cpus
    }
    chosen = draw(st.lists(st.sampled_from(cpus), min_size=1, unique=True))
    return chosen, siblings, caches


@given(_machines(), st.integers(_S // 2, 20 * _S), st.booleans())
def test_siblings_never_spin_together_and_neighbours_in_a_cache_never_work_together(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]],
    duration_ns: int,
    has_command: bool,
) -> None:
    cpus, siblings, caches = machine
    slots = plan_slots(cpus, siblings, caches, duration_ns, has_command)
    pairs = list(combinations(sorted(cpus), 2))
    assert not any(
        _overlap(slots[one], slots[other], {GAPS} | _WORKING) for one, other in pairs if other in siblings[one]
    )
    assert not any(_overlap(slots[one], slots[other], _WORKING) for one, other in pairs if other in caches[one])


@given(_machines(), st.integers(_S // 2, 20 * _S))
def test_all_of_it_is_within_the_time_and_in_order(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]], duration_ns: int
) -> None:
    slots = plan_slots(*machine, duration_ns)
    edges = [[edge for _, begin, end in each for edge in (begin, end)] for each in slots.values()]
    assert all(each == sorted(each) and each[0] >= 0 and each[-1] <= duration_ns for each in edges)


def _kinds(slots: Slots) -> set[str]:
    return {kind for each in slots.values() for kind, _, _ in each}


def test_each_kind_comes_up_even_in_the_shortest_calibration() -> None:
    assert _kinds(plan_slots([1], {}, {}, _S // 2)) == {GAPS, *FETCH, *WORKING}
    assert _kinds(plan_slots([1], {}, {}, _S, True)) == {GAPS, COMMAND}


def test_kinds_that_need_the_core_alone_come_up_every_few_milliseconds() -> None:
    """What shares the core is then known of each of them at any time."""
    slots = plan_slots([1], {}, {}, 3 * _S)[1]
    for kind in (INTERPRETER, THROUGHPUT, LATENCY):
        begins = [begin for each, begin, _ in slots if each == kind]
        rounds = [second - first for first, second in pairwise(begins)]
        assert sorted(rounds)[len(rounds) // 2] < 20_000_000


def test_every_other_turn_has_one_start_of_all_that_comes_just_after_the_rest() -> None:
    slots = plan_slots([1, 2], {}, {1: frozenset({1, 2}), 2: frozenset({1, 2})}, 4 * _S)
    for each in slots.values():
        starts = starts_of(each)
        assert len(starts) == sum(kind == GAPS for kind, _, _ in each) / 2
        assert sum(end - begin for begin, end in starts) == sum(
            end - begin for kind, begin, end in each if kind in STARTED
        )


def test_cpus_that_share_nothing_look_for_gaps_and_work_at_the_same_time() -> None:
    slots = plan_slots([1, 2], {}, {}, 5 * _S)
    assert slots[1] == slots[2]
    assert sum(end - begin for kind, begin, end in slots[1] if kind == GAPS) == pytest.approx(5 * _S / 4)


@given(_machines(), st.integers(_S // 2, 20 * _S))
def test_at_the_end_of_a_round_all_cpus_have_had_as_many_turns(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]], duration_ns: int
) -> None:
    slots = plan_slots(*machine, duration_ns)
    for number, end_ns in enumerate(round_ends_of(slots), start=1):
        before = [[slot for slot in each if slot[1] < end_ns] for each in slots.values()]
        assert all(slot[2] <= end_ns for each in before for slot in each)
        assert all([kind for kind, *_ in each].count(GAPS) == number for each in before)
        assert all([kind for kind, *_ in each].count(LATENCY) > 0 for each in before)


@given(st.integers(1, 900))
@settings(max_examples=15)
def test_a_long_calibration_has_room_for_all_chains_and_spins(seconds: int) -> None:
    """Slots of work become longer instead of more numerous."""
    slots = plan_slots([1], {}, {}, seconds * _S)[1]
    ns_by_kind: dict[str, int] = {}
    for kind, begin, end in slots[:3_000]:
        ns_by_kind[kind] = ns_by_kind.get(kind, 0) + end - begin
    room = capacities_for(ns_by_kind)
    counted = [kind for kind, *_ in slots[:3_000]]
    assert room[CYCLES] >= counted.count(INTERPRETER) + counted.count("start")
    assert room[SPINS] >= counted.count(GAPS)
