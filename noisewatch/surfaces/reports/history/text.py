"""A history as text: moves with the facts that changed, two small charts, and a line for each entry."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from noisewatch.cpus import format_cpu_list, name_cpus
from noisewatch.judgement.history.development import (
    FACTS_UNKNOWN,
    NOTHING_CHANGED,
    Development,
    FigureMove,
    apart_words,
    difference_words,
    move_words,
    value_words,
)
from noisewatch.model.history.entries import Acceptance, Entry, Past
from noisewatch.model.history.facts import differences
from noisewatch.model.history.figures import TRAITS, Figure, logarithm
from noisewatch.model.history.shifts import LEAST_AT_A_LEVEL, LEAST_BEFORE
from noisewatch.operations.history import HistoryView, damage_words
from noisewatch.surfaces.drawing.accents import accent_lines, first_figure
from noisewatch.surfaces.drawing.tables import align_within, fence
from noisewatch.surfaces.drawing.text_row import Style
from noisewatch.surfaces.drawing.wraps import wrap_hanging
from noisewatch.units import describe_count, describe_minute

WIDTH = 120  # columns of reports that are not shown in a terminal
_NEWEST = 20
_MOST_OTHERS = 4  # sets of CPUs that are named
_MAKES_ONE = "noisewatch preflight --history makes one"
_ACCEPT = "to accept it: noisewatch history accept"
_BACKWARDS = "the clock was set back between entries; they are listed in the order of their creation"
_STEADY = f"no move found: no change lasted {LEAST_AT_A_LEVEL} entries and exceeded their spread"
CHARTED = (Figure.LATENCY, Figure.NOISE_10MS)
ROWS = 4
_RAMPS = {True: " ▁▂▃▄▅▆▇█", False: " .:#"}
_AXIS = {True: "┤", False: "|"}
_MARK = {True: "↑", False: "^"}
_LEAST_COLUMNS = 10
_DAY, _LEAST_BETWEEN = len("2026-11-14"), 2  # characters


def text_of_history(view: HistoryView, width: int, is_unicode: bool, is_verbose: bool, in_colour: bool = False) -> str:
    """Return the history with all entries if `is_verbose`, else with the newest ones."""
    lines = list(history_lines(view, width, is_unicode, is_verbose))
    return "\n".join(accent_lines(lines, _accents(view, lines[0]), in_colour)) + "\n"


def _accents(view: HistoryView, title: str) -> dict[str, Style]:
    """Return the styles of the size of each move, of the facts that changed with it, and of the command to copy."""
    accents: dict[str, Style] = {title: "title", "noisewatch history accept": "command", "not as usual now": "notable"}
    accents |= {"unknown": "notable", "noisewatch preflight --history": "command"}
    development = view.development
    if development is None:
        return accents
    for move in (*development.drifts, *development.moves, *development.apart):
        for difference in difference_words(move.changed):
            accents[difference] = "culprit"
    for move in (*development.drifts, *development.moves):
        accents |= first_figure(move_words(move, len(development.entries)).partition(": ")[2])
    return accents


def markdown_of_history(view: HistoryView, is_verbose: bool) -> str:
    """Return the history as a Markdown code block, so that columns stay aligned."""
    title, *lines = history_lines(view, WIDTH, True, is_verbose)
    return f"## {title}\n\n" + fence("text", lines)


def history_rows(view: HistoryView, width: int, is_unicode: bool, is_verbose: bool) -> list[list[tuple[str, str]]]:
    """Return the history as styled rows, for a picture."""
    title, *lines = history_lines(view, width, is_unicode, is_verbose)
    return [[(title, "title")], *([(line, "plain")] for line in lines)]


def history_lines(view: HistoryView, width: int, is_unicode: bool, is_verbose: bool) -> Iterator[str]:
    """Yield the findings of the history, its charts and its table."""
    development = view.development
    if development is None or not development.entries:
        yield from wrap_hanging(_no_entry_sentence(view), width)
        return
    newest, count = development.entries[-1], len(development.entries)
    first, last = describe_minute(development.entries[0].at_s), describe_minute(newest.at_s)
    yield from wrap_hanging(
        f"noisewatch history · {name_cpus(newest.cpus)} · {_entries(count)}, {first} to {last} · {view.path}",
        width,
    )
    if view.past.acceptance is not None:
        yield from wrap_hanging(_acceptance(view.past.acceptance), width)
    if view.past.doubt is not None:
        yield from wrap_hanging(f"unknown: {view.past.doubt}", width)
    elif count <= LEAST_BEFORE:
        yield f"learning what is usual: {count} of {LEAST_BEFORE} entries; later entries are judged"
    else:
        yield from _development(development, width)
    yield from wrap_hanging(_left_out_text(view, development), width)
    if view.past.damaged:
        yield from wrap_hanging(damage_words(view.past.damaged), width)
    if any(later.at_s < earlier.at_s for earlier, later in pairwise(development.entries)):
        yield from wrap_hanging(_BACKWARDS, width)
    yield ""
    charts = chart_lines(development, width, is_unicode)
    yield from [*charts, ""] if charts else []
    shown = development.entries if is_verbose else development.entries[-_NEWEST:]
    yield from align_within(width, _table(development.entries, shown), "changed", ["noise 10 ms", "clock"])


def _no_entry_sentence(view: HistoryView) -> str:
    if view.past.acceptance is not None:
        accepted = _acceptance(view.past.acceptance)
        return f"{view.path}: no entry since this machine was {accepted} ({_MAKES_ONE})"
    return f"{view.path}: no entry of this machine yet ({_MAKES_ONE}; root and each user have a history of their own)"


def _acceptance(acceptance: Acceptance) -> str:
    """Return `accepted 2026-11-20 10:00: new BIOS`."""
    when = f" {describe_minute(acceptance.at_s)}" if acceptance.at_s is not None else ""
    return f"accepted{when}: {acceptance.why}" if acceptance.why else f"accepted{when}"


def _left_out_text(view: HistoryView, development: Development) -> str:
    """Return text on the file's entries that are not compared."""
    past = view.past
    parts = [
        f"{_entries(past.thinned_out, 'older ')}, thinned out evenly over time" if past.thinned_out else "",
        *_other_entries(past, development.entries[-1]),
        f"{past.accepted} from before the machine was accepted" if past.accepted else "",
        f"entries of {describe_count(past.other_machines, 'other machine')}" if past.other_machines else "",
    ]
    named = "; ".join(part for part in parts if part)
    return f"not compared: {named}" if named else ""


def _other_entries(past: Past, newest: Entry) -> list[str]:
    """Return the counts of entries with other CPUs (and the option for them) or another core, then without figures."""
    counts = Counter((entry.cpus, entry.core) for entry in past.usual if entry.figures)
    del counts[newest.cpus, newest.core]
    bare = sum(not entry.figures for entry in past.usual)
    parts = []
    for (cpus, core), count in counts.most_common(_MOST_OTHERS):
        by = f" by the {core} core" if core != newest.core else ""
        option = f" (--cpus {format_cpu_list(cpus)})" if cpus != newest.cpus else ""
        parts.append(f"{count} of {name_cpus(cpus)}{by}{option}")
    rest = sum(count for _, count in counts.most_common()[_MOST_OTHERS:])
    parts += [f"{rest} of other CPUs"] if rest else []
    return [*parts, f"{bare} without figures"] if bare else parts


def _entries(count: int, which: str = "") -> str:
    return f"{count:,} {which}{'entry' if count == 1 else 'entries'}"


def _development(development: Development, width: int) -> Iterator[str]:
    if not (development.moves or development.drifts or development.alternations or development.apart):
        yield from wrap_hanging(_STEADY, width)
    for apart in development.apart:
        yield from wrap_hanging(apart_words(apart), width)
        yield from _attribution(apart, width)
    for move in (*development.drifts, *development.moves):
        yield from wrap_hanging(move_words(move, len(development.entries)), width)
        yield from _attribution(move, width)
    for alternation in development.alternations:
        yield from wrap_hanging(str(alternation), width)
    if departures := (*development.departures, *development.drifts):
        yield from wrap_hanging(f"not as usual now: {', '.join(map(str, departures))} ({_ACCEPT})", width)
    if development.unjudged:
        named = ", ".join(development.unjudged)
        yield from wrap_hanging(f"not judged, because measured in at most {LEAST_BEFORE} entries: {named}", width)


def _attribution(move: FigureMove, width: int) -> Iterator[str]:
    changed = difference_words(move.changed)
    if not move.has_facts:
        yield from wrap_hanging(f"  {FACTS_UNKNOWN}", width)
    elif not changed and not move.unknown:
        yield from wrap_hanging(f"  since {describe_minute(move.last_old.at_s)} {NOTHING_CHANGED}", width)
    elif changed:
        until = "now" if move.is_drift else "then"
        yield from wrap_hanging(f"  changed between {describe_minute(move.last_old.at_s)} and {until}:", width)
        for difference in changed:
            yield from wrap_hanging(f"    {difference}", width)
    if move.has_facts and move.unknown:
        yield from wrap_hanging(f"  may also have changed (unknown before or after): {', '.join(move.unknown)}", width)


def _table(entries: Sequence[Entry], shown: Sequence[Entry]) -> list[list[str]]:
    first = len(entries) - len(shown)
    rows = [["when", "latency work", "clock", "noise 10 ms", "changed"]]
    for number, entry in enumerate(shown, first):
        before = entries[number - 1].facts if number else entry.facts
        rows.append(
            [
                describe_minute(entry.at_s),
                _value(entry, Figure.LATENCY),
                _value(entry, Figure.CLOCK),
                _value(entry, Figure.NOISE_10MS),
                "; ".join(map(str, differences(before, entry.facts))),
            ]
        )
    return rows


def _value(entry: Entry, figure: Figure) -> str:
    value = entry.figures.get(figure)
    return "?" if value is None else value_words(figure, value)


def chart_lines(development: Development, width: int, is_unicode: bool) -> list[str]:
    """Return charts of speed and noise with a column for each entry, the newest on the right, and marks below moves.

    There is no chart for a figure without values, or if `width` is too small. The monitor shows these charts too, in
    windows that may be too narrow for plotext, and on terminals that lack its characters.
    """
    return [line for figure in CHARTED for line in _chart(figure, development, width, is_unicode)]


def _chart(figure: Figure, development: Development, width: int, is_unicode: bool) -> list[str]:
    measured = [value for entry in development.entries if (value := entry.figures.get(figure)) is not None]
    if not measured:
        return []
    labels = [value_words(figure, math.exp(end)) for end in _ends(figure, measured)]
    wide = max(map(len, labels))
    columns = width - wide - 2
    if columns < _LEAST_COLUMNS:
        return []
    entries = development.entries[-columns:]
    heights = _heights(figure, entries, measured, len(_RAMPS[is_unicode]) - 1)
    low, high = (f"{label:>{wide}}" for label in labels)
    sides = [high, *[" " * wide] * (ROWS - 2), low]
    bars = [_row(heights, ROWS - 1 - index, _RAMPS[is_unicode]) for index in range(ROWS)]
    lines = [f"{side} {_AXIS[is_unicode]}{bar}".rstrip() for side, bar in zip(sides, bars, strict=True)]
    first_new = {id(move.first_new) for move in development.moves if move.figure == figure}
    marks = "".join(_MARK[is_unicode] if id(entry) in first_new else " " for entry in entries)
    count = len(development.entries)
    of_all = f"{count} {'entry' if count == 1 else 'entries'}"
    of_all = f"the newest {len(entries)} of {of_all}" if len(entries) < count else of_all
    return [
        f"{figure}: {of_all}"[:width],
        *lines,
        *([f"{'moved':>{wide}}  {marks}".rstrip()] if marks.strip() else []),
        *_dates(entries, wide, columns),
    ]


def _ends(figure: Figure, measured: Sequence[float]) -> tuple[float, float]:
    """Return the logarithms of the lowest and highest value, moved apart so that noise does not fill the chart."""
    values = [logarithm(figure, value) for value in measured]
    low, high = min(values), max(values)
    lacking = max(4 * TRAITS[figure].least_change - (high - low), 0.0) / 2
    return low - lacking, high + lacking


def _heights(figure: Figure, entries: Sequence[Entry], measured: Sequence[float], steps: int) -> list[int | None]:
    """Return each entry's height, from 1, with `steps` heights per row; None if the entry lacks the figure."""
    low, high = _ends(figure, measured)
    values = [entry.figures.get(figure) for entry in entries]
    return [
        None if value is None else 1 + round((logarithm(figure, value) - low) / (high - low) * (ROWS * steps - 1))
        for value in values
    ]


def _row(heights: Sequence[int | None], from_below: int, ramp: str) -> str:
    steps = len(ramp) - 1
    unknown = "?" if from_below == 0 else " "
    return "".join(
        unknown if height is None else ramp[min(max(height - from_below * steps, 0), steps)] for height in heights
    )


def _dates(entries: Sequence[Entry], wide: int, columns: int) -> list[str]:
    """Return the dates of the first and the last entry below their columns, or a range if they are too near."""
    first, last = (describe_minute(entry.at_s)[:_DAY] for entry in (entries[0], entries[-1]))
    between = len(entries) - len(first) - len(last)
    days = f"{first}{' ' * between}{last}" if between >= _LEAST_BETWEEN else f"{first} to {last}"
    days = first if first == last else days
    return [f"{'':{wide}}  {days}"] if len(days) <= columns else []
