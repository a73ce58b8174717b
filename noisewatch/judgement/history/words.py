"""Text on the development of a machine, shared by the history and the checks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewatch.judgement.history.development import Alternation, FigureMove
from noisewatch.model.history.facts import FactDifference
from noisewatch.model.history.figures import TRAITS, Figure, Nature
from noisewatch.model.history.shifts import LEAST_AT_A_LEVEL
from noisewatch.units import describe_figure, describe_minute

NOTHING_CHANGED = (
    "no recorded fact changed: what is left is what is not recorded, such as cooling, a limit set in firmware, a "
    "memory module, or what else the host of a virtual machine does"
)
FACTS_UNKNOWN = "what changed then is unknown: the entries do not tell what the machine was"
_MOST_CHANGES = 6


def change_words(figure: Figure, change: float) -> str:
    """Return `4.1% slower` or `2.3 times as noisy` for a relative change of the figure."""
    return words_of_change(TRAITS[figure].nature, change)


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
    change = f"{'drifts, ' if move.is_drift else ''}{change_words(move.figure, move.change)}"
    return f"{move.figure}: {change} since {since} ({move.after.count} of {count} entries)"


def apart_words(move: FigureMove) -> str:
    """Return text on the newest few entries, which may be outliers."""
    count, change = move.after.count, change_words(move.figure, move.change)
    if count < LEAST_AT_A_LEVEL:
        whose = "the newest entry alone" if count == 1 else "the newest two entries alone"
        return f"{move.figure}: {change} in {whose}, so an outlier or a move: the next entries tell"
    of_all = f"the newest {count} entries alone, after {move.before.count}"
    return f"{move.figure}: {change} in {of_all}, which are too few to prove a move: the next entries tell"


def alternation_words(alternation: Alternation) -> str:
    """Return `clock: bimodal, alternates between 2.1 GHz and 3 GHz (7 changes, the last 4 entries ago)`."""
    figure, modes = alternation
    low, high = (value_words(figure, math.exp(each)) for each in (modes.low, modes.high))
    changes = f"{modes.switches} changes, the last {_ago(modes.lasting)}"
    return f"{figure}: bimodal, alternates between {low} and {high} ({changes})"


def _ago(count: int) -> str:
    return "with the newest entry" if count == 1 else f"{count} entries ago"


def difference_words(changed: Sequence[FactDifference]) -> list[str]:
    """Return the changed facts as text, the most significant first, and the number of the rest."""
    words = [str(each) for each in changed[:_MOST_CHANGES]]
    return [*words, f"and {len(changed) - _MOST_CHANGES} more"] if len(changed) > _MOST_CHANGES else words


def attribution_words(move: FigureMove) -> str:
    """Return which facts changed between the last entry before the move and the first after it.

    Facts that may have changed, as only one of the two entries has them, are named too.
    """
    if not move.has_facts:
        return FACTS_UNKNOWN
    doubt = f"; may have changed, as only one side knows it: {', '.join(move.unknown)}" if move.unknown else ""
    if move.changed:
        when = "meanwhile" if move.is_drift else "just then"
        return f"changed {when}: {'; '.join(difference_words(move.changed))}{doubt or '; no other recorded fact'}"
    return f"no known fact changed{doubt}" if doubt else NOTHING_CHANGED
