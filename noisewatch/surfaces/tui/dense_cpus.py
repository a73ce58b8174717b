"""Many CPUs at once: in columns with their history, or a cell each."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.frame import OFFLINE, SIBLING, TARGET, CpuLine
from noisewatch.surfaces.tui.density import LABEL_WIDTH, Density, gap_after
from noisewatch.surfaces.tui.glyphs import Glyphs, duration, style_of, worst_of
from noisewatch.surfaces.tui.levels import history_pieces, level_pieces
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row

COLUMN_HEADING = f"{'CPU':>5} {'lost/s':>8} "
_MARKS = {TARGET: "T", SIBLING: "s", OFFLINE: "x"}


def column_rows(model: ScreenModel, lines: Sequence[CpuLine], found: Density, width: int, glyphs: Glyphs) -> list[Row]:
    """The CPUs in their order, down one column after the other."""
    wide = width // found.across
    rows: list[Row] = []
    for at in range(found.rows):
        row: Row = []
        for line in lines[at :: found.rows]:
            mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
            lost = "offline" if line.role == OFFLINE else mark + duration(line.stolen_ns_per_s)
            row += [
                (f"{_MARKS.get(line.role, ' ')}{line.cpu:>4} ", "strong" if line.role == TARGET else "faint"),
                (f"{lost:>8} ", "faint" if line.role == OFFLINE else style_of(line.stolen_ns_per_s)),
                *history_pieces(model, line.cpu, wide - len(COLUMN_HEADING) - 1, glyphs),
                (" ", "plain"),
            ]
        rows.append(row)
    return rows


def cell_rows(lines: Sequence[CpuLine], found: Density, glyphs: Glyphs) -> list[Row]:
    """A cell for each CPU, or for as many neighbours as have to share one: the worst of them."""
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
    there = [line for line in group if line.role != OFFLINE]
    if not there:
        return [("x" * max(found.cell_width - 1, 1) + " " * (found.cell_width > 1), "faint")]
    ((glyph, style),) = level_pieces([worst_of(line.stolen_ns_per_s for line in there)], glyphs)
    glyph = glyphs.bullet if glyph == " " else glyph
    return [(glyph * max(found.cell_width - 1, 1), style)] + ([(" ", "plain")] if found.cell_width > 1 else [])
