"""Tables: columns that line up, and Markdown, whatever is in their cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def align(rows: Iterable[Sequence[str]], gap: str = "  ") -> str:
    """The rows with each column as wide as its widest cell; numbers to the right."""
    rows = list(rows)
    if not rows:
        return ""
    widths = [max(_cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        gap.join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _padded(cell: str, width: int) -> str:
    padding = " " * (width - _cells(cell))
    return padding + cell if cell.isdecimal() else cell + padding


def _cells(text: str) -> int:
    """The columns that a terminal gives the text: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


# Letters and what stands between them in a sentence; a dot or a colon only where it is no part of an address.
_HARMLESS = re.compile(r"(?:[^\x00-\x7f]|[A-Za-z0-9 ,;()%/+'\"?=-]|\.(?=\d|\s|$)|:(?=\s|$))*")


def code(text: str) -> str:
    """A code span that holds the text, whatever backticks are in it."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def prose(text: str) -> str:
    """The text as it is where nothing in it can be markup; else as code."""
    return text if _HARMLESS.fullmatch(text) else code(text)


def cell(text: str) -> str:
    """The same in a table, whose readers part cells before they look for code. A pipe stays one if it is escaped, but
    not all of them agree on what a backslash before that means: it is shown as a dot.
    """
    return prose(text.replace("\\|", "·|")).replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def fenced(language: str, lines: Sequence[str]) -> str:
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *lines, fence]) + "\n"
