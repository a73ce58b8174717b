"""Made-up wall times of a command, with a mean of 1 s and with the kinds of noise that machines cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from noisewatch.model.run.mean_difference import RunPair, draw_order

Times = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Times]
_CV = 0.01


def normal(rng: np.random.Generator, runs: int) -> Times:
    """Return independent times of constant spread."""
    return 1 + _CV * rng.standard_normal(runs)


def skewed(rng: np.random.Generator, runs: int) -> Times:
    """Return lognormal times: most runs are fast, few slow."""
    return 1 + _CV * (rng.lognormal(0, 1, runs) - math.exp(0.5)) / 2.16


def spikes(rng: np.random.Generator, runs: int) -> Times:
    """Return times of which one in twenty is 8 % longer on average."""
    return normal(rng, runs) + (rng.random(runs) < 0.05) * rng.exponential(0.08, runs)


def two_modes(rng: np.random.Generator, runs: int) -> Times:
    """Return times of which three in ten are 2 % longer, as with well and badly placed pages."""
    return 1 + 0.02 * (rng.random(runs) < 0.3) + 0.2 * _CV * rng.standard_normal(runs)


def drifting(rng: np.random.Generator, runs: int) -> Times:
    """Return times that grow by 20 % from the first run to the last."""
    return normal(rng, runs) + 0.2 * np.arange(runs) / runs


def warming_up(rng: np.random.Generator, runs: int) -> Times:
    """Return times of which the first ones are up to 10 % longer."""
    return normal(rng, runs) + 0.1 * np.exp(-np.arange(runs) / 5)


def stepping(rng: np.random.Generator, runs: int) -> Times:
    """Return times that are 5 % longer from a random run on."""
    return normal(rng, runs) + 0.05 * (np.arange(runs) >= rng.integers(runs))


def correlated(rho: float) -> Noise:
    """Return autoregressive noise of first order: each run resembles the one before it."""

    def noise(rng: np.random.Generator, runs: int) -> Times:
        steps = rng.standard_normal(runs)
        for at in range(1, runs):
            steps[at] = rho * steps[at - 1] + math.sqrt(1 - rho**2) * steps[at]
        return 1 + _CV * steps

    return noise


def all_at_once(rng: np.random.Generator, runs: int) -> Times:
    """Return skewed times that drift by 5 %, each resembling the one before it."""
    steps = (correlated(0.5)(rng, runs) - 1) / _CV
    return 1 + _CV * (np.exp(steps) - math.exp(0.5)) / 2.16 + 0.05 * np.arange(runs) / runs


def periodic(period: float) -> Noise:
    """Return noise that comes and goes with a period of `period` runs."""

    def noise(rng: np.random.Generator, runs: int) -> Times:
        phase = rng.uniform(0, 2 * math.pi)
        wave: Times = np.sin(2 * math.pi * np.arange(runs) / period + phase)
        return 1 + _CV * wave + 0.5 * _CV * rng.standard_normal(runs)

    return noise


NOISES: dict[str, Noise] = {
    "normal": normal,
    "skewed": skewed,
    "spikes": spikes,
    "two modes": two_modes,
    "drifting": drifting,
    "warming up": warming_up,
    "stepping": stepping,
    "correlated 0.3": correlated(0.3),
    "correlated 0.5": correlated(0.5),
    "correlated 0.9": correlated(0.9),
    "all at once": all_at_once,
    "period 2.1": periodic(2.1),
    "period 4": periodic(4),
    "period 20": periodic(20),
}


def fixed_order(pairs: int, seed: int = 0) -> tuple[bool, ...]:
    """Return the order A B B A A B B A …"""
    return tuple(number % 2 == 0 for number in range(pairs))


def pairs_of(
    rng: np.random.Generator,
    noise: Noise,
    pairs: int,
    share: float = 0.0,
    draw: Callable[[int, int], tuple[bool, ...]] = draw_order,
) -> list[RunPair]:
    """Return a series in which B takes longer than A by `share`."""
    order = draw(pairs, int(rng.integers(1 << 30)))
    times = noise(rng, 2 * pairs)
    is_b = np.array([turn != is_a_first for is_a_first in order for turn in (True, False)])
    return pair_runs(order, (times * np.where(is_b, 1 + share, 1)).tolist())


def pair_runs(order: Sequence[bool], times_s: Sequence[float]) -> list[RunPair]:
    """Return the pairs of a series from the times of its runs; `order` has for each pair whether A ran first."""
    return [
        RunPair(first, second, True) if is_a_first else RunPair(second, first, False)
        for is_a_first, first, second in zip(order, times_s[::2], times_s[1::2], strict=True)
    ]
