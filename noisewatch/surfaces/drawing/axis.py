"""Labels along the axes of pictures, and rows drawn for a terminal without Unicode."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.surfaces.drawing.text_row import Row, text_width, to_ascii

_LINES_IN_ASCII = str.maketrans("│─━┊└┴┬┤├┣┫●←◀↑", "|--:+++++[]o<<^")


def put(line: list[str], begin: int, text: str) -> bool:
    """Write the text into the line at column `begin` if it fits with a blank on both sides; return whether it fits."""
    end = begin + text_width(text)
    if begin < 0 or end > len(line) or set(line[max(begin - 1, 0) : end + 1]) != {" "}:
        return False
    line[begin:end] = [text, *[""] * (end - begin - 1)]
    return True


def labels_line(width: int, labels: Iterable[tuple[int, str]]) -> str:
    """Return a line in which each label begins at its column, or further left if the line is too short for it.

    Labels that would touch an earlier label are left out, so pass the most important first.
    """
    line = [" "] * width
    for column, label in labels:
        put(line, max(min(column, width - text_width(label)), 0), label)
    return "".join(line)


def rows_for(rows: Iterable[Row], in_unicode: bool) -> list[Row]:
    """Return the rows, in ASCII unless `in_unicode`."""
    if in_unicode:
        return list(rows)
    return [[(to_ascii(text.translate(_LINES_IN_ASCII)), style) for text, style in row] for row in rows]
