"""Figures of a machine that are out of line with machines of the same kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.history.figures import Figure
from noisewatch.model.outliers import LEAST_MACHINES, find_outliers

_SPREAD = [1.0, 1.01, 0.99, 1.02, 0.98, 1.015, 0.985, 1.005]


def _outliers(figure: Figure, values: list[float], kind: object = "one") -> list[str]:
    names = [f"m{number}" for number in range(len(values))]
    outliers = find_outliers(
        dict.fromkeys(names, kind), {name: {figure: value} for name, value in zip(names, values, strict=True)}
    )
    return sorted(outliers)


@pytest.mark.parametrize("value", [1.2, 0.8])
def test_slower_or_faster_machine_is_out_of_line(value: float) -> None:
    assert _outliers(Figure.LATENCY, [*_SPREAD, value]) == ["m8"]


def test_machine_within_the_spread_of_the_others_is_in_line() -> None:
    assert _outliers(Figure.LATENCY, [*_SPREAD, 1.03]) == []


def test_more_noise_is_out_of_line_and_less_noise_is_not() -> None:
    noises = [value * 0.01 for value in _SPREAD]
    assert _outliers(Figure.NOISE_100MS, [*noises, 0.05]) == ["m8"]
    assert _outliers(Figure.NOISE_100MS, [*noises, 0.001]) == []


def test_several_outliers_do_not_hide_each_other() -> None:
    assert _outliers(Figure.LATENCY, [*_SPREAD, 2.0, 2.1, 3.0]) == ["m10", "m8", "m9"]


def test_small_difference_from_equal_machines_is_in_line() -> None:
    assert _outliers(Figure.CLOCK, [3e6] * 9 + [3.01e6]) == []
    assert _outliers(Figure.CLOCK, [3e6] * 9 + [3.1e6]) == ["m9"]


def test_fewer_machines_than_the_least_are_not_compared() -> None:
    few = [1.0] * (LEAST_MACHINES - 2)
    assert _outliers(Figure.LATENCY, [*few, 2.0]) == []
    assert _outliers(Figure.LATENCY, [*few, 1.0, 2.0]) != []


def test_machines_of_unknown_kind_are_not_compared() -> None:
    assert _outliers(Figure.LATENCY, [*_SPREAD, 2.0], kind=None) == []


def test_machines_of_two_kinds_are_not_compared_with_each_other() -> None:
    names = [f"m{number}" for number in range(16)]
    kinds = {name: number % 2 for number, name in enumerate(names)}
    figures = {name: {Figure.LATENCY: 1.0 + kinds[name]} for name in names}
    assert find_outliers(kinds, figures) == {}


def test_outlier_has_its_value_and_the_median_and_count_of_machines() -> None:
    names = [f"m{number}" for number in range(9)]
    figures = {name: {Figure.LATENCY: 1.0} for name in names} | {"m8": {Figure.LATENCY: 2.0}}
    (outlier,) = find_outliers(dict.fromkeys(names, "one"), figures)["m8"]
    assert (outlier.figure, outlier.value, outlier.median, outlier.machines) == (Figure.LATENCY, 2.0, 1.0, 9)


@given(st.lists(st.floats(0, 1e15), max_size=40))
def test_at_most_half_of_the_machines_are_out_of_line(values: list[float]) -> None:
    assert len(_outliers(Figure.LATENCY, values)) <= len(values) / 2
