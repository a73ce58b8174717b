"""Many CPUs at once, as densely as they must stand for all to be on the screen.

Where they do not find a row each they stand in columns, with their history; where they do not find that either, each is
a cell, and the worst have rows all the same; and where there are more than cells, two share one, side by side, or
several, as the worst of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.glyphs import (
    OFFLINE_MARK,
    Glyphs,
    columns_of,
    level_of,
    level_pieces,
    mark_of,
    style_of,
    worst_of,
)
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, first_that_fits
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_duration

COLUMN_WIDTH = 27  # mark, number, loss, and some history
LABEL_WIDTH = 5  # the number of the first CPU of the row
_TOGETHER = 16  # cells without a gap


class Form(StrEnum):
    """How CPUs are drawn, from the widest to the densest."""

    ROWS = "rows"
    COLUMNS = "columns"
    CELLS = "cells"
    MARKS = "marks"
    PAIRS = "pairs"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class Density:
    """`across` CPUs, or groups of `each` of them, stand side by side in each of so many `rows`."""

    form: Form
    across: int
    each: int
    rows: int

    @property
    def cell_width(self) -> int:
        """Of cells and marks: two characters and a gap, or one."""
        return 3 if self.form == Form.CELLS else 1


def density(count: int, width: int, rows: int) -> Density:
    """The widest that shows all CPUs. Cells take no more than half of the rows, so that the worst have some too."""
    if count <= rows or rows < 2:
        return Density(Form.ROWS, 1, 1, min(count, rows))
    columns = width // COLUMN_WIDTH
    if columns * rows >= count:
        return Density(Form.COLUMNS, columns, 1, -(-count // columns))
    room = rows // 2
    for form, cell in ((Form.CELLS, 3), (Form.MARKS, 1)):
        across = _across(width, cell)
        if across * room >= count:
            return Density(form, across, 1, -(-count // across))
    across = _across(width, 1)
    each = -(-count // (across * room))
    return Density(Form.PAIRS if each == 2 else Form.GROUPS, across, each, -(-count // (across * each)))


def _across(width: int, cell: int) -> int:
    """Whole groups of cells, where there is room for one."""
    room = max(width - LABEL_WIDTH, 1)
    groups = (room + 1) // (_TOGETHER * cell + 1)
    return groups * _TOGETHER if groups else max(room // cell, 1)


def gap_after(place: int) -> bool:
    """Whether the cell at that place of its row ends a group."""
    return place % _TOGETHER == _TOGETHER - 1


COLUMN_HEADING = f"{'CPU':>5} {'noise/s':>8} "
_BRAILLE = 0x2800  # U+2800 is the pattern without a dot; each dot is a bit
_DOT_COLUMNS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # from the lowest dot up
_MARKS = {Role.TARGET: "T", Role.SIBLING: "s", Role.OFFLINE: OFFLINE_MARK}


def column_rows(model: ScreenModel, lines: Sequence[CpuLine], found: Density, width: int, glyphs: Glyphs) -> list[Row]:
    """The CPUs in their order, down one column after the other."""
    wide = width // found.across
    rows: list[Row] = []
    for at in range(found.rows):
        row: Row = []
        for line in lines[at :: found.rows]:
            mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
            lost = "offline" if line.role == Role.OFFLINE else mark + short_duration(line.stolen_ns_per_s)
            row += [
                (f"{_MARKS.get(line.role, ' ')}{line.cpu:>4} ", "strong" if line.role == Role.TARGET else "faint"),
                (f"{lost:>8} ", "faint" if line.role == Role.OFFLINE else style_of(line.stolen_ns_per_s)),
                *history_pieces(model, line.cpu, wide - len(COLUMN_HEADING) - 1, glyphs),
                (" ", "plain"),
            ]
        rows.append(row)
    return rows


def cell_rows(lines: Sequence[CpuLine], found: Density, glyphs: Glyphs) -> list[Row]:
    """A cell for each CPU, with its mark where there is room, or for as many neighbours as have to share one.

    Those show the worst of them; one that only keeps house does not hide the noise of a target CPU.
    """
    groups = [lines[first : first + found.each] for first in range(0, len(lines), found.each)]
    rows: list[Row] = []
    for first in range(0, len(groups), found.across):
        row: Row = [(f"{groups[first][0].cpu:>{LABEL_WIDTH - 1}} ", "faint")]
        for place, group in enumerate(groups[first : first + found.across]):
            row += _cell(group, found, glyphs)
            if gap_after(place):
                row.append((" ", "plain"))
        rows.append(row)
    return rows


def _cell(group: Sequence[CpuLine], found: Density, glyphs: Glyphs) -> Row:
    if found.form == Form.PAIRS and glyphs.has_braille and _can_be_paired(group):
        return [_pair(group, glyphs)]
    there = [line for line in group if line.role != Role.OFFLINE]
    has_mark = found.cell_width > 1
    if not there:
        return [(f"{OFFLINE_MARK * 2} " if has_mark else OFFLINE_MARK, "faint")]
    there = [line for line in there if line.role != Role.HOUSEKEEPING] or there
    lost = [line.stolen_ns_per_s for line in there]
    glyph, style = mark_of(lost[0] if len(lost) == 1 else worst_of(lost), glyphs)
    glyph = glyphs.bullet if glyph == glyphs.quiet else glyph
    if not has_mark:
        return [(glyph, style)]
    role = there[0].role
    return [(_MARKS.get(role, " "), "strong" if role == Role.TARGET else "faint"), (glyph, style), (" ", "plain")]


def _can_be_paired(group: Sequence[CpuLine]) -> bool:
    """Dots can say neither offline nor unknown."""
    return all(line.role != Role.OFFLINE and line.stolen_ns_per_s is not None for line in group)


def _pair(group: Sequence[CpuLine], glyphs: Glyphs) -> Piece:
    """A column of dots for each of two CPUs, a dot for two levels; the colour is that of the worse target CPU."""
    losses = [line.stolen_ns_per_s or 0.0 for line in group]
    coloured = [line for line in group if line.role != Role.HOUSEKEEPING] or group
    dots = sum(sum(column[: -(-level_of(lost) // 2)]) for column, lost in zip(_DOT_COLUMNS, losses, strict=False))
    return chr(_BRAILLE + dots) if dots else glyphs.bullet, style_of(
        max(line.stolen_ns_per_s or 0.0 for line in coloured)
    )


def cell_heading(found: Density, width: int, glyphs: Glyphs) -> Row:
    """What a cell shows."""
    each = "one CPU a cell" if found.each == 1 else f"worst of {found.each} CPUs a cell"
    if found.form == Form.PAIRS and glyphs.has_braille:
        each = "two CPUs a cell, side by side"
    marks = "   T target  s sibling  x offline" if found.cell_width > 1 else "   x offline"
    what = f"  CPU noise/s now, {each}"
    return [(first_that_fits([what + marks, what], width), "heading")]


def intervals_beside(model: ScreenModel, width: int) -> range:
    """Those that so many columns have room for, up to the one that is shown."""
    return range(max(model.number + 1 - width * model.zoom, model.history.first), model.number + 1)


def history_pieces(model: ScreenModel, cpu: int, width: int, glyphs: Glyphs) -> Row:
    """The noise of the CPU up to the interval that is shown, from the left, where its figures stand."""
    numbers = intervals_beside(model, width)
    shown = columns_of(model.history.lane(cpu, numbers), model.zoom)[-width:] if width > 0 else []
    return [*level_pieces(shown, glyphs), (" " * (width - len(shown)), "plain")]
