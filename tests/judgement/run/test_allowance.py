"""The noise that a repetition may contain."""

from __future__ import annotations

import math

import pytest

from noisewatch.judgement.noise.budget import LOSES_TOO_MUCH, NoiseFloor
from noisewatch.judgement.run.allowance import Allowance, allowance_for
from tests.written.repetitions import MS


def _floor(sample_ms: int, max_inflation: float, cpu: int = 2) -> NoiseFloor:
    return NoiseFloor(sample_ms * MS, cpu, 0.001, 0.001, 0.001, 1.0, max_inflation, 0.01, 25, True, False)


def test_without_a_calibration_half_of_a_change_of_one_per_cent_is_allowed() -> None:
    assert allowance_for(100 * MS) == Allowance(LOSES_TOO_MUCH, False)
    assert allowance_for(100 * MS).ns(100 * MS) == MS / 2


def test_samples_of_the_next_shorter_length_bound_the_allowance() -> None:
    floors = [_floor(1, 1.05), _floor(10, 1.02), _floor(100, 1.006), _floor(1000, 1.001)]
    assert allowance_for(10 * MS, floors).share == pytest.approx(0.02)
    assert allowance_for(99 * MS, floors).share < 0.02
    assert allowance_for(100 * MS, floors).share == pytest.approx(0.006)
    assert allowance_for(500_000, floors).share == pytest.approx(0.05)


def test_a_quiet_machine_has_the_default_allowance() -> None:
    assert allowance_for(1000 * MS, [_floor(1000, 1.0001)]) == Allowance(LOSES_TOO_MUCH, True)


def test_the_quietest_of_several_cpus_decides() -> None:
    floors = [_floor(10, 1.028, cpu=2), _floor(10, 1.01, cpu=3)]
    assert allowance_for(10 * MS, floors).share == pytest.approx(0.01)
    assert allowance_for(10 * MS, floors[::-1]).share == pytest.approx(0.01)


@pytest.mark.parametrize("inflation", [1.5, 9.0, math.inf, math.nan])
@pytest.mark.parametrize(("length_ms", "most"), [(1, 0.1), (10, 0.03), (100, 0.0095), (1000, 0.005), (60_000, 0.005)])
def test_a_calibration_on_a_noisy_machine_does_not_allow_everything(
    inflation: float, length_ms: int, most: float
) -> None:
    assert allowance_for(length_ms * MS, [_floor(1, inflation)]).share <= most


def test_a_longer_repetition_is_never_allowed_a_larger_share_by_a_noisy_machine() -> None:
    shares = [allowance_for(ms * MS, [_floor(1, 9.0)]).share for ms in (1, 2, 5, 10, 20, 100, 1000)]
    assert shares == sorted(shares, reverse=True)
