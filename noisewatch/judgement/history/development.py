"""The development of a machine over its history: when figures moved, which facts changed then, and text about both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactDifference, differences, unknown_on_one_side
from noisewatch.model.history.figures import TRAITS, Figure, Nature, logarithm
from noisewatch.model.history.shifts import (
    LEAST_AT_A_LEVEL,
    LEAST_BEFORE,
    Level,
    Modes,
    drift_of,
    levels_of,
    modes_of,
    newest_apart,
)
from noisewatch.units import describe_figure, describe_minute


class FigureMove(Struct, frozen=True):
    """A figure that reached another level between two entries, and the facts that differ between these entries.

    For a drift, `before` describes its first few entries, and `after` all of its entries, with the value of the newest
    few.
    """

    figure: Figure
    before: Level
    after: Level
    last_old: Entry
    first_new: Entry
    changed: tuple[FactDifference, ...]
    unknown: tuple[str, ...]  # facts that only one of the two entries contains, so they may have changed too
    is_drift: bool = False

    @property
    def has_facts(self) -> bool:
        """Whether both entries contain facts."""
        return bool(self.last_old.facts and self.first_new.facts)

    @property
    def change(self) -> float:
        """The change as a share: 0.04 is 4% more."""
        return math.expm1(self.after.middle - self.before.middle)

    @property
    def nature(self) -> Nature:
        """The kind of change: more time (slower), a higher rate (faster), more or less noise."""
        nature = TRAITS[self.figure].nature
        if nature == Nature.NOISE or self.change > 0:
            return nature
        return Nature.RATE if nature == Nature.TIME else Nature.TIME

    @property
    def change_words(self) -> str:
        """The change as text: `4.1% slower`."""
        return words_of_change(TRAITS[self.figure].nature, self.change)

    def __str__(self) -> str:
        return f"{self.figure} {self.change_words}"


class Alternation(NamedTuple):
    """A figure that alternates between two levels."""

    figure: Figure
    modes: Modes

    def __str__(self) -> str:
        """Return `clock: bimodal, alternates between 2.1 GHz and 3 GHz (7 changes, the last 4 entries ago)`."""
        figure, modes = self
        low, high = (value_words(figure, math.exp(mode)) for mode in (modes.low, modes.high))
        last = "with the newest entry" if modes.lasting == 1 else f"{modes.lasting} entries ago"
        return f"{figure}: bimodal, alternates between {low} and {high} ({modes.switches} changes, the last {last})"


class Development(Struct, frozen=True, kw_only=True):
    """The changes of a machine's figures over comparable entries, the oldest entry first.

    A figure's usual level is the one with the most entries; of equal ones, the oldest.
    """

    entries: tuple[Entry, ...] = ()
    moves: tuple[FigureMove, ...] = ()  # changes from one level to the next, the newest first
    departures: tuple[FigureMove, ...] = ()  # changes from the usual level to the current one
    drifts: tuple[FigureMove, ...] = ()  # gradual changes within the current level
    apart: tuple[FigureMove, ...] = ()  # changes in the newest entries, which are too few to prove a new level
    alternations: tuple[Alternation, ...] = ()
    unjudged: tuple[Figure, ...] = ()  # figures with too few entries


class _FigureDevelopment(NamedTuple):
    """The development of one figure."""

    moves: list[FigureMove]
    departure: FigureMove | None
    drift: FigureMove | None
    apart: FigureMove | None


def development_of(entries: Sequence[Entry]) -> Development:
    """Return the development of the machine up to the newest entry."""
    developments: list[_FigureDevelopment] = []
    alternations: list[Alternation] = []
    unjudged: list[Figure] = []
    for figure in Figure:
        measured = [entry for entry in entries if figure in entry.figures]
        values = [logarithm(figure, entry.figures[figure]) for entry in measured]
        least = TRAITS[figure].least_change
        if len(measured) <= LEAST_BEFORE:
            unjudged.append(figure)
        elif (modes := modes_of(values, least)) is None:
            developments.append(_develop_levels(figure, measured, values))
        else:
            developments.append(_develop_modes(figure, measured, values, modes))
            alternations += [] if modes.stays else [Alternation(figure, modes)]
    place = {id(entry): number for number, entry in enumerate(entries)}
    moves = [move for development in developments for move in development.moves]
    return Development(
        entries=tuple(entries),
        moves=tuple(sorted(moves, key=lambda move: place[id(move.first_new)], reverse=True)),
        departures=tuple(development.departure for development in developments if development.departure is not None),
        drifts=tuple(development.drift for development in developments if development.drift is not None),
        apart=tuple(development.apart for development in developments if development.apart is not None),
        alternations=tuple(alternations),
        unjudged=tuple(unjudged),
    )


def _develop_modes(
    figure: Figure, entries: Sequence[Entry], values: Sequence[float], modes: Modes
) -> _FigureDevelopment:
    """Return the development of a figure with two levels, from the entries near the newest entry's level.

    If the figure stays near that level, its last change to that level is a move.
    """
    is_high = values[-1] >= modes.border
    same_side = [number for number, value in enumerate(values) if (value >= modes.border) == is_high]
    development = _develop_levels(
        figure, [entries[number] for number in same_side], [values[number] for number in same_side]
    )
    if not modes.stays:
        return development
    begin = len(values) - modes.lasting
    before, now = (modes.low, modes.high) if is_high else (modes.high, modes.low)
    stay = _move(figure, entries, Level(0, begin, before), Level(begin, len(values), now))
    is_usual = modes.lasting > begin
    return development._replace(
        moves=[stay, *development.moves], departure=development.departure or (None if is_usual else stay)
    )


def _develop_levels(figure: Figure, entries: Sequence[Entry], values: Sequence[float]) -> _FigureDevelopment:
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
    return _FigureDevelopment(moves, departure, drift, apart)


def _drift(figure: Figure, entries: Sequence[Entry], values: Sequence[float], level: Level) -> FigureMove | None:
    drift = drift_of(values[level.begin : level.end], TRAITS[figure].least_change)
    if drift is None:
        return None
    begin = level.begin + drift.begin
    before, after = Level(begin, begin + drift.ends, drift.first), Level(begin, level.end, drift.newest)
    return _move(figure, entries, before, after, is_drift=True)


def _move(figure: Figure, entries: Sequence[Entry], before: Level, after: Level, is_drift: bool = False) -> FigureMove:
    begin = after.begin
    last_old, first_new = (entries[begin], entries[-1]) if is_drift else (entries[begin - 1], entries[begin])
    return FigureMove(
        figure=figure,
        before=before,
        after=after,
        last_old=last_old,
        first_new=first_new,
        changed=differences(last_old.facts, first_new.facts),
        unknown=unknown_on_one_side(last_old.facts, first_new.facts),
        is_drift=is_drift,
    )


NOTHING_CHANGED = (
    "no recorded fact changed; the cause may be cooling, a limit set in firmware, a memory module, or other work on a "
    "virtual machine's host"
)
FACTS_UNKNOWN = "cannot tell what changed then: the entries contain no facts"
_MAX_CHANGES = 6


def words_of_change(nature: Nature, change: float) -> str:
    """Return `4.1% slower` or `2.3 times as noisy` for a relative change of a figure of that nature."""
    if nature == Nature.NOISE:
        return f"{_times(1 + change)} times as noisy" if change > 0 else f"{_times(1 / (1 + change))} times as calm"
    is_slower = (change > 0) == (nature == Nature.TIME)
    return (
        f"{abs(change):.1%} {'slower' if is_slower else 'faster'}"
        if abs(change) < 1
        else (f"{_times(1 + change)} times as {'slow' if is_slower else 'fast'}")
    )


def _times(ratio: float) -> str:
    """Return the ratio with two digits and no exponent."""
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def value_words(figure: Figure, value: float) -> str:
    """Return the value with its unit."""
    return describe_figure(value, TRAITS[figure].unit)


def move_words(move: FigureMove, count: int) -> str:
    """Return `latency work: 4.1% slower since 2026-11-14 09:30 (6 of 26 entries)`."""
    since = describe_minute((move.last_old if move.is_drift else move.first_new).at_s)
    change = f"{'drifts, ' if move.is_drift else ''}{move.change_words}"
    return f"{move.figure}: {change} since {since} ({move.after.count} of {count} entries)"


def apart_words(move: FigureMove) -> str:
    """Return text on the newest few entries, which may be outliers."""
    count, change = move.after.count, move.change_words
    if count < LEAST_AT_A_LEVEL:
        newest = "the newest entry alone" if count == 1 else "the newest two entries alone"
        return f"{move.figure}: {change} in {newest}, an outlier or a change; the next entries decide"
    newest = f"the newest {count} entries, compared with the {move.before.count} before"
    return f"{move.figure}: {change} in {newest}, too few to confirm it; the next entries decide"


def difference_words(changed: Sequence[FactDifference]) -> list[str]:
    """Return the most significant changed facts as text, and how many more changed."""
    words = [str(change) for change in changed[:_MAX_CHANGES]]
    return [*words, f"and {len(changed) - _MAX_CHANGES} more"] if len(changed) > _MAX_CHANGES else words


def attribution_words(move: FigureMove) -> str:
    """Return which facts changed between the last entry before the move and the first entry after it.

    For a drift, the first and the newest entry are compared. Facts that only one of these entries contains may also
    have changed, and are named too.
    """
    if not move.has_facts:
        return FACTS_UNKNOWN
    doubt = f"; may also have changed (unknown before or after): {', '.join(move.unknown)}" if move.unknown else ""
    if move.changed:
        when = "meanwhile" if move.is_drift else "just then"
        return f"changed {when}: {'; '.join(difference_words(move.changed))}{doubt or '; no other recorded fact'}"
    return f"no known fact changed{doubt}" if doubt else NOTHING_CHANGED
