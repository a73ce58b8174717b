"""Where a figure of a machine moved, from one level to another: a series of values, one for each entry of its history.

All values are natural logarithms, so that a change is a ratio. The place is that with the largest energy distance
between what is before and what is after it, and counts where few permutations of the same values have as large a one:
Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", 2014, doi
10.1080/01621459.2013.849605. Two levels that alternate are modes, and no place is where one became the other.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from itertools import pairwise

from noisewatch.model.distributions import t_quantile
from noisewatch.records import dataclass

LEAST_AT_A_LEVEL = 3  # entries: fewer are outliers
LEAST_ENTRIES = 12  # fewer have too few permutations to say with 1 % that they moved
_BY_CHANCE = 1e-5  # of one look at one figure
_PERMUTATIONS, _MOST_AS_LARGE = 999, 9  # p ≤ 1 %
_MOST_VALUES = 200  # the newest: the work grows with the square
_LEAST_SWITCHES = 3  # there, back, and there again
_APART = 4.0  # of modes: standard deviations within them
_SEED = 2014


@dataclass(frozen=True, slots=True)
class Level:
    """The entries from `begin` to before `end`, and the median of their values."""

    begin: int
    end: int
    middle: float

    @property
    def count(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Modes:
    """Two levels between which a figure alternates, and how often it changed from one to the other."""

    low: float
    high: float
    switches: int


def levels_of(values: Sequence[float], least_change: float) -> tuple[Level, ...]:
    """The levels, the oldest first: one where it never moved by as much as `least_change`."""
    first = max(len(values) - _MOST_VALUES, 0)
    ends = [first, *_places(values[first:], least_change, first), len(values)]
    return tuple(
        Level(begin, end, statistics.median(values[begin:end])) for begin, end in pairwise(ends) if begin < end
    )


def modes_of(values: Sequence[float], least_change: float) -> Modes | None:
    """The two levels that the values alternate between; None where they do not."""
    recent = values[-_MOST_VALUES:]
    if len(recent) < 2 * LEAST_AT_A_LEVEL:
        return None
    border = _widest_gap(sorted(recent))
    low, high = [each for each in recent if each < border], [each for each in recent if each >= border]
    if min(len(low), len(high)) < LEAST_AT_A_LEVEL:
        return None
    switches = sum((one < border) != (other < border) for one, other in pairwise(recent))
    between = statistics.fmean(high) - statistics.fmean(low)
    within = max(statistics.stdev(low), statistics.stdev(high))
    if switches < _LEAST_SWITCHES or between < max(least_change, _APART * within):
        return None
    return Modes(statistics.median(low), statistics.median(high), switches)


def _widest_gap(ordered: Sequence[float]) -> float:
    """The value above the widest gap between two neighbours, beside the outermost ones that may be outliers."""
    inner = range(LEAST_AT_A_LEVEL, len(ordered) - LEAST_AT_A_LEVEL + 1)
    return ordered[max(inner, key=lambda at: ordered[at] - ordered[at - 1])]


def _places(values: Sequence[float], least_change: float, first: int) -> list[int]:
    """Where the values moved; the parts on both sides are searched as well."""
    place = _place_of_move(values, least_change)
    if place is None:
        return []
    before = _places(values[:place], least_change, first)
    return [*before, first + place, *_places(values[place:], least_change, first + place)]


def _place_of_move(values: Sequence[float], least_change: float) -> int | None:
    if len(values) < 2 * LEAST_AT_A_LEVEL:
        return None
    place, energy = _largest_energy(values)
    if not _differ(values[:place], values[place:], least_change):
        return None
    rng, shuffled, as_large = random.Random(_SEED), list(values), 0
    for _ in range(_PERMUTATIONS):
        rng.shuffle(shuffled)
        as_large += _largest_energy(shuffled)[1] >= energy
        if as_large > _MOST_AS_LARGE:
            return None
    return place


def _differ(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    """By as much as asked, and by more than the spread within both explains: Student's t with a pooled variance.

    It is asked after every entry, of every figure: so its share of errors is one that many looks together can bear.
    """
    freedom = len(before) + len(after) - 2
    squares = sum(statistics.variance(side) * (len(side) - 1) for side in (before, after))
    error = math.sqrt(squares / freedom * (1 / len(before) + 1 / len(after)))
    change = abs(statistics.fmean(after) - statistics.fmean(before))
    old, new = statistics.median(before), statistics.median(after)
    if min(change, abs(new - old)) < least_change or change < t_quantile(1 - _BY_CHANCE / 2, freedom) * error:
        return False
    at_old = sum(abs(value - old) < abs(value - new) for value in before)
    at_new = sum(abs(value - new) < abs(value - old) for value in after)
    return min(at_old, at_new) >= LEAST_AT_A_LEVEL


def _largest_energy(values: Sequence[float]) -> tuple[int, float]:
    """The place with the largest energy distance, weighed by how many are on each side; and that distance.

    n·m/(n+m) · (2·E|X-Y| - E|X-X'| - E|Y-Y'|): Székely and Rizzo, "Energy statistics", 2013, doi
    10.1016/j.jspi.2013.03.018. The sums of the distances are carried from each place to the next.
    """
    count = len(values)
    within_before = across = 0.0
    within_after = sum(abs(one - other) for at, one in enumerate(values) for other in values[:at])
    best = (LEAST_AT_A_LEVEL, float("-inf"))
    for place in range(1, count - LEAST_AT_A_LEVEL + 1):
        moved = values[place - 1]
        to_before = sum(abs(moved - other) for other in values[: place - 1])
        to_after = sum(abs(moved - other) for other in values[place:])
        within_before += to_before
        within_after -= to_after
        across += to_after - to_before
        if place < LEAST_AT_A_LEVEL:
            continue
        after = count - place
        energy = 2 * (across - within_before * after / place - within_after * place / after) / count
        if energy > best[1]:
            best = (place, energy)
    return best
