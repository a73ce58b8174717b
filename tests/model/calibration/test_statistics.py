"""Statistics compared with numpy and with cases worked out by hand; mergeable histograms."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import (
    Histogram,
    bucket_of,
    coefficient_of_variation,
    lower_edge,
    mad,
    mvalue,
    quantile,
)

_NUMBERS = st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=100)


@given(_NUMBERS, st.floats(0, 1))
def test_quantile_matches_numpy(values: list[float], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9)


@given(_NUMBERS)
def test_coefficient_of_variation_matches_numpy(values: list[float]) -> None:
    expected = float(np.std(values, ddof=1) / np.mean(values))
    assert coefficient_of_variation(values) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(_NUMBERS)
def test_median_absolute_deviation_matches_numpy(values: list[float]) -> None:
    assert mad(values) == pytest.approx(
        float(np.median(np.abs(np.array(values) - np.median(values)))), rel=1e-9, abs=1e-12
    )


def test_statistics_of_no_values_are_unknown() -> None:
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
def test_mvalue_is_two_for_one_mode_and_above_three_for_two(seed: int) -> None:
    rng = random.Random(seed)
    one = [rng.gauss(100, 3) for _ in range(1_000)]
    two = [rng.gauss(100 + 30 * (number % 2), 3) for number in range(1_000)]
    assert 2 <= (mvalue(one) or 0) < 2.8
    assert (mvalue(two) or 0) > 3.2


def test_mvalue_of_too_few_values_is_unknown() -> None:
    assert mvalue([1.0, 2.0] * 15) is None


_VALUES = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=200)


@given(st.integers(0, 1 << 50))
def test_bucket_contains_its_value_and_is_at_most_a_sixteenth_wide(value: int) -> None:
    low, next_low = lower_edge(bucket_of(value)), lower_edge(bucket_of(value) + 1)
    assert low <= value < next_low
    assert next_low - low <= max(low / 16, 1)


@given(_VALUES, _VALUES)
def test_merged_histograms_equal_the_histogram_of_all_values(one: list[int], other: list[int]) -> None:
    assert Histogram.of(one).merge(Histogram.of(other)) == Histogram.of(one + other)


@given(_VALUES, st.floats(0, 1))
def test_quantile_bounds_contain_the_value_of_that_rank(values: list[int], share: float) -> None:
    bounds = Histogram.of(values).quantile_bounds(share)
    assert bounds is not None
    rank = max(-int(-share * len(values) // 1), 1)
    assert bounds[0] <= sorted(values)[rank - 1] <= bounds[1]


@given(_VALUES)
def test_edges_and_counts_locate_each_value(values: list[int]) -> None:
    edges, counts = Histogram.of(values).edges_and_counts()
    assert len(edges) == len(counts) + 1
    assert counts == [sum(low <= value < high for value in values) for low, high in pairwise(edges)]


def test_empty_histogram_has_no_quantile_and_no_edges() -> None:
    assert Histogram().count == 0
    assert Histogram().quantile_bounds(0.5) is None
    assert Histogram().edges_and_counts() == ([], [])


def test_each_value_below_32_has_its_own_bucket() -> None:
    assert [bucket_of(value) for value in range(33)] == list(range(33))
    assert (lower_edge(33), bucket_of(33), bucket_of(34)) == (34, 32, 33)
