"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import zip_longest

from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style as TerminalStyle
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from noisewatch.faults import contained
from noisewatch.surfaces.reports.parts.colours import ROW_STYLES
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style


@cache
def style_named(name: Style) -> TerminalStyle:
    """The terminal's own colours, so that any theme and 16 colours do."""
    return TerminalStyle.parse(ROW_STYLES[name])


def strip_of(row: Row, width: int) -> Strip:
    """One row, cut and padded to the width in terminal cells."""
    return Strip([Segment(text, style_named(style)) for text, style in row]).adjust_cell_length(width).simplify()


_BLANK: Piece = (" ", "plain")
_ONE_COLUMN_EACH = re.compile("[ -~°·µ×–…←-↓─-▟■-◼◆-○✓✗⠀-⣿]*").fullmatch  # what noisewatch itself writes
_MOVE = 8  # bytes that a terminal takes to go elsewhere in a row


def changed_spans(old: Row, new: Row, width: int) -> list[tuple[int, int]]:
    """From which column to before which one the rows differ; parts that lie so close that one is shorter are one."""
    if not all(_ONE_COLUMN_EACH(text) for row in (old, new) for text, _ in row):
        return [(0, width)]
    spans: list[tuple[int, int]] = []
    for column, (was, now) in enumerate(zip_longest(_columns(old), _columns(new), fillvalue=_BLANK)):
        if was == now:
            continue
        begin = spans.pop()[0] if spans and column - spans[-1][1] <= _MOVE else column
        spans.append((begin, column + 1))
    return spans


def _columns(row: Row) -> Iterator[Piece]:
    return ((character, style) for text, style in row for character in text)


RowsOf = Callable[[int, int], list[Row]]


class LineView(Widget):
    """Shows the rows that `rows_of` makes for its size; what is as it was is not sent to a LineScreen's terminal again.

    Where they cannot be drawn, it shows what `rows_of_fault` makes of the reason.
    """

    DEFAULT_CSS = "LineView { width: 100%; height: 100%; }"

    def __init__(self, rows_of: RowsOf, rows_of_fault: Callable[[str, int, int], list[Row]]) -> None:
        super().__init__()
        self._rows_of = rows_of
        self._rows_of_fault = rows_of_fault
        self._rows: list[Row] = []
        self._strips: dict[int, Strip] = {}  # of the rows that are as they were

    def update(self) -> None:
        """Redraws what has changed."""
        width, height = self.size
        before = self._rows
        self._rows, drawn = contained(
            lambda: self._drawn(self._rows_of(width, height)),
            lambda reason: self._drawn(self._rows_of_fault(reason, width, height)),
        )
        self._strips.update(drawn)
        changed = [
            Region(begin, number, end - begin, 1)
            for number in drawn
            for begin, end in changed_spans(_row_at(before, number), _row_at(self._rows, number), width)
        ]
        if changed:
            self.refresh(*changed)

    def _drawn(self, rows: list[Row]) -> tuple[list[Row], dict[int, Strip]]:
        """The rows, and those of them that have changed as strips, by their numbers."""
        pairs = enumerate(zip_longest(self._rows, rows))
        changed = {number: new or [] for number, (old, new) in pairs if old != new}
        return rows, {number: strip_of(row, self.size.width) for number, row in changed.items()}

    def on_resize(self) -> None:
        self._strips.clear()
        self.update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: there are no borders, paddings and tints, for which Textual would look in each."""
        strips = [self._strip(y) for y in crop.line_range]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self.background_colors[1]) for strip in strips]
        return [strip.crop(*crop.column_span) for strip in strips]

    def _strip(self, y: int) -> Strip:
        if y not in self._strips:
            self._strips[y] = self.render_line(y)
        return self._strips[y]

    def render_line(self, y: int) -> Strip:
        return strip_of(_row_at(self._rows, y), self.size.width)


def _row_at(rows: list[Row], number: int) -> Row:
    return rows[number] if number < len(rows) else []


class _ChangedColumns(ChopsUpdate):
    """Writes what lies within its spans; Textual's own begins at the widget's edge, and ends each with a line feed."""

    def render_segments(self, console: Console) -> str:
        """The sequences of a terminal."""
        written: list[str] = []
        for y, begin, end in self.spans:
            for last, (first, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                left, right = max(first, begin), min(last, end)
                if strip is not None and left < right:
                    written.append(Control.move_to(left, y).segment.text)
                    written.append(strip.crop(left - first, right - first).render(console))
        return "".join(written)


class _Compositor(Compositor):
    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return None if update is None else _ChangedColumns(update.chops, update.spans, update.chop_ends)


class LineScreen(Screen[None]):
    """Sends the terminal of each row only what changed."""

    def __init__(self) -> None:
        super().__init__(id="_default")
        self._compositor = _Compositor()
