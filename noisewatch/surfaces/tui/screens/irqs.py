"""The third screen: which IRQ interrupts which CPU, how often, where each IRQ may go, and whether it was moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space, count_rows
from noisewatch.surfaces.drawing.table import Column, Table, first_row_with
from noisewatch.surfaces.drawing.text_row import Row, Style, cut, first_that_fits, fit_text, text_of, text_width
from noisewatch.surfaces.tui.draw.irq_matrix import (
    Columns,
    columns_for,
    cpu_words,
    history_cells,
    legend,
    mark_cells,
    node_cells,
    number_cells,
    rate_cells,
)
from noisewatch.surfaces.tui.draw.waiting import no_rates_reason
from noisewatch.surfaces.tui.screens.culprits import filter_rows, fix_keys, fix_rows
from noisewatch.surfaces.tui.screens.event_list import latest_section
from noisewatch.surfaces.tui.screens.irq_panel import irq_facts, irq_title, rates_of
from noisewatch.surfaces.tui.screens.page import Keys, page
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.irq_history import IrqRow
from noisewatch.surfaces.tui.state.irq_table import disturbs_target, movable_word, move_words
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count, short_rate, short_seconds

_FACTS, _FACTS_OF_SNAPSHOT, _FACTS_NEXT_TO_FIX = 6, 3, 4  # rows below the table
_LEAST_WITH_FACTS, _LOW = 8, 14  # minimum rows of a body that shows any facts, and all facts
_MOST_OF_FIX = 40  # rows
_OTHERS = "other interrupts"
_KEYS_OF_FIX = (("f", "fix"), ("y", "copy fix"))
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("enter", "its CPU"),
    ("up down", "IRQ"),
    ("[ ]", "rises"),
    ("/", "filter"),
    *_KEYS_OF_FIX,
    ("s", "sort"),
    ("z", "silent"),
    ("g", "by device"),
    ("left right", "step"),
    ("{ }", "events"),
    ("esc", "back"),
)
LABEL, _TOTAL, _END = 5, 6, 4  # columns
_NAME, _SHORT_NAME, _LONGEST_NAME, _WIDE = 16, 8, 40, 60
_HISTORY, _LEAST_HISTORY = 12, 6
_ENOUGH_GROUPS = 16
SORTS = {SortOrder.RATE: "rate", SortOrder.CPU: "CPU"}


def irqs_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _keys(model))


def _keys(model: ScreenModel) -> Keys:
    """Return the screen's keys; a fix is offered only for an IRQ that disturbs a target CPU."""
    row = model.irq_listing().selected
    has_fix = model.shows_fix or (row is not None and disturbs_target(model, row))
    return _KEYS if has_fix else [key for key in _KEYS if key not in _KEYS_OF_FIX]


def _body(model: ScreenModel, space: Space) -> list[Row]:
    table = _Table.of(model, space.inside, space.height, space.glyphs)
    row = table.listing.selected
    if row is None:  # the table explains why it is empty
        latest = latest_section(model, space, table.needed)
        return space.draw([*_table_sections(model, table, space, space.room - count_rows(latest)), *latest])
    below = _rows_below(model, table.needed, space)
    sections = _table_sections(model, table, space, space.room - below - 1 if below else space.room)
    keys = fix_keys(model) or ("f fix · enter its CPU" if disturbs_target(model, row) else "enter its CPU")
    facts = _facts(model, row, space.inside, below, space.glyphs)
    return space.draw([*sections, *([Section(irq_title(row), facts, keys, below)] if below else [])])


def _table_sections(model: ScreenModel, table: _Table, space: Space, height: int) -> list[Section]:
    """Return the sections of device IRQs and of all other interrupts, in `height` rows."""
    above, below = table.rows_in(height)
    keys = f"s sort · z {'hide' if model.shows_silent_irqs else 'show'} silent · g by device · / filter"
    frame = model.frame
    over = f" over {short_seconds(frame.seconds)}" if frame is not None and frame.seconds > 0 else ""
    what = "grouped by device, " if model.groups_irqs else ""
    title = f"interrupts/s{over} by IRQ and CPU, {what}by {SORTS.get(model.sort, 'level')}"
    if not below:
        return [Section(title, above, keys, height, has_heading=True, is_active=True)]
    if space.is_framed:
        return [
            Section(title, above, keys, height - len(below) - 1, is_active=True),
            Section(_OTHERS, below, is_active=True),
        ]
    return [Section(title, above, has_heading=True), Section(_OTHERS, below, height=height - len(above) - 1)]


def _rows_below(model: ScreenModel, needed: int, space: Space) -> int:
    """Return how many rows the selected IRQ's facts get: the rows that the table leaves, but at least a share."""
    if space.height < _LEAST_WITH_FACTS:
        return 0
    least = min(_needed_below(model, space.inside), space.height // 2 - 1) if space.height >= _LOW else 2
    return max(space.room - needed - 1, least)


def _facts(model: ScreenModel, row: IrqRow, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the facts about the selected IRQ; a requested fix gets its rows first."""
    if not model.shows_fix:
        return irq_facts(model, row, width, height, glyphs)
    fix = fix_rows(model, width, height)
    if model.advice is None and model.selected() is None:
        fix = [[("nothing to move, because its CPUs are unknown", "faint")]]
    return [*irq_facts(model, row, width, max(height - len(fix), 0), glyphs), *fix][:height]


def _needed_below(model: ScreenModel, width: int) -> int:
    """Return how many rows the facts need, or the first facts and a fix if there is one."""
    if model.advice is None:
        return _FACTS if model.history.count else _FACTS_OF_SNAPSHOT
    return max(_FACTS, _FACTS_NEXT_TO_FIX + len(fix_rows(model, width, _MOST_OF_FIX)))


def _listing(model: ScreenModel) -> tuple[Listing[IrqRow], int]:
    """Return the listed rows, and the number of hidden silent IRQs."""
    listing = model.irq_listing()
    if listing.is_gone:
        vanished = replace(
            listing.lines[listing.at], total=None, rate_by_cpu={}, name=f"{listing.lines[listing.at].name} (gone)"
        )
        listing = replace(listing, lines=(*listing.lines[: listing.at], vanished, *listing.lines[listing.at + 1 :]))
    return listing, model.silent_irqs


def _notes(model: ScreenModel, frame: Frame) -> list[str]:
    """Return notes on unknown rates, names and affinities, with the reasons."""
    notes = []
    if frame.irqs is None:
        unread = f"rates unknown: {frame.no_irqs_reason or '/proc/interrupts was not read'}"
        notes.append(no_rates_reason(model) if frame.seconds <= 0 and frame.no_irqs_reason is None else unread)
    numbered = [setting for setting in model.irq_settings.values() if setting.irq is not None]
    if not model.irq_settings:
        notes.append("names and affinities unknown: neither /proc/interrupts nor /proc/irq has them")
    elif numbered and all(setting.allowed is None and setting.effective is None for setting in numbered):
        notes.append("affinities of IRQs unknown: /proc/irq cannot be read")
    return notes


class _Table(Struct, frozen=True):
    """The table's IRQs, and the rows above and below them that suit the height of the screen's body."""

    listing: Listing[IrqRow]
    entries: Sequence[IrqRow | None]  # None is the gap between IRQs of devices and all others
    top: Sequence[Row]
    bottom: Sequence[Row]
    silent: int
    least_with_note: bool
    table: IrqTable | None
    width: int

    @classmethod
    def of(cls, model: ScreenModel, width: int, body: int, glyphs: Glyphs) -> _Table:
        listing, silent = _listing(model)
        frame = model.frame
        if frame is None:
            return cls(listing, (), (), (), 0, False, None, width)
        table = IrqTable.of(model, listing.lines, width, glyphs)
        top = filter_rows(model, width)
        top += [[(f" {note}", "doubt")] for note in _notes(model, frame)]
        top += table.nodes() if body >= 14 else []
        top += [table.marks()] if body >= 10 or table.is_shared else []
        top.append([(table.table.heading, "faint")])
        bottom = [table.sums(frame)] if body >= 12 else []
        bottom += [legend(glyphs, width)] if body >= 16 else []
        return cls(listing, _entries(listing), top, bottom, silent, body >= 7, table, width)

    @property
    def needed(self) -> int:
        """The number of rows of the complete table."""
        return len(self.top) + max(len(self.entries), 1) + len(self.bottom) + (self.silent > 0)

    def rows_in(self, height: int) -> tuple[list[Row], list[Row]]:
        """Return the rows of device IRQs, and of all other interrupts: at most `height`, including the selected row."""
        if self.table is None or height < 1:
            return [], []
        room = max(height - len(self.top) - len(self.bottom), 0)
        has_note = self.least_with_note and (self.silent > 0 or len(self.entries) > room)
        room = max(room - has_note, 0)
        at = self.listing.at + (1 if None in self.entries[: self.listing.at + 1] else 0)
        first = first_row_with(at, len(self.entries), room)
        rows: tuple[list[Row], list[Row]] = [*self.top], []
        part = rows[0]
        shown = self.entries[first : first + room]
        shown = shown[:-1] if shown and shown[-1] is None else shown  # no heading without rows
        for number, entry in enumerate(shown, start=first):
            if entry is None:
                part = rows[1]
            else:
                part.append(self.table.table.row(entry, "selected" if number == at else None))
        if not self.listing.lines and room and self.table.model.irq_filter:
            part.append([(f"{'':>{LABEL}} no IRQ matches", "faint")])
        more = [self.entries[:first], self.entries[first + room :]]
        above, below = (sum(row_or_gap is not None for row_or_gap in part) for part in more)
        part += [*self.bottom[:1], *([self._note(above, below)] if has_note else []), *self.bottom[1:]]
        above_rows = [cut(row, self.width) for row in rows[0]][:height]
        return above_rows, [cut(row, self.width) for row in rows[1]][: max(height - len(above_rows) - 1, 0)]

    def _note(self, above: int, below: int) -> Row:
        """Return a row that counts the IRQs that do not fit, and the hidden silent IRQs."""
        hidden = " and ".join(
            [*([f"{above} more above"] if above else []), *([f"{below} more below"] if below else [])]
        )
        row: Row = [(f"{'':>{LABEL}} ", "plain")]
        if hidden:
            row.append((f"{hidden}{' · ' if self.silent else ''}", "strong"))
        if self.silent:
            are, them = ("s are", "them") if self.silent > 1 else (" is", "it")
            silence = f"{self.silent} silent one{are} hidden: z shows {them}"
            left = self.width - LABEL - 1 - text_width(hidden) - 3
            row.append(
                (first_that_fits([silence, f"{self.silent} silent: z"], left if hidden else self.width), "faint")
            )
        return row


def _entries(listing: Listing[IrqRow]) -> list[IrqRow | None]:
    """Return the rows, with None for the gap between device IRQs and all other interrupts."""
    first_other = next((index for index, row in enumerate(listing.lines) if not row.is_numbered), 0)
    lines = list(listing.lines)
    return [*lines[:first_other], None, *lines[first_other:]] if first_other else [*lines]


class IrqTable(Struct, frozen=True):
    """The table of IRQs, with a matrix of CPUs or groups of CPUs; `before` is the width left of the matrix."""

    model: ScreenModel
    glyphs: Glyphs
    matrix: Columns | None
    before: int
    table: Table[IrqRow]

    @classmethod
    def of(cls, model: ScreenModel, rows: Sequence[IrqRow], width: int, glyphs: Glyphs) -> IrqTable:
        """Return the table with the columns that fit: first the matrix, then the columns of `_sides`, then the history.

        While no IRQ has moved, the history also gets the width for moves.
        """
        name = _NAME if width >= _WIDE else _SHORT_NAME
        room = width - LABEL - name - _TOTAL - 3
        all_sides = _sides(model)
        for count in range(len(all_sides), -1, -1):
            sides = all_sides[:count]
            left = room - Table(sides).width
            matrix = columns_for(model, left)
            if matrix is not None and (not matrix.description or len(matrix.groups) >= _ENOUGH_GROUPS):
                break
        left -= matrix.width if matrix is not None else 0
        longest = min(max((text_width(_short(row.name)) for row in rows), default=0), _LONGEST_NAME)
        more = max(min(longest - name, left - _HISTORY - 1), 0)
        name, history = name + more, left - more - 1
        device = fit_text(f"device, by {SORTS.get(model.sort, 'level')}", name)
        numbers = text_of(number_cells(matrix, glyphs)) if matrix is not None else ""
        columns = [
            Column(f"{'IRQ':>{LABEL}} {device} ", LABEL + name + 2, partial(_label_and_name, width=name)),
            Column("/s ", _TOTAL + 1, lambda row: (f"{short_rate(row.total)} ", "plain")),
            Column(numbers, 0, lambda row: rate_cells(row, matrix, glyphs) if matrix else [], keeps_style=True),
            *sides,
        ]
        if history >= _LEAST_HISTORY:
            columns.append(_history(model, history, glyphs))
        return cls(model, glyphs, matrix, LABEL + name + _TOTAL + 3, Table(columns))

    @property
    def is_shared(self) -> bool:
        """Whether several CPUs share a column."""
        return self.matrix is not None and bool(self.matrix.description)

    def marks(self) -> Row:
        """Return the row that marks target CPUs, and explains columns of several CPUs."""
        if self.matrix is None:
            return [(" " * self.before, "strong")]
        worst = f"worst of {self.matrix.description}"
        note = first_that_fits([f" per column: {worst} ", f" {worst} "], self.before) if self.is_shared else ""
        return [(fit_text(note, self.before), "strong"), *mark_cells(self.matrix, self.glyphs)]

    def nodes(self) -> list[Row]:
        """Return the row of memory nodes above the columns, or no row if there is only one node."""
        if self.matrix is None or not self.matrix.ends:
            return []
        cells = node_cells(self.matrix, self.model.places or {}, self.glyphs)
        return [[(" " * self.before, "plain"), *cells]]

    def sums(self, frame: Frame) -> Row:
        """Return the row with each CPU's sum of all interrupts."""
        rate_by_cpu: dict[int, float] = {}
        for line in frame.irqs or ():
            for cpu, rate in line.rate_by_cpu.items():
                rate_by_cpu[cpu] = rate_by_cpu.get(cpu, 0.0) + rate
        total = sum(rate_by_cpu.values()) if frame.irqs is not None else None
        row = IrqRow("", "all, per CPU", Kind.LOCAL, total, rate_by_cpu)
        return Table(self.table.columns[:3]).row(row, "strong")


def _label_and_name(row: IrqRow, width: int) -> Row:
    shown = _fit_with_end(row.name, width) if row.label.isdecimal() else fit_text(_short(row.name), width)
    return [(f"{row.label:>{LABEL}.{LABEL}} {shown} ", "plain")]


def _sides(model: ScreenModel) -> list[Column[IrqRow]]:
    """Return the columns right of the matrix; the last column is dropped first."""

    def side(name: str, width: int, text_of_irq: Callable[[IrqRow], str], style: Style | None = None) -> Column[IrqRow]:
        def cell(row: IrqRow) -> Row:
            text = text_of_irq(row) if row.is_numbered else ""
            own: Style = "unknown" if text == "?" else "faint" if text in ("mgd", "no") else "plain"
            return [(f"  {fit_text(text, width - 2)}", style or own)]

        return Column(f"  {name}", width, cell, is_left=True, keeps_style=True)

    sides = [side("goes", 7, lambda row: cpu_words(row.effective)), side("move", 6, movable_word)]
    has_moved = model.irqs.has_moved(model.number)
    return [*sides, *([side("changed", 13, partial(move_words, model), "strong")] if has_moved else [])]


def _history(model: ScreenModel, width: int, glyphs: Glyphs) -> Column[IrqRow]:
    """Return the column of rates up to the shown interval."""
    count = min(width * model.zoom, model.number + 1 - model.history.first)
    title = first_that_fits([f" last {describe_count(count, 'interval')}", f" last {count}", ""], width + 1)

    def cell(row: IrqRow) -> Row:
        return [(" ", "plain"), *history_cells(rates_of(model, row, width), width, glyphs)]

    return Column(title, width + 1, cell, is_left=True, keeps_style=True)


def _short(name: str) -> str:
    """Return the name without a final ` interrupts` (`Local timer interrupts`), because the heading contains it."""
    return name.removesuffix(" interrupts")


def _fit_with_end(name: str, width: int) -> str:
    """Return the name, cut or padded to the width; its end is kept, because a device's queues differ only there."""
    if text_width(name) <= width:
        return fit_text(name, width)
    end = name[-_END:]
    return (
        f"{fit_text(name, width - 1 - text_width(end))}…{end}" if text_width(end) < width - 1 else fit_text(name, width)
    )
