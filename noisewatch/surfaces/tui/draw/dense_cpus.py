"""Many CPUs at once: in columns with their history, or a cell each."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.operations.frame.frame import HOUSEKEEPING, OFFLINE, SIBLING, TARGET, CpuLine
from noisewatch.surfaces.tui.draw.density import LABEL_WIDTH, PAIRS, Density, gap_after
from noisewatch.surfaces.tui.draw.glyphs import OFFLINE_MARK, Glyphs, duration, level_of, style_of, worst_of
from noisewatch.surfaces.tui.draw.levels import history_pieces, level_pieces
from noisewatch.surfaces.tui.draw.text_row import Row, first_that_fits
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

COLUMN_HEADING = f"{'CPU':>5} {'lost/s':>8} "
_BRAILLE = 0x2800  # U+2800 is the pattern without a dot; each dot is a bit
_DOT_COLUMNS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # from the lowest dot up
_MARKS = {TARGET: "T", SIBLING: "s", OFFLINE: OFFLINE_MARK}


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
    """A cell for each CPU, with its mark where there is room, or for as many neighbours as have to share one.

    Those show the worst of them; one that only keeps house does not hide what a target CPU lost.
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
    if found.kind == PAIRS and glyphs.has_braille and _can_be_paired(group):
        return [_pair(group, glyphs)]
    there = [line for line in group if line.role != OFFLINE]
    has_mark = found.cell_width > 1
    if not there:
        return [(f"{OFFLINE_MARK * 2} " if has_mark else OFFLINE_MARK, "faint")]
    there = [line for line in there if line.role != HOUSEKEEPING] or there
    ((glyph, style),) = level_pieces([worst_of(line.stolen_ns_per_s for line in there)], glyphs)
    glyph = glyphs.bullet if glyph == " " else glyph
    if not has_mark:
        return [(glyph, style)]
    role = there[0].role
    return [(_MARKS.get(role, " "), "strong" if role == TARGET else "faint"), (glyph, style), (" ", "plain")]


def _can_be_paired(group: Sequence[CpuLine]) -> bool:
    """Dots tell neither that a CPU is offline nor that it is unknown what it lost."""
    return all(line.role != OFFLINE and line.stolen_ns_per_s is not None for line in group)


def _pair(group: Sequence[CpuLine], glyphs: Glyphs) -> tuple[str, str]:
    """A column of dots for each of two CPUs, a dot for two levels; the colour is that of the worse target CPU."""
    losses = [line.stolen_ns_per_s or 0.0 for line in group]
    coloured = [line for line in group if line.role != HOUSEKEEPING] or group
    dots = sum(sum(column[: -(-level_of(lost) // 2)]) for column, lost in zip(_DOT_COLUMNS, losses, strict=False))
    return chr(_BRAILLE + dots) if dots else glyphs.bullet, style_of(
        max(line.stolen_ns_per_s or 0.0 for line in coloured)
    )


def cell_heading(found: Density, width: int, glyphs: Glyphs) -> Row:
    """What a cell shows."""
    each = "a CPU each" if found.each == 1 else f"the worst of {found.each} CPUs each"
    if found.kind == PAIRS and glyphs.has_braille:
        each = "two CPUs each, side by side"
    marks = "   T target  s sibling  x offline" if found.cell_width > 1 else "   x offline"
    what = f"  CPU lost/s now, {each}"
    return [(first_that_fits([what + marks, what], width), "heading")]
