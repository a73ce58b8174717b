"""What is usual is known from five entries on, and is as wide as they differ, or as is asked."""

from __future__ import annotations

import pytest

from noisewatch.model.history.usual import usual_of


def test_four_entries_tell_nothing() -> None:
    assert usual_of([0.0] * 4, 0.01) is None


def test_entries_that_are_alike_leave_the_least_change() -> None:
    usual = usual_of([1.0] * 5, 0.01)
    assert usual is not None
    assert (usual.low, usual.middle, usual.high) == pytest.approx((0.99, 1.0, 1.01))


def test_more_entries_of_the_same_spread_narrow_it() -> None:
    few, many = usual_of([0.0, 0.1] * 3, 0.01), usual_of([0.0, 0.1] * 30, 0.01)
    assert few is not None
    assert many is not None
    assert few.high - few.low > many.high - many.low > 0.4
