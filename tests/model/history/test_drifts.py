"""Drifting figures are reported. Noise, entries that resemble each other and a single move are not drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noisewatch.model.history.shifts import drift_of
from tests.model.history.noises import gaussian, resembling, with_outliers

_LEAST = math.log(1.01)


def _drifting_entries(share: float, count: int, spread: float = 0.002, seed: int = 1) -> list[float]:
    """Return the logarithms of `count` noisy times, which grow at each step by `share` of the first time."""
    noise = gaussian(np.random.default_rng(seed), count, spread)
    values: list[float] = (np.log1p(share * np.arange(count)) + noise).tolist()
    return values


@pytest.mark.parametrize(("share", "count"), [(0.05, 10), (0.01, 20), (0.005, 40), (0.002, 60), (0.001, 200)])
@pytest.mark.parametrize("sign", [1, -1])
def test_steady_drift_is_detected(share: float, count: int, sign: int) -> None:
    drift = drift_of([sign * value for value in _drifting_entries(share, count)], _LEAST)
    assert drift is not None
    assert drift.begin == 0
    whole = math.log1p(share * (count - 1))
    assert 0.5 * whole < sign * (drift.newest - drift.first) < whole, "between medians of a few entries"


def test_late_drift_begins_where_it_started() -> None:
    drift = drift_of([*[0.0005, -0.0005] * 90, *_drifting_entries(0.004, 20)], _LEAST)
    assert drift is not None
    assert drift.begin >= 160


def test_outlier_at_the_end_does_not_hide_a_drift() -> None:
    assert drift_of([*_drifting_entries(0.005, 40), 0.0], _LEAST) is not None


def test_drift_below_the_least_change_is_ignored() -> None:
    assert drift_of(_drifting_entries(0.0001, 60, spread=0.0001), _LEAST) is None


@pytest.mark.parametrize("series", [gaussian, with_outliers, resembling(0.5)])
@pytest.mark.parametrize("spread", [0.003, 0.01])
@pytest.mark.parametrize("seed", range(5))
def test_constant_machine_has_no_drift(series: object, spread: float, seed: int) -> None:
    assert callable(series)
    values = series(np.random.default_rng(seed), 60, spread).tolist()
    assert all(drift_of(values[:count], _LEAST) is None for count in range(61))


def test_single_move_is_not_a_drift() -> None:
    values = [0.3 * (number >= 20) + wave for number, wave in enumerate([0.001, -0.001, 0.002, -0.002] * 10)]
    assert drift_of(values, _LEAST) is None
