"""Text wrapped to lines, for reports and for the monitor."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from math import inf
from typing import Literal

Kept = Literal["nothing", "hyphens", "words"]


def wrap(
    text: str,
    width: int,
    first: str = "",
    further: str | None = None,
    *,
    keep: Kept = "nothing",
    min_width: int = 10,
    max_lines: int | None = None,
) -> list[str]:
    """Wrap the text at `width` (at least `min_width`) columns, to at most `max_lines` lines; no line for an empty text.

    `first` begins the first line, `further` (default: `first`) all others. `keep="hyphens"` does not break at hyphens,
    `keep="words"` not even within a word that is longer than a line.
    """
    return textwrap.wrap(
        text,
        max(width, min_width),
        initial_indent=first,
        subsequent_indent=first if further is None else further,
        break_on_hyphens=keep == "nothing",
        break_long_words=keep != "words",
        max_lines=max_lines,
        placeholder=" …",
    )


_UNBROKEN = "\0"  # replaces a blank that must not end a line; printable text does not contain it


def wrap_around(
    text: str, width: int, kept: re.Pattern[str], first: str, further: str, *, min_width: int, longest: float = inf
) -> list[str]:
    """Wrap the text, but never within a match of the pattern `kept`, unless the match is longer than `longest`."""
    glued = kept.sub(lambda match: match[0].replace(" ", _UNBROKEN) if len(match[0]) <= longest else match[0], text)
    lines = wrap(glued, width, first, further, keep="words", min_width=min_width)
    return [line.replace(_UNBROKEN, " ") for line in lines]


def wrap_all(
    texts: Iterable[str], width: int, further: str = "  ", *, keep: Kept = "nothing", min_width: int = 10
) -> list[str]:
    """Wrap each text, with further lines indented; an empty text is an empty line."""
    return [line for text in texts for line in wrap(text, width, "", further, keep=keep, min_width=min_width) or [""]]


def wrap_after(start: str, text: str, width: int) -> list[str]:
    """Wrap the text after `start`, with further lines indented by the width of `start`."""
    first, *others = wrap(text, width - len(start)) or [""]
    return [start + first, *(" " * len(start) + line for line in others)]


def wrap_hanging(text: str, width: int) -> list[str]:
    """Wrap the text, with its own indent, at the width; further lines are indented by two more columns."""
    indent = " " * (len(text) - len(text.lstrip()))
    return wrap(text, width, "", f"{indent}  ", keep="hyphens", min_width=20)
