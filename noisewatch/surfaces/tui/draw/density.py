"""How closely the CPUs have to stand for all of them to be on the screen, by their number and the room.

Where they do not find a row each they stand in columns, with their history; where they do not find that either, each is
a cell, and the worst have rows all the same; and where there are more than cells, two share one, side by side, or
several, as the worst of them.
"""

from __future__ import annotations

from dataclasses import dataclass

ROWS, COLUMNS, CELLS, MARKS, PAIRS, GROUPS = DENSITIES = ("rows", "columns", "cells", "marks", "pairs", "groups")
COLUMN_WIDTH = 27  # mark, number, loss, and some history
LABEL_WIDTH = 5  # the number of the first CPU of the row
_TOGETHER = 16  # cells without a gap


@dataclass(frozen=True, slots=True)
class Density:
    """`across` CPUs, or groups of `each` of them, stand side by side in each of so many `rows`."""

    kind: str
    across: int
    each: int
    rows: int

    @property
    def cell_width(self) -> int:
        """Of cells and marks: two characters and a gap, or one."""
        return 3 if self.kind == CELLS else 1


def density(count: int, width: int, rows: int) -> Density:
    """The widest that shows all CPUs. Cells take no more than half of the rows, so that the worst have some too."""
    if count <= rows or rows < 2:
        return Density(ROWS, 1, 1, min(count, rows))
    columns = width // COLUMN_WIDTH
    if columns * rows >= count:
        return Density(COLUMNS, columns, 1, -(-count // columns))
    room = rows // 2
    for kind, cell in ((CELLS, 3), (MARKS, 1)):
        across = _across(width, cell)
        if across * room >= count:
            return Density(kind, across, 1, -(-count // across))
    across = _across(width, 1)
    each = -(-count // (across * room))
    return Density(PAIRS if each == 2 else GROUPS, across, each, -(-count // (across * each)))


def _across(width: int, cell: int) -> int:
    """Whole groups of cells, where there is room for one."""
    room = max(width - LABEL_WIDTH, 1)
    groups = (room + 1) // (_TOGETHER * cell + 1)
    return groups * _TOGETHER if groups else max(room // cell, 1)


def gap_after(place: int) -> bool:
    """Whether the cell at that place of its row ends a group."""
    return place % _TOGETHER == _TOGETHER - 1
