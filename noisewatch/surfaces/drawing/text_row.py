"""Rows of styled text. A row consists of pieces, each with the name of its style; widths are in terminal columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size

from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.colours import Halves, KindStyle, LevelStyle, Meaning
from noisewatch.surfaces.drawing.wraps import wrap

# The names of styles; line_view.py maps them to styles of a terminal.
Style = (
    Literal[
        Meaning,
        KindStyle,
        LevelStyle,
        "plain",
        "title",
        "strong",
        "faint",
        "heading",
        "key",
        "selected",
        "command",
        "culprit",
    ]
    | Halves
)
Piece = tuple[str, Style]
Row = list[Piece]

_MOST_OF_NOTICE = 3  # rows
_IN_ASCII = str.maketrans({"…": "~", "→": ">", "µ": "u", "–": "-", "·": "|", "×": "x"})


def fit_text(text: str, width: int) -> str:
    """Return the text cut or padded to exactly `width` columns; wide characters count as on a terminal."""
    return set_cell_size(text, width)


has_single_width = regex("[ -~°·µ×–…←-↓─-▟■-◼◆-○✓✗⠀-⣿]*").fullmatch  # characters that noisewatch itself writes


def text_of(row: Row) -> str:
    return "".join([text for text, _ in row])


def text_width(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    return len(text) if has_single_width(text) else cell_len(text)  # slow: it measures each character


def length(row: Row) -> int:
    text = text_of(row)
    return len(text) if has_single_width(text) else sum(cell_len(text) for text, _ in row)


def join_styles(pieces: Iterable[Piece]) -> Row:
    """Join neighbouring pieces with the same style."""
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
    """Return the row; if it does not fit, it is cut to the width and ends with an ellipsis."""
    if length(row) <= width or width < 1:
        return row
    return justify(row, [], width)


def cut_at_word(row: Row, width: int) -> Row:
    """Return the row; if it does not fit, it is cut after a word and ends with an ellipsis."""
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


def lines_of(text: str, width: int, max_lines: int) -> list[str]:
    """Return the text wrapped to at most `max_lines` lines; the last line contains the rest, and may be too long."""
    lines = wrap(text, width, keep="hyphens", min_width=1)
    return [*lines[: max_lines - 1], " ".join(lines[max_lines - 1 :])] if len(lines) > max_lines > 0 else lines


def with_notice(rows: list[Row], notice: str, width: int) -> list[Row]:
    """Return the rows with a notice on a key's effect in place of the last rows; the first row always stays."""
    lines = lines_of(notice, width - 1, min(_MOST_OF_NOTICE, len(rows) - 1))
    return [*rows[: len(rows) - len(lines)], *(cut([(f" {line}", "strong")], width) for line in lines)]


def first_that_fits(texts: Sequence[str], width: int) -> str:
    """Return the first text that fits, or else the last; texts are sorted from long to short."""
    return next((text for text in texts if text_width(text) <= width), texts[-1])


def _shorten(text: str, room: int) -> str:
    """Return the text cut to `room` columns, with an ellipsis unless only blanks are cut off."""
    if room < 1 or text_width(text.rstrip()) <= room:
        return set_cell_size(text, room)
    return set_cell_size(text, room - 1) + "…"


def justify(left: Row, right: Row, width: int) -> Row:
    """Return one row with `left` and `right` at its ends; if needed, `left` is cut and ends with an ellipsis."""
    room = max(width - length(right), 0)
    kept: Row = []
    for text, style in left:
        piece = text if text_width(text) <= room else _shorten(text, room)
        room -= text_width(piece)
        kept.append((piece, style))
        if piece != text:
            break
    return [*kept, (" " * room, "plain"), *right]


def fact(name: str, value: str, label: int, style: Style = "plain") -> Row:
    """Return a row with a name in `label` columns, and a value."""
    return [(f"{name:<{label}}", "faint"), (value, style)]


def facts(name: str, lines: Sequence[str], label: int, style: Style = "plain") -> list[Row]:
    """Return one row for each line of a value; its name precedes the first line."""
    return [fact("" if index else name, line, label, style) for index, line in enumerate(lines)]


def to_ascii(text: str) -> str:
    """Return the text in ASCII, in the same number of columns."""
    plain = text.translate(_IN_ASCII)
    return (
        plain
        if plain.isascii()
        else "".join(character if character.isascii() else "?" * text_width(character) for character in plain)
    )
