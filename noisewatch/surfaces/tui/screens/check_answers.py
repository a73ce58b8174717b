"""The checks of an area, or of all, each with what it says; also those that pass, and those that were not asked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noisewatch.judgement.terms import Area, Gravity
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.check_grid import found_in, mark
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, cut, length
from noisewatch.units import describe_value

if TYPE_CHECKING:
    from noisewatch.judgement.check import Check

_LEAST_COLUMN, _GAP = 90, 3
_NOT_ASKED = "not asked here: p asks it"
_MAY_APPLY = f"{_NOT_ASKED}, or it does not apply"
_ORDER = list(Gravity)


def areas_of(frame: Frame) -> list[Area]:
    """Those that have checks, in the order in which they are shown."""
    there = {check.area for check, _ in found_in(frame.gravities)}
    return [area for area in Area if area in there]


def brief_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """A row a check, the gravest first."""
    return [cut([*head, told], width) for head, told in _answers(frame, area, glyphs)]


def _answers(frame: Frame, area: Area, glyphs: Glyphs) -> list[tuple[Row, Piece]]:
    """Of each check its mark and name, and what it says; of one that passes what it asks."""
    said = {each.id: each.said for each in frame.findings}
    found = _of_area(frame, area)
    widest = max((len(check.id) for check, _ in found), default=0)
    answers: list[tuple[Row, Piece]] = []
    for check, gravity in found:
        text, style = mark(gravity, glyphs)
        name: Piece = (f"{check.id:<{widest}}  ", "strong" if check.id in said else "plain")
        told: Piece = (said[check.id], "plain") if check.id in said else (_aside(frame, check, gravity), "faint")
        answers.append(([(f"{text} ", style), name], told))
    return answers


def _aside(frame: Frame, check: Check, gravity: Gravity) -> str:
    """What a check says that passes or does not apply; what it asks, where that is not known."""
    if check.asks_calibration and gravity == Gravity.LEFT_OUT:
        return _NOT_ASKED
    if frame.answers is not None and check.id in frame.answers:
        return frame.answers[check.id]
    if gravity == Gravity.LEFT_OUT:
        return _MAY_APPLY if frame.answers is None else _NOT_ASKED
    return check.question


def _of_area(frame: Frame, area: Area) -> list[tuple[Check, Gravity]]:
    found = [(check, gravity) for check, gravity in found_in(frame.gravities) if check.area == area]
    return sorted(found, key=lambda each: _ORDER.index(each[1]))


def whole_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """Of each check of the area all that it says, what it asks, why that matters, and its limits."""
    rows: list[Row] = []
    for (head, (told, style)), (check, _) in zip(_answers(frame, area, glyphs), _of_area(frame, area), strict=True):
        lines = [] if told == check.question else [check.question]
        lines += [f"why: {check.why}"]
        lines += [f"limit: {one.name}: {describe_value(one.value, one.unit)}" for one in check.limits]
        has_room = length(head) + len(told) <= width
        rows.append(cut([*head, (told, style)] if has_room else head, width))
        lines = lines if has_room else [told, *lines]
        for line in lines:
            parts = textwrap.wrap(line, max(width - 4, 10), subsequent_indent="  ")
            rows += [[(f"    {part}", "faint")] for part in parts]
    return rows


def all_rows(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """All areas, one below the other."""
    rows: list[Row] = []
    for area in areas_of(frame):
        rows += [[(area, "heading")], *brief_rows(frame, area, width, glyphs)]
    return rows


def in_columns(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """All areas in as many columns as leave each readable; an area goes on in the next one."""
    count = max((width + _GAP) // (_LEAST_COLUMN + _GAP), 1)
    wide = (width + _GAP) // count - _GAP
    rows = all_rows(frame, wide, glyphs)
    height = -(-len(rows) // count)
    return [_beside(rows[at::height], wide) for at in range(height)]


def _beside(rows: Sequence[Row], wide: int) -> Row:
    row: Row = []
    for part in rows:
        row += [*part, (" " * (wide - length(part) + _GAP), "plain")]
    return row
