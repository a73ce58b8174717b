"""The first screen: the CPUs, in rows or, if there are too many, as cells, and the culprits.

A CPU's row has its noise, interrupts, load, clock and history.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.drawing.glyphs import OFFLINE_MARK, Glyphs
from noisewatch.surfaces.drawing.panel import Space, panel, side_by_side
from noisewatch.surfaces.drawing.table import Column, Table, first_row
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, first_that_fits, fit_text, text_width
from noisewatch.surfaces.tui.draw.idle_probe_words import measured_cell
from noisewatch.surfaces.tui.draw.levels import height_keys, level_of, level_pieces, mark_of, style_of
from noisewatch.surfaces.tui.draw.places import ROLE_MARKS, ROLE_STYLES, brackets, in_topology_order, place_title
from noisewatch.surfaces.tui.draw.timeline import strip_axis
from noisewatch.surfaces.tui.screens.culprits import culprit_list
from noisewatch.surfaces.tui.screens.page import has_frames, heights, page
from noisewatch.surfaces.tui.state.filters import cpus_in_order
from noisewatch.surfaces.tui.state.noise import columns_of, worst_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import describe_count, short_change, short_duration, short_rate, short_share

_CPU_PANEL_SHARE = 0.5
_LOWEST_WITH_CELL_HEADING = 6
_NARROW = 60
_NARROWEST_PANEL = 58  # columns: with frame, figures and a history of a few intervals
_AROUND_TITLES = 9  # columns of the edge around a panel's title and legend
_AROUND = 3  # further rows of a panel: two edges and a heading
COLUMN_WIDTH = 27  # mark, number, noise, and some history
LABEL_WIDTH = 5  # the number of the first CPU of the row
_TOGETHER = 16  # cells without a gap


def cpu_panel_height(cpu_count: int, height: int) -> int:
    """Return the number of rows for the heading and all CPUs, limited to a share of the screen."""
    return max(min(cpu_count + 1, int(height * _CPU_PANEL_SHARE)), min(height, 2))


def panels_across(cpu_count: int, width: int, max_rows: int) -> int | None:
    """Return how many panels side by side give each CPU its own row within `max_rows` rows, or None if none do."""
    fitting = range(1, width // _NARROWEST_PANEL + 1)
    return next((across for across in fitting if -(-cpu_count // across) + _AROUND <= max_rows), None)


def framed_cpus(model: ScreenModel, width: int, max_rows: int, glyphs: Glyphs) -> list[Row]:
    """Return all CPUs in frames: a row for each CPU if these fit into `max_rows`, or else as densely as needed."""
    lines = in_topology_order(model, model.cpus)
    across = panels_across(len(lines), width, max_rows)
    if across is None or not lines:
        rows = cpu_rows(model, width - 4, max_rows - 2, glyphs, has_key=False)
        return panel("CPUs", rows, width, min(max_rows, len(rows) + 2), glyphs, _key_of("CPUs", width, glyphs))
    cpus_per_panel = -(-len(lines) // across)
    parts = [lines[first : first + cpus_per_panel] for first in range(0, len(lines), cpus_per_panel)]
    wide, more = divmod(width, len(parts))
    drawn = [
        panel(
            title := place_title(model, part, glyphs),
            _part_rows(model, part, wide + (index < more) - 4, glyphs),
            wide + (index < more),
            cpus_per_panel + _AROUND,
            glyphs,
            _key_of(title, wide, glyphs) if part is parts[-1] else "",
        )
        for index, part in enumerate(parts)
    ]
    return reduce(side_by_side, drawn)


def _key_of(title: str, width: int, glyphs: Glyphs) -> str:
    """Return the legend of the bars' heights that fits next to the title in the upper edge of a panel."""
    return first_that_fits(height_keys(glyphs), width - text_width(title) - _AROUND_TITLES)


def cpu_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs, has_key: bool = True) -> list[Row]:
    """Return all CPUs, as densely as needed: a heading and a row for each, or cells and rows for the worst CPUs.

    With `has_key` the heading has a legend of the bars' heights, if it fits.
    """
    if height < 1:
        return []
    lines = model.cpus
    layout = density(len(lines), width, height - 1)
    if layout.form == Form.COLUMNS:
        table = _narrow_table(model, width // layout.across, glyphs)
        rows = [
            [piece for line in lines[index :: layout.rows] for piece in table.row(line)] for index in range(layout.rows)
        ]
        keyed = _narrow_table(model, width // layout.across, glyphs, has_key=has_key)
        across = -(-len(lines) // layout.rows)
        return [[(table.heading * (across - 1) + keyed.heading, "heading")], *rows]
    cells = cell_rows(lines, layout, glyphs) if layout.form != Form.ROWS else []
    if _has_cell_heading(layout, height):
        cells.insert(0, cell_heading(layout, width, glyphs))
    return [*cells, *_single_rows(model, width, height - len(cells), glyphs, has_key)]


def row_room(cpu_count: int, width: int, height: int) -> int:
    """Return how many CPUs have their own row in a panel of that size."""
    layout = density(cpu_count, width, height - 1)
    if layout.form == Form.COLUMNS:
        return cpu_count
    return max(height - 1 - (layout.rows + _has_cell_heading(layout, height) if layout.form != Form.ROWS else 0), 0)


def _has_cell_heading(layout: Density, height: int) -> bool:
    """Return whether the layout has cells with a heading; if rows are scarce, a CPU gets the heading's row."""
    return layout.form not in (Form.ROWS, Form.COLUMNS) and height >= _LOWEST_WITH_CELL_HEADING


def _single_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs, has_key: bool) -> list[Row]:
    """Return a heading and one row for each CPU: in order if all fit, or else the worst target CPUs first."""
    room = height - 1
    lines = cpus_in_order(model.cpus, model.sort, room)
    offset = first_row(model.offset, len(lines), room)
    shown = lines[offset : offset + room]
    position = f"rows {offset + 1} to {offset + len(shown)} of {len(lines)}" if len(shown) < len(lines) else None
    return _part_rows(model, shown, width, glyphs, position, has_key)


def _part_rows(
    model: ScreenModel,
    shown: Sequence[CpuLine],
    width: int,
    glyphs: Glyphs,
    position: str | None = None,
    has_key: bool = False,
) -> list[Row]:
    """Return a heading and a row for each shown CPU; `position` describes their position within all CPUs, if given."""
    signs = brackets(model, shown, glyphs)
    number = Column[CpuLine]("CPU ", 7, lambda line: (_number_text(line) + signs.get(line.cpu, " "), _role_style(line)))
    table = Table.fitting(_figures(model, width, glyphs), width - number.width)
    left = width - number.width - table.width
    described = (
        [f"{position}, pgdn scrolls", position, ""] if position is not None else _history_descriptions(model, left)
    )
    described = _with_keys(described, glyphs) if has_key else described
    heading = f"{number.heading:>{number.width}}{table.heading}{first_that_fits(described, max(left, 0))}"
    rows: list[Row] = [[(heading, "heading")]]
    offline: Piece = (fit_text("  offline", table.width), "faint")
    for line in shown:
        figures = [offline] if line.role == Role.OFFLINE else table.row(line)
        rows.append([*Table([number]).row(line), *figures, *history_pieces(model, line, left, glyphs)])
    return rows


def _with_keys(texts: Sequence[str], glyphs: Glyphs) -> list[str]:
    """Return the texts with a legend of the bars' heights, the longest text first, then the texts alone."""
    return [*(f"{text}  {key}" for text in texts if text for key in height_keys(glyphs) if key), *texts]


def _number_text(line: CpuLine) -> str:
    return f"{ROLE_MARKS.get(line.role, ' ')}{line.cpu:>4}"


def _role_style(line: CpuLine) -> Style:
    return ROLE_STYLES.get(line.role, "faint")


def _noise(line: CpuLine, glyphs: Glyphs) -> Piece:
    mark = glyphs.estimate if line.is_estimate and line.stolen_ns_per_s else ""
    return mark + short_duration(line.stolen_ns_per_s), style_of(line.stolen_ns_per_s, glyphs, line.role)


def _share_text(line: CpuLine) -> str:
    return short_share(None if line.stolen_ns_per_s is None else line.stolen_ns_per_s / 1e9)


def _clock(line: CpuLine) -> Piece:
    return "?" if line.current_khz is None else f"{line.current_khz / 1e6:.2f}", _role_style(line)


# The columns between the noise and its history; they are dropped before the history.
_CPU_FIGURES = (
    Column[CpuLine]("share ", 7, lambda line: (_share_text(line), style_of(line.stolen_ns_per_s)), 5, 20),
    Column[CpuLine]("irq/s ", 8, lambda line: (short_rate(line.interrupts_per_s), _role_style(line)), 1, 16),
    Column[CpuLine]("sirq/s ", 8, lambda line: (short_rate(line.softirqs_per_s), _role_style(line)), 4, 24),
    Column[CpuLine]("load ", 7, lambda line: (short_share(line.busy_share), _role_style(line)), 3, 16),
)
_CLOCK = Column("GHz ", 6, _clock, 2, 16)
_GAP = Column[CpuLine]("", 1, lambda line: ("", _role_style(line)))


def _figures(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Column[CpuLine]]:
    """Return the columns between a CPU's number and its history."""
    columns = [Column[CpuLine]("noise/s", 8, lambda line: _noise(line, glyphs))]
    if model.frame is not None and model.frame.has_idle_probe and width >= _NARROW:
        columns.append(Column("measured", 9, lambda line: measured_cell(line, glyphs)))
    baseline = model.baseline
    if baseline is not None:
        columns.append(
            Column("change", 8, lambda line: (short_change(baseline.change_of_cpu(line)), _role_style(line)))
        )
    has_clock = any(line.current_khz is not None for line in model.cpus)
    return [*columns, _GAP, *_CPU_FIGURES, *([_CLOCK] if has_clock else []), _GAP]


def _narrow_table(model: ScreenModel, width: int, glyphs: Glyphs, has_key: bool = False) -> Table[CpuLine]:
    """Return the table for one of several columns of CPUs; with `has_key` its heading explains the bars' heights."""

    def number(line: CpuLine) -> Piece:
        return f"{_number_text(line)} ", "strong" if line.role == Role.TARGET else "faint"

    def noise(line: CpuLine) -> Piece:
        if line.role == Role.OFFLINE:
            return "offline ", "faint"
        text, style = _noise(line, glyphs)
        return f"{text} ", style

    room = width - 16
    described = _history_descriptions(model, room)
    keys = [key for key in height_keys(glyphs) if key] if has_key else []
    last = fit_text(first_that_fits([*keys, *described], room), room) + " "
    return Table(
        [
            Column("CPU ", 6, number),
            Column("noise/s ", 9, noise),
            Column(last, room + 1, lambda line: [*history_pieces(model, line, room, glyphs), (" ", "plain")]),
        ]
    )


def _history_descriptions(model: ScreenModel, width: int) -> list[str]:
    """Return descriptions of the history, from long to short."""
    count = len(strip_axis(model, width).numbers)
    per_column = f", {model.zoom} per column" if model.zoom > 1 else ""
    return [f"last {describe_count(count, 'interval')}{per_column}", f"last {count}{per_column}", f"last {count}", ""]


class Form(StrEnum):
    """The forms in which CPUs are drawn, from the widest to the densest."""

    ROWS = "rows"
    COLUMNS = "columns"
    CELLS = "cells"
    MARKS = "marks"
    PAIRS = "pairs"
    GROUPS = "groups"


class Density(Struct, frozen=True):
    """A grid of CPUs: `rows` rows of `across` cells, with `cpus_per_cell` CPUs in a cell."""

    form: Form
    across: int
    cpus_per_cell: int
    rows: int

    @property
    def cell_width(self) -> int:
        """The width of a cell, in columns: mark, level and gap, or one character."""
        return 3 if self.form == Form.CELLS else 1


def density(count: int, width: int, rows: int) -> Density:
    """Return the widest form that shows all CPUs: rows, columns with history, cells, or several CPUs per cell.

    Cells take no more than half of the rows, so that the worst CPUs have rows too.
    """
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
    cpus_per_cell = -(-count // (across * room))
    return Density(
        Form.PAIRS if cpus_per_cell == 2 else Form.GROUPS, across, cpus_per_cell, -(-count // (across * cpus_per_cell))
    )


def _across(width: int, cell: int) -> int:
    """Return the number of cells in a row: whole groups of cells, if at least one group fits."""
    room = max(width - LABEL_WIDTH, 1)
    groups = (room + 1) // (_TOGETHER * cell + 1)
    return groups * _TOGETHER if groups else max(room // cell, 1)


def gap_after(place: int) -> bool:
    """Return whether the cell at that place of its row ends a group."""
    return place % _TOGETHER == _TOGETHER - 1


_BRAILLE = 0x2800  # U+2800 is the pattern without a dot; each dot is a bit
_DOT_COLUMNS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # from the lowest dot up


def cell_rows(lines: Sequence[CpuLine], layout: Density, glyphs: Glyphs) -> list[Row]:
    """Return rows of cells. A cell is one CPU, with its mark if it fits, or several neighbouring CPUs.

    A shared cell shows its worst CPU, or in braille two CPUs. A housekeeping CPU never hides a target CPU's noise.
    """
    groups = [lines[first : first + layout.cpus_per_cell] for first in range(0, len(lines), layout.cpus_per_cell)]
    rows: list[Row] = []
    for first in range(0, len(groups), layout.across):
        row: Row = [(f"{groups[first][0].cpu:>{LABEL_WIDTH - 1}} ", "faint")]
        for place, group in enumerate(groups[first : first + layout.across]):
            row += _cell(group, layout, glyphs)
            if gap_after(place):
                row.append((" ", "plain"))
        rows.append(row)
    return rows


def _cell(group: Sequence[CpuLine], layout: Density, glyphs: Glyphs) -> Row:
    if layout.form == Form.PAIRS and glyphs.has_braille and _can_be_paired(group):
        return [_pair(group, glyphs)]
    online = [line for line in group if line.role != Role.OFFLINE]
    has_mark = layout.cell_width > 1
    if not online:
        return [(f"{OFFLINE_MARK * 2} " if has_mark else OFFLINE_MARK, "faint")]
    online = [line for line in online if line.role != Role.HOUSEKEEPING] or online
    lost = [line.stolen_ns_per_s for line in online]
    glyph, style = mark_of(lost[0] if len(lost) == 1 else worst_of(lost), glyphs, online[0].role)
    glyph = glyphs.bullet if glyph == glyphs.quiet else glyph
    if not has_mark:
        return [(glyph, style)]
    role = online[0].role
    return [(ROLE_MARKS.get(role, " "), "strong" if role == Role.TARGET else "faint"), (glyph, style), (" ", "plain")]


def _can_be_paired(group: Sequence[CpuLine]) -> bool:
    """Return whether dots can show the CPUs: they cannot show offline CPUs or unknown noise."""
    return all(line.role != Role.OFFLINE and line.stolen_ns_per_s is not None for line in group)


def _pair(group: Sequence[CpuLine], glyphs: Glyphs) -> Piece:
    """Return a character with a column of dots for each of two CPUs, one dot per two levels, in the worse CPU's colour.

    A housekeeping CPU next to another CPU does not decide the colour.
    """
    losses = [line.stolen_ns_per_s or 0.0 for line in group]
    coloured = [line for line in group if line.role != Role.HOUSEKEEPING] or group
    dots = sum(sum(column[: -(-level_of(lost) // 2)]) for column, lost in zip(_DOT_COLUMNS, losses, strict=False))
    return chr(_BRAILLE + dots) if dots else glyphs.bullet, style_of(
        max(line.stolen_ns_per_s or 0.0 for line in coloured), glyphs, coloured[0].role
    )


def cell_heading(layout: Density, width: int, glyphs: Glyphs) -> Row:
    """Return the heading that explains the cells."""
    meaning = (
        "one CPU per cell" if layout.cpus_per_cell == 1 else f"each cell: the worst of {layout.cpus_per_cell} CPUs"
    )
    if layout.form == Form.PAIRS and glyphs.has_braille:
        meaning = "two CPUs per cell, side by side"
    marks = "   T target  s sibling  x offline" if layout.cell_width > 1 else "   x offline"
    what = f"  CPU noise/s now, {meaning}"
    return [(first_that_fits([what + marks, what], width), "heading")]


def history_pieces(model: ScreenModel, line: CpuLine, width: int, glyphs: Glyphs) -> Row:
    """Return the CPU's noise up to the shown interval, drawn from the left."""
    axis = strip_axis(model, width)
    shown = axis.spread(columns_of(model.history.lane(line.cpu, axis.numbers), model.zoom)) if width > 0 else []
    return [*level_pieces(shown, glyphs, line.role), (" " * (width - len(shown)), "plain")]


_LEAST_CULPRITS = 12  # rows
_CPU_SHARE = 0.55


def overview_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    if space.is_framed:
        cpus = framed_cpus(model, space.width, _most_cpu_rows(space.height), space.glyphs)
    else:
        room = space.height // 2 if model.shows_fix else space.height
        cpus = cpu_rows(model, space.width, _cpu_height(model, room), space.glyphs)
    return [*cpus, *culprit_list(model, replace(space, height=space.height - len(cpus)))]


def _most_cpu_rows(height: int) -> int:
    """Return the maximum number of rows for CPUs; culprits and the side panel need some too."""
    return max(height - _LEAST_CULPRITS, int(height * _CPU_SHARE))


def _cpu_height(model: ScreenModel, room: int) -> int:
    return cpu_panel_height(len(model.frame.cpus) if model.frame is not None else 1, room)


def cpu_room(model: ScreenModel, width: int, height: int) -> int:
    """Return how many CPUs have their own row on a screen of this size."""
    count = len(model.frame.cpus) if model.frame is not None else 1
    room = heights(width, height, model.runs.has_any).body
    if not has_frames(width, height):
        return row_room(count, width, _cpu_height(model, room))
    max_rows = _most_cpu_rows(room)
    return count if panels_across(count, width, max_rows) is not None else row_room(count, width - 4, max_rows - 2)
