"""A repetition and the windows between looks at the machine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.written.repetitions import MS, ran, repeat


def test_window_is_divided_into_time_within_and_outside_the_repetition() -> None:
    moments = [ran(seconds=at / 10) for at in range(6)]
    repetition = repeat(*moments, seconds=0.1, looks=(0, 3, 5), marks=(1, 4))
    inside = [(repetition.within(window) // MS, repetition.outside(window) // MS) for window in repetition.windows]
    assert inside == [(200, 100), (100, 100)]


def test_window_next_to_the_repetition_is_outside() -> None:
    repetition = repeat(*[ran(seconds=at / 10) for at in range(3)], seconds=0.1, marks=(0, 1))
    (window,) = repetition.windows
    early = replace(repetition, began_ns=repetition.began_ns - 500 * MS, ended_ns=repetition.began_ns - 100 * MS)
    assert (early.within(window), early.outside(window)) == (0, 200 * MS)


@pytest.mark.parametrize("begin_later_ms", [0, 30])
def test_slack_is_the_time_that_the_counters_cover_outside_the_repetition(begin_later_ms: int) -> None:
    repetition = repeat(ran(), ran(seconds=0.1), seconds=0.1)
    later = replace(repetition, began_ns=repetition.began_ns + begin_later_ms * MS)
    assert later.slack_ns == begin_later_ms * MS


def test_share_of_a_repetition_is_one_at_most() -> None:
    repetition = repeat(ran(), ran(seconds=0.1), seconds=0.1)
    assert [repetition.share_of(ms * MS) for ms in (25, 100, 300)] == [0.25, 1.0, 1.0]
    assert replace(repetition, ended_ns=repetition.began_ns).share_of(5) == 1.0
