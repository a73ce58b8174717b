"""Tables of reports, aligned as text or escaped as Markdown, and Markdown cut to a length."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import takewhile

from noisewatch.patterns import regex

# `12`, `41 200/s`, `~0.1%`, `<0.1%`, `>99%`, `3.2 ms`, `±4%`, `1.2-2.3 GHz`: a unit of at most one word
_FIGURE = regex(r"[~<>±+-]?\d[\d ]*(?:\.\d+)?(?:e[+-]?\d+)? ?(?:%|×|/s|[µa-zA-Z]{1,3})?|[\d.]+-[\d.]+ GHz")
_NO_FIGURE = ("", "?", "-", "–", "—")
_LEAST_NAME = 60  # columns; spare columns are dropped to give a name at least this width


def align(rows: Iterable[Sequence[str]], gap: str = "  ") -> str:
    """Align the columns of a table; columns of figures are right-aligned under their heading."""
    return "\n".join(gap.join(line).rstrip() for line in pad_columns(rows))


def pad_columns(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the cells of a table, padded to the widths of their columns."""
    columns = list(zip(*rows, strict=True))
    return list(zip(*map(_pad_column, columns), strict=True))


def align_within(width: int, rows: Sequence[Sequence[str]], name: str, spare: Sequence[str]) -> list[str]:
    """Align the columns of a table within `width` columns, as `fit_columns` does."""
    return [line[:width] for line in align(fit_columns(width, rows, name, spare)).splitlines()]


def fit_columns(width: int, rows: Sequence[Sequence[str]], name: str, spare: Sequence[str]) -> list[list[str]]:
    """Return the cells that fit in `width` columns.

    Names in the column headed `name` are cut first, then `spare` columns are dropped one by one in their order, then
    the names are cut further.
    """
    for count in range(len(spare) + 1):
        kept = [at for at, heading in enumerate(rows[0]) if heading not in spare[:count]]
        table = [[row[at] for at in kept] for row in rows]
        at = table[0].index(name)
        longest = max(_cells(row[at]) for row in table)
        room = longest - max(map(_cells, align(table).splitlines())) + width
        if room >= min(longest, _LEAST_NAME) or count == len(spare):
            break
    return [[*row[:at], _shorten(row[at], max(room, len(name))), *row[at + 1 :]] for row in table]


def right_align(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table whose columns are all right-aligned under their headings."""
    widths = [max(map(len, column)) for column in columns]
    return ["  ".join(map(str.rjust, row, widths)) for row in zip(*columns, strict=True)]


def _shorten(text: str, room: int) -> str:
    if _cells(text) <= room:
        return text
    while text and _cells(text) >= room:
        text = text[:-1]
    return f"{text}…"


def _pad_column(column: Sequence[str]) -> list[str]:
    """Pad a column's cells, the heading first; figures are right-aligned, even if some cells are empty or unknown."""
    width = max(map(_cells, column))
    figures = [cell for cell in column[1:] if cell not in _NO_FIGURE]
    is_of_figures = bool(figures) and all(map(_FIGURE.fullmatch, figures))
    return [_to_side(cell, width, is_of_figures) for cell in column]


def _to_side(cell: str, width: int, is_to_the_right: bool) -> str:
    padding = " " * (width - _cells(cell))
    return padding + cell if is_to_the_right else cell + padding


def _cells(text: str) -> int:
    """Return the text's width in a terminal: wide characters take two columns, combining characters none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


# Letters and the punctuation of sentences; a dot or a colon only where it cannot be part of an address.
_HARMLESS = regex(r"(?:[^\x00-\x7f]|[A-Za-z0-9 ,;()%/+'\"?=-]|\.(?=\d|\s|$)|:(?=\s|$))*")


class Markdown(str):
    """A text that is already Markdown; texts from the machine are escaped in it."""


def code(text: str) -> Markdown:
    """Return a Markdown code span with the text, whatever backticks it contains."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return Markdown(f"{ticks}{pad}{text}{pad}{ticks}" if text else "")


def prose(text: str) -> str:
    """Return the text unchanged if nothing in it can be markup, else as a code span."""
    return text if isinstance(text, Markdown) or _HARMLESS.fullmatch(text) else code(text)


def cell(text: str) -> str:
    """Return the text for a cell of a Markdown table, as prose or code.

    Renderers split cells before they parse code, so a pipe is escaped. They differ on a backslash before a pipe, so
    such a backslash becomes a dot.
    """
    shown = text if isinstance(text, Markdown) else prose(text.replace("\\|", "·|"))
    return shown.replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def facts_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown table of names and values, without a heading."""
    return table(("", ""), [(name, cell(value)) for name, value in rows])


def fence(language: str, lines: Sequence[str]) -> str:
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *lines, fence]) + "\n"


MOST_BYTES = 60_000  # an issue on GitHub has at most 65,536 characters, and its author adds some
_CUT = "The report is too long, so its end was cut off.\n"


def fitting(parts: Sequence[str], max_bytes: float) -> str:
    """Return as many of the first parts as fit in `max_bytes`, with a note if any is left out.

    The text is empty if not even the first part fits.
    """
    lengths = [len("\n".join(parts[: count + 1]).encode("utf-8", "replace")) for count in range(len(parts))]
    kept = [
        part
        for part, _ in takewhile(
            lambda part_and_length: part_and_length[1] <= max_bytes, zip(parts, lengths, strict=True)
        )
    ]
    if len(kept) == len(parts):
        return "\n".join(parts)
    while kept and len("\n".join([*kept, _CUT]).encode("utf-8", "replace")) > max_bytes:
        kept.pop()
    return "\n".join([*kept, _CUT]) if kept else ""
