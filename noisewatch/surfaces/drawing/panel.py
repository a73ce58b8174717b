"""The parts of a screen: framed panels that share edges, or on a small screen rows below headings.

A title is at the left of the upper edge, or of the heading, and state and keys are to the right of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from msgspec import Struct

from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row, Style, cut, first_that_fits, fit_text, length, text_width

LEAST_FRAMED = (70, 24)  # columns and lines: smaller screens have no room for edges
_EDGE: Style = "faint"
_LIT: Style = "plain"  # the edge of the panel in which keys move the selection


class Edges(Struct, frozen=True):
    """The characters of a frame."""

    across: str
    down: str
    corners: str  # upper left, upper right, lower left, lower right
    joints: str  # ends of a line across the frame: left, right


_ROUNDED = Edges("─", "│", "╭╮╰╯", "├┤")
_PLAIN = Edges("-", "|", "++++", "++")


def is_framed(width: int, height: int) -> bool:
    """Return whether a screen of that size has frames; on a smaller screen a panel is a heading with rows below it."""
    return width >= LEAST_FRAMED[0] and height >= LEAST_FRAMED[1]


def inner_size(width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows inside a frame of that size."""
    return max(width - 4, 0), max(height - 2, 0)


def panel(
    title: str,
    rows: Sequence[Row],
    width: int,
    height: int,
    glyphs: Glyphs,
    right: str = "",
    is_active: bool = False,
) -> list[Row]:
    """Return the rows in a frame: `height` rows of `width` columns; overflow is cut off.

    `right` may hold several parts, separated by ` · `; parts that do not fit are dropped, the last one first. The
    edge of the active panel is brighter.
    """
    edge = _LIT if is_active else _EDGE
    edges = _ROUNDED if glyphs.has_braille else _PLAIN
    if height < 2 or width < 5:
        return [[(" " * width, "plain")] for _ in range(height)]
    inside = [_inside(row, width, edges, edge) for row in rows[: height - 2]]
    inside += [_inside([], width, edges, edge) for _ in range(height - 2 - len(inside))]
    lower: Row = [(f"{edges.corners[2]}{edges.across * (width - 2)}{edges.corners[3]}", edge)]
    return [_upper(title, right, width, edges.corners[:2], edges, edge), *inside, lower]


def join_frames(upper: Sequence[Row], lower: Sequence[Row], glyphs: Glyphs) -> list[Row]:
    """Return two frames of the same width, one below the other, with a shared edge."""
    joints = (_ROUNDED if glyphs.has_braille else _PLAIN).joints
    (first, *middle, last), *rest = lower
    between: Row = [(joints[0] + first[0][1:], first[1]), *middle, (last[0][:-1] + joints[1], last[1])]
    if upper[-1][0][1] == _LIT:  # the active panel's edge is lit all around
        between = [(text, _LIT if style == _EDGE else style) for text, style in between]
    return [*upper[:-1], between, *rest]


class Section(Struct, frozen=True):
    """A titled part of a screen, with `height` rows inside, by default all of `rows`.

    `right` may hold several parts, separated by ` · `; parts that do not fit are dropped, the last one first.
    With `has_heading` the first row is already a heading, so none is added without a frame.
    """

    title: str
    rows: Sequence[Row]
    right: str = ""
    height: int | None = None
    has_heading: bool = False
    is_active: bool = False  # keys move the selection in this part

    @property
    def inside(self) -> int:
        """The number of rows inside the frame, or below the heading."""
        return len(self.rows) if self.height is None else self.height


class Space(Struct, frozen=True):
    """The columns and rows of a screen, or a part of it, for sections with frames or headings."""

    width: int
    height: int
    glyphs: Glyphs
    is_framed: bool

    @property
    def inside(self) -> int:
        """The width of a section's rows, in columns."""
        return self.width - 4 if self.is_framed else self.width

    @property
    def room(self) -> int:
        """The number of rows for a single section with `has_heading`; each further section needs one row more."""
        return self.height - 2 if self.is_framed else self.height

    def draw(self, sections: Iterable[Section]) -> list[Row]:
        """Return the sections, one below the other."""
        if self.is_framed:
            panels = [
                panel(
                    section.title,
                    section.rows,
                    self.width,
                    section.inside + 2,
                    self.glyphs,
                    section.right,
                    section.is_active,
                )
                for section in sections
            ]
            return reduce(lambda upper, lower: join_frames(upper, lower, self.glyphs), panels) if panels else []
        rows: list[Row] = []
        for section in sections:
            rows += [] if section.has_heading else [self._heading(section)]
            rows += [*section.rows[: section.inside], *([] for _ in range(section.inside - len(section.rows)))]
        return rows

    def _heading(self, section: Section) -> Row:
        texts = [f" {section.title}   {right}" for right in _shorter_texts(section.right)]
        return [(fit_text(first_that_fits([*texts, f" {section.title}"], self.width), self.width), "heading")]


def count_rows(sections: Iterable[Section]) -> int:
    """Return the number of rows that further sections add to a screen, with their edges or headings."""
    return sum(section.inside + 1 for section in sections)


def side_by_side(left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Return two frames of the same height next to each other."""
    return [[*left_row, *right_row] for left_row, right_row in zip(left, right, strict=True)]


def _inside(row: Row, width: int, edges: Edges, edge: Style) -> Row:
    left = width - 4 - length(row)
    if left < 0:
        row = cut(row, width - 4)
        left = width - 4 - length(row)
    return [(f"{edges.down} ", edge), *row, (" " * left, "plain"), (f" {edges.down}", edge)]


def _upper(title: str, right: str, width: int, corners: str, edges: Edges, edge: Style) -> Row:
    """Return the upper edge, `╭─ title ─── right ─╮`; the right part is dropped before the title is cut."""
    room = width - 4
    titled = cut([(f" {title} ", "strong")], room) if title else []
    choices = [f" {part} " for part in _shorter_texts(right)]
    text = first_that_fits([*choices, ""], max(room - length(titled) - 1, 0))
    line = edges.across * (room - length(titled) - text_width(text))
    return [
        (f"{corners[0]}{edges.across}", edge),
        *titled,
        (line, edge),
        (text, "plain"),
        (f"{edges.across}{corners[1]}", edge),
    ]


def _shorter_texts(right: str) -> list[str]:
    """Return the text and all its shorter versions, from which the last parts are dropped; none for an empty text."""
    parts = right.split(" · ")
    return [" · ".join(parts[:count]) for count in range(len(parts), 0, -1)] if right else []
