"""Rows of styled text: pieces, each with the name of its style, measured in columns of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size

from noisewatch.patterns import regex
from noisewatch.surfaces.reports.parts.colours import Halves, KindStyle, Meaning

# The names of styles; what a terminal makes of them, the widget knows that draws them.
Style = Literal[Meaning, KindStyle, "plain", "title", "strong", "faint", "heading", "key", "selected"] | Halves
Piece = tuple[str, Style]
Row = list[Piece]

_MOST_OF_NOTICE = 3  # rows
_IN_ASCII = str.maketrans({"…": "~", "→": ">", "µ": "u", "–": "-", "·": "|", "×": "x"})


def fitted(text: str, width: int) -> str:
    """The text in exactly so many columns; wide characters count as what they take on a terminal."""
    return set_cell_size(text, width)


one_column_each = regex("[ -~°·µ×–…←-↓─-▟■-◼◆-○✓✗⠀-⣿]*").fullmatch  # what noisewatch itself writes


def text_of(row: Row) -> str:
    return "".join([text for text, _ in row])


def text_width(text: str) -> int:
    """In columns of a terminal."""
    return len(text) if one_column_each(text) else cell_len(text)  # which looks at each character


def length(row: Row) -> int:
    text = text_of(row)
    return len(text) if one_column_each(text) else sum(cell_len(text) for text, _ in row)


def runs(pieces: Iterable[Piece]) -> Row:
    """Neighbours of one style as one piece."""
    joined: Row = []
    together, last = "", None
    for text, style in pieces:
        if style is last or style == last:
            together += text
            continue
        if last is not None:
            joined.append((together, last))
        together, last = text, style
    return [*joined, (together, last)] if last is not None else joined


def cut(row: Row, width: int) -> Row:
    """The row, with a sign where its end found no room."""
    if length(row) <= width or width < 1:
        return row
    return ends(row, [], width)


def cut_at_word(row: Row, width: int) -> Row:
    """The row, with a sign in the place of the words at its end that found no room."""
    if length(row) <= width or width < 1:
        return row
    room = width - 1
    kept: Row = []
    for text, style in row:
        if text_width(text) > room:
            words = text[: len(set_cell_size(text, room).rstrip())]
            whole = words if text[len(words) : len(words) + 1].isspace() else words.rpartition(" ")[0]
            kept.append((whole if whole.strip() or kept else words, style))
            break
        room -= text_width(text)
        kept.append((text, style))
    while len(kept) > 1 and not kept[-1][0].strip():
        kept.pop()
    kept[-1] = (kept[-1][0].rstrip(), kept[-1][1])
    return [*kept, (" …" if length(kept) < width - 1 else "…", "faint")]


def lines_of(text: str, width: int, most: int) -> list[str]:
    """The words on as many lines as they take, of which the last has the rest where that are more than `most`."""
    lines = textwrap.wrap(text, max(width, 1), break_on_hyphens=False)
    return [*lines[: most - 1], " ".join(lines[most - 1 :])] if len(lines) > most > 0 else lines


def with_notice(rows: list[Row], notice: str, width: int) -> list[Row]:
    """The last rows give way to what a key has done: never all of them."""
    lines = lines_of(notice, width - 1, min(_MOST_OF_NOTICE, len(rows) - 1))
    return [*rows[: len(rows) - len(lines)], *(cut([(f" {line}", "strong")], width) for line in lines)]


def first_that_fits(texts: Sequence[str], width: int) -> str:
    """The first of them, which get shorter and shorter, that finds room; the last one where none does."""
    return next((text for text in texts if text_width(text) <= width), texts[-1])


def _shortened(text: str, room: int) -> str:
    """With a sign that there was more; text that is blank from there on needs none."""
    if room < 1 or not text[room - 1 :].strip():
        return set_cell_size(text, room)
    return set_cell_size(text, room - 1) + "…"


def ends(left: Row, right: Row, width: int) -> Row:
    """Both in one row; what is at the right is never cut, and what is cut at the left has a sign."""
    room = max(width - length(right), 0)
    kept: Row = []
    for text, style in left:
        piece = text if text_width(text) <= room else _shortened(text, room)
        room -= text_width(piece)
        kept.append((piece, style))
        if piece != text:
            break
    return [*kept, (" " * room, "plain"), *right]


def in_ascii(text: str) -> str:
    """With nothing that a terminal without Unicode could not show, in as many columns."""
    plain = text.translate(_IN_ASCII)
    return plain if plain.isascii() else "".join(each if each.isascii() else "?" * text_width(each) for each in plain)
