"""Two levels between which a figure alternates, so that neither is a move to a new level."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from noisewatch.model.history.shifts import BY_CHANCE
from noisewatch.records import dataclass

_NEWEST = 200
_LEAST_AT_A_MODE = 5  # entries: the spread of fewer is too uncertain to separate them
_LEAST_SHARE = 0.2  # of the entries: fewer are outliers, however often they come
_LEAST_SWITCHES = 3  # there, back, and there again
_APART = 3.0  # standard deviations within the wider one, that lie between them empty
_MOST_BEYOND = 5  # of the newest entries: if more lie outside both levels, a move is detected without them


@dataclass(frozen=True, slots=True)
class Modes:
    """Two levels between which a figure alternates, and how often it changed from one to the other."""

    low: float
    high: float
    switches: int
    border: float  # half-way between both
    lasting: int  # the newest entries, since the last change
    stays: bool  # for longer than it ever would by chance


def modes_of(values: Sequence[float], least_change: float) -> Modes | None:
    """Return the two levels between which the values alternate, or did until a few entries ago, or None."""
    for beyond in range(min(_MOST_BEYOND, len(values)) + 1):
        recent = values[max(len(values) - _NEWEST, 0) : len(values) - beyond]
        found = _modes_within(recent, least_change)
        if found is not None:
            return _with_newest(found, [value >= found.border for value in values[-_NEWEST:]])
    return None


def _with_newest(modes: Modes, is_high: Sequence[bool]) -> Modes:
    lasting = next((run for run, was_high in enumerate(reversed(is_high)) if was_high != is_high[-1]), len(is_high))
    earlier = is_high[: len(is_high) - lasting]
    stayed = [after == one for one, after in pairwise(earlier) if one == is_high[-1]]
    chance = _chance_to_stay(sum(stayed), len(stayed) - sum(stayed), lasting - 1)
    return replace(modes, lasting=lasting, stays=chance < BY_CHANCE)


def _chance_to_stay(stayed: int, left: int, again: int) -> float:
    """Return the probability of staying `again` more times, after staying and leaving this often.

    Each time is equally likely: Laplace's rule of succession.
    """
    return math.prod((stayed + 1 + number) / (stayed + left + 2 + number) for number in range(again))


def _modes_within(recent: Sequence[float], least_change: float) -> Modes | None:
    least = max(_LEAST_AT_A_MODE, math.ceil(len(recent) * _LEAST_SHARE))
    if len(recent) < 2 * least:
        return None
    ordered = sorted(recent)
    border = _above_widest_gap(ordered, least)
    low, high = ordered[:border], ordered[border:]
    is_high = [value >= high[0] for value in recent]
    switches = sum(one != other for one, other in pairwise(is_high))
    within = max(statistics.stdev(low), statistics.stdev(high))
    modes = Modes(
        statistics.median(low), statistics.median(high), switches, (low[-1] + high[0]) / 2, lasting=0, stays=False
    )
    is_apart = modes.high - modes.low >= least_change and high[0] - low[-1] >= _APART * within
    return modes if is_apart and switches >= _LEAST_SWITCHES else None


def _above_widest_gap(ordered: Sequence[float], least: int) -> int:
    """Return the index above the widest gap that leaves at least `least` values on each side."""
    inner = range(least, len(ordered) - least + 1)
    return max(inner, key=lambda at: ordered[at] - ordered[at - 1])
