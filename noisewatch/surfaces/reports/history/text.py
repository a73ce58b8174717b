"""The history as text: where it moved and what changed just then, two small charts, and an entry a line."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.development import (
    NOTHING_CHANGED,
    Alternation,
    Development,
    FigureMove,
    change_words,
)
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.facts import FactDifference, differences
from noisewatch.model.history.figures import TRAITS, Figure, logarithm
from noisewatch.model.history.levels import LEAST_AT_A_LEVEL, LEAST_ENTRIES
from noisewatch.operations.history.view import HistoryView
from noisewatch.surfaces.reports.parts.tables import align_within
from noisewatch.units import describe_clock, describe_ns, describe_rate, describe_share

_RAMPS = {True: "▁▂▃▄▅▆▇█", False: "_.-=+*#@"}
_CHARTED = (Figure.LATENCY, Figure.NOISE_10MS)
_NEWEST = 20
_MOST_CHANGES = 6
_STEADY = f"no move found: none that lasted {LEAST_AT_A_LEVEL} entries, and that their spread does not explain"
_FACTS_UNKNOWN = "what changed then is unknown: the entries do not tell what the machine was"


def text_of_history(view: HistoryView, width: int, is_unicode: bool, is_verbose: bool) -> str:
    """All of it, or with the newest entries alone."""
    return "\n".join(_lines(view, width, is_unicode, is_verbose)) + "\n"


def day(at_s: float) -> str:
    """A moment in local time, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))
    except (OverflowError, OSError, ValueError):
        return "?"


def _lines(view: HistoryView, width: int, is_unicode: bool, is_verbose: bool) -> Iterator[str]:
    development = view.development
    if development is None or not development.entries:
        yield from _wrapped(_nothing(view), width)
        return
    newest, count = development.entries[-1], len(development.entries)
    first, last = day(development.entries[0].at_s), day(newest.at_s)
    yield from _wrapped(
        f"noisewatch history · {name_cpus(newest.cpus)} · {count} {'entry' if count == 1 else 'entries'}, "
        f"{first} to {last} · {view.path}",
        width,
    )
    if view.doubt is not None:
        yield from _wrapped(f"unknown: {view.doubt}", width)
    elif count < LEAST_ENTRIES:
        yield f"remembering: {count} of {LEAST_ENTRIES}"
    else:
        yield from _development(development, width)
    yield from _wrapped(_left_out(view, development), width)
    yield ""
    yield from _charts(development.entries, width, is_unicode)
    yield ""
    shown = development.entries if is_verbose else development.entries[-_NEWEST:]
    yield from align_within(width, _table(development.entries, shown), "changed", ["noise 10 ms", "clock"])


def _nothing(view: HistoryView) -> str:
    if view.past.accepted:
        return f"{view.path}: no entry since this machine was accepted (noisewatch preflight --history makes one)"
    return f"{view.path}: no entry of this machine yet (noisewatch preflight --history makes one)"


def _left_out(view: HistoryView, development: Development) -> str:
    """What else the file holds."""
    others = len(view.past.entries) - view.past.accepted - len(development.entries)
    parts = [
        f"{others} of other CPUs, by another core or without figures" if others else "",
        f"{view.past.accepted} from before the machine was accepted" if view.past.accepted else "",
        f"those of {view.other_machines} other machine{'s' if view.other_machines > 1 else ''}"
        if view.other_machines
        else "",
    ]
    named = "; ".join(part for part in parts if part)
    return f"not compared: {named}" if named else ""


def _development(development: Development, width: int) -> Iterator[str]:
    if not development.moves and not development.alternations:
        yield from _wrapped(_STEADY, width)
    for move in development.moves:
        yield from _move(move, len(development.entries), width)
    for alternation in development.alternations:
        yield from _wrapped(_alternation(alternation), width)
    if development.unjudged:
        named = ", ".join(development.unjudged)
        yield from _wrapped(f"not judged, as fewer than {LEAST_ENTRIES} entries have it: {named}", width)


def _move(move: FigureMove, count: int, width: int) -> Iterator[str]:
    change, since = change_words(move.figure, move.change), day(move.first_new.at_s)
    of_all = f"{move.after.count} of {count} entries"
    yield from _wrapped(f"{move.figure}: {change} since {since} ({of_all})", width)
    changed = [str(each) for each in move.changed[:_MOST_CHANGES]]
    if not move.has_facts:
        yield from _wrapped(f"  {_FACTS_UNKNOWN}", width)
    elif not changed and not move.unknown:
        yield from _wrapped(f"  since {day(move.last_old.at_s)} {NOTHING_CHANGED}", width)
    elif changed:
        yield from _wrapped(f"  between {day(move.last_old.at_s)} and then changed:", width)
        for each in changed:
            yield from _wrapped(f"    {each}", width)
        if len(move.changed) > _MOST_CHANGES:
            yield f"    and {len(move.changed) - _MOST_CHANGES} more"
    if move.has_facts and move.unknown:
        yield from _wrapped(f"  may have changed, as only one side knows it: {', '.join(move.unknown)}", width)


def _alternation(alternation: Alternation) -> str:
    figure, modes = alternation
    low, high = (value_words(figure, math.exp(each)) for each in (modes.low, modes.high))
    return f"{figure}: bimodal, alternates between {low} and {high} ({modes.switches} changes)"


def value_words(figure: Figure, value: float) -> str:
    """The value with its unit."""
    traits = TRAITS[figure]
    if traits.unit == "ns":
        return describe_ns(value)
    if traits.unit == "kHz":
        return describe_clock(value)
    return describe_share(value) if traits.unit == "CV" else describe_rate(value)


def _charts(entries: Sequence[Entry], width: int, is_unicode: bool) -> Iterator[str]:
    """A character an entry, from its lowest to its highest value; a blank where it has none."""
    heading = max(len(figure) for figure in _CHARTED)
    for figure in _CHARTED:
        values = [entry.figures.get(figure) for entry in entries]
        known = [value for value in values if value is not None]
        if not known:
            continue
        ends = f" {value_words(figure, min(known))} to {value_words(figure, max(known))}"
        room = max(width - heading - len(ends) - 2, 1)
        yield f"{figure:<{heading}}  {_strip(figure, values[-room:], _RAMPS[is_unicode])}{ends}"[:width]


def _strip(figure: Figure, values: Sequence[float | None], ramp: str) -> str:
    heights = [None if value is None else logarithm(figure, value) for value in values]
    known = [height for height in heights if height is not None]
    low = min(known, default=0.0)
    span = max(max(known, default=0.0) - low, TRAITS[figure].least_change)
    return "".join(
        " " if height is None else ramp[min(int((height - low) / span * len(ramp)), len(ramp) - 1)]
        for height in heights
    )


def _table(entries: Sequence[Entry], shown: Sequence[Entry]) -> list[list[str]]:
    first = len(entries) - len(shown)
    rows = [["when", "latency work", "clock", "noise 10 ms", "changed"]]
    for number, entry in enumerate(shown, first):
        before = entries[number - 1].facts if number else entry.facts
        rows.append(
            [
                day(entry.at_s),
                _value(entry, Figure.LATENCY),
                _value(entry, Figure.CLOCK),
                _value(entry, Figure.NOISE_10MS),
                _changed(differences(before, entry.facts)),
            ]
        )
    return rows


def _value(entry: Entry, figure: Figure) -> str:
    value = entry.figures.get(figure)
    return "?" if value is None else value_words(figure, value)


def _changed(changes: Sequence[FactDifference]) -> str:
    return "; ".join(map(str, changes))


def _wrapped(text: str, width: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(text, max(width, 20), subsequent_indent=f"{indent}  ", break_on_hyphens=False)
