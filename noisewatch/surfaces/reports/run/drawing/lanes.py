"""Below the timeline a lane for each of the costliest culprits: a sign beneath every run that it disturbed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from noisewatch.judgement.run.run_culprits import RunCulprit
from noisewatch.surfaces.reports.run.drawing.timeline import PlaceScale, RunShown
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, fitted, in_ascii, text_width
from noisewatch.text import printable

_MOST_LANES = 4
_MOST_NAME = 30  # columns
_GAP = 2


def lane_rows(
    culprits: Iterable[RunCulprit], shown: Sequence[RunShown], places: PlaceScale, width: int, glyphs: Glyphs
) -> list[Row]:
    """No row wider than `width`. The name is behind the last sign or before the first; else in a row of its own."""
    column_by_number = {run.number: places.column_of(run.place) for run in shown}
    rows: list[Row] = []
    for culprit in list(culprits)[:_MOST_LANES]:
        columns = {column_by_number[number] for number in culprit.numbers if number in column_by_number}
        if columns:
            rows += _lane(columns, _named(culprit, min(_MOST_NAME, width), glyphs), width, glyphs)
    return rows


def _lane(columns: Collection[int], name: str, width: int, glyphs: Glyphs) -> list[Row]:
    first, last = min(columns), max(columns)
    signs = "".join(glyphs.cursor if column in columns else " " for column in range(first, last + 1))
    taken = text_width(name)
    if last + 1 + _GAP + taken <= width:
        return [[(" " * first, "plain"), (signs, "grave"), (" " * _GAP + name, "strong")]]
    if taken + _GAP <= first:
        begin = first - taken - _GAP
        return [[(" " * begin + name + " " * _GAP, "strong"), (signs, "grave")]]
    return [[(" " * first, "plain"), (signs, "grave")], [(name, "strong")]]


def _named(culprit: RunCulprit, most: int, glyphs: Glyphs) -> str:
    name = printable(culprit.name)
    name = name if text_width(name) <= most else fitted(name, most - 1).rstrip() + "…"
    return name if glyphs.has_braille else in_ascii(name)
