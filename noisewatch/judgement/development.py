"""How a machine developed, by its history: where each figure moved, and what changed in the machine just then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactDifference, differences, unknown_on_one_side
from noisewatch.model.history.figures import TRAITS, Figure, Nature, logarithm
from noisewatch.model.history.levels import LEAST_ENTRIES, Level, Modes, levels_of, modes_of
from noisewatch.records import dataclass

NOTHING_CHANGED = (
    "nothing that is recorded changed: what is left is a power limit set elsewhere, cooling, a memory module, or what "
    "else the host of a virtual machine does"
)


@dataclass(frozen=True, slots=True)
class FigureMove:
    """A figure came to another level between two entries, and what differs between these."""

    figure: Figure
    before: Level
    after: Level
    last_old: Entry
    first_new: Entry
    changed: tuple[FactDifference, ...]
    unknown: tuple[str, ...]  # facts that only one of the two entries knows: they may have changed as well

    @property
    def has_facts(self) -> bool:
        """Whether both entries know what the machine was."""
        return bool(self.last_old.facts and self.first_new.facts)

    @property
    def change(self) -> float:
        """As a share: 0.04 is 4 % more."""
        return math.expm1(self.after.middle - self.before.middle)


class Alternation(NamedTuple):
    """A figure that has two levels in turn."""

    figure: Figure
    modes: Modes


@dataclass(frozen=True, slots=True)
class Development:
    """Of entries that can be compared with each other, the oldest first."""

    entries: tuple[Entry, ...]
    moves: tuple[FigureMove, ...]
    alternations: tuple[Alternation, ...]
    unjudged: tuple[Figure, ...]  # too few entries know them


def development_of(entries: Sequence[Entry]) -> Development:
    """What became of the machine; the newest move first."""
    moves: list[FigureMove] = []
    alternations: list[Alternation] = []
    unjudged: list[Figure] = []
    for figure in Figure:
        known = [entry for entry in entries if figure in entry.figures]
        values = [logarithm(figure, entry.figures[figure]) for entry in known]
        if len(known) < LEAST_ENTRIES:
            unjudged.append(figure)
            continue
        least = TRAITS[figure].least_change
        modes = modes_of(values, least)
        if modes is not None:
            alternations.append(Alternation(figure, modes))
        else:
            moves += _moves(figure, known, levels_of(values, least))
    moves.sort(key=lambda move: entries.index(move.first_new), reverse=True)
    return Development(tuple(entries), tuple(moves), tuple(alternations), tuple(unjudged))


def _moves(figure: Figure, entries: Sequence[Entry], levels: Sequence[Level]) -> list[FigureMove]:
    moves = []
    for before, after in pairwise(levels):
        last_old, first_new = entries[after.begin - 1], entries[after.begin]
        moves.append(
            FigureMove(
                figure=figure,
                before=before,
                after=after,
                last_old=last_old,
                first_new=first_new,
                changed=differences(last_old.facts, first_new.facts),
                unknown=unknown_on_one_side(last_old.facts, first_new.facts),
            )
        )
    return moves


def change_words(figure: Figure, change: float) -> str:
    """`4.1% slower`, `2.3 times as noisy`; the change is that of the figure, as a share."""
    nature = TRAITS[figure].nature
    if nature == Nature.NOISE:
        return f"{1 + change:.2g} times as noisy" if change > 0 else f"{1 / (1 + change):.2g} times as calm"
    is_slower = (change > 0) == (nature == Nature.TIME)
    return (
        f"{abs(change):.2%} {'slower' if is_slower else 'faster'}"
        if abs(change) < 1
        else (f"{1 + change:.2g} times as {'slow' if is_slower else 'fast'}")
    )
