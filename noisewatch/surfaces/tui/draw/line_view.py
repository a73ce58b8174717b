"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, compress, groupby, repeat, zip_longest
from operator import itemgetter, ne, or_

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
from noisewatch.surfaces.tui.draw.text_row import Row, Style


@cache
def style_named(name: Style) -> TerminalStyle:
    """The terminal's own colours, so that any theme and 16 colours do."""
    return TerminalStyle.parse(ROW_STYLES[name])


_ONE_COLUMN_EACH = re.compile("[ -~°·µ×–…←-↓─-▟■-◼◆-○✓✗⠀-⣿]*").fullmatch  # what noisewatch itself writes
_MOVE = 8  # bytes that a terminal takes to go elsewhere in a row


def strip_of(row: Row, width: int) -> Strip:
    """One row, cut and padded to the width in terminal cells; pieces of one style are one."""
    pieces = groupby([piece for piece in row if piece[0]], itemgetter(1))
    segments = [Segment("".join([text for text, _ in alike]), style_named(style)) for style, alike in pieces]
    text = _text_of(row)
    length = len(text) if _ONE_COLUMN_EACH(text) else None  # Textual looks at each character
    return Strip(segments, length).adjust_cell_length(width)


def _text_of(row: Row) -> str:
    return "".join([text for text, _ in row])


def changed_spans(old: Row, new: Row, width: int) -> list[tuple[int, int]]:
    """From which column to before which one the rows differ; parts that lie so close that one is shorter are one."""
    before, after = _text_of(old), _text_of(new)
    if not (_ONE_COLUMN_EACH(before) and _ONE_COLUMN_EACH(after)):
        return [(0, width)]
    room = max(len(before), len(after))
    differ = map(or_, map(ne, before.ljust(room), after.ljust(room)), map(ne, _styles_of(old), _styles_of(new)))
    spans: list[tuple[int, int]] = []
    begin = end = -_MOVE - 1
    for column in compress(range(room), differ):
        if column - end > _MOVE:  # the first one always
            spans.append((begin, end))
            begin = column
        end = column + 1
    return [*spans[1:], (begin, end)] if end > 0 else []


def _styles_of(row: Row) -> Iterator[Style]:
    """That of each column, blank ones at the end too."""
    return chain(chain.from_iterable([repeat(style, len(text)) for text, style in row]), repeat("plain"))


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
        width = self.size.width
        return rows, {number: strip_of(row, width) for number, row in changed.items()}

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
