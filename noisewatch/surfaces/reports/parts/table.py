"""Columns that line up."""

from __future__ import annotations

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
