"""The development of a machine by its history: where each figure moved, and which facts changed at that time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactDifference, differences, unknown_on_one_side
from noisewatch.model.history.figures import TRAITS, Figure, Nature, logarithm
from noisewatch.model.history.shifts import LEAST_BEFORE, Level, Modes, drift_of, levels_of, modes_of, newest_apart
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class FigureMove:
    """A figure that reached another level between two entries, and the facts that differ between them.

    Of a drift, `before` are the first few entries, and `after` all entries with the value of the newest few.
    """

    figure: Figure
    before: Level
    after: Level
    last_old: Entry
    first_new: Entry
    changed: tuple[FactDifference, ...]
    unknown: tuple[str, ...]  # facts that only one of the two entries has: they may have changed as well
    is_drift: bool = False

    @property
    def has_facts(self) -> bool:
        """Whether both entries contain facts."""
        return bool(self.last_old.facts and self.first_new.facts)

    @property
    def change(self) -> float:
        """The change as a share: 0.04 is 4 % more."""
        return math.expm1(self.after.middle - self.before.middle)


class Alternation(NamedTuple):
    """A figure that alternates between two levels."""

    figure: Figure
    modes: Modes


@dataclass(frozen=True, slots=True, kw_only=True)
class Development:
    """The development by comparable entries, the oldest first.

    The usual value of a figure is its level with the most entries, the oldest of equal ones.
    """

    entries: tuple[Entry, ...] = ()
    moves: tuple[FigureMove, ...] = ()  # from one level to the next, the newest first
    departures: tuple[FigureMove, ...] = ()  # from what is usual to what is now
    drifts: tuple[FigureMove, ...] = ()  # neither moves nor departures: each entry a little farther
    apart: tuple[FigureMove, ...] = ()  # the newest entries lie apart, too few of them to be a level
    alternations: tuple[Alternation, ...] = ()
    unjudged: tuple[Figure, ...] = ()  # too few entries have them


class _OfFigure(NamedTuple):
    """The development of one figure."""

    moves: list[FigureMove]
    departure: FigureMove | None
    drift: FigureMove | None
    apart: FigureMove | None


def development_of(entries: Sequence[Entry]) -> Development:
    """Return the development of the machine up to the newest entry."""
    found: list[_OfFigure] = []
    alternations: list[Alternation] = []
    unjudged: list[Figure] = []
    for figure in Figure:
        known = [entry for entry in entries if figure in entry.figures]
        values = [logarithm(figure, entry.figures[figure]) for entry in known]
        least = TRAITS[figure].least_change
        if len(known) <= LEAST_BEFORE:
            unjudged.append(figure)
        elif (modes := modes_of(values, least)) is None:
            found.append(_of_figure(figure, known, values))
        else:
            found.append(_of_modes(figure, known, values, modes))
            alternations += [] if modes.stays else [Alternation(figure, modes)]
    place = {id(entry): number for number, entry in enumerate(entries)}
    moves = [move for each in found for move in each.moves]
    return Development(
        entries=tuple(entries),
        moves=tuple(sorted(moves, key=lambda move: place[id(move.first_new)], reverse=True)),
        departures=tuple(each.departure for each in found if each.departure is not None),
        drifts=tuple(each.drift for each in found if each.drift is not None),
        apart=tuple(each.apart for each in found if each.apart is not None),
        alternations=tuple(alternations),
        unjudged=tuple(unjudged),
    )


def _of_modes(figure: Figure, entries: Sequence[Entry], values: Sequence[float], modes: Modes) -> _OfFigure:
    """Return the development of a figure with two levels, by the entries on the side of the newest one.

    It is a move if the figure stays there.
    """
    is_high = values[-1] >= modes.border
    here = [number for number, value in enumerate(values) if (value >= modes.border) == is_high]
    found = _of_figure(figure, [entries[number] for number in here], [values[number] for number in here])
    if not modes.stays:
        return found
    begin = len(values) - modes.lasting
    before, now = (modes.low, modes.high) if is_high else (modes.high, modes.low)
    stay = _move(figure, entries, Level(0, begin, before), Level(begin, len(values), now))
    is_usual = modes.lasting > begin
    return found._replace(moves=[stay, *found.moves], departure=found.departure or (None if is_usual else stay))


def _of_figure(figure: Figure, entries: Sequence[Entry], values: Sequence[float]) -> _OfFigure:
    least = TRAITS[figure].least_change
    levels = levels_of(values, least)
    moves = [_move(figure, entries, before, after) for before, after in pairwise(levels)]
    usual, now = max(levels, key=lambda level: level.count), levels[-1]
    departure = None
    if abs(now.middle - usual.middle) >= least:
        departure = _move(figure, entries, usual, Level(usual.end, now.end, now.middle))
    drift = _drift(figure, entries, values, now) if departure is None else None
    newest = newest_apart(values, now, least)
    apart = _move(figure, entries, Level(now.begin, newest.begin, now.middle), newest) if newest is not None else None
    return _OfFigure(moves, departure, drift, apart)


def _drift(figure: Figure, entries: Sequence[Entry], values: Sequence[float], level: Level) -> FigureMove | None:
    found = drift_of(values[level.begin : level.end], TRAITS[figure].least_change)
    if found is None:
        return None
    begin = level.begin + found.begin
    before, after = Level(begin, begin + found.ends, found.first), Level(begin, level.end, found.newest)
    return replace(_between(figure, entries[begin], entries[-1], before, after), is_drift=True)


def _move(figure: Figure, entries: Sequence[Entry], before: Level, after: Level) -> FigureMove:
    return _between(figure, entries[after.begin - 1], entries[after.begin], before, after)


def _between(figure: Figure, last_old: Entry, first_new: Entry, before: Level, after: Level) -> FigureMove:
    return FigureMove(
        figure=figure,
        before=before,
        after=after,
        last_old=last_old,
        first_new=first_new,
        changed=differences(last_old.facts, first_new.facts),
        unknown=unknown_on_one_side(last_old.facts, first_new.facts),
    )


def nature_of(move: FigureMove) -> Nature:
    """Return the kind of change: more time, a higher rate or more noise. For speeds, TIME is slower, RATE is faster."""
    nature = TRAITS[move.figure].nature
    if nature == Nature.NOISE or move.change > 0:
        return nature
    return Nature.RATE if nature == Nature.TIME else Nature.TIME
