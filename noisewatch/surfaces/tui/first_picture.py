"""The monitor's first picture, on the terminal before Textual is imported: that takes longer than all that it shows.

Textual's driver then finds the terminal as it would have made it, and draws over the picture.
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
from noisewatch.surfaces.reports.parts.colours import painted_row
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, fitted, in_ascii, text_width
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

TO_ALTERNATE = "\x1b[?1049h"  # clears it; https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
_NO_WRAP, _NO_CURSOR = "\x1b[?7l", "\x1b[?25l"
_BACK = "\x1b[?7h\x1b[?1049l\x1b[?25h"
_IFLAG, _LFLAG, _CC = 0, 3, 6  # in what termios.tcgetattr gives


class FirstPicture:
    """Stands on the terminal until somebody takes that over; at the end of the block the terminal is as it was.

    Keys that are pressed meanwhile wait for whoever reads them then; Ctrl-C interrupts. Raises UsageError where the
    terminal is gone.
    """

    def __init__(self, glyphs: Glyphs, pace_s: float) -> None:
        self._glyphs = glyphs
        self._pace_s = pace_s
        self._stands = False
        self.attributes: list[Any] = []  # of the terminal, as they were

    def __enter__(self) -> Self:
        try:
            self.attributes = termios.tcgetattr(sys.stdin)
        except termios.error as error:
            raise UsageError(f"the terminal is gone: {error.args[-1]}") from error
        self._stands = True
        try:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, _unread(self.attributes))
            send(TO_ALTERNATE + _NO_WRAP + _NO_CURSOR + self._drawn(*shutil.get_terminal_size()), sys.stderr)
        except BaseException:
            self._undo()
            raise
        return self

    def take_over(self) -> bool:
        """Whether the picture stands; whoever asks leaves the alternate screen from then on."""
        stands, self._stands = self._stands, False
        return stands

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._undo()

    def _undo(self) -> None:
        if self.take_over():
            send(_BACK, sys.stderr)
        with suppress(termios.error):  # it may be gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self.attributes)

    def _drawn(self, width: int, height: int) -> str:
        """What Textual draws of a monitor that has seen nothing yet."""
        rows = overview_rows(ScreenModel(pace_s=self._pace_s), width, height, self._glyphs)
        in_colour = "NO_COLOR" not in os.environ
        lines = [painted_row(_cut(row, width, self._glyphs.has_braille), in_colour) for row in rows[:height]]
        return "".join(f"\x1b[{number};1H{line}" for number, line in enumerate(lines, start=1))


def _cut(row: Row, width: int, in_unicode: bool) -> Row:
    """In exactly so many columns."""
    columns: Row = []
    for text, style in [*row, (" " * width, "plain")]:
        shown = text if in_unicode else in_ascii(text)
        room = min(text_width(shown), width - sum(text_width(each) for each, _ in columns))
        columns.append((fitted(shown, room), style))
    return columns


def _unread(attributes: list[Any]) -> list[Any]:
    """Nothing is echoed or changed, nor waits for the end of a line, and only Ctrl-C does something by itself."""
    changed = [*attributes]
    changed[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[_IFLAG] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR)
    changed[_CC] = [*attributes[_CC]]
    for key in (termios.VSUSP, termios.VQUIT):
        changed[_CC][key] = b"\0"
    changed[_CC][termios.VMIN], changed[_CC][termios.VTIME] = 1, 0
    return changed


def send(text: str, file: TextIO) -> None:
    """Sends it to a terminal at once, and waits for one that is slow; on one that is gone nothing is sent."""
    rest = memoryview(text.encode(file.encoding, file.errors or "replace"))
    with suppress(OSError):
        while rest:
            rest = rest[_sent(rest, file.fileno()) :]


def _sent(data: memoryview, descriptor: int) -> int:
    """So many bytes; others may have told the terminal not to wait."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        select.select([], [descriptor], [])
        return 0
