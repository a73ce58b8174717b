"""All checks at a glance: a coloured character for each check, by area, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from noisewatch.judgement.terms import Area, Gravity
from noisewatch.surfaces.drawing.colours import paint

if TYPE_CHECKING:
    from noisewatch.surfaces.drawing.text_row import Row, Style

_MARKS: Mapping[Gravity, str] = {
    Gravity.FAILED: "✗",
    Gravity.WARNED: "!",
    Gravity.NOTED: "i",
    Gravity.UNANSWERED: "?",
    Gravity.OPEN: "?",
    Gravity.PASSED: "✓",
    Gravity.LEFT_OUT: "·",
}
_LETTERS: Mapping[Gravity, str] = {**_MARKS, Gravity.FAILED: "X", Gravity.PASSED: "+", Gravity.LEFT_OUT: "."}
MEANINGS: Mapping[Gravity, Style] = {
    Gravity.FAILED: "grave",
    Gravity.WARNED: "notable",
    Gravity.NOTED: "plain",
    Gravity.UNANSWERED: "unknown",
    Gravity.OPEN: "unknown",
    Gravity.PASSED: "calm",
    Gravity.LEFT_OUT: "plain",
}
_LEGEND: Mapping[Gravity, str] = {
    Gravity.FAILED: "fails, blocks",
    Gravity.WARNED: "fails or warns",
    Gravity.NOTED: "note",
    Gravity.OPEN: "unknown",
    Gravity.PASSED: "passes",
    Gravity.LEFT_OUT: "not asked, or n/a",
}
_NAME = max(map(len, Area)) + 1
_GAP = 3
_ORDER = list(Gravity)


def mark_of(gravity: Gravity, in_unicode: bool) -> str:
    """Return the character for a gravity."""
    return (_MARKS if in_unicode else _LETTERS)[gravity]


def paint_mark(gravity: Gravity, in_unicode: bool, in_colour: bool) -> str:
    mark = mark_of(gravity, in_unicode)
    return paint(mark, MEANINGS[gravity]) if in_colour else mark


def legend(in_unicode: bool) -> list[Row]:
    """Return the meaning of each character."""
    return [
        [(mark_of(gravity, in_unicode), MEANINGS[gravity]), (f" {words}", "plain")]
        for gravity, words in _LEGEND.items()
    ]


def marks_by_area(gravities: Iterable[tuple[Area, Gravity]]) -> dict[Area, list[Gravity]]:
    """Group gravities by area, in the order of areas; within an area, the gravest first."""
    by_area: dict[Area, list[Gravity]] = {area: [] for area in Area}
    for area, gravity in gravities:
        by_area[area].append(gravity)
    return {area: sorted(marks, key=_ORDER.index) for area, marks in by_area.items() if marks}


def grid(by_area: Mapping[Area, Sequence[Gravity]], width: int, in_unicode: bool) -> list[Row]:
    """Return a row of characters for each area, in as many columns as fit; areas are ordered down the columns."""
    areas = list(by_area)
    for columns in range(len(areas) or 1, 0, -1):
        height = -(-len(areas) // columns)
        parts = [areas[index : index + height] for index in range(0, len(areas), height or 1)]
        widths = [_NAME + max(len(by_area[area]) for area in part) + _GAP for part in parts]
        if sum(widths) - _GAP <= width:
            break
    rows: list[Row] = [[] for _ in range(height)]
    for part, wide in zip(parts, widths, strict=True):
        for row, area in zip(rows, part, strict=False):
            marks = by_area[area]
            row.append((f"{area:<{_NAME}}", "plain"))
            for gravity in dict.fromkeys(marks):
                row.append((mark_of(gravity, in_unicode) * marks.count(gravity), MEANINGS[gravity]))
            row.append((" " * (wide - _NAME - len(marks)), "plain"))
    return rows
