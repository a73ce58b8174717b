"""The statistics against numpy, and against cases worked out by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import coefficient_of_variation, mad, mvalue, quantile

_NUMBERS = st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=100)


@given(_NUMBERS, st.floats(0, 1))
def test_a_quantile_is_numpys(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9)


@given(_NUMBERS)
def test_the_coefficient_of_variation_is_numpys(values: list[float]) -> None:
    wanted = float(np.std(values, ddof=1) / np.mean(values))
    assert coefficient_of_variation(values) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@given(_NUMBERS)
def test_the_median_absolute_deviation_is_numpys(values: list[float]) -> None:
    assert mad(values) == pytest.approx(
        float(np.median(np.abs(np.array(values) - np.median(values)))), rel=1e-9, abs=1e-12
    )


def test_of_nothing_nothing_is_known() -> None:
    assert (quantile([], 0.5), mad([]), coefficient_of_variation([]), mvalue([])) == (None, None, None, None)


def test_one_value_is_its_own_quantile_and_has_no_variation() -> None:
    assert [quantile([7.0], share) for share in (0, 0.5, 1)] == [7.0, 7.0, 7.0]
    assert (mad([7.0]), coefficient_of_variation([7.0])) == (0.0, None)


def test_two_values_by_hand() -> None:
    assert (quantile([1.0, 3.0], 0.25), mad([1.0, 3.0])) == (1.5, 1.0)
    assert coefficient_of_variation([1.0, 3.0]) == pytest.approx(2**0.5 / 2)


def test_equal_values_do_not_vary() -> None:
    values = [4.0] * 50
    assert (quantile(values, 0.99), mad(values), coefficient_of_variation(values), mvalue(values)) == (4, 0, 0, 2)


def test_a_mean_of_zero_has_no_relative_deviation() -> None:
    assert coefficient_of_variation([-1.0, 1.0]) is None


@pytest.mark.parametrize("seed", range(20))
def test_one_hump_is_two_and_two_humps_are_more_than_three(seed: int) -> None:
    rng = random.Random(seed)
    one = [rng.gauss(100, 3) for _ in range(1_000)]
    two = [rng.gauss(100 + 30 * (number % 2), 3) for number in range(1_000)]
    assert 2 <= (mvalue(one) or 0) < 2.8
    assert (mvalue(two) or 0) > 3.2


def test_too_few_values_have_no_humps() -> None:
    assert mvalue([1.0, 2.0] * 15) is None
