"""Moves of a figure from one level to another, in a series with one value for each entry of a machine's history.

The entries are processed in their order, and a level is claimed when it first shows, so that the history contains the
same moves as the reports of its entries did. A move is placed where the squares on both sides are least, of values
freed of single outliers by a running median, which keeps edges: Tukey, "Exploratory Data Analysis", 1977, ch. 7.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import accumulate, pairwise

from noisewatch.model.history.shifts import LEAST_AT_A_LEVEL, are_apart, is_shift
from noisewatch.records import dataclass

_MOST_VALUES = 200  # the newest: machines change over the years
_MOST_APART = 5  # entries: five, after the five that a spread needs, can prove a level by their ranks
_HALF_WINDOW = 2  # entries on both sides, so that up to two outliers leave no trace


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a figure: the entries from `begin` to before `end`, and the median of their values."""

    begin: int
    end: int
    middle: float

    @property
    def count(self) -> int:
        return self.end - self.begin


def levels_of(values: Sequence[float], least_change: float) -> tuple[Level, ...]:
    """Return the levels, the oldest first; a single one if the figure never moved by `least_change` or more."""
    first = max(len(values) - _MOST_VALUES, 0)
    begins = [first]
    search = _Search(values)
    for end in range(first + 2 * LEAST_AT_A_LEVEL, len(values) + 1):
        place = search.place_between(begins[-1], end, least_change)
        if place is not None and is_shift(values[begins[-1] : place], values[place:end], least_change):
            begins.append(place)
    ends = [*begins, len(values)]
    return tuple(
        Level(begin, end, statistics.median(values[begin:end])) for begin, end in pairwise(ends) if begin < end
    )


def newest_apart(values: Sequence[float], level: Level, least_change: float) -> Level | None:
    """Return the newest values that lie apart from the rest of the level, on one side, or None.

    They are too few to prove a level of their own.
    """
    for begin in range(level.end - _MOST_APART, level.end):
        before, newest = values[level.begin : max(begin, level.begin)], values[begin : level.end]
        is_above = {value > level.middle for value in newest}
        if len(is_above) == 1 and are_apart(before, newest, least_change):
            return Level(begin, level.end, statistics.median(newest))
    return None


class _Search:
    """A search for the most probable place of a move, up to one entry after the other."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values
        self._smooth = [self._smoothed(at, len(values)) for at in range(len(values))]
        self._sums = [0.0, *accumulate(self._smooth)]

    def place_between(self, begin: int, end: int, least_change: float) -> int | None:
        """Return the first entry of the later part, or None if both parts are too alike for a move."""
        sums, whole = self._sums, self._sum_until(end)
        total, best, found = whole - sums[begin], 0.0, None
        for place in range(begin + LEAST_AT_A_LEVEL, end - LEAST_AT_A_LEVEL + 1):
            before, after = place - begin, end - place
            old = sums[place] - sums[begin]
            change = (total - old) / after - old / before
            gain = before * after * change * change
            if gain > best:
                best, found, largest = gain, place, abs(change)
        return found if found is not None and largest >= least_change / 2 else None

    def _sum_until(self, end: int) -> float:
        """Return the sum of the values before `end`, smoothed as if the entry before `end` were the newest."""
        inner = max(end - _HALF_WINDOW, 0)
        return self._sums[inner] + sum(self._smoothed(at, end) for at in range(inner, end))

    def _smoothed(self, at: int, end: int) -> float:
        return statistics.median(self._values[max(at - _HALF_WINDOW, 0) : min(at + _HALF_WINDOW + 1, end)])
