"""Tables: columns that line up, and Markdown, whatever is in their cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from noisewatch.patterns import regex

# `12`, `41 200/s`, `~0.1%`, `<0.1%`, `> 99 %`, `3.2 ms`, `±4%`, `1.2-2.3 GHz`: one word of a unit at most
_FIGURE = regex(r"(?:[~<±+-]|[<>] )?\d[\d ]*(?:\.\d+)?(?:e[+-]?\d+)? ?(?:%|×|/s|[µa-zA-Z]{1,3})?|[\d.]+-[\d.]+ GHz")
_NO_FIGURE = ("", "?", "-", "–", "—")
_LEAST_NAME = 60  # columns of a name, before others are left out for it


def align(rows: Iterable[Sequence[str]], gap: str = "  ") -> str:
    """The rows with each column as wide as its widest cell; a column of figures to the right, under its heading."""
    columns = list(zip(*rows, strict=True))
    padded = [_padded(column) for column in columns]
    return "\n".join(gap.join(line).rstrip() for line in zip(*padded, strict=True))


def align_within(width: int, rows: Sequence[Sequence[str]], name: str, spare: Sequence[str]) -> list[str]:
    """The same in lines of `width` at most: the names in the column so headed are cut, then the spare columns left
    out one by one, the first first, then the names are cut further.
    """
    for count in range(len(spare) + 1):
        kept = [at for at, heading in enumerate(rows[0]) if heading not in spare[:count]]
        table = [[row[at] for at in kept] for row in rows]
        at = table[0].index(name)
        longest = max(_cells(row[at]) for row in table)
        room = longest - max(map(_cells, align(table).splitlines())) + width
        if room >= min(longest, _LEAST_NAME) or count == len(spare):
            break
    cut = [[*row[:at], _shortened(row[at], max(room, len(name))), *row[at + 1 :]] for row in table]
    return [line[:width] for line in align(cut).splitlines()]


def _shortened(text: str, room: int) -> str:
    if _cells(text) <= room:
        return text
    while text and _cells(text) >= room:
        text = text[:-1]
    return f"{text}…"


def _padded(column: Sequence[str]) -> list[str]:
    """The first cell may be the heading, and one that is empty or unknown says nothing of the others."""
    width = max(map(_cells, column))
    told = [cell for cell in column[1:] if cell not in _NO_FIGURE]
    is_of_figures = bool(told) and all(map(_FIGURE.fullmatch, told))
    return [_to_side(cell, width, is_of_figures) for cell in column]


def _to_side(cell: str, width: int, is_to_the_right: bool) -> str:
    padding = " " * (width - _cells(cell))
    return padding + cell if is_to_the_right else cell + padding


def _cells(text: str) -> int:
    """The columns that a terminal gives the text: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


# Letters and what stands between them in a sentence; a dot or a colon only where it is no part of an address.
_HARMLESS = regex(r"(?:[^\x00-\x7f]|[A-Za-z0-9 ,;()%/+'\"?=-]|\.(?=\d|\s|$)|:(?=\s|$))*")


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
