"""A widget that draws rows of styled text line by line, at a fifth (or less) of the cost of Textual's widgets."""

from __future__ import annotations

import re
from codecs import utf_16_le_decode
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import zip_longest
from operator import attrgetter

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style as TerminalStyle
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from noisewatch.faults import contain_faults
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.colours import ROW_STYLES
from noisewatch.surfaces.drawing.text_row import Row, Style, has_single_width, join_styles, text_of


@cache
def style_named(name: Style) -> TerminalStyle:
    """Return the named style, in the terminal's own 16 colours, which suit any theme."""
    return TerminalStyle.parse(ROW_STYLES[name])


_MOVE = 8  # bytes of a cursor movement within a row


def strip_of(row: Row, width: int) -> Strip:
    """Return the row as a strip of exactly `width` terminal cells; pieces with the same style are joined."""
    segments = [Segment(text, style_named(style)) for text, style in join_styles(piece for piece in row if piece[0])]
    text = text_of(row)
    length = len(text) if has_single_width(text) else None  # None lets Textual measure each character
    return Strip(segments, length).adjust_cell_length(width)


class _Letters(dict[Style, str]):
    """A letter for each style, so that a row's styles are a string. Raises KeyError for an unknown style."""

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


Span = tuple[int, int, int]  # a row, and the first column and the end of the span


class DrawnRows:
    """Drawn rows in two strings: a character for each terminal column, and the letter of its style.

    Padding between rows is wide enough to keep changes in two rows apart. `odd` rows contain wide or combining
    characters. Raises KeyError for an unknown style.
    """

    def __init__(self, rows: Sequence[Row], width: int, height: int) -> None:
        self._size = width, height
        self._stride = width + _MOVE + 1
        self._rows: list[Row] = [*rows[:height], *([] for _ in range(height - len(rows)))]
        texts = [text_of(row) for row in self._rows]
        self.odd = frozenset[int]() if has_single_width("".join(texts)) else _odd(texts)
        if self.odd or max(map(len, texts), default=0) > width:
            texts = ["" if y in self.odd else text[:width] for y, text in enumerate(texts)]
        styles = ["".join([_LETTERS[style] * len(text) for text, style in row])[:width] for row in self._rows]
        self._text = "".join([text.ljust(self._stride) for text in texts])
        self._styles = "".join([row_styles.ljust(self._stride, _PLAIN) for row_styles in styles])
        self._text_number, self._styles_number = _number(self._text), _number(self._styles)

    def changes(self, old: DrawnRows) -> list[Span]:
        """Return the spans that differ; differences that are cheaper to send together are one span."""
        pairs = enumerate(zip_longest(old._rows, self._rows))
        if self._size != old._size:
            return [
                (y, 0, self._size[0]) for y, (was, now) in pairs if y < len(self._rows) and (was or []) != (now or [])
            ]
        differ = (old._text_number ^ self._text_number) | (old._styles_number ^ self._styles_number)
        letters, _ = utf_16_le_decode(differ.to_bytes(2 * len(self._text), "little"))
        spans: list[Span] = []
        for match in _CHANGES.finditer(letters):
            y, begin = divmod(match.start(), self._stride)
            spans.append((y, begin, match.end() - y * self._stride))
        if odd := old.odd | self.odd:
            spans = [span for span in spans if span[0] not in odd]
            spans += [(y, 0, self._size[0]) for y, (was, now) in pairs if y in odd and was != now]
        return spans

    def in_sequences(self, span: Span, colours: ColorSystem) -> str:
        """Return the span's text with the escape sequences of its styles; a run of one style has one sequence."""
        y, begin, end = span
        begin, end = begin + y * self._stride, end + y * self._stride
        letter = self._styles[begin]
        if self._styles.count(letter, begin, end) == end - begin:  # the usual case: one style
            before, after = _sequences_around(letter, colours)
            return f"{before}{self._text[begin:end]}{after}"
        pieces: list[str] = []
        for run in _RUNS.finditer(self._styles, begin, end):
            first, behind = run.span()
            before, after = _sequences_around(run[1], colours)
            pieces += (before, self._text[first:behind], after)
        return "".join(pieces)


def _odd(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(y for y, text in enumerate(texts) if not has_single_width(text))


def _number(letters: str) -> int:
    """Return the letters as one number, 16 bits each; all one-column characters of noisewatch fit in 16 bits."""
    return int.from_bytes(letters.encode("utf-16-le"), "little")


@cache
def _sequences_around(letter: str, colours: ColorSystem) -> tuple[str, str]:
    before, _, after = Strip.render_style(style_named(_LETTERS.styles[ord(letter)]), "|", colours).partition("|")
    return before, after


RowsOf = Callable[[int, int], list[Row]]


class LineView(Widget):
    """A view of the rows that `rows_of` returns for its size; on a LineScreen, only changed parts are sent.

    It has no edges, so Textual need not read its styles. If drawing fails, it shows the rows that `rows_of_fault`
    returns for the reason.
    """

    DEFAULT_CSS = "LineView { width: 100%; height: 100%; }"

    def __init__(self, rows_of: RowsOf, rows_of_fault: Callable[[str, int, int], list[Row]]) -> None:
        super().__init__()
        self._rows_of = rows_of
        self._rows_of_fault = rows_of_fault
        self._rows: list[Row] = []
        self._drawn = DrawnRows([], 0, 0)
        self._size_drawn: Size | None = None
        self._strips: dict[int, Strip] = {}  # by row, until the row changes

    def update(self) -> None:
        """Redraw the changed parts; do nothing while the app ends, because its timers may still fire."""
        if not self.is_attached:
            return
        spans = self._renew()
        screen = self.screen
        if spans and not (isinstance(screen, LineScreen) and screen.send(self, spans)):
            self.refresh(*[Region(begin, y, end - begin, 1) for y, begin, end in spans])

    def _renew(self) -> list[Span]:
        """Update the rows, and return their changed spans."""
        width, height = self._size_drawn = self.outer_size
        before = self._drawn
        self._rows, self._drawn = contain_faults(
            lambda: _rows_as_columns(self._rows_of(width, height), width, height),
            lambda reason: _rows_as_columns(self._rows_of_fault(reason, width, height), width, height),
        )
        spans = self._drawn.changes(before)
        for y, _, _ in spans:
            self._strips.pop(y, None)
        return spans

    def on_resize(self) -> None:
        self._strips.clear()
        self.update()

    def written(self, spans: Iterable[Span], console: Console) -> str:
        """Return the escape sequences and the text that draw these spans on a terminal."""
        is_filtered, colours = bool(self.get_line_filters()), console._color_system or ColorSystem.TRUECOLOR
        parts: list[str] = []
        for span in spans:
            y, begin, end = span
            parts.append(f"\x1b[{y + 1};{begin + 1}H")
            if is_filtered or y in self._drawn.odd:
                parts.append(self.render_lines(Region(begin, y, end - begin, 1))[0].render(console))
            else:
                parts.append(self._drawn.in_sequences(span, colours))
        return "".join(parts)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows as strips, without the borders, paddings and tints that Textual would look up."""
        if self._size_drawn != self.outer_size:  # Textual renders before on_resize, which would show an old picture
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
        return strip_of(self._rows[y] if y < len(self._rows) else [], self.size.width)


def _rows_as_columns(rows: list[Row], width: int, height: int) -> tuple[list[Row], DrawnRows]:
    return rows, DrawnRows(rows, width, height)


try:
    from textual._compositor import CompositorUpdate
except ImportError:  # other versions of Textual lack this; then Textual itself draws
    CompositorUpdate = object  # type: ignore[assignment, misc]

_USED_PARTS = ("app._display", "app._batch_count", "_compositor.visible_widgets")  # internals of Textual's screen


class _Changes(CompositorUpdate):
    """An update that writes only the given spans."""

    def __init__(self, view: LineView, spans: Sequence[Span]) -> None:
        self._view = view
        self._spans = spans

    def render_segments(self, console: Console) -> str:
        return self._view.written(self._spans, console)


class LineScreen(Screen[None]):
    """A screen that sends changed parts to the terminal at once; Textual would wait, and search for them."""

    def __init__(self) -> None:
        super().__init__(id="_default")

    def send(self, view: LineView, spans: Sequence[Span]) -> bool:
        """Send the spans of the view.

        Return False if other widgets are visible, if Textual draws later, or if it lacks the internals used here.
        """
        if not self._has_used_parts:
            return False
        shown = [(widget, region) for widget, (region, _) in self._compositor.visible_widgets.items()]
        is_alone = [entry for entry in shown if entry[0] is not self] == [(view, self.size.region)]
        if not is_alone or self.app.screen is not self or self.app._batch_count:
            return False
        self.app._display(self, _Changes(view, spans))  # type: ignore[arg-type]  # as Textual does itself
        return True

    @cached_property
    def _has_used_parts(self) -> bool:
        try:
            return bool(attrgetter(*_USED_PARTS)(self)) and CompositorUpdate is not object
        except AttributeError:
            return False
