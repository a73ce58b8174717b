"""Tests whether values of a figure differ from those before them, by more than chance and by enough to count.

All values are natural logarithms, so that a difference is a ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from noisewatch.model.distributions import t_outside

LEAST_AT_A_LEVEL = 3  # entries: fewer are outliers
BY_CHANCE = 1e-5  # of one look at one figure: nineteen figures are looked at after every entry
LEAST_BEFORE = 5  # entries, before one more is judged by their spread
BY_RANKS = 2.4  # standard errors: what five entries after five others can just reach, or three after nine
_CLIPPED = 3 * 1.4826  # median absolute deviations, which are three standard deviations: what is beyond is an outlier
_LEAST_ALONE = 20  # values: enough to estimate their own correlation
_FEWEST_CLIPPED = 12  # values: the deviations of fewer do not identify outliers


def is_shift(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    """Return whether the values of `after` differ from those of `before` by `least_change` or more.

    Both Student's t and ranks decide, so that neither a few entries that happen to be sorted nor a single large outlier
    prove a shift. A few entries cannot prove one at all: see `are_apart`.
    """
    return _differ_by_ranks(before, after) and _differ_by_size(before, after, least_change)


def are_apart(before: Sequence[float], newest: Sequence[float], least_change: float) -> bool:
    """Return whether the newest values, each or together, are farther from those before than the spread explains."""
    if len(before) < LEAST_BEFORE:
        return False
    if all(_is_apart(before, value, least_change) for value in newest):
        return True
    return len(newest) >= LEAST_AT_A_LEVEL and _differ_by_size(before, newest, least_change)


def _differ_by_size(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    """Return whether the sides differ by Student's t, with clipped outliers.

    The error allows for entries that resemble the one before them.
    """
    old, new = statistics.median(before), statistics.median(after)
    if abs(new - old) < least_change or not _hold(before, old, new) or not _hold(after, new, old):
        return False
    rests = [[value - old for value in before], [value - new for value in after]]
    both = clipped([*rests[0], *rests[1]])
    kept = [both[: len(before)], both[len(before) :]]
    change = abs(new + statistics.fmean(kept[1]) - old - statistics.fmean(kept[0]))
    freedom = len(before) + len(after) - 2
    error = _error(kept, freedom)
    return change >= least_change and (error == 0 or t_outside(change / error, freedom) < BY_CHANCE)


def _is_apart(before: Sequence[float], value: float, least_change: float) -> bool:
    """Return whether one more value lies apart; outliers among the values before count in their spread."""
    away = abs(value - statistics.fmean(before))
    if min(away, abs(value - statistics.median(before))) < least_change:
        return False
    error = statistics.stdev(before) * math.sqrt(1 + 1 / len(before))
    return error == 0 or t_outside(away / error, len(before) - 1) < BY_CHANCE


def _hold(values: Sequence[float], own: float, other: float) -> bool:
    """Return whether enough values, the first and the last included, lie at their own level; outliers do not count."""
    near = [abs(value - own) < abs(value - other) for value in values]
    return sum(near) >= LEAST_AT_A_LEVEL and near[0] and near[-1]


def _differ_by_ranks(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether the sides differ by Mann and Whitney's test.

    It uses the normal distribution, with its correction for continuity.
    """
    pairs, count = len(before) * len(after), len(before) + len(after)
    wins = sum((one < other) + (one == other) / 2 for one in before for other in after)
    return abs(wins - pairs / 2) - 0.5 >= BY_RANKS * math.sqrt(pairs * (count + 1) / 12)


def clipped(rests: Sequence[float]) -> list[float]:
    """Return the residuals, with outliers clipped to the largest residual that is none."""
    most = _largest_rest(rests)
    return [max(-most, min(most, rest)) for rest in rests]


def _largest_rest(rests: Sequence[float]) -> float:
    """Return the largest residual that is not an outlier."""
    if len(rests) < _FEWEST_CLIPPED:
        return math.inf
    return _CLIPPED * statistics.median(map(abs, rests)) or math.inf


def _error(sides: Sequence[Sequence[float]], freedom: int) -> float:
    """Return the standard error of the difference of the sides' means; a value may resemble the one before it."""
    inflation = inflation_of(sides, errors=-1)
    variance = _squares(sides) / freedom / max(1 - 2 * (inflation - 1) / (freedom + len(sides)), 0.25)
    return math.sqrt(variance * sum(min(_of_side(side, inflation) / len(side), 1.0) for side in sides))


def _of_side(side: Sequence[float], inflation: float) -> float:
    """Return the inflation of one side, which is larger than the common one if its values resemble each other more.

    The newest entries may be minutes apart, while older ones are days apart.
    """
    return max(inflation, inflation_of([side], errors=-1)) if len(side) >= _LEAST_ALONE else inflation


def inflation_of(sides: Sequence[Sequence[float]], errors: float) -> float:
    """Return the factor by which autocorrelation (first order) increases the variance of a mean.

    The estimated correlation is raised by `errors` standard errors. Its estimate from a few values is too small, and is
    corrected: Marriott and Pope, "Bias in the estimation of autocorrelations", 1954, doi 10.1093/biomet/41.3-4.390.
    """
    count = sum(map(len, sides))
    alike = sum(one * other for side in sides for one, other in pairwise(side)) / (_squares(sides) or 1.0)
    likely = (alike + 2 / count) / max(1 - 8 / count, 0.5) + errors / math.sqrt(count)
    resembling = min(max(likely, 0.0), 0.9)
    return (1 + resembling) / (1 - resembling)


def _squares(sides: Sequence[Sequence[float]]) -> float:
    return sum(statistics.variance(side) * (len(side) - 1) for side in sides)
