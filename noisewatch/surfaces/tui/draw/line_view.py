"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style as TerminalStyle
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from noisewatch.faults import contained
from noisewatch.surfaces.reports.parts.colours import ROW_STYLES
from noisewatch.surfaces.tui.draw.text_row import Row, Style


@cache
def style_named(name: Style) -> TerminalStyle:
    """The terminal's own colours, so that any theme and 16 colours do."""
    return TerminalStyle.parse(ROW_STYLES[name])


def strip_of(row: Row, width: int) -> Strip:
    """One row, cut and padded to the width in terminal cells."""
    return Strip([Segment(text, style_named(style)) for text, style in row]).adjust_cell_length(width)


RowsOf = Callable[[int, int], list[Row]]


class LineView(Widget):
    """Shows the rows that `rows_of` makes for its size; a row that is as it was is not sent to the terminal again.

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
        self._rows, drawn = contained(
            lambda: self._drawn(self._rows_of(width, height)),
            lambda reason: self._drawn(self._rows_of_fault(reason, width, height)),
        )
        self._strips.update(drawn)
        if drawn:
            self.refresh(*(Region(0, number, width, 1) for number in drawn))

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
        row = self._rows[y] if y < len(self._rows) else []
        return strip_of(row, self.size.width)
