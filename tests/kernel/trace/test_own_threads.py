"""Which threads of a trace are a command's own."""

from __future__ import annotations

from noisewatch.kernel.trace.own_threads import OwnThreads
from noisewatch.kernel.trace.sends import Birth


def _own(*births: tuple[int, int, int]) -> OwnThreads:
    own = OwnThreads(100)
    own.take_in([Birth(*birth) for birth in births])
    return own


def test_what_the_command_starts_and_what_that_starts_is_its_own() -> None:
    own = _own((1, 100, 7), (5, 101, 100), (6, 102, 101), (7, 200, 7), (8, 201, 200))
    assert [own.had(tid, 10) for tid in (100, 101, 102, 200, 201, 7)] == [True, True, True, False, False, False]
    assert own.has_begun


def test_a_command_whose_birth_was_not_seen_has_not_begun() -> None:
    assert not _own((5, 101, 100)).has_begun


def test_a_number_that_is_given_again_belongs_to_each_in_its_time() -> None:
    own = _own((1, 100, 7), (10, 300, 100), (20, 300, 7), (30, 300, 100))
    assert [own.had(300, at) for at in (5, 10, 15, 20, 29, 30, 40)] == [False, True, True, False, False, True, True]


def test_who_it_belongs_to_is_known_at_the_next_look_too() -> None:
    own = _own((1, 100, 7), (10, 300, 100))
    own.take_in([])
    assert own.had(300, 11)
    own.take_in([Birth(20, 300, 7)])
    assert [own.had(300, at) for at in (15, 25)] == [True, False]
    own.take_in([])
    assert not own.had(300, 30)


def test_a_child_of_a_number_that_is_a_strangers_by_now_is_the_strangers() -> None:
    own = _own((1, 100, 7), (10, 300, 100), (20, 300, 7), (25, 301, 300))
    assert not own.had(301, 30)
