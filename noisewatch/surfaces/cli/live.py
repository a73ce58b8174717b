"""Shows the progress of an operation, redrawn in place on a terminal; without a terminal only remarks are shown."""

from __future__ import annotations

import os
import shutil
import sys
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from noisewatch.surfaces.drawing.colours import paint_row, plain_row
from noisewatch.surfaces.output import AUTO, can_move_cursor, encoding_of, in_colour

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress

_REDRAW_S = 0.25
_MIN_LINES = 12
_WAITING_REMARK_S = 10.0


class _LivePicture:
    """The progress of a calibration, drawn to standard error; standard output is for the report."""

    def __init__(self, color: str) -> None:
        from noisewatch.operations.calibrate import LiveGaps  # most commands do not calibrate

        self._live = LiveGaps()
        self._shows = sys.stderr.isatty()
        self._in_colour = in_colour(sys.stderr, color)
        self._can_move = can_move_cursor()
        self._drawn = 0
        self._next_s = 0.0

    def __call__(self, progress: Progress) -> None:
        """Draw the progress, at most a few times per second."""
        if not self._shows or time.monotonic() < self._next_s:
            return
        from noisewatch.surfaces.drawing.glyphs import glyphs_for
        from noisewatch.surfaces.reports.calibration.picture import live_rows, progress_line  # only a terminal needs it

        self._next_s = time.monotonic() + _REDRAW_S
        self._live.take(progress)
        columns, lines = shutil.get_terminal_size()
        if self._can_move and lines >= _MIN_LINES:
            glyphs = glyphs_for(encoding_of(sys.stderr), os.environ.get("TERM", ""))
            rows = live_rows(self._live, columns - 1, lines - 2, glyphs)
            self._draw([paint_row(row) if self._in_colour else plain_row(row) for row in rows])
        else:
            self._draw([progress_line(self._live, columns - 1)])

    def clear(self) -> None:
        """Remove the picture, which the report replaces."""
        if self._drawn:
            sys.stderr.write(self._cursor_back() + "\x1b[J" if self._can_move else "\n")
            sys.stderr.flush()
            self._drawn = 0

    def _draw(self, lines: list[str]) -> None:
        if not self._can_move:
            sys.stderr.write("\r" + lines[0])
        else:
            sys.stderr.write(self._cursor_back() + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        sys.stderr.flush()
        self._drawn = len(lines)

    def _cursor_back(self) -> str:
        return f"\r\x1b[{self._drawn}A" if self._drawn else ""


class TerminalListener:
    """A listener that shows an operation's progress on standard error; without a terminal only remarks."""

    program = "noisewatch"  # name printed before each remark

    def __init__(self, color: str = AUTO) -> None:
        self._color = color
        self._picture: _LivePicture | None = None
        self._sampling: str | None = None  # the start of the progress line of a sample
        self._waits_for, self._next_remark_s = "", 0.0

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        if sys.stderr.isatty():
            self._sampling = self._sampling or doing
            done = f" {done_s:.1f} of {total_s:.1f} s "
            room = max(shutil.get_terminal_size().columns - len(done), 0)  # a line that wraps could not be cleared
            print(f"\r{self._sampling[:room]}{done}", end="", file=sys.stderr, flush=True)

    def on_calibrating(self, progress: Progress) -> None:
        self._picture = self._picture or _LivePicture(self._color)
        self._picture(progress)

    def on_waiting(self, reasons: str, left_s: float) -> None:
        """Print the reasons to wait when they change, at most every 10 s; on a terminal `on_sampling` shows them."""
        now_s = time.monotonic()
        if reasons != self._waits_for and now_s >= self._next_remark_s and not sys.stderr.isatty():
            self.on_remark(f"waiting for {reasons} ({left_s:.0f} s left)")
            self._waits_for, self._next_remark_s = reasons, now_s + _WAITING_REMARK_S

    def on_remark(self, text: str) -> None:
        print(f"{self.program}: {text}", file=sys.stderr, flush=True)

    def on_done(self) -> None:
        if self._picture is not None:
            self._picture.clear()
        if self._sampling is not None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._picture = self._sampling = None


class SilentListener(TerminalListener):
    """A listener that shows nothing (--quiet)."""

    def _ignore(self, *values: Any, **named: Any) -> None:
        pass

    on_sampling = on_calibrating = on_waiting = on_remark = on_begin = on_repetition = _ignore


def listener_of(arguments: Namespace) -> TerminalListener:
    """Return the listener for the command line: a silent one with --quiet."""
    return SilentListener() if arguments.quiet else TerminalListener(arguments.color)
