"""For how long a command's group was frozen: what looks and the kernel's count come to."""

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


def _seen(ms: int, is_frozen: bool, folder: str = "/a") -> FreezeLook:
    return FreezeLook(ms * MS, (GroupFreeze(folder, is_frozen),))


def _counted(ms: int, frozen_ms: int, folder: str = "/a") -> FreezeLook:
    return FreezeLook(ms * MS, (GroupFreeze(folder, False, frozen_ms * MS),))


def test_looks_that_find_nothing_frozen() -> None:
    assert _tally(_seen(0, False), _seen(100, False)) == NOT_FROZEN
    assert _tally(_counted(0, 70), _counted(100, 70)) == NOT_FROZEN


def test_each_look_that_finds_it_frozen_stands_for_half_of_the_time_on_both_sides() -> None:
    found = _tally(_seen(0, False), _seen(100, True), _seen(200, True), _seen(300, False))
    assert found == Freezing(ns=200 * MS, folder="/a", is_estimate=True)


def test_of_one_that_ends_frozen_the_time_behind_the_last_look_counts_half() -> None:
    found = _tally(_seen(0, False), _seen(100, True), FreezeLook(300 * MS))
    assert (found.ns, found.is_estimate) == (150 * MS, True)


def test_a_count_tells_also_what_no_look_has_seen() -> None:
    assert _tally(_counted(0, 70), _counted(100, 75)) == Freezing(ns=5 * MS, folder="/a")


def test_no_more_is_told_than_the_repetition_took() -> None:
    assert _tally(_counted(0, 0), _counted(1100, 1050)).ns == _LENGTH_NS


def test_another_group_by_the_same_name_counts_from_zero() -> None:
    assert _tally(_counted(0, 70), _counted(100, 5)).ns == 5 * MS


def test_freezes_of_two_groups_add_up_and_the_longer_one_is_named() -> None:
    both = FreezeLook(200 * MS, (GroupFreeze("/a", False, 30 * MS), GroupFreeze("/b", False, 0)))
    assert _tally(_counted(0, 0), both, _counted(300, 40, "/b")) == Freezing(ns=70 * MS, folder="/b")


def test_a_group_that_it_enters_is_frozen_from_halfway_on() -> None:
    found = _tally(FreezeLook(0), _seen(100, True), _seen(200, False))
    assert found == Freezing(ns=100 * MS, folder="/a", is_estimate=True, blind_ns=100 * MS)


def test_of_a_group_that_it_enters_the_time_before_the_first_look_is_blind_unless_it_counts() -> None:
    assert _tally(FreezeLook(0), _seen(100, False)) == Freezing(blind_ns=100 * MS)
    assert _tally(FreezeLook(0), _counted(100, 0)) == NOT_FROZEN


def _changed(*changes: tuple[int, bool], is_certain: bool = True) -> Freezing:
    """Return the freezing of a group that is not frozen at the looks before and after these changes."""
    tally = FreezeTally(_seen(0, False))
    for ms, is_frozen in changes:
        tally.change(GroupFreeze("/a", is_frozen), ms * MS, is_certain)
    tally.add(_seen(100, False))
    return tally.freezing(_LENGTH_NS)


def test_a_freeze_between_two_looks_is_as_long_as_from_one_write_to_the_other() -> None:
    assert _changed((20, True), (50, False)) == Freezing(ns=30 * MS, folder="/a")


def test_a_file_that_is_cut_before_it_is_written_changes_nothing() -> None:
    """A shell truncates the file before it writes."""
    assert _changed((19, False), (20, True), (49, True), (50, False)) == Freezing(ns=30 * MS, folder="/a")


def test_a_write_that_froze_nothing_that_was_seen_is_unknown_where_it_stands_for_nothing_else() -> None:
    assert "/a was written to" in (_changed((20, False)).unknown or "")
    assert _changed((20, False), is_certain=False) == NOT_FROZEN


def test_what_a_group_counted_before_it_was_entered_is_unknown_and_not_blamed() -> None:
    found = _tally(FreezeLook(0), _counted(100, 70), _counted(200, 70))
    assert (found.ns, "/a: it was already frozen" in (found.unknown or "")) == (0, True)
    assert _tally(FreezeLook(0), _counted(100, 0), _counted(200, 0)) == NOT_FROZEN


def test_a_look_that_failed_is_kept_beside_what_others_saw() -> None:
    found = _tally(_counted(0, 0), FreezeLook(100 * MS, reason="denied"), _counted(200, 9))
    assert found == Freezing(ns=9 * MS, folder="/a", unknown="denied")
