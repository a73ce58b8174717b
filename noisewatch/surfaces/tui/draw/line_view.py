"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import compress, zip_longest
from operator import ne, or_

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style as TerminalStyle
from textual._compositor import CompositorUpdate
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from noisewatch.faults import contained
from noisewatch.surfaces.reports.parts.colours import ROW_STYLES
from noisewatch.surfaces.tui.draw.text_row import Row, Style, one_column_each, runs, text_of


@cache
def style_named(name: Style) -> TerminalStyle:
    """The terminal's own colours, so that any theme and 16 colours do."""
    return TerminalStyle.parse(ROW_STYLES[name])


_MOVE = 8  # bytes that a terminal takes to go elsewhere in a row


def strip_of(row: Row, width: int) -> Strip:
    """One row, cut and padded to the width in terminal cells; pieces of one style are one."""
    segments = [Segment(text, style_named(style)) for text, style in runs(piece for piece in row if piece[0])]
    text = text_of(row)
    length = len(text) if one_column_each(text) else None  # Textual looks at each character
    return Strip(segments, length).adjust_cell_length(width)


def changed_spans(old: Row, new: Row, width: int) -> list[tuple[int, int]]:
    """From which column to before which one the rows differ; parts that lie so close that one is shorter are one."""
    before, after = text_of(old), text_of(new)
    if not (one_column_each(before) and one_column_each(after)):
        return [(0, width)]
    room = max(len(before), len(after))
    styles = _styles_of(old, room), _styles_of(new, room)
    differ = map(or_, map(ne, before.ljust(room), after.ljust(room)), map(ne, *styles))
    spans: list[tuple[int, int]] = []
    begin = end = -_MOVE - 1
    for column in compress(range(room), differ):
        if column - end > _MOVE:  # the first one always
            spans.append((begin, end))
            begin = column
        end = column + 1
    return [*spans[1:], (begin, end)] if end > 0 else []


class _Letters(dict[Style, str]):
    """One for each style, so that the styles of a row are a string."""

    def __missing__(self, style: Style) -> str:
        self[style] = chr(len(self))
        return self[style]


_LETTERS = _Letters()


def _styles_of(row: Row, room: int) -> str:
    """That of each column, blank ones at the end too."""
    return "".join([_LETTERS[style] * len(text) for text, style in row]).ljust(room, _LETTERS["plain"])


Span = tuple[int, int, int]  # a row, its first column, and the one behind its last
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
        self._size_drawn: Size | None = None
        self._strips: dict[int, Strip] = {}  # of the rows that are as they were when somebody asked for them

    def update(self) -> None:
        """Redraws what has changed."""
        spans = self._renew()
        screen = self.screen
        if spans and not (isinstance(screen, LineScreen) and screen.send(self, spans)):
            self.refresh(*[Region(begin, y, end - begin, 1) for y, begin, end in spans])

    def _renew(self) -> list[Span]:
        """Takes the rows that are to be shown now; what of them has changed."""
        width, height = self._size_drawn = self.size
        self._rows, changed = contained(
            lambda: self._compared(self._rows_of(width, height), width),
            lambda reason: self._compared(self._rows_of_fault(reason, width, height), width),
        )
        for number in changed:
            self._strips.pop(number, None)
        return [(number, begin, end) for number, spans in changed.items() for begin, end in spans]

    def _compared(self, rows: list[Row], width: int) -> tuple[list[Row], dict[int, list[tuple[int, int]]]]:
        """The rows, and where those have changed that have, by their numbers. Raises KeyError for an unknown style."""
        pairs = enumerate(zip_longest(self._rows, rows))
        changed = {number: (old or [], new or []) for number, (old, new) in pairs if old != new}
        for style in {style for _, new in changed.values() for _, style in new}:
            style_named(style)
        return rows, {number: changed_spans(*pair, width) for number, pair in changed.items()}

    def on_resize(self) -> None:
        self._strips.clear()
        self.update()

    def written(self, spans: Iterable[Span], console: Console) -> str:
        """What a terminal is sent for these parts of rows."""
        is_filtered = bool(self.get_line_filters())
        written: list[str] = []
        for y, begin, end in spans:
            row = _row_at(self._rows, y)
            written.append(f"\x1b[{y + 1};{begin + 1}H")
            if is_filtered or not one_column_each(text_of(row)):
                written.append(self.render_lines(Region(begin, y, end - begin, 1))[0].render(console))
            else:
                written.append(_in_sequences(_columns_of(row, begin, end), console))
        return "".join(written)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: there are no borders, paddings and tints, for which Textual would look in each."""
        if self._size_drawn != self.size:  # Textual asks before it tells of a size: another picture would be seen
            self._strips.clear()
            self._renew()
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


def _columns_of(row: Row, begin: int, end: int) -> Row:
    """These columns of a row whose characters take one each; what lies behind its end is blank."""
    columns: Row = []
    at = 0
    for text, style in row:
        behind = at + len(text)
        if behind > begin:
            columns.append((text[max(begin - at, 0) : end - at], style))
            if behind >= end:
                return columns
        at = behind
    return [*columns, (" " * (end - max(at, begin)), "plain")]


def _in_sequences(row: Row, console: Console) -> str:
    """Pieces of one style are one."""
    colours = console._color_system or ColorSystem.TRUECOLOR
    return "".join([Strip.render_style(style_named(style), text, colours) for text, style in runs(row)])


class _Changes(CompositorUpdate):
    """Writes what lies within its spans."""

    def __init__(self, view: LineView, spans: Sequence[Span]) -> None:
        self._view = view
        self._spans = spans

    def render_segments(self, console: Console) -> str:
        """The sequences of a terminal."""
        return self._view.written(self._spans, console)


class LineScreen(Screen[None]):
    """Sends the terminal of each row only what changed, at once: Textual would look for it first, and wait."""

    def __init__(self) -> None:
        super().__init__(id="_default")

    def send(self, view: LineView, spans: Sequence[Span]) -> bool:
        """Sends these parts of the view; False where something else is on the screen, or Textual draws later."""
        shown = [(widget, region) for widget, (region, _) in self._compositor.visible_widgets.items()]
        is_alone = [each for each in shown if each[0] is not self] == [(view, self.size.region)]
        if not is_alone or self.app.screen is not self or self.app._batch_count:
            return False
        self.app._display(self, _Changes(view, spans))  # type: ignore[arg-type]  # as Textual does itself
        return True
