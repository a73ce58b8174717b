"""Settling of the clock under load: times of one piece of work, a median for each second."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from noisewatch.kernel.calibration import CpuSpeeds
from noisewatch.model.calibration.settling import are_level, is_level, settling_of
from noisewatch.turbo import LEAST_S

_FAST, _SLOW = 10_000, 21_000
_TURBO = [_FAST] * 27 + [_SLOW] * 16


def _noisy_times(count: int, share: float, trend_share: float = 0.0) -> list[float]:
    """Return the times of `count` seconds, which vary by `share` and grow by `trend_share` from first to last."""
    chance = random.Random(7)
    return [_FAST * (1 + trend_share * at / count) * (1 + chance.gauss(0, share)) for at in range(count)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([_FAST] * 13, False),  # too few seconds
        ([_FAST] * 14, True),
        ([_FAST] * 13 + [_SLOW], False),
        ([_SLOW] * 5 + [_FAST] * 13 + [_SLOW], False),
        (_TURBO, True),
        (_TURBO[:36], False),
        (_noisy_times(14, 0.01), True),
        (_noisy_times(40, 0.01), True),
        (_noisy_times(40, 0.05), False),  # noise may hide any trend
        (_noisy_times(14, 0.0, trend_share=0.03), False),
        (_noisy_times(14, 0.002, trend_share=0.06), False),
        (_noisy_times(60, 0.012, trend_share=0.25), False),
        ([_FAST, _SLOW] * 25, False),
        ([_FAST, _FAST * 1.05] * 25, False),
    ],
)
def test_clock_is_level_without_a_trend_that_noise_could_hide(times: Sequence[float], expected: bool) -> None:
    assert is_level(times) == expected


@pytest.mark.parametrize("trend_share", [0.6, 1.2, 2.4])
def test_trend_below_noise_is_never_level(trend_share: float) -> None:
    times = _noisy_times(120, 0.012, trend_share)
    assert not any(are_level({2: times[:seconds]}) for seconds in range(LEAST_S, 121))


def test_clock_within_a_turbo_budget_is_level_for_too_short_a_time() -> None:
    assert is_level([_FAST] * 27)
    assert not are_level({2: [_FAST] * 27})
    assert are_level({2: _TURBO, 3: [_FAST] * LEAST_S})
    assert not are_level({2: _TURBO, 3: [_FAST] * 40 + [_SLOW] * 3})
    assert not are_level({})


def test_settling_reports_when_the_clock_settled_and_both_clocks() -> None:
    settling = settling_of([CpuSpeeds(2, (_FAST,) * 43, 40_000), CpuSpeeds(3, tuple(_TURBO), 40_000)])
    slowest = settling.slowest
    assert slowest is not None
    assert (settling.is_level, settling.after_s, settling.seconds) == (True, 27, 43)
    assert (slowest.cpu, slowest.first, round(slowest.last)) == (3, 4_000_000, 1_904_762)


def test_change_of_speed_is_relative_where_the_clock_is_not_measured() -> None:
    slowest = settling_of([CpuSpeeds(3, tuple(_TURBO), None)]).slowest
    assert slowest is not None
    assert (slowest.is_khz, slowest.first, round(slowest.last, 3)) == (False, 1.0, 0.476)


def test_clock_that_was_level_too_briefly_has_not_settled() -> None:
    settling = settling_of([CpuSpeeds(2, (_FAST,) * 30, None)])
    assert (settling.is_level, settling.after_s) == (False, None)


@pytest.mark.parametrize(
    "speeds", [[], [CpuSpeeds(2, (), None)], [CpuSpeeds(2, (_FAST,) * 50, None), CpuSpeeds(3, (), 9)]]
)
def test_settling_is_unknown_if_a_cpu_was_not_measured(speeds: list[CpuSpeeds]) -> None:
    settling = settling_of(speeds)
    assert (settling.is_level, settling.seconds, settling.slowest) == (False, 0, None)
