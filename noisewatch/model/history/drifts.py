"""Drifts of a figure: each entry is a little farther, so that there are no two separate levels.

A drift is shown by the slope of a straight line, whose error allows for entries that resemble the one before them, and
by ranks, as a move from one level to another is. Mann, "Nonparametric tests against trend", 1945, doi 10.2307/1907187.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import combinations

from noisewatch.model.distributions import t_outside
from noisewatch.model.history.shifts import BY_CHANCE, BY_RANKS, LEAST_BEFORE, clipped, inflation_of
from noisewatch.records import dataclass

_MOST_AT_AN_END = 5  # entries at the beginning and at the end, whose medians are what changed
_ERRORS = 3  # standard errors: entries that resemble each other wander off and back, which looks like a drift
_WINDOWS = (200, 40, 20)  # the newest: a drift may have begun later than the level


@dataclass(frozen=True, slots=True)
class FigureDrift:
    """A drift of the entries from `begin` on, with the medians of the first and of the newest few of them."""

    begin: int
    first: float
    newest: float
    ends: int  # number of entries behind each median


def drift_of(values: Sequence[float], least_change: float) -> FigureDrift | None:
    """Return the drift in the longest window of newest values that has one, or None."""
    begins = dict.fromkeys(max(len(values) - window, 0) for window in _WINDOWS)
    return next((drift for begin in begins if (drift := _drift_from(begin, values, least_change)) is not None), None)


def _drift_from(begin: int, values: Sequence[float], least_change: float) -> FigureDrift | None:
    recent = values[begin:]
    if len(recent) <= LEAST_BEFORE:
        return None
    ends = min(len(recent) // 2, _MOST_AT_AN_END)
    drift = FigureDrift(begin, statistics.median(recent[:ends]), statistics.median(recent[-ends:]), ends)
    return drift if abs(drift.newest - drift.first) >= least_change and _is_drift(recent) else None


def _is_drift(values: Sequence[float]) -> bool:
    count = len(values)
    slopes = [(later - earlier) / (after - at) for (at, earlier), (after, later) in combinations(enumerate(values), 2)]
    rises = sum((slope > 0) - (slope < 0) for slope in slopes)
    if abs(rises) - 1 < BY_RANKS * math.sqrt(count * (count - 1) * (2 * count + 5) / 18):
        return False
    slope = statistics.median(slopes)  # of Theil and Sen: outliers do not turn it
    middle = statistics.median(value - slope * at for at, value in enumerate(values))
    rests = clipped([value - middle - slope * at for at, value in enumerate(values)])
    correction, rest = _line(rests)
    error = math.sqrt(sum(each * each for each in rest) / (count - 2) * inflation_of([rest], _ERRORS) / _squares(count))
    return error == 0 or t_outside(abs(slope + correction) / error, count - 2) < BY_CHANCE


def _line(values: Sequence[float]) -> tuple[float, list[float]]:
    """Return the slope of the least-squares line, and the residuals."""
    slope, height = statistics.linear_regression(range(len(values)), values)
    return slope, [value - height - slope * at for at, value in enumerate(values)]


def _squares(count: int) -> float:
    """Return the sum of squares of the indices 0 to count - 1 about their mean."""
    return count * (count * count - 1) / 12
