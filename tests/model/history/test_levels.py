"""Moves of a figure are located. Noise, a single outlier and two modes are not taken for moves."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.history.shifts import Level, is_shift, levels_of, modes_of, newest_apart

_LEAST = math.log(1.01)
_values = st.lists(st.floats(-50, 50), max_size=40)


def _steady(count: int, middle: float = 0.0, spread: float = 0.003, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(middle, spread) for _ in range(count)]


def test_move_of_3_percent_is_located() -> None:
    before, after = levels_of(_steady(30) + _steady(5, math.log(1.03), seed=2), _LEAST)
    assert (before.begin, before.end, after.begin, after.end) == (0, 30, 30, 35)
    assert after.middle - before.middle == pytest.approx(math.log(1.03), abs=0.005)


def test_two_moves_make_three_levels() -> None:
    values = _steady(20) + _steady(20, 0.1, seed=2) + _steady(20, 0.05, seed=3)
    assert [level.begin for level in levels_of(values, _LEAST)] == [0, 20, 40]


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_one_level(seed: int) -> None:
    assert len(levels_of(_steady(60, seed=seed), _LEAST)) == 1


def test_change_below_the_least_one_is_not_a_move() -> None:
    values = _steady(30, spread=0.0001) + _steady(30, 0.005, spread=0.0001, seed=2)
    assert len(levels_of(values, _LEAST)) == 1
    assert len(levels_of(values, 0.004)) == 2


def test_one_or_two_outliers_are_not_a_level() -> None:
    assert len(levels_of([*_steady(30), 0.2], _LEAST)) == 1
    assert len(levels_of([*_steady(30), 0.2, 0.2], _LEAST)) == 1


@pytest.mark.parametrize("seed", range(40))
def test_noise_above_the_least_change_is_one_level(seed: int) -> None:
    assert len(levels_of(_steady(60, spread=0.02, seed=seed), _LEAST)) == 1


def test_few_entries_do_not_prove_a_move() -> None:
    values = _steady(6, spread=0.0001) + _steady(6, 0.5, spread=0.0001, seed=2)
    assert len(levels_of(values, _LEAST)) == 2
    assert len(levels_of(values[3:9], _LEAST)) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_newest_entries_are_apart_where_no_level_is_proven(count: int) -> None:
    values = _steady(5) + _steady(count, 0.7, seed=2)
    (level,) = levels_of(values, _LEAST)
    apart = newest_apart(values, level, _LEAST)
    assert apart is not None
    assert (apart.begin, apart.end) == (5, 5 + count)


def test_three_entries_are_apart_where_each_alone_might_be_chance() -> None:
    values = [0.0, 0.005, -0.005, 0.004, -0.004, 0.077, 0.081, 0.073]
    apart = [newest_apart(values[:count], Level(0, count, 0.0), _LEAST) for count in (6, 7, 8)]
    assert [level is not None for level in apart] == [False, False, True]


def test_only_the_newest_entries_of_a_long_history_count() -> None:
    (level,) = levels_of(_steady(300, 1.0) + _steady(250, seed=2), _LEAST)
    assert (level.begin, level.end) == (350, 550)


def test_no_entries_have_no_level() -> None:
    assert levels_of([], _LEAST) == ()


@given(_values)
def test_levels_are_consecutive_and_cover_all_entries(values: list[float]) -> None:
    levels = levels_of(values, 0.5)
    assert [index for level in levels for index in range(level.begin, level.end)] == list(range(len(values)))


def test_two_alternating_levels_are_modes() -> None:
    low, high = _steady(12), _steady(12, 0.3, seed=2)
    values = [value for pair in zip(low, high, strict=True) for value in pair]
    modes = modes_of(values, _LEAST)
    assert modes is not None
    assert modes.switches == 23
    assert modes.high - modes.low == pytest.approx(0.3, abs=0.01)


def test_move_is_not_a_pair_of_modes() -> None:
    assert modes_of(_steady(12) + _steady(12, 0.3, seed=2), _LEAST) is None


def test_recurring_outliers_are_not_a_second_mode() -> None:
    values = _steady(40)
    for number in (7, 19, 31):
        values[number] = 0.3
    assert modes_of(values, _LEAST) is None


def test_few_entries_on_two_levels_are_not_modes() -> None:
    assert modes_of([0.0, 0.03, 0.001, 0.031, 0.002, 0.029], _LEAST) is None


def test_noise_has_no_modes() -> None:
    assert all(modes_of(_steady(60, spread=0.02, seed=seed), _LEAST) is None for seed in range(20))


@pytest.mark.parametrize("seed", [5, 10, 15])
def test_wave_of_entries_minutes_apart_is_not_a_shift_from_entries_hours_apart(seed: int) -> None:
    rng = random.Random(seed)
    older = [rng.gauss(0, 0.007) for _ in range(120)]
    begin = rng.random() * 6.28
    newest = [0.014 * math.sin(6.28 * number / 144 + begin) + rng.gauss(0, 0.001) for number in range(40)]
    assert not is_shift(older, newest, _LEAST)
