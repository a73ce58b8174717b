"""All checks at a glance: a coloured character for each check, by area, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisewatch.judgement.terms import Area, Gravity
from noisewatch.surfaces.reports.parts.colours import Meaning, painted

Pieces = list[tuple[str, Meaning | None]]  # text with its colour; None is plain

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
MEANINGS: Mapping[Gravity, Meaning | None] = {
    Gravity.FAILED: "grave",
    Gravity.WARNED: "notable",
    Gravity.NOTED: None,
    Gravity.UNANSWERED: "unknown",
    Gravity.OPEN: "unknown",
    Gravity.PASSED: "calm",
    Gravity.LEFT_OUT: None,
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


def painted_mark(gravity: Gravity, in_unicode: bool, in_colour: bool) -> str:
    mark, meaning = mark_of(gravity, in_unicode), MEANINGS[gravity]
    return painted(mark, meaning) if in_colour and meaning is not None else mark


def legend(in_unicode: bool) -> list[Pieces]:
    """Return the meaning of each character."""
    return [
        [(mark_of(gravity, in_unicode), MEANINGS[gravity]), (f" {words}", None)] for gravity, words in _LEGEND.items()
    ]


def marks_by_area(gravities: Iterable[tuple[Area, Gravity]]) -> dict[Area, list[Gravity]]:
    """Group gravities by area, in the order of areas, the gravest first."""
    by_area: dict[Area, list[Gravity]] = {area: [] for area in Area}
    for area, gravity in gravities:
        by_area[area].append(gravity)
    return {area: sorted(marks, key=_ORDER.index) for area, marks in by_area.items() if marks}


def grid(by_area: Mapping[Area, Sequence[Gravity]], width: int, in_unicode: bool) -> list[Pieces]:
    """Return a row of characters for each area, in as many columns as fit; areas are ordered down the columns."""
    areas = list(by_area)
    for columns in range(len(areas) or 1, 0, -1):
        parts = _parted(areas, columns)
        widths = [_NAME + max(len(by_area[area]) for area in part) + _GAP for part in parts]
        if sum(widths) - _GAP <= width:
            break
    rows = []
    for at in range(len(parts[0]) if parts else 0):
        row: Pieces = []
        for part, wide in zip(parts, widths, strict=True):
            if at < len(part):
                row += _of_area(part[at], by_area[part[at]], wide, in_unicode)
        rows.append(row)
    return rows


def _parted(areas: Sequence[Area], columns: int) -> list[list[Area]]:
    """Split the areas into at most `columns` columns, none longer than the first."""
    rows = -(-len(areas) // columns)
    return [list(areas[at : at + rows]) for at in range(0, len(areas), rows or 1)]


def _of_area(area: Area, marks: Sequence[Gravity], wide: int, in_unicode: bool) -> Pieces:
    pieces: Pieces = [(f"{area:<{_NAME}}", None)]
    for gravity in dict.fromkeys(marks):
        pieces.append((mark_of(gravity, in_unicode) * marks.count(gravity), MEANINGS[gravity]))
    return [*pieces, (" " * (wide - _NAME - len(marks)), None)]
