"""Made-up entries of a machine that does not change: natural logarithms of figures, relative to their usual values.

All figures of speed share half of their variance, as if the clock moved; the other half is each figure's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from noisewatch.model.history.figures import TRAITS, Figure, Nature

Values = npt.NDArray[np.float64]
Series = Callable[[np.random.Generator, int, float], Values]
NOISE_SPREAD = 0.25  # of the noise floor and of gaps from one entry to the next: a quarter more or less
SPEEDS = [figure for figure in Figure if TRAITS[figure].nature != Nature.NOISE]


def gaussian(rng: np.random.Generator, count: int, spread: float) -> Values:
    """Return independent values of constant spread."""
    return np.asarray(spread * rng.standard_normal(count))


def heavy_tailed(rng: np.random.Generator, count: int, spread: float) -> Values:
    """Return values of Student's t with three degrees of freedom, with an outlier now and then."""
    values: Values = spread / np.sqrt(3) * rng.standard_t(3, count)
    return values


def with_outliers(rng: np.random.Generator, count: int, spread: float) -> Values:
    """Return values of which one in twenty is ten standard deviations higher on average."""
    return gaussian(rng, count, spread) + (rng.random(count) < 0.05) * rng.exponential(10 * spread, count)


def resembling(rho: float) -> Series:
    """Return a series of autoregressive noise of first order, as in a room that is warm for days."""

    def series(rng: np.random.Generator, count: int, spread: float) -> Values:
        steps = rng.standard_normal(count)
        for at in range(1, count):
            steps[at] = rho * steps[at - 1] + np.sqrt(1 - rho**2) * steps[at]
        return spread * steps

    return series


def bimodal(share: float) -> Series:
    """Return a series with a share of entries ten standard deviations higher, as if each boot chose a level."""

    def series(rng: np.random.Generator, count: int, spread: float) -> Values:
        return gaussian(rng, count, spread) + 10 * spread * (rng.random(count) < share)

    return series


NOISES: Mapping[str, tuple[Series, float]] = {  # with the spread of a figure of speed, as a share
    "gaussian, 0.3 %": (gaussian, 0.003),
    "gaussian, 1 %": (gaussian, 0.01),
    "heavy tails, 0.5 %": (heavy_tailed, 0.005),
    "outliers, 0.3 %": (with_outliers, 0.003),
    "resembling (0.5), 0.5 %": (resembling(0.5), 0.005),
    "resembling (0.9), 0.5 %": (resembling(0.9), 0.005),
    "bimodal, half": (bimodal(0.5), 0.003),
    "bimodal, one of ten": (bimodal(0.1), 0.003),
}


def machine_of(rng: np.random.Generator, series: Series, spread: float, count: int) -> dict[Figure, Values]:
    """Return all figures of `count` entries; the figures of speed share half of their variance."""
    common = series(rng, count, spread)
    own = {figure: series(rng, count, spread if figure in SPEEDS else NOISE_SPREAD) for figure in Figure}
    half = np.sqrt(0.5)
    return {
        figure: half * (values + (common if is_slower(figure) else -common)) if figure in SPEEDS else values
        for figure, values in own.items()
    }


def is_slower(figure: Figure) -> bool:
    """Return whether a higher value of the figure is slower."""
    return TRAITS[figure].nature == Nature.TIME


def slowed(machine: Mapping[Figure, Values], begin: int, share: float) -> dict[Figure, Values]:
    """Return the machine's figures, those of speed slower by `share` from entry `begin` on."""
    later = np.log1p(share) * (np.arange(len(next(iter(machine.values())))) >= begin)
    return {
        figure: values + (later if is_slower(figure) else -later) if figure in SPEEDS else values
        for figure, values in machine.items()
    }
