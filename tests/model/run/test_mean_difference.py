"""The difference of two commands compared with least squares, and its interval with series of known differences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noisewatch.model.distributions import detection_factor, t_quantile
from noisewatch.model.run.mean_difference import RunPair, difference_of, draw_order
from tests.model.run.noises import Noise, all_at_once, drifting, normal, pair_runs, pairs_of, periodic

_PAIRS = st.lists(st.builds(RunPair, st.floats(0.5, 2), st.floats(0.5, 2), st.booleans()), min_size=3, max_size=40)


@given(_PAIRS)
def test_interval_matches_least_squares(pairs: list[RunPair]) -> None:
    """The regression of b - ratio · a on a constant and the order yields the constant 0 and the same error."""
    result = difference_of(pairs)
    assume(result.interval is not None)
    assert result.interval is not None
    turns = np.array([1.0 if pair.is_a_first else -1.0 for pair in pairs])
    design = np.column_stack([np.ones(len(pairs)), turns])
    inverse = np.linalg.inv(design.T @ design)
    mean_a = (inverse @ design.T @ np.array([pair.a_s for pair in pairs]))[0]
    rests = np.array([pair.b_s - (1 + result.share) * pair.a_s for pair in pairs])
    fitted = inverse @ design.T @ rests
    error = math.sqrt(float(((rests - design @ fitted) ** 2).sum()) / (len(pairs) - 2) * inverse[0, 0]) / mean_a
    half = t_quantile(0.975, len(pairs) - 2) * error
    assert fitted[0] == pytest.approx(0, abs=1e-9)
    assert result.interval == pytest.approx((result.share - half, result.share + half), rel=1e-6, abs=1e-9)


@given(_PAIRS)
def test_swapped_commands_have_the_inverse_ratio(pairs: list[RunPair]) -> None:
    other = difference_of([RunPair(pair.b_s, pair.a_s, not pair.is_a_first) for pair in pairs])
    assert 1 + other.share == pytest.approx(1 / (1 + difference_of(pairs).share))


@given(st.floats(0, 0.05), st.floats(0, 1), st.integers(2, 40), st.integers(0, 99))
def test_a_linear_drift_cancels(slope_s: float, more_s: float, pairs: int, seed: int) -> None:
    """Each command is first once or more, in any order; B takes `more_s` longer at any time."""
    order = draw_order(pairs, seed)
    drift = [1 + slope_s * at for at in range(2 * pairs)]
    is_b = [turn != is_a_first for is_a_first in order for turn in (True, False)]
    same = pair_runs(order, drift)
    more = pair_runs(order, [time + more_s * late for time, late in zip(drift, is_b, strict=True)])
    assert difference_of(same).share == pytest.approx(0, abs=1e-9)
    first, second = ([pair.a_s for pair in same if pair.is_a_first == turn] for turn in (True, False))
    mean_a = (sum(first) / len(first) + sum(second) / len(second)) / 2
    assert difference_of(more).share == pytest.approx(more_s / mean_a, abs=1e-9)


def test_drift_does_not_widen_the_interval() -> None:
    """The second run of each pair takes 0.1 s more: B in the pairs with A first, A in the others."""
    pairs = [RunPair(1, 1.11, True), RunPair(1.1, 1.01, False)] * 5
    result = difference_of(pairs)
    assert result.share == pytest.approx(2.12 / 2.1 - 1)
    assert result.interval == pytest.approx((result.share, result.share), abs=2e-3)
    assert result.second_share == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize(
    "pairs",
    [
        [RunPair(1, 2, True)],
        [RunPair(1, 2, True), RunPair(1, 2.1, False)],
        [RunPair(1, 2, True), RunPair(1, 2.1, True), RunPair(1, 1.9, True)],
    ],
)
def test_interval_of_too_few_pairs_or_one_order_is_unknown(pairs: list[RunPair]) -> None:
    result = difference_of(pairs)
    assert result.share == pytest.approx(1, abs=0.06)
    assert (result.interval, result.smallest_shown, result.second_share, result.is_shown) == (None, None, None, None)


def test_no_pairs_have_no_difference() -> None:
    with pytest.raises(ValueError, match="without pairs"):
        difference_of([])


def test_difference_of_four_pairs_matches_that_by_hand() -> None:
    """The mean of b - a is 0.2 in both orders, with residuals of ±0.1; t of two degrees of freedom is 4.303."""
    result = difference_of([RunPair(1, b, turn) for turn in (True, False) for b in (1.1, 1.3)])
    error = math.sqrt(0.04 / 2 * (1 / 2 + 1 / 2)) / 2
    assert result.interval == pytest.approx((0.2 - 4.303 * error, 0.2 + 4.303 * error), abs=1e-4)
    most_error = error * math.sqrt(2 / 0.21072)  # the χ² of two degrees of freedom is less in 1 of 10 cases
    assert result.smallest_shown == pytest.approx((4.303 + 1.061) * most_error, abs=1e-3)
    assert result.is_shown is False


@given(st.integers(2, 60), st.integers(0, 1_000))
def test_each_command_is_first_in_half_of_the_pairs(pairs: int, seed: int) -> None:
    order = draw_order(pairs, seed)
    assert len(order) == pairs
    assert sum(order) == (pairs + 1) // 2
    assert order == draw_order(pairs, seed)


def test_seed_determines_the_order() -> None:
    assert len({draw_order(20, seed) for seed in range(50)}) == 50


_SERIES = 1_000


@pytest.mark.parametrize("noise", [normal, drifting, all_at_once, periodic(4)])
def test_false_difference_is_seldom_shown(noise: Noise) -> None:
    shown = [difference_of(pairs).is_shown for pairs in _series_of(noise, 15)]
    assert sum(filter(None, shown)) <= 0.07 * _SERIES


def test_interval_contains_the_difference_in_95_of_100_series() -> None:
    """B takes half as long again, so that the error of A's mean counts as well."""
    covered = [
        interval.low <= 0.5 <= interval.high
        for pairs in _series_of(normal, 10, 0.5)
        if (interval := difference_of(pairs).interval) is not None
    ]
    assert len(covered) == _SERIES
    assert 0.93 * _SERIES <= sum(covered) <= 0.97 * _SERIES


@pytest.mark.parametrize("noise", [normal, drifting, all_at_once, periodic(4)])
def test_difference_of_twice_the_smallest_shown_is_detected(noise: Noise) -> None:
    """Pairs of a command with itself yield the smallest difference; twice as much is then looked for in other pairs."""
    rng = np.random.default_rng(5)
    detected = 0
    for _ in range(50):
        stated = difference_of(pairs_of(rng, noise, 30)).smallest_shown
        assert stated is not None
        interval = difference_of(pairs_of(rng, noise, 30, 2 * stated)).interval
        assert interval is not None
        detected += interval.low > 0
    assert detected >= 40


def test_smallest_difference_shown_by_four_of_five_series_is_stated_by_nine_of_ten() -> None:
    """The noise is known: the standard deviation of each run is 1 %."""
    smallest = detection_factor(28) * 0.01 * math.sqrt(2 / 30)
    shown = [(difference_of(pairs).interval or (0, 0))[0] > 0 for pairs in _series_of(normal, 30, smallest)]
    assert 0.75 * _SERIES <= sum(shown) <= 0.85 * _SERIES
    stated = [difference_of(pairs).smallest_shown or 0 for pairs in _series_of(normal, 30)]
    assert 0.88 * _SERIES <= sum(share >= smallest for share in stated) <= 0.92 * _SERIES


def _series_of(noise: Noise, pairs: int, share: float = 0.0) -> Iterator[list[RunPair]]:
    rng = np.random.default_rng(4)
    return (pairs_of(rng, noise, pairs, share) for _ in range(_SERIES))
