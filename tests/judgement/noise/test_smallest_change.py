"""The smallest difference of two means that shows."""

from __future__ import annotations

import math

import pytest

from noisewatch.judgement.noise.smallest_change import smallest_change


def test_the_smallest_change_of_25_samples_is_four_fifths_of_their_deviation() -> None:
    """d = 0.809 for n = 25, two-sided 5%, power 0.8: the tables of Cohen 1988 give 0.80 for n = 25 or 26."""
    assert smallest_change(0.01, 25) == pytest.approx(0.00809, abs=2e-5)


def test_fewer_than_two_samples_show_nothing() -> None:
    assert smallest_change(0.01, 1) == math.inf
