"""Frames around parts of a screen, with a title at the left of the upper edge, and state and keys at the right."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.records import dataclass
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, first_that_fits, length, text_width

LEAST_FRAMED = (70, 24)  # columns and lines: smaller screens have no room for edges
_EDGE: Style = "faint"


@dataclass(frozen=True, slots=True)
class Edges:
    """The characters of a frame."""

    across: str
    down: str
    corners: str  # upper left, upper right, lower left, lower right
    joints: str  # ends of a line across the frame: left, right


_ROUNDED = Edges("─", "│", "╭╮╰╯", "├┤")
_PLAIN = Edges("-", "|", "++++", "++")


def is_framed(width: int, height: int) -> bool:
    """Return whether a screen of that size has frames; on a smaller one a panel is its rows below a heading."""
    return width >= LEAST_FRAMED[0] and height >= LEAST_FRAMED[1]


def inner(width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows inside of a frame of that size."""
    return max(width - 4, 0), max(height - 2, 0)


def panel(title: str, rows: Sequence[Row], width: int, height: int, glyphs: Glyphs, right: str = "") -> list[Row]:
    """Return the rows in a frame: `height` rows of `width` columns; overflow is cut off.

    `right` may hold several parts between ` · `, of which the last ones go first if they do not fit.
    """
    edges = _ROUNDED if glyphs.has_braille else _PLAIN
    if height < 2 or width < 5:
        return [[(" " * width, "plain")] for _ in range(height)]
    inside = [_inside(row, width, edges) for row in rows[: height - 2]]
    inside += [_inside([], width, edges) for _ in range(height - 2 - len(inside))]
    lower: Row = [(f"{edges.corners[2]}{edges.across * (width - 2)}{edges.corners[3]}", _EDGE)]
    return [_upper(title, right, width, edges.corners[:2], edges), *inside, lower]


def joined(upper: Sequence[Row], lower: Sequence[Row], glyphs: Glyphs) -> list[Row]:
    """Return two frames of one width, one below the other, which share an edge: one row less than both."""
    joints = (_ROUNDED if glyphs.has_braille else _PLAIN).joints
    (first, *middle, last), *rest = lower
    between: Row = [(joints[0] + first[0][1:], first[1]), *middle, (last[0][:-1] + joints[1], last[1])]
    return [*upper[:-1], between, *rest]


def side_by_side(left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Return two frames of one height next to each other."""
    return [[*one, *other] for one, other in zip(left, right, strict=True)]


def _inside(row: Row, width: int, edges: Edges) -> Row:
    left = width - 4 - length(row)
    if left < 0:
        row = cut(row, width - 4)
        left = width - 4 - length(row)
    return [(f"{edges.down} ", _EDGE), *row, (" " * left, "plain"), (f" {edges.down}", _EDGE)]


def _upper(title: str, right: str, width: int, corners: str, edges: Edges) -> Row:
    """Return the upper edge, `╭─ title ─── right ─╮`; the right part is dropped before the title is cut."""
    room = width - 4
    titled = cut([(f" {title} ", "strong")], room) if title else []
    parts = right.split(" · ")
    choices = [f" {' · '.join(parts[:count])} " for count in range(len(parts), 0, -1) if right]
    text = first_that_fits([*choices, ""], max(room - length(titled) - 1, 0))
    line = edges.across * (room - length(titled) - text_width(text))
    return [
        (f"{corners[0]}{edges.across}", _EDGE),
        *titled,
        (line, _EDGE),
        (text, "plain"),
        (f"{edges.across}{corners[1]}", _EDGE),
    ]
