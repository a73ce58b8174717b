"""Whether a setting is worth changing on this machine, by the noise and speed in alternating periods off and on."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from noisewatch.kinds import Work
from noisewatch.model.calibration.figures import CpuFigures, Spread
from noisewatch.model.distributions import SIGNIFICANCE
from noisewatch.model.run.mean_difference import FEWEST_PAIRS, RunPair, difference_of
from noisewatch.model.run.series import Bounds

_INTERVALS = 2  # each candidate has one interval for noise and one for speed
_MOST_LOST = 0.999  # a period's lost share is capped at this, so that some time remains to divide by


class Period(NamedTuple):
    """A measured period: the share of time that was taken from the busy loop (0 to 1), and the work per second.

    `speed` is None if too little work was measured.
    """

    lost_share: float
    speed: float | None


def period_of(cpus: Sequence[CpuFigures], work: Work) -> Period | None:
    """Return the mean lost share and the geometric mean of the speeds; None if a CPU's gaps were not measured."""
    lost = [figures.stolen_share for figures in cpus if figures.stolen_share is not None]
    if not lost or len(lost) < len(cpus):
        return None
    pieces_ns = [spread.piece_ns for figures in cpus for spread in _spreads(figures, work) if spread is not None]
    is_complete = len(pieces_ns) == sum(len(_spreads(figures, work)) for figures in cpus)
    return Period(statistics.fmean(lost), 1e9 / statistics.geometric_mean(pieces_ns) if is_complete else None)


def _spreads(figures: CpuFigures, work: Work) -> list[Spread | None]:
    match work:
        case Work.LATENCY:
            return [figures.latency_work]
        case Work.THROUGHPUT:
            return [figures.native_work]
        case Work.INTERPRETER:
            return [figures.work]
        case Work.CACHE:
            return [figures.memory]
        case Work.MEMORY:
            return [figures.main_memory]
        case Work.BANDWIDTH:
            return [figures.bandwidth]
        case Work.MIXED:
            return [figures.work, figures.native_work, figures.latency_work]


class Worth(StrEnum):
    """Whether a setting's effect on noise and speed is worth the change."""

    BETTER = "worth it"
    WORSE = "worse"
    BOTH = "a trade-off"
    NOT_SHOWN = "no difference shown"


class Gain(Struct, frozen=True):
    """A mean difference (on minus off, positive is better) with its interval."""

    share: float
    interval: Bounds

    @property
    def is_better(self) -> bool:
        return self.interval.low > 0

    @property
    def is_worse(self) -> bool:
        return self.interval.high < 0

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.interval.high - self.interval.low) / 2

    @property
    def most(self) -> float:
        """The largest difference, in either direction, that the interval contains."""
        return max(abs(bound) for bound in self.interval)


class TuningEffect(Struct, frozen=True):
    """The noise with a setting off and on (shares of time), and the gains.

    The gain in noise is a share of time, the gain in speed is relative to the speed without the setting. `speed` is
    None if too little work was measured.
    """

    pairs: int
    noise_off: float
    noise_on: float
    noise: Gain
    speed: Gain | None

    @property
    def worth(self) -> Worth:
        gains = [gain for gain in (self.noise, self.speed) if gain is not None]
        is_better, is_worse = any(gain.is_better for gain in gains), any(gain.is_worse for gain in gains)
        if is_better and is_worse:
            return Worth.BOTH
        return Worth.BETTER if is_better else Worth.WORSE if is_worse else Worth.NOT_SHOWN


class StatePair(NamedTuple):
    """Two neighbouring periods, with the setting off and on, and whether the period with the setting off came first."""

    off: Period
    on: Period
    is_off_first: bool


def pair_periods(order: Sequence[bool], periods: Sequence[Period]) -> list[StatePair]:
    """Pair neighbouring periods. `order` is True for periods with the setting on. A single last period is left out."""
    return [
        StatePair(second, first, False) if is_on_first else StatePair(first, second, True)
        for is_on_first, first, second in zip(order[::2], periods[::2], periods[1::2], strict=False)
    ]


def effect_of(pairs: Sequence[StatePair], candidates: int = 1) -> TuningEffect | None:
    """Return the effect, or None for too few pairs to give an interval.

    In 95 of 100 measurements, the intervals of all `candidates` contain the true gains (Bonferroni's correction).
    The noise's interval is computed from the useful share of the time, which is never 0. `difference_of` is defined for
    times, but it holds for any positive figures.
    """
    significance = SIGNIFICANCE / (_INTERVALS * candidates)
    useful = _gain(pairs, lambda period: 1 - min(period.lost_share, _MOST_LOST), significance)
    if useful is None:
        return None
    noise_off = statistics.fmean(pair.off.lost_share for pair in pairs)
    noise_on = statistics.fmean(pair.on.lost_share for pair in pairs)
    scale = 1 - min(noise_off, _MOST_LOST)  # converts a share of the useful time into a share of all time
    noise = Gain(useful.share * scale, Bounds(*(bound * scale for bound in useful.interval)))
    speed = _gain(pairs, lambda period: period.speed, significance)
    return TuningEffect(len(pairs), noise_off, noise_on, noise, speed)


def _gain(pairs: Sequence[StatePair], figure: Callable[[Period], float | None], significance: float) -> Gain | None:
    values = []
    for off, on, is_off_first in pairs:
        without, with_it = figure(off), figure(on)
        if without is not None and with_it is not None:
            values.append(RunPair(without, with_it, is_off_first))
    if len(values) < FEWEST_PAIRS:
        return None
    difference = difference_of(values, significance)
    interval = difference.interval
    return None if interval is None or not math.isfinite(interval.high) else Gain(difference.share, interval)
