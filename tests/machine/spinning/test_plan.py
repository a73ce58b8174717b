"""Who measures when, so that nobody measures himself."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.machine.spinning.calibration.buffer import (
    COMMAND,
    GAPS,
    MEMORY,
    NATIVE_WORK,
    START,
    WORK,
    Slot,
    Slots,
    plan_slots,
)

_S = 1_000_000_000
_WORKING = {START, WORK, NATIVE_WORK, MEMORY, COMMAND}


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


@given(_machines(), st.integers(_S // 2, 20 * _S), st.booleans(), st.booleans())
def test_siblings_never_spin_together_and_neighbours_in_a_cache_never_work_together(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]],
    duration_ns: int,
    has_native: bool,
    has_command: bool,
) -> None:
    cpus, siblings, caches = machine
    slots = plan_slots(cpus, siblings, caches, duration_ns, has_native, has_command)
    pairs = list(combinations(sorted(cpus), 2))
    assert not any(
        _overlap(slots[one], slots[other], {GAPS} | _WORKING) for one, other in pairs if other in siblings[one]
    )
    assert not any(_overlap(slots[one], slots[other], _WORKING) for one, other in pairs if other in caches[one])


@given(_machines(), st.integers(_S // 2, 20 * _S), st.booleans())
def test_all_of_it_is_within_the_time_and_in_order(
    machine: tuple[list[int], dict[int, frozenset[int]], dict[int, frozenset[int]]], duration_ns: int, native: bool
) -> None:
    slots = plan_slots(*machine, duration_ns, native)
    edges = [[edge for _, begin, end in each for edge in (begin, end)] for each in slots.values()]
    assert all(each == sorted(each) and each[0] >= 0 and each[-1] <= duration_ns for each in edges)


def _kinds(slots: Slots) -> set[str]:
    return {kind for each in slots.values() for kind, _, _ in each}


def test_each_kind_comes_up_even_in_the_shortest_calibration() -> None:
    assert _kinds(plan_slots([1], {}, {}, _S // 2, True)) == {GAPS, START, WORK, NATIVE_WORK, MEMORY}
    assert _kinds(plan_slots([1], {}, {}, _S // 2, False)) == {GAPS, START, WORK, MEMORY}
    assert _kinds(plan_slots([1], {}, {}, _S, True, True)) == {GAPS, COMMAND}


def test_cpus_that_share_nothing_look_for_gaps_and_work_at_the_same_time() -> None:
    slots = plan_slots([1, 2], {}, {}, 5 * _S, True)
    assert slots[1] == slots[2]
    assert sum(end - begin for kind, begin, end in slots[1] if kind == GAPS) == 5 * _S // 4
