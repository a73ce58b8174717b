"""How a figure developed, as a chart of text: a column an entry, the newest on the right, where it moved, and
between which days.

Drawn here and not by plotext, as it stands in the monitor too, whose fonts and narrow windows plotext does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from noisewatch.judgement.history.development import Development
from noisewatch.judgement.history.words import value_words
from noisewatch.model.history.entries import Entry
from noisewatch.model.history.figures import TRAITS, Figure, logarithm
from noisewatch.units import describe_minute

CHARTED = (Figure.LATENCY, Figure.NOISE_10MS)
ROWS = 4
_RAMPS = {True: " ▁▂▃▄▅▆▇█", False: " .:#"}
_AXIS = {True: "┤", False: "|"}
_MARK = {True: "↑", False: "^"}
_LEAST_COLUMNS = 10
_DAY, _LEAST_BETWEEN = len("2026-11-14"), 2  # characters


def chart_lines(development: Development, width: int, is_unicode: bool) -> list[str]:
    """Of speed and of noise, one below the other; nothing of what no entry knows, nor where there is no room."""
    return [line for figure in CHARTED for line in _chart(figure, development, width, is_unicode)]


def _chart(figure: Figure, development: Development, width: int, is_unicode: bool) -> list[str]:
    known = [value for entry in development.entries if (value := entry.figures.get(figure)) is not None]
    if not known:
        return []
    labels = [value_words(figure, math.exp(each)) for each in _ends(figure, known)]
    wide = max(map(len, labels))
    columns = width - wide - 2
    if columns < _LEAST_COLUMNS:
        return []
    entries = development.entries[-columns:]
    heights = _heights(figure, entries, known, len(_RAMPS[is_unicode]) - 1)
    low, high = (f"{label:>{wide}}" for label in labels)
    sides = [high, *[" " * wide] * (ROWS - 2), low]
    bars = [_row(heights, ROWS - 1 - at, _RAMPS[is_unicode]) for at in range(ROWS)]
    lines = [f"{side} {_AXIS[is_unicode]}{bar}".rstrip() for side, bar in zip(sides, bars, strict=True)]
    first_new = {id(move.first_new) for move in development.moves if move.figure == figure}
    return [
        _head(figure, len(entries), len(development.entries), width),
        *lines,
        *_marks(entries, first_new, wide, is_unicode),
        *_dates(entries, wide, columns),
    ]


def _head(figure: Figure, shown: int, count: int, width: int) -> str:
    entries = f"{count} {'entry' if count == 1 else 'entries'}"
    of_all = f"the newest {shown} of {entries}" if shown < count else entries
    return f"{figure}: {of_all}"[:width]


def _ends(figure: Figure, known: Sequence[float]) -> tuple[float, float]:
    """The logarithms of the lowest and the highest value, at least so far apart that noise does not fill the chart."""
    values = [logarithm(figure, value) for value in known]
    low, high = min(values), max(values)
    lacking = max(4 * TRAITS[figure].least_change - (high - low), 0.0) / 2
    return low - lacking, high + lacking


def _heights(figure: Figure, entries: Sequence[Entry], known: Sequence[float], steps: int) -> list[int | None]:
    """Of each entry from 1 on, in so many steps a row; None where it does not know the figure."""
    low, high = _ends(figure, known)
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


def _marks(entries: Sequence[Entry], first_new: Collection[int], wide: int, is_unicode: bool) -> list[str]:
    """Below the entries with which a move began."""
    marks = "".join(_MARK[is_unicode] if id(entry) in first_new else " " for entry in entries)
    return [f"{'moved':>{wide}}  {marks}".rstrip()] if marks.strip() else []


def _dates(entries: Sequence[Entry], wide: int, columns: int) -> list[str]:
    """Below the first and the last entry the day of each, or one after the other where these are too near."""
    first, last = (describe_minute(entry.at_s)[:_DAY] for entry in (entries[0], entries[-1]))
    between = len(entries) - len(first) - len(last)
    days = f"{first}{' ' * between}{last}" if between >= _LEAST_BETWEEN else f"{first} to {last}"
    days = first if first == last else days
    return [f"{'':{wide}}  {days}"] if len(days) <= columns else []
