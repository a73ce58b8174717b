"""The third screen: which IRQ interrupts which CPU, how often, where each IRQ may go, and whether it was moved."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.headline import irqs_headline
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
from noisewatch.surfaces.tui.draw.panel import Section, Space, rows_in
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, first_that_fits, fitted, text_width
from noisewatch.surfaces.tui.screens.culprits import filter_rows
from noisewatch.surfaces.tui.screens.event_list import latest_section
from noisewatch.surfaces.tui.screens.irq_panel import irq_facts, irq_title, rates_of
from noisewatch.surfaces.tui.screens.page import Keys, page
from noisewatch.surfaces.tui.screens.selected_culprit import fix_keys, fix_rows
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.irq_history import IrqRow
from noisewatch.surfaces.tui.state.irq_table import disturbs_target, movable_word, move_words
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count, short_rate, short_seconds

_FACTS, _FACTS_OF_ONE_LOOK, _FACTS_NEXT_TO_FIX = 6, 3, 4  # rows below the table
_LEAST_WITH_FACTS, _LOW = 8, 14  # rows of a body that has facts, and that has all of them
_MOST_OF_FIX = 40  # rows
_OTHERS = "other interrupts"
_KEYS_OF_FIX = (("f", "fix"), ("y", "copy fix"))
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("enter", "its CPU"),
    ("up down", "IRQ"),
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
_SIDES = (("goes", 7), ("move", 6), ("changed", 13))  # columns next to the matrix; the last ones are dropped first
_ENOUGH_GROUPS = 16
SORTS = {SortOrder.RATE: "rate", SortOrder.CPU: "CPU"}


def irqs_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _keys(model), irqs_headline)


def _keys(model: ScreenModel) -> Keys:
    """Return the keys of the screen; a fix is offered for IRQs that disturb a target CPU."""
    row = model.irq_listing().selected
    has_fix = model.shows_fix or (row is not None and disturbs_target(model, row))
    return _KEYS if has_fix else [key for key in _KEYS if key not in _KEYS_OF_FIX]


def _body(model: ScreenModel, space: Space) -> list[Row]:
    table = _Table.of(model, space.inside, space.height, space.glyphs)
    row = table.listing.selected
    if row is None:  # the table explains why it is empty
        latest = latest_section(model, space, table.needed)
        return space.draw([*_table_sections(model, table, space, space.room - rows_in(latest)), *latest])
    below = _rows_below(model, table.needed, space)
    sections = _table_sections(model, table, space, space.room - below - 1 if below else space.room)
    keys = fix_keys(model) or ("f fix · enter its CPU" if disturbs_target(model, row) else "enter its CPU")
    facts = _facts(model, row, space.inside, below, space.glyphs)
    return space.draw([*sections, *([Section(irq_title(row), facts, keys, below)] if below else [])])


def _table_sections(model: ScreenModel, table: _Table, space: Space, height: int) -> list[Section]:
    """Return the IRQs of devices, and all other interrupts, in `height` rows."""
    above, below = table.rows_in(height)
    keys = f"s sort · z {'hide' if model.shows_silent_irqs else 'show'} silent · g by device · / filter"
    frame = model.frame
    over = f" over {short_seconds(frame.seconds)}" if frame is not None and frame.seconds > 0 else ""
    what = "of a device together, " if model.groups_irqs else ""
    title = f"interrupts/s{over} by IRQ and CPU, {what}by {SORTS.get(model.sort, 'level')}"
    if not below:
        return [Section(title, above, keys, height, has_heading=True)]
    if space.is_framed:
        return [Section(title, above, keys, height - len(below) - 1), Section(_OTHERS, below)]
    return [Section(title, above, has_heading=True), Section(_OTHERS, below, height=height - len(above) - 1)]


def _rows_below(model: ScreenModel, needed: int, space: Space) -> int:
    """Return the rows for the facts about the selected IRQ: those that the table leaves, or its share of few."""
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
        fix = [[("it goes to no CPU that is known: nothing to move", "faint")]]
    return [*irq_facts(model, row, width, max(height - len(fix), 0), glyphs), *fix][:height]


def _needed_below(model: ScreenModel, width: int) -> int:
    """Return the rows that the facts need, with those of a fix on top of the first facts."""
    if model.advice is None:
        return _FACTS if model.history.count else _FACTS_OF_ONE_LOOK
    return max(_FACTS, _FACTS_NEXT_TO_FIX + len(fix_rows(model, width, _MOST_OF_FIX)))


def _listing(model: ScreenModel) -> tuple[Listing[IrqRow], int]:
    """Return the listed rows, and the number of silent IRQs that are hidden."""
    listing = model.irq_listing()
    if listing.is_gone:
        vanished = replace(
            listing.lines[listing.at], total=None, rate_by_cpu={}, name=f"{listing.lines[listing.at].name} (gone)"
        )
        listing = replace(listing, lines=(*listing.lines[: listing.at], vanished, *listing.lines[listing.at + 1 :]))
    return listing, model.silent_irqs


def _notes(model: ScreenModel, frame: Frame) -> list[str]:
    """Return what is unknown, and why."""
    notes = []
    if frame.irqs is None:
        single = "a copied tree is a single snapshot" if frame.is_last and frame.origin is not None else "no rates yet"
        why = frame.no_irqs_reason or (single if frame.seconds <= 0 else "/proc/interrupts was not read")
        notes.append(f"rates unknown: {why}")
    numbered = [setting for setting in model.irq_settings.values() if setting.irq is not None]
    if not model.irq_settings:
        notes.append("names and affinities unknown: neither /proc/interrupts nor /proc/irq tells them")
    elif numbered and all(setting.allowed is None and setting.effective is None for setting in numbered):
        notes.append("where IRQs go, and may go, is unknown: /proc/irq cannot be read")
    return notes


class _Table(Struct, frozen=True):
    """The parts of the table above its IRQs and below them, for the height of the whole body."""

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
        top.append(table.heading())
        bottom = [table.sums(frame)] if body >= 12 else []
        bottom += [legend(glyphs, width)] if body >= 16 else []
        return cls(listing, _entries(listing), top, bottom, silent, body >= 7, table, width)

    @property
    def needed(self) -> int:
        """The number of rows of the complete table."""
        return len(self.top) + max(len(self.entries), 1) + len(self.bottom) + (self.silent > 0)

    def rows_in(self, height: int) -> tuple[list[Row], list[Row]]:
        """Return at most `height` rows with the selected one: IRQs of devices, and below a heading all others."""
        if self.table is None or height < 1:
            return [], []
        room = max(height - len(self.top) - len(self.bottom), 0)
        has_note = self.least_with_note and (self.silent > 0 or len(self.entries) > room)
        room = max(room - has_note, 0)
        at = self.listing.at + (1 if None in self.entries[: self.listing.at + 1] else 0)
        first = 0 if len(self.entries) <= room or (not self.listing.is_chosen and at < room) else at - room // 2
        first = max(min(first, len(self.entries) - room), 0)
        rows: tuple[list[Row], list[Row]] = [*self.top], []
        part = rows[0]
        shown = self.entries[first : first + room]
        shown = shown[:-1] if shown and shown[-1] is None else shown  # no heading without rows
        for number, entry in enumerate(shown, start=first):
            if entry is None:
                part = rows[1]
            else:
                part.append(self.table.row(entry, number == at))
        if not self.listing.lines and room and self.table.model.irq_filter:
            part.append([(f"{'':>{LABEL}} no IRQ matches", "faint")])
        more = [self.entries[:first], self.entries[first + room :]]
        above, below = (sum(row_or_gap is not None for row_or_gap in part) for part in more)
        part += [*self.bottom[:1], *([self._note(above, below)] if has_note else []), *self.bottom[1:]]
        above_rows = [cut(row, self.width) for row in rows[0]][:height]
        return above_rows, [cut(row, self.width) for row in rows[1]][: max(height - len(above_rows) - 1, 0)]

    def _note(self, above: int, below: int) -> Row:
        """Return a row with the numbers of rows that do not fit, and of hidden silent IRQs."""
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
    """Return the rows, with a gap between IRQs of devices and all others."""
    first_other = next((at for at, row in enumerate(listing.lines) if not row.is_numbered), 0)
    lines = list(listing.lines)
    return [*lines[:first_other], None, *lines[first_other:]] if first_other else [*lines]


class IrqTable(Struct, frozen=True):
    """The columns of the table: label, name, total, a cell for each CPU or group of CPUs, and sides that fit."""

    model: ScreenModel
    glyphs: Glyphs
    columns: Columns | None
    name: int
    sides: tuple[tuple[str, int], ...]
    history: int

    @classmethod
    def of(cls, model: ScreenModel, rows: Sequence[IrqRow], width: int, glyphs: Glyphs) -> IrqTable:
        """Return the columns that fit: first a cell for each CPU, then the sides, then the history.

        The history takes the columns of moves while there is no move.
        """
        name = _NAME if width >= _WIDE else _SHORT_NAME
        room = width - LABEL - name - _TOTAL - 3
        all_sides = _SIDES if model.irqs.has_moved(model.number) else _SIDES[:-1]
        for count in range(len(all_sides), -1, -1):
            sides = all_sides[:count]
            columns = columns_for(model, room - sum(wide for _, wide in sides))
            if columns is not None and (not columns.description or len(columns.groups) >= _ENOUGH_GROUPS):
                break
        left = room - sum(wide for _, wide in sides) - (columns.width if columns is not None else 0)
        longest = min(max((text_width(_short(row.name)) for row in rows), default=0), _LONGEST_NAME)
        more = max(min(longest - name, left - _HISTORY - 1), 0)
        history = left - more - 1
        return cls(model, glyphs, columns, name + more, sides, history if history >= _LEAST_HISTORY else 0)

    @property
    def is_shared(self) -> bool:
        """Whether several CPUs share a column."""
        return self.columns is not None and bool(self.columns.description)

    def marks(self) -> Row:
        """Return the row that marks target CPUs, and describes columns that are not single CPUs."""
        wide = LABEL + self.name + _TOTAL + 3
        description = self.columns.description if self.columns is not None else ""
        note = (
            first_that_fits([f" a column: worst of {description}", f" worst of {description}"], wide)
            if description
            else ""
        )
        return [
            (fitted(note, wide), "strong"),
            *(mark_cells(self.columns, self.glyphs) if self.columns is not None else []),
        ]

    def nodes(self) -> list[Row]:
        """Return the row of memory nodes above the columns, if there are several."""
        if self.columns is None or not self.columns.ends:
            return []
        wide = LABEL + self.name + _TOTAL + 3
        return [[(" " * wide, "plain"), *node_cells(self.columns, self.model.places or {}, self.glyphs)]]

    def heading(self) -> Row:
        sort = SORTS.get(self.model.sort, "level")
        row: Row = [(f"{'IRQ':>{LABEL}} {fitted(f'device, by {sort}', self.name)} {'/s':>{_TOTAL}} ", "faint")]
        row += number_cells(self.columns, self.glyphs) if self.columns is not None else []
        row += [(f"  {name:<{wide - 2}}", "faint") for name, wide in self.sides]
        if self.history:
            kept = self.model.number + 1 - self.model.history.first
            count = min(self.history * self.model.zoom, kept)
            titles = [f" last {describe_count(count, 'interval')}", f" last {count}", ""]
            row.append((fitted(first_that_fits(titles, self.history + 1), self.history + 1), "faint"))
        return row

    def row(self, of: IrqRow, is_selected: bool) -> Row:
        """Return the row of one IRQ, or of all IRQs of a device."""
        style: Style = "selected" if is_selected else "plain"
        row: Row = [(self._label_and_name(of.label, of.name), style), (f"{short_rate(of.total):>{_TOTAL}} ", style)]
        row += rate_cells(of, self.columns, self.glyphs) if self.columns is not None else []
        for name, wide in self.sides:
            text = self._side(name, of)
            row.append((f"  {fitted(text, wide - 2)}", "strong" if name == "changed" else _side_style(text)))
        if self.history:
            row += [(" ", "plain"), *history_cells(rates_of(self.model, of, self.history), self.history, self.glyphs)]
        return row

    def _label_and_name(self, label: str, name: str) -> str:
        shown = _fitted_with_end(name, self.name) if label.isdecimal() else fitted(_short(name), self.name)
        return f"{label:>{LABEL}.{LABEL}} {shown} "

    def _side(self, name: str, of: IrqRow) -> str:
        if not of.is_numbered:
            return ""
        if name == "goes":
            return cpu_words(of.effective)
        return movable_word(of) if name == "move" else move_words(self.model, of)

    def sums(self, frame: Frame) -> Row:
        """Return the row of all interrupts of each CPU."""
        rate_by_cpu: dict[int, float] = {}
        for line in frame.irqs or ():
            for cpu, rate in line.rate_by_cpu.items():
                rate_by_cpu[cpu] = rate_by_cpu.get(cpu, 0.0) + rate
        total = sum(rate_by_cpu.values()) if frame.irqs is not None else None
        of = IrqRow("", "all, per CPU", Kind.LOCAL, total, rate_by_cpu)
        row: Row = [
            (self._label_and_name(of.label, of.name), "strong"),
            (f"{short_rate(of.total):>{_TOTAL}} ", "strong"),
        ]
        return row + (rate_cells(of, self.columns, self.glyphs) if self.columns is not None else [])


def _short(name: str) -> str:
    """Return the name without ` interrupts`, which the heading contains already: `Local timer interrupts`."""
    return name.removesuffix(" interrupts")


def _side_style(text: str) -> Style:
    return "unknown" if text == "?" else "faint" if text in ("mgd", "no") else "plain"


def _fitted_with_end(name: str, width: int) -> str:
    """Return the name fitted to the width, with its end kept: queues of a device differ only there."""
    if text_width(name) <= width:
        return fitted(name, width)
    end = name[-_END:]
    return f"{fitted(name, width - 1 - text_width(end))}…{end}" if text_width(end) < width - 1 else fitted(name, width)
