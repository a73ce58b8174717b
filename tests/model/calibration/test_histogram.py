"""Durations in buckets: mergeable, and true to a sixteenth."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import Histogram, bucket_of, lower_edge

_VALUES = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=200)


@given(st.integers(0, 1 << 50))
def test_a_value_lies_in_its_bucket_which_is_at_most_a_sixteenth_wide(value: int) -> None:
    low, next_low = lower_edge(bucket_of(value)), lower_edge(bucket_of(value) + 1)
    assert low <= value < next_low
    assert next_low - low <= max(low / 16, 1)


@given(_VALUES, _VALUES)
def test_merged_is_as_if_all_had_been_counted_in_one(one: list[int], other: list[int]) -> None:
    assert Histogram.of(one).merged(Histogram.of(other)) == Histogram.of(one + other)


@given(_VALUES, st.floats(0, 1))
def test_the_bounds_of_a_quantile_hold_the_value_of_that_rank(values: list[int], share: float) -> None:
    bounds = Histogram.of(values).quantile_bounds(share)
    assert bounds is not None
    rank = max(-int(-share * len(values) // 1), 1)
    assert bounds[0] <= sorted(values)[rank - 1] <= bounds[1]


@given(_VALUES)
def test_edges_and_counts_say_where_each_value_lies(values: list[int]) -> None:
    edges, counts = Histogram.of(values).edges_and_counts()
    assert len(edges) == len(counts) + 1
    assert counts == [sum(low <= value < high for value in values) for low, high in pairwise(edges)]


def test_of_no_values_there_is_no_quantile_and_no_edge() -> None:
    assert Histogram().count == 0
    assert Histogram().quantile_bounds(0.5) is None
    assert Histogram().edges_and_counts() == ([], [])


def test_below_32_each_value_has_a_bucket_of_its_own() -> None:
    assert [bucket_of(value) for value in range(33)] == list(range(33))
    assert (lower_edge(33), bucket_of(33), bucket_of(34)) == (34, 32, 33)
