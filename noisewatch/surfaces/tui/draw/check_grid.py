"""All checks of a frame at a glance: one character each by area, or by name where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from noisewatch.judgement.terms import Area, Gravity
from noisewatch.surfaces.reports.parts.marks import MEANINGS, Pieces, grid, legend, mark_of, marks_by_area
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut

if TYPE_CHECKING:
    from noisewatch.judgement.check import Check

_GRAVITIES = list(Gravity)
_GAP = 2


@cache
def all_checks() -> tuple[Check, ...]:
    """Return all checks, in the order of a frame's gravities; imported late, because the first picture comes first."""
    from noisewatch.judgement.catalogue import CATALOGUE

    return CATALOGUE


def check_named(name: str) -> Check | None:
    """Return the check of that id, or None, as for a recording of another version."""
    return next((each for each in all_checks() if each.id == name), None)


def mark(gravity: Gravity, glyphs: Glyphs) -> tuple[str, Style]:
    """Return the character of a gravity, and its style."""
    return mark_of(gravity, glyphs.has_braille), MEANINGS[gravity] or "plain"


def grid_rows(gravities: str, width: int, glyphs: Glyphs, selected: Area | None = None) -> list[Row]:
    """Return one character a check, by area in columns, the gravest first; the `selected` area is highlighted."""
    found = found_in(gravities)
    by_area = marks_by_area((Area(check.area), gravity) for check, gravity in found)
    rows = [_selected(_row(pieces), selected) for pieces in grid(by_area, width, glyphs.has_braille)]
    told: Row = []
    for pieces in legend(glyphs.has_braille):
        told += [*_row(pieces), ("   ", "plain")]
    return [cut(row, width) for row in (*rows, told)]


def named_rows(gravities: str, width: int, glyphs: Glyphs) -> list[Row]:
    """Return all checks by name, in columns, the gravest first."""
    found = sorted(found_in(gravities), key=lambda each: _GRAVITIES.index(each[1]))
    widest = max((len(check.id) for check, _ in found), default=0) + 2
    columns = max((width + _GAP) // (widest + _GAP), 1)
    height = -(-len(found) // columns)
    return [_named(found[at::height], widest, glyphs) for at in range(height)]


def _named(found: Sequence[tuple[Check, Gravity]], widest: int, glyphs: Glyphs) -> Row:
    row: Row = []
    for check, gravity in found:
        text, style = mark(gravity, glyphs)
        name_style: Style = "faint" if gravity in (Gravity.PASSED, Gravity.LEFT_OUT) else style
        row += [(f"{text} ", style), (f"{check.id:<{widest - 2 + _GAP}}", name_style)]
    return row


def found_in(gravities: str) -> list[tuple[Check, Gravity]]:
    """Return the frame's checks with their gravities; empty for a frame of another version with other checks."""
    checks = all_checks()
    if len(gravities) != len(checks):
        return []
    return [(check, _GRAVITIES[int(place)]) for check, place in zip(checks, gravities, strict=True)]


def _selected(row: Row, area: Area | None) -> Row:
    return [(text, "selected") if area is not None and text.strip() == area else (text, style) for text, style in row]


def _row(pieces: Pieces) -> Row:
    return [(text, meaning or "plain") for text, meaning in pieces]
