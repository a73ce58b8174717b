"""Frozen time of a command's group, from looks and from the kernel's counter."""

from __future__ import annotations

from noisewatch.kernel.cgroup.freezing import FreezeLook, GroupFreeze
from noisewatch.model.run.freezing import NOT_FROZEN, FreezeTally, Freezing

MS = 1_000_000
_LENGTH_NS = 1000 * MS


def _tally(*looks: FreezeLook) -> Freezing:
    first, *rest = looks
    tally = FreezeTally(first)
    for look in rest:
        tally.add(look)
    return tally.freezing(_LENGTH_NS)


def _state_look(ms: int, is_frozen: bool, folder: str = "/a") -> FreezeLook:
    return FreezeLook(ms * MS, (GroupFreeze(folder, is_frozen),))


def _count_look(ms: int, frozen_ms: int, folder: str = "/a") -> FreezeLook:
    return FreezeLook(ms * MS, (GroupFreeze(folder, False, frozen_ms * MS),))


def test_looks_at_a_running_group_are_not_frozen() -> None:
    assert _tally(_state_look(0, False), _state_look(100, False)) == NOT_FROZEN
    assert _tally(_count_look(0, 70), _count_look(100, 70)) == NOT_FROZEN


def test_look_at_a_frozen_group_counts_half_of_the_time_on_both_sides() -> None:
    freezing = _tally(_state_look(0, False), _state_look(100, True), _state_look(200, True), _state_look(300, False))
    assert freezing == Freezing(ns=200 * MS, folder="/a", is_estimate=True)


def test_time_after_the_last_look_at_a_frozen_group_counts_half() -> None:
    freezing = _tally(_state_look(0, False), _state_look(100, True), FreezeLook(300 * MS))
    assert (freezing.ns, freezing.is_estimate) == (150 * MS, True)


def test_counter_includes_freezes_between_looks() -> None:
    assert _tally(_count_look(0, 70), _count_look(100, 75)) == Freezing(ns=5 * MS, folder="/a")


def test_frozen_time_is_at_most_the_length_of_the_repetition() -> None:
    assert _tally(_count_look(0, 0), _count_look(1100, 1050)).ns == _LENGTH_NS


def test_new_group_of_the_same_name_counts_from_zero() -> None:
    assert _tally(_count_look(0, 70), _count_look(100, 5)).ns == 5 * MS


def test_freezes_of_two_groups_are_summed_and_the_longer_one_is_named() -> None:
    both = FreezeLook(200 * MS, (GroupFreeze("/a", False, 30 * MS), GroupFreeze("/b", False, 0)))
    assert _tally(_count_look(0, 0), both, _count_look(300, 40, "/b")) == Freezing(ns=70 * MS, folder="/b")


def test_group_that_is_entered_frozen_counts_from_halfway_on() -> None:
    freezing = _tally(FreezeLook(0), _state_look(100, True), _state_look(200, False))
    assert freezing == Freezing(ns=100 * MS, folder="/a", is_estimate=True, blind_ns=100 * MS)


def test_time_before_the_first_look_at_a_group_is_blind_unless_the_group_has_a_counter() -> None:
    assert _tally(FreezeLook(0), _state_look(100, False)) == Freezing(blind_ns=100 * MS)
    assert _tally(FreezeLook(0), _count_look(100, 0)) == NOT_FROZEN


def _freezing_with(*changes: tuple[int, bool], is_certain: bool = True) -> Freezing:
    """Return the freezing of a group with these changes between two looks at which it is not frozen."""
    tally = FreezeTally(_state_look(0, False))
    for ms, is_frozen in changes:
        tally.change(GroupFreeze("/a", is_frozen), ms * MS, is_certain)
    tally.add(_state_look(100, False))
    return tally.freezing(_LENGTH_NS)


def test_freeze_between_two_looks_lasts_from_one_write_to_the_other() -> None:
    assert _freezing_with((20, True), (50, False)) == Freezing(ns=30 * MS, folder="/a")


def test_truncated_file_is_not_a_change() -> None:
    """A shell truncates the file before it writes."""
    assert _freezing_with((19, False), (20, True), (49, True), (50, False)) == Freezing(ns=30 * MS, folder="/a")


def test_write_without_a_freeze_is_unknown_if_it_is_certain() -> None:
    assert "/a was written to" in (_freezing_with((20, False)).unknown or "")
    assert _freezing_with((20, False), is_certain=False) == NOT_FROZEN


def test_freeze_that_was_counted_before_the_group_was_entered_is_unknown() -> None:
    freezing = _tally(FreezeLook(0), _count_look(100, 70), _count_look(200, 70))
    assert (freezing.ns, "/a: it was already frozen" in (freezing.unknown or "")) == (0, True)
    assert _tally(FreezeLook(0), _count_look(100, 0), _count_look(200, 0)) == NOT_FROZEN


def test_failed_look_is_reported_with_the_frozen_time_of_others() -> None:
    freezing = _tally(_count_look(0, 0), FreezeLook(100 * MS, reason="denied"), _count_look(200, 9))
    assert freezing == Freezing(ns=9 * MS, folder="/a", unknown="denied")
