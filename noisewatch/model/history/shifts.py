"""Changes of a figure over a machine's history: moves to another level, alternation between two levels, and drifts.

All values are natural logarithms, one per entry, so a difference is a ratio. A change must exceed chance, and be large
enough to count. Entries are processed in order, and a level is accepted when it is first detectable, so the history
contains the same moves as the earlier reports did. A move is placed where the sum of squares on both sides is least,
after a running median has removed single outliers and preserved edges: Tukey, "Exploratory Data Analysis", 1977, ch. 7.

If a figure alternates between two levels, its changes from one to the other are not moves.

In a drift, values change a little from entry to entry, in one direction, so there are no separate levels. A drift is
detected by the slope of a straight line, whose error allows for autocorrelation, and by ranks, as a move is. Mann,
"Nonparametric tests against trend", 1945, doi 10.2307/1907187.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.model.distributions import t_outside

LEAST_AT_A_LEVEL = 3  # entries: fewer are outliers
BY_CHANCE = 1e-5  # false-alarm rate per test; 21 figures are tested after every entry
LEAST_BEFORE = 5  # earlier entries needed to judge another entry by their spread
BY_RANKS = 2.4  # standard errors: five entries after five others can just reach this, or three after nine
_CLIPPED = 3 * 1.4826  # median absolute deviations (three standard deviations); values beyond are outliers
_LEAST_ALONE = 20  # values: enough to estimate their own correlation
_FEWEST_CLIPPED = 12  # values: with fewer, deviations from the median cannot identify outliers


def is_shift(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    """Return whether the values of `after` differ from those of `before` by `least_change` or more, and not by chance.

    Student's t and ranks must agree, so neither a few entries that happen to be sorted nor a single large outlier prove
    a shift. `are_apart` judges sides with too few entries to prove one.
    """
    return _differ_by_ranks(before, after) and _differ_by_size(before, after, least_change)


def are_apart(before: Sequence[float], newest: Sequence[float], least_change: float) -> bool:
    """Return whether the newest values, all individually or all together, differ from the earlier values.

    A difference counts if it is at least `least_change` and more than chance explains. False for fewer than five
    earlier values.
    """
    if len(before) < LEAST_BEFORE:
        return False
    if all(_is_apart(before, value, least_change) for value in newest):
        return True
    return len(newest) >= LEAST_AT_A_LEVEL and _differ_by_size(before, newest, least_change)


def _differ_by_size(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    """Return whether a t-test shows a difference. Outliers are clipped, and the error allows for autocorrelation."""
    old, new = statistics.median(before), statistics.median(after)
    if (
        abs(new - old) < least_change
        or not _stay_at_own_level(before, old, new)
        or not _stay_at_own_level(after, new, old)
    ):
        return False
    rests = [[value - old for value in before], [value - new for value in after]]
    both = clip([*rests[0], *rests[1]])
    kept = [both[: len(before)], both[len(before) :]]
    change = abs(new + statistics.fmean(kept[1]) - old - statistics.fmean(kept[0]))
    freedom = len(before) + len(after) - 2
    error = _error(kept, freedom)
    return change >= least_change and (error == 0 or t_outside(change / error, freedom) < BY_CHANCE)


def _is_apart(before: Sequence[float], value: float, least_change: float) -> bool:
    """Return whether a value lies apart from the earlier values; outliers among the earlier values widen the spread."""
    away = abs(value - statistics.fmean(before))
    if min(away, abs(value - statistics.median(before))) < least_change:
        return False
    error = statistics.stdev(before) * math.sqrt(1 + 1 / len(before))
    return error == 0 or t_outside(away / error, len(before) - 1) < BY_CHANCE


def _stay_at_own_level(values: Sequence[float], own: float, other: float) -> bool:
    """Return whether enough values, the first and last among them, are nearer to their own level than to the other."""
    near = [abs(value - own) < abs(value - other) for value in values]
    return sum(near) >= LEAST_AT_A_LEVEL and near[0] and near[-1]


def _differ_by_ranks(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether the Mann-Whitney test shows a difference (normal approximation with continuity correction)."""
    pairs, count = len(before) * len(after), len(before) + len(after)
    wins = sum((one < other) + (one == other) / 2 for one in before for other in after)
    return abs(wins - pairs / 2) - 0.5 >= BY_RANKS * math.sqrt(pairs * (count + 1) / 12)


def clip(rests: Sequence[float]) -> list[float]:
    """Return the residuals, with outliers clipped to three standard deviations; fewer than 12 stay unchanged."""
    if len(rests) < _FEWEST_CLIPPED:
        return list(rests)
    most = _CLIPPED * statistics.median(map(abs, rests)) or math.inf
    return [max(-most, min(most, rest)) for rest in rests]


def _error(sides: Sequence[Sequence[float]], freedom: int) -> float:
    """Return the standard error of the difference between the sides' means, allowing for autocorrelation."""
    inflation = inflation_of(sides, errors=-1)
    variance = _squares(sides) / freedom / max(1 - 2 * (inflation - 1) / (freedom + len(sides)), 0.25)
    return math.sqrt(variance * sum(min(_side_inflation(side, inflation) / len(side), 1.0) for side in sides))


def _side_inflation(side: Sequence[float], inflation: float) -> float:
    """Return the inflation for one side: the common inflation, or the side's own if that is larger.

    The newest entries may be minutes apart, while older ones are days apart.
    """
    return max(inflation, inflation_of([side], errors=-1)) if len(side) >= _LEAST_ALONE else inflation


def inflation_of(sides: Sequence[Sequence[float]], errors: float) -> float:
    """Return the factor by which autocorrelation (first order) increases the variance of a mean.

    The estimated correlation is raised by `errors` standard errors. Estimates from few values are too small and are
    corrected: Marriott and Pope, "Bias in the estimation of autocorrelations", 1954, doi 10.1093/biomet/41.3-4.390.
    """
    count = sum(map(len, sides))
    alike = sum(one * other for side in sides for one, other in pairwise(side)) / (_squares(sides) or 1.0)
    likely = (alike + 2 / count) / max(1 - 8 / count, 0.5) + errors / math.sqrt(count)
    resembling = min(max(likely, 0.0), 0.9)
    return (1 + resembling) / (1 - resembling)


def _squares(sides: Sequence[Sequence[float]]) -> float:
    return sum(statistics.variance(side) * (len(side) - 1) for side in sides)


_MOST_VALUES = 200  # the newest values: machines change over the years
_MOST_APART = 5  # newest entries: five, after five others, are just enough to prove a level by ranks
_HALF_WINDOW = 2  # entries on each side, so that up to two outliers have no effect


class Level(Struct, frozen=True):
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
    """Return the newest values of the level, as a Level, if they lie apart from its other values; else None.

    All of them lie above the level's median, or all below. They are too few to prove a new level.
    """
    for begin in range(level.end - _MOST_APART, level.end):
        before, newest = values[level.begin : max(begin, level.begin)], values[begin : level.end]
        is_above = {value > level.middle for value in newest}
        if len(is_above) == 1 and are_apart(before, newest, least_change):
            return Level(begin, level.end, statistics.median(newest))
    return None


class _Search:
    """A search for the most probable place of a move, as entries are added."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values
        self._smooth = [self._smooth_value(at, len(values)) for at in range(len(values))]
        self._sums = [0.0, *accumulate(self._smooth)]

    def place_between(self, begin: int, end: int, least_change: float) -> int | None:
        """Return the index of the first entry after the most probable move, or None if both parts are too similar."""
        sums, whole = self._sums, self._sum_until(end)
        total, best, best_place = whole - sums[begin], 0.0, None
        for place in range(begin + LEAST_AT_A_LEVEL, end - LEAST_AT_A_LEVEL + 1):
            before, after = place - begin, end - place
            old = sums[place] - sums[begin]
            change = (total - old) / after - old / before
            gain = before * after * change * change
            if gain > best:
                best, best_place, largest = gain, place, abs(change)
        return best_place if best_place is not None and largest >= least_change / 2 else None

    def _sum_until(self, end: int) -> float:
        """Return the sum of the values before `end`, smoothed as if the entry before `end` were the newest."""
        inner = max(end - _HALF_WINDOW, 0)
        return self._sums[inner] + sum(self._smooth_value(at, end) for at in range(inner, end))

    def _smooth_value(self, at: int, end: int) -> float:
        return statistics.median(self._values[max(at - _HALF_WINDOW, 0) : min(at + _HALF_WINDOW + 1, end)])


_NEWEST = 200
_LEAST_AT_A_MODE = 5  # entries: with fewer, the spread is too uncertain to separate the levels
_LEAST_SHARE = 0.2  # share of the entries at a level: a smaller share is a set of outliers
_LEAST_SWITCHES = 3  # to the other level, back, and to the other level again
_APART = 3.0  # empty space between the levels, in standard deviations of the level that varies more
_MOST_BEYOND = 5  # newest entries outside both levels: if there are more, a move is detected instead


class Modes(Struct, frozen=True):
    """Two levels between which a figure alternates, and how often it has switched."""

    low: float
    high: float
    switches: int
    border: float  # halfway between both levels
    lasting: int  # number of entries since the last switch
    stays: bool  # whether the figure has stayed at the newest level longer than chance explains


def modes_of(values: Sequence[float], least_change: float) -> Modes | None:
    """Return the two levels between which the values alternate, or did until a few entries ago; None if they do not."""
    for beyond in range(min(_MOST_BEYOND, len(values)) + 1):
        recent = values[max(len(values) - _NEWEST, 0) : len(values) - beyond]
        modes = _find_modes(recent, least_change)
        if modes is not None:
            return _with_newest(modes, [value >= modes.border for value in values[-_NEWEST:]])
    return None


def _with_newest(modes: Modes, is_high: Sequence[bool]) -> Modes:
    lasting = next((run for run, was_high in enumerate(reversed(is_high)) if was_high != is_high[-1]), len(is_high))
    earlier = is_high[: len(is_high) - lasting]
    stayed = [after == one for one, after in pairwise(earlier) if one == is_high[-1]]
    chance = _chance_to_stay(sum(stayed), len(stayed) - sum(stayed), lasting - 1)
    return replace(modes, lasting=lasting, stays=chance < BY_CHANCE)


def _chance_to_stay(stayed: int, left: int, again: int) -> float:
    """Return the probability of staying `again` more times, given how often the figure `stayed` and `left` before.

    This is Laplace's rule of succession.
    """
    return math.prod((stayed + 1 + number) / (stayed + left + 2 + number) for number in range(again))


def _find_modes(recent: Sequence[float], least_change: float) -> Modes | None:
    least = max(_LEAST_AT_A_MODE, math.ceil(len(recent) * _LEAST_SHARE))
    if len(recent) < 2 * least:
        return None
    ordered = sorted(recent)
    border = _above_widest_gap(ordered, least)
    low, high = ordered[:border], ordered[border:]
    is_high = [value >= high[0] for value in recent]
    switches = sum(one != other for one, other in pairwise(is_high))
    spread = max(statistics.stdev(low), statistics.stdev(high))
    modes = Modes(
        statistics.median(low), statistics.median(high), switches, (low[-1] + high[0]) / 2, lasting=0, stays=False
    )
    is_apart = modes.high - modes.low >= least_change and high[0] - low[-1] >= _APART * spread
    return modes if is_apart and switches >= _LEAST_SWITCHES else None


def _above_widest_gap(ordered: Sequence[float], least: int) -> int:
    """Return the index above the widest gap that leaves at least `least` values on each side."""
    inner = range(least, len(ordered) - least + 1)
    return max(inner, key=lambda at: ordered[at] - ordered[at - 1])


_MOST_AT_AN_END = 5  # entries at either end, whose medians are compared
_ERRORS = 3  # standard errors added to the correlation, because autocorrelated entries wander, which resembles a drift
_WINDOWS = (200, 40, 20)  # how many of the newest entries to examine: a drift may have begun later than the level


class FigureDrift(Struct, frozen=True):
    """A drift of the entries from `begin` on, with the medians of its first few and its newest few entries."""

    begin: int
    first: float
    newest: float
    ends: int  # number of entries in each median


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
    slope = statistics.median(slopes)  # Theil-Sen estimator: robust against outliers
    middle = statistics.median(value - slope * at for at, value in enumerate(values))
    rests = clip([value - middle - slope * at for at, value in enumerate(values)])
    correction, height = statistics.linear_regression(range(count), rests)
    residuals = [rest - height - correction * at for at, rest in enumerate(rests)]
    squares_of_indices = count * (count * count - 1) / 12  # around their mean
    variance = sum(residual * residual for residual in residuals) / (count - 2) * inflation_of([residuals], _ERRORS)
    error = math.sqrt(variance / squares_of_indices)
    return error == 0 or t_outside(abs(slope + correction) / error, count - 2) < BY_CHANCE
