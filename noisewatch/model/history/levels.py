"""Where a figure of a machine moved, from one level to another: a series of values, one for each entry of its history.

The entries are gone through as they came, and a level is claimed when it is first seen: a history tells what was told
with its entries. The place of a move is that which leaves the least squares on both sides, of values freed of single
outliers by a running median, which keeps edges where they are: Tukey, "Exploratory Data Analysis", 1977, ch. 7.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import accumulate, pairwise

from noisewatch.model.history.shifts import LEAST_AT_A_LEVEL, are_apart, is_shift
from noisewatch.records import dataclass

_MOST_VALUES = 200  # the newest: a machine is not what it was years ago
_MOST_APART = 5  # entries: so many, after as many as are judged by their spread, can prove a level by their ranks
_HALF_WINDOW = 2  # entries on both sides, so that up to two outliers leave no trace


@dataclass(frozen=True, slots=True)
class Level:
    """The entries from `begin` to before `end`, and the median of their values."""

    begin: int
    end: int
    middle: float

    @property
    def count(self) -> int:
        return self.end - self.begin


def levels_of(values: Sequence[float], least_change: float) -> tuple[Level, ...]:
    """The levels, the oldest first: one where it never moved by as much as `least_change`."""
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
    """The newest values, too few to prove a level of their own, that lie apart from the others of it, on one side."""
    for begin in range(level.end - _MOST_APART, level.end):
        before, newest = values[level.begin : max(begin, level.begin)], values[begin : level.end]
        is_above = {value > level.middle for value in newest}
        if len(is_above) == 1 and are_apart(before, newest, least_change):
            return Level(begin, level.end, statistics.median(newest))
    return None


class _Search:
    """Looks for the likeliest place of a move, up to one entry after the other."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values
        self._smooth = [self._smoothed(at, len(values)) for at in range(len(values))]
        self._sums = [0.0, *accumulate(self._smooth)]

    def place_between(self, begin: int, end: int, least_change: float) -> int | None:
        """The first entry of the later part; None where both parts are too alike to look closer."""
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
        """Of the values as they were smoothed when the entry before `end` was the newest."""
        inner = max(end - _HALF_WINDOW, 0)
        return self._sums[inner] + sum(self._smoothed(at, end) for at in range(inner, end))

    def _smoothed(self, at: int, end: int) -> float:
        return statistics.median(self._values[max(at - _HALF_WINDOW, 0) : min(at + _HALF_WINDOW + 1, end)])
