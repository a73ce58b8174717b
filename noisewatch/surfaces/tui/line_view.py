"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from noisewatch.surfaces.colours import STYLES
from noisewatch.surfaces.tui.text_row import Row

# Meaning never hangs on colour alone: a figure, a glyph or a word stands beside it.
_STYLES = {
    "plain": "",
    "title": "bold",
    "strong": "bold",
    "faint": "dim",
    "heading": "dim underline",
    "key": "reverse",
    "selected": "bold reverse",
    **STYLES,
}


@cache
def style_named(name: str) -> Style:
    """The terminal's own colours, so that any theme and 16 colours do."""
    return Style.parse(_STYLES[name])


def strip_of(row: Row, width: int) -> Strip:
    """One row, cut and padded to the width in terminal cells."""
    return Strip([Segment(text, style_named(style)) for text, style in row]).adjust_cell_length(width)


class LineView(Widget):
    """Shows the rows that `rows_of` makes for its size; a row that is as it was is not sent to the terminal again."""

    DEFAULT_CSS = "LineView { width: 100%; height: 100%; }"

    def __init__(self, rows_of: Callable[[int, int], list[Row]]) -> None:
        super().__init__()
        self._rows_of = rows_of
        self._rows: list[Row] = []
        self._strips: dict[int, Strip] = {}  # of the rows that are as they were

    def update(self) -> None:
        """Redraws what has changed."""
        before, self._rows = self._rows, self._rows_of(self.size.width, self.size.height)
        changed = [number for number, (old, new) in enumerate(zip_longest(before, self._rows)) if old != new]
        for number in changed:
            self._strips.pop(number, None)
        if changed:
            self.refresh(*(Region(0, number, self.size.width, 1) for number in changed))

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
