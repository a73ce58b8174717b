"""Two sets of gaps by length, back to back on one logarithmic axis, the longest on top; bars logarithmic as well."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from noisewatch.surfaces.reports.calibration.gaps import CAUSES, GapClass, GapsShown
from noisewatch.surfaces.reports.calibration.histogram import DECADES, FIRST_NS, glyph_of, power_above
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, cut, first_that_fits, in_ascii, runs
from noisewatch.units import describe_ns

_STEPS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # of each decade, where there is less and less room
_AXIS_WIDTH = 12  # ` ┤ 100 µs ├ `
_COUNT_WIDTH = 8
LEAST_ROWS = DECADES + 3


def mirrored_rows(
    names: tuple[str, str], sides: tuple[GapsShown, GapsShown], width: int, height: int, glyphs: Glyphs
) -> list[Row]:
    """The names, a row for each stretch of the axis, and what the bars count: at most `height` rows.

    Nothing where there is no room for it.
    """
    steps = next((each for each in _STEPS if DECADES * len(each) + 3 <= height), None)
    room = (width - _AXIS_WIDTH) // 2
    if steps is None or room < _COUNT_WIDTH + 2:
        return []
    edges = [FIRST_NS * 10**power * step for power in range(DECADES) for step in steps] + [FIRST_NS * 10**DECADES]
    left, right = (_counts(gaps, edges) for gaps in sides)
    power = power_above(max((bar.total() for bar in (*left, *right)), default=0))
    rows: list[Row] = [_around(f"{names[0]} ", "gap of", f" {names[1]}", room, "strong")]
    for number in range(len(edges) - 1, -1, -1):
        label = _label(edges[number], edges[number] / FIRST_NS in [10**each for each in range(DECADES + 1)], glyphs)
        ends = "┤├" if glyphs.has_braille else "||"
        one, other = (_bar(each[number], room, power, glyphs) for each in (left, right))
        pad = room - sum(len(text) for text, _ in one)
        rows.append([(" " * pad, "plain"), *reversed(one), (f" {ends[0]} {label} {ends[1]} ", "faint"), *other])
    back, forth = ("← ", " →") if glyphs.has_braille else ("< ", " >")
    said = first_that_fits(["how many gaps, logarithmic", "how many gaps", "gaps"], room - 2)
    rows.append(_around(f"{back}{said}", "", f"{said}{forth}", room, "faint"))
    return [cut(row, width) for row in rows]


def _around(left: str, middle: str, right: str, room: int, style: Style) -> Row:
    """Texts at both sides of the axis, cut to their sides."""
    return [
        (f"{left[:room]:>{room}}", style),
        (f"{middle:^{_AXIS_WIDTH}}", "faint"),
        (right[:room], style),
    ]


def _counts(gaps: GapsShown, edges: Sequence[float]) -> list[Counter[GapClass]]:
    """How many gaps begin a stretch, or lie in it; what is shorter than the first edge counts there."""
    counts: list[Counter[GapClass]] = [Counter() for _ in edges]
    for (length_ns, cause), count in gaps.counts.items():
        number = max(sum(edge <= length_ns for edge in edges) - 1, 0)
        counts[number][cause] += count
    return counts


def _label(edge_ns: float, is_whole: bool, glyphs: Glyphs) -> str:
    """With its unit at a power of ten, and the figure alone between them."""
    figure, unit = describe_ns(edge_ns).split()
    label = f"{figure:>3} {unit}" if is_whole else f"{figure:>3}   "
    return label if glyphs.has_braille else in_ascii(label)


def _bar(counts: Counter[GapClass], room: int, power: int, glyphs: Glyphs) -> Row:
    """From the axis outwards: the bar, split by the shares of its causes, and how many there are."""
    total = counts.total()
    if not total:
        return []
    most = room - _COUNT_WIDTH - 1
    columns = max(round(1 + (most - 1) * math.log10(total) / power), 1)
    cells: list[Piece] = []
    for column in range(min(columns, most)):
        seen = 0
        for cause in CAUSES:
            seen += counts[cause]
            if counts[cause] and seen >= (column + 0.5) / columns * total:
                cells.append((glyph_of(cause, glyphs), cause.style))
                break
    said = f"{total:,}".replace(",", " ")
    return [*runs(cells), (f" {said} ", "plain")]
