"""What the standard streams can take."""

from __future__ import annotations

import os
import shutil
import sys

_WIDTH_WITHOUT_TERMINAL = 100


def width() -> int:
    """The columns to wrap text at."""
    return shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns


def takes_colour(output: str | None) -> bool:
    """Whether the answer goes to a terminal that shows colour (https://no-color.org)."""
    if output is not None or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Whether a full screen can be drawn: Textual draws on standard error and reads keys from standard input.

    Where standard output goes elsewhere, as in `noisewatch | head`, text is wanted there.
    """
    usable = os.environ.get("TERM", "dumb") not in ("dumb", "")
    return usable and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


class ProgressLine:
    """One line on standard error that tells how far a wait is; nothing where nobody watches."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shows = sys.stderr.isatty()

    def show(self, done_s: float, total_s: float) -> None:
        if self._shows:
            print(f"\r{self._what} {done_s:.1f} of {total_s:.1f} s ", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
