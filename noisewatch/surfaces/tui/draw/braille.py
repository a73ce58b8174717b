"""A line of figures over time in characters of two by four dots; without them, in a character for each column."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of the left and the right half, from above
_FIRST = 0x2800
_TALL = 4  # dots of a character


def braille_line(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """So many rows, from above; a character shows two values. Between neighbours the line goes straight up or down.

    `low` is the lowest row of dots and `high` the uppermost one; None leaves a gap.
    """
    cells = [[0] * (-(-len(values) // 2)) for _ in range(height)]
    for at, dots in enumerate(_dots(values, height * _TALL, low, high)):
        for dot in dots:
            cells[dot // _TALL][at // 2] |= _DOTS[at % 2][dot % _TALL]
    return ["".join(chr(_FIRST + bits) if bits else " " for bits in row) for row in cells]


def braille_dots(values: Sequence[Collection[float]], height: int, low: float, high: float) -> list[str]:
    """Several values beside each other in half a character's width, without the ways between neighbours."""
    cells = [[0] * (-(-len(values) // 2)) for _ in range(height)]
    for at, each in enumerate(values):
        for value in each:
            dot = row_of(value, height * _TALL, low, high)
            cells[dot // _TALL][at // 2] |= _DOTS[at % 2][dot % _TALL]
    return ["".join(chr(_FIRST + bits) if bits else " " for bits in row) for row in cells]


def plain_dots(values: Sequence[Collection[float]], height: int, low: float, high: float) -> list[str]:
    """The same in ASCII, a character for two of them."""
    rows = [[" "] * (-(-len(values) // 2)) for _ in range(height)]
    for at, each in enumerate(values):
        for value in each:
            rows[row_of(value, height, low, high)][at // 2] = "*"
    return ["".join(row) for row in rows]


def plain_line(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """The same in ASCII, a character for two values: `*` where the second is, `|` on the way to it."""
    rows = [[" "] * (-(-len(values) // 2)) for _ in range(height)]
    for at, dots in enumerate(_dots(values[1::2], height, low, high)):
        for dot in dots:
            rows[dot][at] = "|"
        if dots:
            rows[dots[0]][at] = "*"
    return ["".join(row) for row in rows]


def _dots(values: Sequence[float | None], tall: int, low: float, high: float) -> list[list[int]]:
    """By value its row of dots, counted from above, and then those between it and the one before."""
    found: list[list[int]] = []
    before: int | None = None
    for value in values:
        if value is None:
            found.append([])
            before = None
            continue
        at = row_of(value, tall, low, high)
        between = range(min(at, before), max(at, before)) if before is not None else ()
        found.append([at, *(dot for dot in between if dot not in (at, before))])
        before = at
    return found


def row_of(value: float, tall: int, low: float, high: float) -> int:
    """The row of `tall` that the value lies in, counted from above; beyond the axis it is the nearest."""
    share = (high - value) / (high - low) if high > low else 0.5
    return min(max(round(share * (tall - 1)), 0), tall - 1)
