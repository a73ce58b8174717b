"""Lists with columns, and windows of long lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Generic, TypeVar

from msgspec import Struct

from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, text_of

Line = TypeVar("Line")
Item = TypeVar("Item")


class Column(Struct, Generic[Line], frozen=True, eq=False):
    """A column of a table.

    `cell` returns a text to align in `width` columns, or a row of exactly that width. A column with a rank is dropped
    if the table would leave fewer than `leaves` terminal columns free; the highest rank is dropped first.
    """

    heading: str
    width: int
    cell: Callable[[Line], Piece | Row]
    rank: int = 0
    leaves: int = 0
    is_left: bool = False
    keeps_style: bool = False  # whether its cells keep their style in the selected row


class Table(Generic[Line]):
    """The columns of a list; they draw its heading, and a row for each line."""

    def __init__(self, columns: Sequence[Column[Line]]) -> None:
        self.columns = columns
        self.width = sum([column.width for column in columns])

    @classmethod
    def fitting(cls, columns: Sequence[Column[Line]], width: int) -> Table[Line]:
        """Return a table with the columns that fit into the width, in the given order."""
        kept = list(columns)
        left = width - sum([column.width for column in columns])
        for column in sorted(columns, key=attrgetter("rank"), reverse=True):
            if column.rank and left < column.leaves:
                kept.remove(column)
                left += column.width
        return cls(kept)

    def replacing(self, old: Column[Line], new: Column[Line]) -> Table[Line]:
        return Table([new if column is old else column for column in self.columns])

    @property
    def heading(self) -> str:
        return "".join([f"{column.heading:{'<' if column.is_left else '>'}{column.width}}" for column in self.columns])

    def row(self, line: Line, style: Style | None = None) -> Row:
        """Return the row of a line; `style` replaces the cells' styles. Neighbours with the same style are joined."""
        row: Row = []
        joined, last = "", None
        for column in self.columns:
            cell = column.cell(line)
            has_style = style is None or column.keeps_style
            if isinstance(cell, list):
                if has_style:
                    if last is not None:
                        row.append((joined, last))
                    row += cell
                    joined, last = "", None
                    continue
                text, own = text_of(cell), style
            else:
                text, own = cell
                text = text.ljust(column.width) if column.is_left else text.rjust(column.width)
                own = own if has_style else style
            if own == last:
                joined += text
                continue
            if last is not None:
                row.append((joined, last))
            joined, last = text, own
        return [*row, (joined, last)] if last is not None else row


def first_row(requested: int, count: int, room: int) -> int:
    """Return the index of a window's first row: `requested`, or less if the window of `room` rows would not be full."""
    return max(min(requested, count - room), 0)


def first_row_around(index: int, count: int, room: int) -> int:
    """Return the index of a window's first row such that row `index` is in the middle of the window, if possible."""
    return first_row(index - room // 2, count, room)


def first_row_with(index: int, count: int, room: int) -> int:
    """Return the index of a window's first row: the smallest index such that the window contains row `index`."""
    return first_row(index - room + 1, count, room)
