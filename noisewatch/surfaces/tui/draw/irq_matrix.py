"""Interrupts by source and CPU: each cell shows the level of a rate; CPUs share columns if there are too many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import PlaceLine
from noisewatch.surfaces.drawing.glyphs import OFFLINE_MARK, Glyphs
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, first_that_fits, join_styles, length
from noisewatch.surfaces.tui.draw.places import ROLE_MARKS
from noisewatch.surfaces.tui.state.irq_history import RATES, IrqRow, level_of_rate, uncounted_cpus
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_NOTABLE, _GRAVE = 100, 1_000  # interrupts per second on a target CPU, which take about 0.05% and 0.5% of its time
_LEAST_GROUPS = 8  # if there are fewer caches or nodes, they are not used as columns
_MARK_EVERY = 8  # with columns of one character, only every eighth has a number


class Columns(Struct, frozen=True):
    """The CPUs of each column, in topology order; `cell` is the width of a column and the gap after it."""

    groups: tuple[tuple[int, ...], ...]
    cell: int
    ends: frozenset[int]  # columns that end a node
    description: str  # what a column is, such as `8 CPUs`; empty for single CPUs
    role_by_cpu: Mapping[int, Role]
    uncounted: CpuSet = frozenset()

    @property
    def width(self) -> int:
        """The width of all columns, with a line between nodes."""
        return len(self.groups) * self.cell + len(self.ends)


def allowed_sign(glyphs: Glyphs) -> str:
    """Return the sign for a CPU that an IRQ may go to but did not interrupt."""
    return "·" if glyphs.has_braille else "_"


def node_line(glyphs: Glyphs) -> str:
    return "│" if glyphs.has_braille else "|"


def rate_style(per_s: float | None, role: Role | None) -> Style:
    """Return the style of a rate: by its level on target CPUs and their siblings, plain on other CPUs."""
    if per_s is None:
        return "unknown"
    if role not in (Role.TARGET, Role.SIBLING):
        return "plain"
    return "grave" if per_s >= _GRAVE else "notable" if per_s >= _NOTABLE else "calm"


def columns_for(model: ScreenModel, room: int) -> Columns | None:
    """Return one column for each CPU, or else for each cache, node or group of neighbours; None if nothing fits."""
    frame = model.frame
    if frame is None or not frame.cpus:
        return None
    roles = {line.cpu: line.role for line in frame.cpus}
    cpus, places, uncounted = model.in_order(roles), model.places or {}, uncounted_cpus(frame)
    for groups, description in _groupings(cpus, places, room):
        widest = max(len(str(group[0])) for group in groups)
        nodes = [getattr(places.get(group[0]), "node", None) for group in groups]
        ends = frozenset(index for index, (left, right) in enumerate(pairwise(nodes)) if left != right)
        for cell in (max(widest, 2) + 1, 1):
            columns = Columns(tuple(groups), cell, ends, description, roles, uncounted)
            if columns.width <= room:
                return columns
    return None


def _groupings(
    cpus: Sequence[int], places: Mapping[int, PlaceLine], room: int
) -> Iterator[tuple[list[tuple[int, ...]], str]]:
    yield [(cpu,) for cpu in cpus], ""
    for name in ("cache", "node"):
        by_place: dict[object, list[int]] = {}
        for cpu in cpus:
            by_place.setdefault(getattr(places.get(cpu), name, None), []).append(cpu)
        if None not in by_place and len(by_place) >= _LEAST_GROUPS:
            yield [tuple(group) for group in by_place.values()], "an L3" if name == "cache" else "a node"
    size = 2
    while size < 2 * len(cpus):
        yield [tuple(cpus[index : index + size]) for index in range(0, len(cpus), size)], f"{size} CPUs"
        size *= 2


def node_cells(columns: Columns, places: Mapping[int, PlaceLine], glyphs: Glyphs) -> Row:
    """Return the number of each node above its columns, with `node` if it fits."""
    ends = [*sorted(columns.ends), len(columns.groups) - 1]
    row: Row = []
    for begin, end in zip([0, *(end + 1 for end in ends)], ends, strict=False):
        place, wide = places.get(columns.groups[begin][0]), (end + 1 - begin) * columns.cell
        node = place.node if place is not None else None  # an offline CPU's node is unknown
        text = first_that_fits([f"node {node}", f"{node}", ""], wide) if node is not None else ""
        row.append((f"{text:^{wide}}", "faint"))
        row += [(node_line(glyphs), "faint")] if end in columns.ends else []
    return row


def mark_cells(columns: Columns, glyphs: Glyphs) -> Row:
    """Return the mark of each column: T if one of its CPUs is a target CPU."""
    cells: list[Piece] = []
    for group in columns.groups:
        marks = {ROLE_MARKS.get(columns.role_by_cpu[cpu], " ") for cpu in group}
        mark = next(candidate for candidate in "Ts x" if candidate in marks)
        cells.append((mark * (columns.cell - 1 or 1), "strong" if mark == "T" else "faint"))
    return _join_cells(columns, cells, glyphs)


def number_cells(columns: Columns, glyphs: Glyphs) -> Row:
    """Return the number of each column's first CPU; columns of one character get a number only every eighth column."""
    numbers = [str(group[0]) for group in columns.groups]
    if columns.cell > 1:
        return _join_cells(columns, [(f"{number:>{columns.cell - 1}}", "faint") for number in numbers], glyphs)
    text = ""
    for index, number in enumerate(numbers):
        if index % _MARK_EVERY == 0 and len(text) <= index + sum(end < index for end in columns.ends):
            text = text.ljust(index + sum(end < index for end in columns.ends)) + number + " "
    return [(text[: columns.width].ljust(columns.width), "faint")]


def rate_cells(row: IrqRow, columns: Columns, glyphs: Glyphs) -> Row:
    """Return the level of the rate on each column's busiest CPU, and signs for allowed and for offline CPUs.

    If the rates are unknown, so are the cells of the IRQ's effective CPUs; if these CPUs are unknown, the cells of its
    allowed CPUs; if these are unknown too, all cells.
    """
    allowed = row.allowed if row.is_numbered else None
    unknown: CpuSet | None = frozenset()
    if row.total is None:
        unknown = (allowed if row.effective is None else row.effective) if allowed else None
    cells = [_cell(row, group, allowed or frozenset(), unknown, columns, glyphs) for group in columns.groups]
    return _join_cells(columns, cells, glyphs)


def _cell(
    row: IrqRow, group: Sequence[int], allowed: CpuSet, unknown: CpuSet | None, columns: Columns, glyphs: Glyphs
) -> Piece:
    wide = 1 if columns.cell == 1 else 2
    online = [cpu for cpu in group if columns.role_by_cpu[cpu] != Role.OFFLINE]
    if not online:
        return OFFLINE_MARK * wide, "faint"
    busiest = max(online, key=lambda cpu: row.rate_by_cpu.get(cpu, 0.0))
    rate = row.rate_by_cpu.get(busiest, 0.0)
    may_be_more = row.total is not None and rate < _NOTABLE and not columns.uncounted.isdisjoint(online)
    if may_be_more or unknown is None or unknown.intersection(online):
        return glyphs.unknown * wide, "unknown"
    if rate > 0:
        return glyphs.ramp[level_of_rate(rate)] * wide, rate_style(rate, columns.role_by_cpu[busiest])
    return (allowed_sign(glyphs) if allowed.intersection(online) else " ") * wide, "faint"


def _join_cells(columns: Columns, cells: Sequence[Piece], glyphs: Glyphs) -> Row:
    """Return the cells with their gaps, and the lines between nodes."""
    row: Row = []
    for index, (text, style) in enumerate(cells):
        line = node_line(glyphs) if index in columns.ends else ""
        gap = columns.cell - len(text)
        row.append(((" " * gap if columns.cell > 1 else "") + text, style))
        if line:
            row.append((line, "faint"))
    return join_styles(row)


def history_cells(rates: Sequence[float | None], width: int, glyphs: Glyphs) -> Row:
    """Return one character for each rate, the newest at the right; few rates begin at the left."""
    row: Row = []
    for rate in rates[-width:] if width > 0 else ():
        level = level_of_rate(rate or 0)
        piece: Piece = (glyphs.ramp[level], "plain") if level else (glyphs.quiet, "faint")
        row.append(piece if rate is not None else (glyphs.unknown, "unknown"))
    return join_styles([*row, (" " * (width - len(rates)), "plain")])


def round_rate(per_s: float) -> str:
    """Return the legend's text for a rate, such as `100` or `5k`."""
    return f"{per_s / 1000:.0f}k" if per_s >= 1000 else f"{per_s:.0f}"


def legend(glyphs: Glyphs, width: int) -> Row:
    """Return as much of the legend of levels and marks as fits."""
    row: Row = []
    for level, rate in enumerate(RATES, start=1):
        row += [(f" {glyphs.ramp[level]} ", "strong"), (round_rate(rate), "faint")]
    marks = [f"{allowed_sign(glyphs)} may go there", "mgd moved by the kernel alone", f"{OFFLINE_MARK} offline"]
    choices = ["   ".join(["/s", *marks[:count]]) for count in range(len(marks), -1, -1)]
    row.append((first_that_fits([*choices, ""], width - length(row)), "faint"))
    return row


def cpu_words(cpus: CpuSet | None) -> str:
    """Return the CPUs as `5` or `0-3`, or `none`; `?` if they are unknown."""
    return "?" if cpus is None else format_cpu_list(cpus) or "none"
