"""The ratio of two estimates and its confidence interval."""

from __future__ import annotations

import math
import random

import pytest

from noisewatch.model.estimate import Estimate, ratio_of


def test_equal_estimates_have_a_ratio_of_one_without_a_difference() -> None:
    ratio = ratio_of(Estimate(5.0, 0.01, 20), Estimate(5.0, 0.01, 20), 0.05)
    assert (ratio.value, ratio.is_shown) == (1.0, False)
    assert ratio.interval.low == pytest.approx(1 / ratio.interval.high)


def test_interval_is_welchs_with_the_fewer_degrees_of_freedom() -> None:
    ratio = ratio_of(Estimate(100.0, 0.03, 10), Estimate(110.0, 0.04, 50), 0.05)
    assert ratio.value == pytest.approx(1.1)
    assert ratio.interval.high == pytest.approx(1.1 * math.exp(2.228 * 0.05), rel=1e-3)


def test_unbounded_ratio_is_infinite() -> None:
    ratio = ratio_of(Estimate(1e-300, 1e6, 1), Estimate(1e300, 1e6, 1), 1e-4)
    assert (ratio.value, ratio.interval.low, ratio.interval.high) == (math.inf, 0.0, math.inf)
    assert not ratio.is_shown


@pytest.mark.parametrize("significance", [0.05, 0.005])
def test_false_positives_are_as_rare_as_the_significance(significance: float) -> None:
    rng, tries = random.Random(7), 2000

    def draw_estimate() -> Estimate:
        return Estimate(math.exp(rng.gauss(0, 0.02)), 0.02, 1000)

    shown = sum(ratio_of(draw_estimate(), draw_estimate(), significance).is_shown for _ in range(tries))
    assert shown / tries == pytest.approx(significance, abs=4 * math.sqrt(significance / tries))
