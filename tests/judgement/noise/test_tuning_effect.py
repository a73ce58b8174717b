"""A setting is worth it only if its effect on noise or speed is larger than chance explains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from noisewatch.judgement.noise.tuning_effect import Period, TuningEffect, Worth, effect_of, pair_periods, period_of
from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples
from noisewatch.kinds import Work
from noisewatch.model.calibration.figures import CpuFigures, Spread, calibration_of
from noisewatch.operations.tuning.schedule import order_of
from tests.model.run.noises import periodic

_BLOCKS = 8
_SERIES = 200


def _effect(
    seed: int,
    noise_gain: float = 0.0,
    speed_gain: float = 0.0,
    blocks: int = _BLOCKS,
    drift: float = 0.0,
    candidates: int = 1,
) -> TuningEffect:
    """Return the effect in a series that loses about 4% of its time, with speeds that vary by 0.5%."""
    rng = np.random.default_rng(seed)
    order = list(order_of(blocks, seed))
    periods = []
    for at, is_on in enumerate(order):
        lost = float(rng.gamma(2.0, 0.01)) + 0.02 - is_on * noise_gain + at * drift
        periods.append(Period(lost, 6000 * (1 + 0.005 * float(rng.standard_normal()) + is_on * speed_gain)))
    effect = effect_of(pair_periods(order, periods), candidates)
    assert effect is not None
    return effect


def _shares(effect: Callable[[int], TuningEffect]) -> dict[Worth, float]:
    effects = [effect(seed).worth for seed in range(_SERIES)]
    return {worth: effects.count(worth) / _SERIES for worth in Worth}


def test_a_setting_without_effect_seldom_shows_a_difference() -> None:
    assert _shares(_effect)[Worth.NOT_SHOWN] > 0.92
    assert _shares(lambda seed: _effect(seed, blocks=3))[Worth.NOT_SHOWN] > 0.92


def test_many_candidates_without_effect_seldom_show_a_difference_together() -> None:
    candidates, tables = 8, 60
    worths = [_effect(seed, candidates=candidates).worth for seed in range(tables * candidates)]
    shown = sum(set(worths[at : at + candidates]) != {Worth.NOT_SHOWN} for at in range(0, len(worths), candidates))
    assert shown < 0.12 * tables


def test_drift_is_no_effect() -> None:
    assert _shares(lambda seed: _effect(seed, drift=0.001))[Worth.NOT_SHOWN] > 0.92


def test_noise_that_recurs_in_every_fourth_period_is_no_effect() -> None:
    rng = np.random.default_rng(1)
    shown = 0
    for seed in range(_SERIES):
        order = list(order_of(_BLOCKS, seed))
        lost = periodic(4)(rng, len(order)) * 0.02
        effect = effect_of(pair_periods(order, [Period(float(share), None) for share in lost]))
        assert effect is not None
        assert effect.speed is None
        shown += effect.worth != Worth.NOT_SHOWN
    assert shown < 0.05 * _SERIES


@pytest.mark.parametrize(
    ("noise_gain", "speed_gain", "worth"),
    [
        (0.04, 0.0, Worth.BETTER),
        (0.0, 0.03, Worth.BETTER),
        (-0.04, 0.0, Worth.WORSE),
        (0.04, -0.03, Worth.BOTH),
    ],
)
def test_a_real_effect_shows(noise_gain: float, speed_gain: float, worth: Worth) -> None:
    assert _shares(lambda seed: _effect(seed, noise_gain, speed_gain))[worth] > 0.85


def test_the_interval_contains_the_true_gain() -> None:
    effects = [_effect(seed, 0.01, 0.002) for seed in range(_SERIES)]
    noise = [effect.noise.interval.low <= 0.01 <= effect.noise.interval.high for effect in effects]
    speed = [effect.speed is not None and abs(effect.speed.share - 0.002) <= effect.speed.half for effect in effects]
    assert sum(noise) > 0.9 * _SERIES
    assert sum(speed) > 0.9 * _SERIES
    assert all(abs(effect.noise_off - effect.noise_on - effect.noise.share) < 1e-9 for effect in effects)


def test_too_few_pairs_have_no_effect() -> None:
    order = [False, True, True, False]
    assert effect_of(pair_periods(order, [Period(0.1, 1.0)] * 4)) is None
    assert effect_of([]) is None


def test_a_last_period_without_a_neighbour_is_left_out() -> None:
    periods = [Period(0.1, 1.0), Period(0.2, 2.0), Period(0.3, 3.0)]
    assert [(*pair,) for pair in pair_periods([True, False, False, True], periods)] == [(periods[1], periods[0], False)]


def _spread(piece_ns: float) -> Spread:
    return Spread(100, piece_ns * 10, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, pieces=10)


def _figures(lost: float | None, piece_ns: float, memory: Spread | None = None) -> CpuFigures:
    """Return the figures of a CPU with samples of work, and with the given share of lost time."""
    (figures,) = calibration_of(CalibrationSamples("", 0, 0, 0, False, (), (CpuSamples(2, None),))).cpus
    return replace(
        figures,
        stolen_share=lost,
        work=_spread(piece_ns),
        native_work=_spread(piece_ns * 4),
        latency_work=_spread(piece_ns * 2),
        memory=memory,
    )


def test_the_speed_is_the_geometric_mean_of_the_kinds_and_the_cpus() -> None:
    cpus = [_figures(0.1, 1e6), _figures(0.3, 4e6)]
    for work in (Work.MIXED, Work.LATENCY):
        period = period_of(cpus, work)
        assert period is not None
        assert period.lost_share == pytest.approx(0.2)
        assert period.speed == pytest.approx(250)


def test_work_that_a_cpu_lacks_has_no_speed() -> None:
    cpus = [_figures(0.1, 1e6, _spread(1.0)), _figures(0.1, 1e6)]
    assert period_of(cpus, Work.CACHE) == Period(0.1, None)
    assert period_of(cpus[:1], Work.CACHE) == Period(0.1, 1e9)
    assert period_of([_figures(None, 1e6)], Work.MIXED) is None
    assert period_of([], Work.MIXED) is None
