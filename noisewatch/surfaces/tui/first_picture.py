"""The monitor's first picture, drawn before Textual is imported: 0.15 s after the start instead of 0.54.

Textual's driver then finds the terminal as the driver itself would set it up, and draws over the picture.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TextIO

from noisewatch.errors import UsageError
from noisewatch.surfaces.drawing.colours import paint_row
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row, fit_text, text_width, to_ascii
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

TO_ALTERNATE = "\x1b[?1049h"  # clears the alternate screen too; https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
_NO_WRAP, _NO_CURSOR = "\x1b[?7l", "\x1b[?25l"
_BACK = "\x1b[?7h\x1b[?1049l\x1b[?25h"
_IFLAG, _LFLAG, _CC = 0, 3, 6  # indices in the result of termios.tcgetattr


class FirstPicture:
    """A context that shows the first picture until it is taken over, and restores the terminal on exit.

    Until then, keys stay in the terminal's queue; Ctrl-C interrupts. Raises UsageError if the terminal is gone.
    """

    def __init__(self, glyphs: Glyphs, pace_s: float, opened: str | None = None) -> None:
        self._glyphs = glyphs
        self._pace_s = pace_s
        self._opened = opened
        self._is_shown = False
        self.attributes: list[Any] = []  # attributes of the terminal before the picture

    def __enter__(self) -> Self:
        try:
            self.attributes = termios.tcgetattr(sys.stdin)
        except termios.error as error:
            raise UsageError(f"the terminal is gone: {error.args[-1]}") from error
        self._is_shown = True
        try:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, _raw_attributes(self.attributes))
            send(TO_ALTERNATE + _NO_WRAP + _NO_CURSOR + self._render(*shutil.get_terminal_size()), sys.stderr)
        except BaseException:
            self._undo()
            raise
        return self

    def take_over(self) -> bool:
        """Return whether the picture is on the terminal; if it is, the caller must later leave the alternate screen."""
        was_shown, self._is_shown = self._is_shown, False
        return was_shown

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._undo()

    def _undo(self) -> None:
        if self.take_over():
            send(_BACK, sys.stderr)
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self.attributes)

    def _render(self, width: int, height: int) -> str:
        """Return the picture of a monitor without frames, as Textual would draw it."""
        rows = overview_rows(ScreenModel(pace_s=self._pace_s, opened=self._opened), width, height, self._glyphs)
        in_colour = "NO_COLOR" not in os.environ
        lines = [paint_row(_cut(row, width, self._glyphs.has_braille), in_colour) for row in rows[:height]]
        return "".join(f"\x1b[{number};1H{line}" for number, line in enumerate(lines, start=1))


def _cut(row: Row, width: int, in_unicode: bool) -> Row:
    """Return the row, cut or padded to exactly `width` columns."""
    columns: Row = []
    for text, style in [*row, (" " * width, "plain")]:
        shown = text if in_unicode else to_ascii(text)
        room = min(text_width(shown), width - sum(text_width(piece) for piece, _ in columns))
        columns.append((fit_text(shown, room), style))
    return columns


def _raw_attributes(attributes: list[Any]) -> list[Any]:
    """Return terminal attributes without echo, translation, line buffering and special keys except Ctrl-C."""
    changed = [*attributes]
    changed[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[_IFLAG] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR)
    changed[_CC] = [*attributes[_CC]]
    for key in (termios.VSUSP, termios.VQUIT):
        changed[_CC][key] = b"\0"
    changed[_CC][termios.VMIN], changed[_CC][termios.VTIME] = 1, 0
    return changed


def send(text: str, file: TextIO) -> None:
    """Write the text to a terminal and wait if it is slow; do nothing if the terminal is gone."""
    rest = memoryview(text.encode(file.encoding, file.errors or "replace"))
    with suppress(OSError):
        while rest:
            rest = rest[_write_some(rest, file.fileno()) :]


def _write_some(data: memoryview, descriptor: int) -> int:
    """Write what the terminal accepts, and return the number of bytes; if it accepts none, wait, and return 0.

    A terminal accepts none if it is full and another process made it non-blocking.
    """
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        select.select([], [descriptor], [])
        return 0
