"""A widget that draws rows of styled text line by line: a fifth of what the stock widgets cost, or less."""

from __future__ import annotations

import re
from codecs import utf_16_le_decode
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import zip_longest

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
from noisewatch.patterns import regex
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


class _Letters(dict[Style, str]):
    """One for each style, so that the styles of a row are a string. Raises KeyError for an unknown style."""

    def __init__(self) -> None:
        self.styles: list[Style] = []
        self._plain = self["plain"]

    def __missing__(self, style: Style) -> str:
        style_named(style)
        letter = self[style] = chr(len(self.styles))
        self.styles.append(style)
        return letter


_LETTERS = _Letters()
_PLAIN = _LETTERS["plain"]
_CHANGES = regex(rf"[^\0]+(?:\0{{1,{_MOVE}}}[^\0]+)*")
_RUNS = regex(r"(.)\1*", re.DOTALL)


Span = tuple[int, int, int]  # a row, its first column, and the one behind its last


class DrawnRows:
    """Rows as the columns of a terminal: of all of them a character each, and the letter of its style, in two strings.

    Behind each row are so many columns, which never change, that no change goes on from one row to the next. Of `odd`
    rows nobody knows which character stands where. Raises KeyError for an unknown style.
    """

    def __init__(self, rows: Sequence[Row], width: int, height: int) -> None:
        self._size = width, height
        self._stride = width + _MOVE + 1
        self._rows: list[Row] = [*rows[:height], *([] for _ in range(height - len(rows)))]
        texts = [text_of(row) for row in self._rows]
        self.odd = frozenset[int]() if one_column_each("".join(texts)) else _odd(texts)
        if self.odd or max(map(len, texts), default=0) > width:
            texts = ["" if y in self.odd else text[:width] for y, text in enumerate(texts)]
        styles = ["".join([_LETTERS[style] * len(text) for text, style in row])[:width] for row in self._rows]
        self._text = "".join([text.ljust(self._stride) for text in texts])
        self._styles = "".join([each.ljust(self._stride, _PLAIN) for each in styles])
        self._text_number, self._styles_number = _number(self._text), _number(self._styles)

    def changes(self, old: DrawnRows) -> list[Span]:
        """Where they differ; parts of a row that lie so close that one is shorter are one."""
        pairs = enumerate(zip_longest(old._rows, self._rows))
        if self._size != old._size:
            return [
                (y, 0, self._size[0]) for y, (was, now) in pairs if y < len(self._rows) and (was or []) != (now or [])
            ]
        differ = (old._text_number ^ self._text_number) | (old._styles_number ^ self._styles_number)
        letters, _ = utf_16_le_decode(differ.to_bytes(2 * len(self._text), "little"))
        spans: list[Span] = []
        for found in _CHANGES.finditer(letters):
            y, begin = divmod(found.start(), self._stride)
            spans.append((y, begin, found.end() - y * self._stride))
        if odd := old.odd | self.odd:
            spans = [span for span in spans if span[0] not in odd]
            spans += [(y, 0, self._size[0]) for y, (was, now) in pairs if y in odd and was != now]
        return spans

    def in_sequences(self, span: Span, colours: ColorSystem) -> str:
        """These columns as a terminal is sent them; neighbours of one style are one piece."""
        y, begin, end = span
        begin, end = begin + y * self._stride, end + y * self._stride
        letter = self._styles[begin]
        if self._styles.count(letter, begin, end) == end - begin:  # as in most
            before, after = _sequences_around(letter, colours)
            return f"{before}{self._text[begin:end]}{after}"
        pieces: list[str] = []
        for run in _RUNS.finditer(self._styles, begin, end):
            first, behind = run.span()
            before, after = _sequences_around(run[1], colours)
            pieces += (before, self._text[first:behind], after)
        return "".join(pieces)


def _odd(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(y for y, text in enumerate(texts) if not one_column_each(text))


def _number(letters: str) -> int:
    """16 bits for each; no sign that noisewatch writes in one column has more."""
    return int.from_bytes(letters.encode("utf-16-le"), "little")


@cache
def _sequences_around(letter: str, colours: ColorSystem) -> tuple[str, str]:
    before, _, after = Strip.render_style(style_named(_LETTERS.styles[ord(letter)]), "|", colours).partition("|")
    return before, after


RowsOf = Callable[[int, int], list[Row]]


class LineView(Widget):
    """Shows the rows that `rows_of` makes for its size; what is as it was is not sent to a LineScreen's terminal again.

    It has no edges: its outer size is all of it, for which Textual need not look at its styles.
    Where they cannot be drawn, it shows what `rows_of_fault` makes of the reason.
    """

    DEFAULT_CSS = "LineView { width: 100%; height: 100%; }"

    def __init__(self, rows_of: RowsOf, rows_of_fault: Callable[[str, int, int], list[Row]]) -> None:
        super().__init__()
        self._rows_of = rows_of
        self._rows_of_fault = rows_of_fault
        self._rows: list[Row] = []
        self._drawn = DrawnRows([], 0, 0)
        self._size_drawn: Size | None = None
        self._strips: dict[int, Strip] = {}  # of the rows that are as they were when somebody asked for them

    def update(self) -> None:
        """Redraws what has changed; nothing on an app that ends, whose timers may still fire."""
        if not self.is_attached:
            return
        spans = self._renew()
        screen = self.screen
        if spans and not (isinstance(screen, LineScreen) and screen.send(self, spans)):
            self.refresh(*[Region(begin, y, end - begin, 1) for y, begin, end in spans])

    def _renew(self) -> list[Span]:
        """Takes the rows that are to be shown now; what of them has changed."""
        width, height = self._size_drawn = self.outer_size
        before = self._drawn
        self._rows, self._drawn = contained(
            lambda: _drawn(self._rows_of(width, height), width, height),
            lambda reason: _drawn(self._rows_of_fault(reason, width, height), width, height),
        )
        spans = self._drawn.changes(before)
        for y, _, _ in spans:
            self._strips.pop(y, None)
        return spans

    def on_resize(self) -> None:
        self._strips.clear()
        self.update()

    def written(self, spans: Iterable[Span], console: Console) -> str:
        """What a terminal is sent for these parts of rows."""
        is_filtered, colours = bool(self.get_line_filters()), console._color_system or ColorSystem.TRUECOLOR
        written: list[str] = []
        for span in spans:
            y, begin, end = span
            written.append(f"\x1b[{y + 1};{begin + 1}H")
            if is_filtered or y in self._drawn.odd:
                written.append(self.render_lines(Region(begin, y, end - begin, 1))[0].render(console))
            else:
                written.append(self._drawn.in_sequences(span, colours))
        return "".join(written)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: there are no borders, paddings and tints, for which Textual would look in each."""
        if self._size_drawn != self.outer_size:  # Textual asks before it tells of a size: another picture would be seen
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


def _drawn(rows: list[Row], width: int, height: int) -> tuple[list[Row], DrawnRows]:
    return rows, DrawnRows(rows, width, height)


def _row_at(rows: list[Row], number: int) -> Row:
    return rows[number] if number < len(rows) else []


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
