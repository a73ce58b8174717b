"""Gaps by length: a bar for each stretch of a logarithmic axis that never moves, each bar split by cause.

A bar is as high as the logarithm of how many gaps there are; its parts are the causes' shares of them. Any gap at all
fills a cell, so that its cause can be told without colour.
"""

from __future__ import annotations

import math
from collections import Counter

from noisewatch.surfaces.reports.calibration.gaps import CAUSES, UNKNOWN, GapClass, GapsShown
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, first_that_fits, in_ascii, runs
from noisewatch.units import describe_ns

FIRST_NS, DECADES = 1_000, 5  # the axis: from 1 µs to 100 ms
_MOST_BARS = 160  # what is narrower would be less than a bucket of a running calibration
_LEAST_POWER = 2  # of ten, at the top of the axis of counts
_LEAST_BARS, _MARK_ROWS = 2, 2
LEAST_ROWS = 4 + _LEAST_BARS
_COUNT_WIDTH = 4  # of the numbers beside the axis: `100k`


def share_of_axis(ns: float) -> float:
    """Where on the axis a length is: 0 at its begin, 1 at its end; what is beyond is at that end."""
    return min(max(math.log10(max(ns, 1) / FIRST_NS) / DECADES, 0.0), 1.0)


def histogram_rows(gaps: GapsShown, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The titles of the axes, the bars, the axis with its lengths, and the percentiles: `height` rows, none too wide.

    Nothing where there is no room for it.
    """
    left = _COUNT_WIDTH + 2
    columns = width - left
    if height < LEAST_ROWS or columns < 2 * DECADES:
        return []
    marks = _mark_rows(gaps, columns, glyphs)[: max(height - LEAST_ROWS + 1, 1)]
    bars = height - 3 - len(marks)
    drawn = _bar_rows(gaps, columns, bars, glyphs)
    if not gaps.counts:
        said = "none so far" if gaps.is_live else "none was kept" if gaps.unplaced else "not a single gap"
        drawn[bars // 2] = [drawn[bars // 2][0], (f"{said:^{columns}}"[:columns], "strong")]
    rows = [_titles(width, glyphs), *drawn, _axis(columns, left, glyphs), _lengths(columns, left, width, glyphs)]
    return rows + [[(" " * left, "plain"), *row] for row in marks]


def _titles(width: int, glyphs: Glyphs) -> Row:
    """That of the counts at the left, that of the lengths at the right."""
    arrow, up = ("→", "↑") if glyphs.has_braille else (">", "^")
    right = first_that_fits([f"length of a gap, logarithmic {arrow}", f"length {arrow}", arrow], max(width // 2, 1))
    left = first_that_fits([f"{up} number of gaps, logarithmic", f"{up} gaps", up], width - len(right) - 1)
    return [(left, "faint"), (" " * (width - len(left) - len(right)), "plain"), (right, "faint")]


def _counts_by_bar(gaps: GapsShown, bar_count: int) -> list[Counter[GapClass]]:
    bars: list[Counter[GapClass]] = [Counter() for _ in range(bar_count)]
    for (length_ns, cause), count in gaps.counts.items():
        bars[min(int(share_of_axis(length_ns) * bar_count), bar_count - 1)][cause] += count
    return bars


def _bar_rows(gaps: GapsShown, columns: int, height: int, glyphs: Glyphs) -> list[Row]:
    """From the top down, each with the axis of counts at its left."""
    wide = -(-columns // _MOST_BARS)
    bars = _counts_by_bar(gaps, columns // wide)
    power = power_above(max((bar.total() for bar in bars), default=0))
    filled = [_cells(bar, height, power, glyphs) for bar in bars]
    ticks = {max(round(1 + (height - 1) * each / power) - 1, 0): each for each in range(power, -1, -1)}
    edge = "┤│" if glyphs.has_braille else "+|"
    rows: list[Row] = []
    for level in range(height - 1, -1, -1):
        label = short_count(10 ** ticks[level]) if level in ticks else ""
        beside = f"{label:>{_COUNT_WIDTH}} {edge[level not in ticks]}"
        row = runs([cells[level] for cells in filled for _ in range(wide)])
        rows.append([(beside, "faint"), *row])
    return rows


def power_above(count: int) -> int:
    """The power of ten at the top of an axis that holds so many; it stands still for small numbers."""
    return max(math.ceil(math.log10(max(count, 1))), _LEAST_POWER)


def short_count(count: int) -> str:
    """`100`, `1k`, `10M`: a power of ten in four columns."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)


def _cells(bar: Counter[GapClass], height: int, power: int, glyphs: Glyphs) -> list[Piece]:
    """One bar from the bottom up. Its last cell may be filled in part."""
    total = bar.total()
    if not total:
        return [(" ", "plain")] * height
    high = min(1 + (height - 1) * math.log10(total) / power, height)
    cells = [_cell(_cause_at((level + 0.5) / high, bar, total), glyphs) for level in range(int(high))]
    part = int((high - int(high)) * (len(glyphs.ramp) - 1))
    last = _cause_at(1.0, bar, total)
    if len(cells) < height and part and glyphs.has_braille and last is not UNKNOWN:  # its glyph fills no cell
        cells.append((glyphs.ramp[part], last.style))
    return cells + [(" ", "plain")] * (height - len(cells))


def _cell(cause: GapClass, glyphs: Glyphs) -> Piece:
    return glyph_of(cause, glyphs), cause.style


def glyph_of(cause: GapClass, glyphs: Glyphs) -> str:
    """What a full cell of this cause is drawn with."""
    return cause.glyph if glyphs.has_braille else cause.letter


def _cause_at(share: float, bar: Counter[GapClass], total: int) -> GapClass:
    """Whose part of the bar is there: 0 is its foot, 1 its top."""
    seen, found = 0, CAUSES[-1]
    for cause in CAUSES:
        if bar[cause]:
            seen, found = seen + bar[cause], cause
            if seen >= share * total:
                return cause
    return found


def _places(columns: int) -> list[int]:
    """The column of each decade, the last one's included."""
    return [min(round(columns * power / DECADES), columns - 1) for power in range(DECADES + 1)]


def _axis(columns: int, left: int, glyphs: Glyphs) -> Row:
    corner, across, tick = "└─┴" if glyphs.has_braille else "+-+"
    places = set(_places(columns))
    line = "".join(tick if column in places else across for column in range(columns))
    return [(" " * (left - 1) + corner + line, "faint")]


def _lengths(columns: int, left: int, width: int, glyphs: Glyphs) -> Row:
    """The length at each decade, under its tick; those at both ends first, where there is room for few."""
    line = [" "] * width
    labels = [describe_ns(FIRST_NS * 10**power) for power in range(DECADES + 1)]
    if columns < DECADES * 8:
        labels = [label.replace(" ", "") for label in labels]
    for power in sorted(range(DECADES + 1), key=lambda each: each not in (0, DECADES)):
        label = labels[power] if glyphs.has_braille else in_ascii(labels[power])
        at = min(left + _places(columns)[power], width - len(label))
        around = line[max(at - 1, 0) : at + len(label) + 1]
        if set(around) == {" "}:
            line[at : at + len(label)] = label
    return [("".join(line), "faint")]


def _mark_rows(gaps: GapsShown, columns: int, glyphs: Glyphs) -> list[Row]:
    """The percentiles, each below its place; those that would overlap stand in a second row. The longest first."""
    lines = [[" "] * columns for _ in range(_MARK_ROWS)]
    for name, ns in reversed(gaps.marks):
        at = min(int(share_of_axis(ns) * columns), columns - 1)
        said = describe_ns(ns) if glyphs.has_braille else in_ascii(describe_ns(ns))
        _put(lines, at, (f"{glyphs.cursor} {name} {said}", f"{name} {said} {glyphs.cursor}"))
    used = [line for line in lines if set(line) != {" "}]
    return [[("".join(line), "strong")] for line in used]


def _put(lines: list[list[str]], at: int, texts: tuple[str, str]) -> None:
    """Into the first line where the text finds room, with its end or its begin at `at`."""
    for line in lines:
        for text, begin in ((texts[0], at), (texts[1], at + 1 - len(texts[1]))):
            end = begin + len(text)
            if begin >= 0 and end <= len(line) and set(line[max(begin - 1, 0) : end + 1]) == {" "}:
                line[begin:end] = text
                return
