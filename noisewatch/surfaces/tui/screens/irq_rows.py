"""The table of IRQs: a row each, with a cell for each CPU, and where it goes, whether it can be moved, and was."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.irq_matrix import (
    Columns,
    columns_for,
    cpu_words,
    history_cells,
    mark_cells,
    node_cells,
    number_cells,
    rate_cells,
)
from noisewatch.surfaces.tui.draw.text_row import Row, Style, first_that_fits, fitted, text_width
from noisewatch.surfaces.tui.screens.irq_panel import rates_of
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.irq_table import IrqRow, movable_word, move_words
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_rate

LABEL, _TOTAL, _END = 5, 6, 4  # columns
_NAME, _SHORT_NAME, _LONGEST_NAME, _WIDE = 16, 8, 40, 60
_HISTORY, _LEAST_HISTORY = 12, 6
_SIDES = (("goes", 7), ("move", 6), ("changed", 13))  # columns beside the matrix; the last ones go first
_ENOUGH_GROUPS = 16
SORTS = {SortOrder.RATE: "rate", SortOrder.CPU: "CPU"}


@dataclass(frozen=True, slots=True)
class IrqTable:
    """Its columns: label, name, total, a cell for each CPU or group of them, and what finds room beside."""

    model: ScreenModel
    glyphs: Glyphs
    columns: Columns | None
    name: int
    sides: tuple[tuple[str, int], ...]
    history: int

    @classmethod
    def of(cls, model: ScreenModel, rows: Sequence[IrqRow], width: int, glyphs: Glyphs) -> IrqTable:
        """As it fits: a cell for each CPU comes before the sides, and those before the history, which has the room of
        moves while there is none.
        """
        name = _NAME if width >= _WIDE else _SHORT_NAME
        room = width - LABEL - name - _TOTAL - 3
        found = _SIDES if model.irqs.has_moved(model.number) else _SIDES[:-1]
        for count in range(len(found), -1, -1):
            sides = found[:count]
            columns = columns_for(model, room - sum(wide for _, wide in sides))
            if columns is not None and (not columns.each or len(columns.groups) >= _ENOUGH_GROUPS):
                break
        left = room - sum(wide for _, wide in sides) - (columns.width if columns is not None else 0)
        longest = min(max((text_width(_short(row.name)) for row in rows), default=0), _LONGEST_NAME)
        more = max(min(longest - name, left - _HISTORY - 1), 0)
        history = left - more - 1
        return cls(model, glyphs, columns, name + more, sides, history if history >= _LEAST_HISTORY else 0)

    @property
    def is_shared(self) -> bool:
        """Whether several CPUs share a column."""
        return self.columns is not None and bool(self.columns.each)

    def marks(self) -> Row:
        """Which CPUs are targets, and what a column is that is no CPU."""
        wide = LABEL + self.name + _TOTAL + 3
        each = self.columns.each if self.columns is not None else ""
        said = first_that_fits([f" a column: worst of {each}", f" worst of {each}"], wide) if each else ""
        return [
            (fitted(said, wide), "strong"),
            *(mark_cells(self.columns, self.glyphs) if self.columns is not None else []),
        ]

    def nodes(self) -> list[Row]:
        """Which columns are of which memory node, where there are several."""
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
            said = [f" last {count} interval{'s' * (count != 1)}", f" last {count}", ""]
            row.append((fitted(first_that_fits(said, self.history + 1), self.history + 1), "faint"))
        return row

    def row(self, of: IrqRow, is_selected: bool) -> Row:
        """One IRQ, or all of a device."""
        style: Style = "selected" if is_selected else "plain"
        row: Row = [(self._named(of.label, of.name), style), (f"{short_rate(of.total):>{_TOTAL}} ", style)]
        row += rate_cells(of, self.columns, self.glyphs) if self.columns is not None else []
        for name, wide in self.sides:
            text = self._side(name, of)
            row.append((f"  {fitted(text, wide - 2)}", "strong" if name == "changed" else _side_style(text)))
        if self.history:
            row += [(" ", "plain"), *history_cells(rates_of(self.model, of, self.history), self.history, self.glyphs)]
        return row

    def _named(self, label: str, name: str) -> str:
        shown = _with_its_end(name, self.name) if label.isdecimal() else fitted(_short(name), self.name)
        return f"{label:>{LABEL}.{LABEL}} {shown} "

    def _side(self, name: str, of: IrqRow) -> str:
        if not of.is_numbered:
            return ""
        if name == "goes":
            return cpu_words(of.goes_to)
        return movable_word(of) if name == "move" else move_words(self.model, of)

    def sums(self, frame: Frame) -> Row:
        """All interrupts of each CPU."""
        rate_by_cpu: dict[int, float] = {}
        for line in frame.irqs or ():
            for cpu, rate in line.rate_by_cpu.items():
                rate_by_cpu[cpu] = rate_by_cpu.get(cpu, 0.0) + rate
        total = sum(rate_by_cpu.values()) if frame.irqs is not None else None
        return self._without_label(IrqRow("", "all, per CPU", Kind.LOCAL, total, rate_by_cpu))

    def _without_label(self, of: IrqRow) -> Row:
        row: Row = [(self._named(of.label, of.name), "strong"), (f"{short_rate(of.total):>{_TOTAL}} ", "strong")]
        return row + (rate_cells(of, self.columns, self.glyphs) if self.columns is not None else [])


def _short(name: str) -> str:
    """What stands below `interrupts` need not say that it is one: `Local timer interrupts`."""
    return name.removesuffix(" interrupts")


def _side_style(text: str) -> Style:
    return "unknown" if text == "?" else "faint" if text in ("mgd", "no") else "plain"


def _with_its_end(name: str, width: int) -> str:
    """A name in so many columns: queues of a device differ in its end alone."""
    if text_width(name) <= width:
        return fitted(name, width)
    end = name[-_END:]
    return f"{fitted(name, width - 1 - text_width(end))}…{end}" if text_width(end) < width - 1 else fitted(name, width)
