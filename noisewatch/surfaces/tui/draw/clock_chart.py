"""The clocks of the target CPUs over time, in the columns of the timeline, with heat and power below them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct

from noisewatch.surfaces.drawing.glyphs import Glyphs, tall_bars
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, cut, join_styles
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.tui.draw.clock_facts import base_khz, highest_khz, no_clock_reason, style_of_share
from noisewatch.surfaces.tui.draw.timeline import LABEL, TimeAxis, axis_of, intervals_in_sight, mark_cursor, time_row
from noisewatch.surfaces.tui.state.clock_falls import DROP
from noisewatch.surfaces.tui.state.clock_history import HOT, ClockGraph, available_figures
from noisewatch.surfaces.tui.state.noise import highest_if_certain, merge_by_zoom
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_LEAST_CHART = 3  # rows, including the time axis
_LEAST_WITH_LANES = 6
_LEAST_SPAN_KHZ = 100_000  # least span of the axis, so that a nearly constant clock is a level line
_MARGIN = 0.06  # margin above and below, as a share of the span
_STEPS_KHZ = (50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000)  # possible steps between the figures of the axis
_MOST_FIGURES = 6  # the most figures on the axis
TALL_LINE, _TALLEST_LANE = 20, 8  # rows of the line before the lanes of heat and power grow; the most rows of a lane
BY_HEAT, BY_POWER = "h", "P"  # marks on the time axis

Khz = float | None
V = TypeVar("V")
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # Braille dots of the left and right half, from the top
_FIRST = 0x2800
_TALL = 4  # rows of dots in a character


class _Span(Struct, frozen=True):
    low: float
    high: float


class _Lines(Struct, frozen=True):
    """The clocks to draw, two per column (`halves`), or two `sets` of clocks per column if the graph is by CPU.

    `are_stale` contains, for each column, whether all of its clocks are stale.
    """

    halves: Sequence[Khz]
    sets: Sequence[frozenset[int]]
    are_stale: Sequence[bool]

    @property
    def measured_khz(self) -> list[float]:
        return [khz for khz in self.halves if khz is not None] or [khz for cpus_khz in self.sets for khz in cpus_khz]


def chart_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the clock's line with axes and references (base and highest clock), or why there is no line.

    Return no rows for a line that does not fit.
    """
    axis = axis_of(model, width)
    lines = _lines(model, axis.numbers)
    if not lines.measured_khz or height < _LEAST_CHART or width - LABEL < 2:
        reasons = [cut([(f" {line}", "plain")], width) for line in wrap(no_clock_reason(model), width - 2)]
        return (reasons if not lines.measured_khz else [])[:height]
    lanes = _lanes(model, axis, height - 1, glyphs) if height >= _LEAST_WITH_LANES else []
    tall, span = height - 1 - len(lanes), _span(model, lines.measured_khz)
    drawn = _graph_rows(lines, axis, tall, span, glyphs)
    is_stale = axis.pad(lines.are_stale, False)
    tick, edge = ("┤", "┊") if glyphs.has_braille else ("+", "|")
    labels, references = _labels(span, tall, glyphs), dict(_references(model, span, tall, axis, glyphs))
    left_out = [name for name, _ in _shares(model, axis.numbers)] if not lanes else []
    if left_out:
        note = f"{' and '.join(left_out)}: shown on a taller screen"
        free = [at for at, line in enumerate(drawn) if at not in references and not line[-len(note) :].strip()]
        references |= {at: note.rjust(axis.room)[-axis.room :] for at in free[:1]}
    blank = " " * axis.room
    rows: list[Row] = [
        [
            (f"{labels.get(at, ''):>5} {tick if at in labels else edge}", "faint"),
            *_pieces(line, is_stale, references.get(at, blank)),
        ]
        for at, line in enumerate(drawn)
    ]
    return [*mark_cursor([*rows, *lanes], axis, glyphs), time_row(model, axis, glyphs, _slowdown_marks(model, axis))]


def _graph_rows(lines: _Lines, axis: TimeAxis, tall: int, span: _Span, glyphs: Glyphs) -> list[str]:
    """Return the rows of the line, or of several CPUs' dots, with two values per column."""
    before, after = 2 * axis.before, 2 * axis.after
    if lines.sets:
        none = frozenset[int]()
        sets = [*[none] * before, *axis.spread(lines.sets), *[none] * after]
        return (braille_dots if glyphs.has_braille else plain_dots)(sets, tall, span.low, span.high)
    halves = [*[None] * before, *axis.spread(lines.halves), *[None] * after]
    return (braille_line if glyphs.has_braille else plain_line)(halves, tall, span.low, span.high)


def _lines(model: ScreenModel, numbers: range) -> _Lines:
    """Return the clocks of the selected graph: the slowest target CPU's, each target CPU's, or the mean clock."""
    clocks, target = model.clocks, model.target
    stale, zoom = clocks.are_stale(numbers), model.zoom
    are_stale = merge_by_zoom(stale, zoom, all)
    if model.clock_graph == ClockGraph.PER_CPU:
        return _Lines(
            [],
            _halves(clocks.distinct_clocks(target, numbers), zoom, lambda sets: frozenset[int]().union(*sets)),
            are_stale,
        )
    series = clocks.means(numbers) if model.clock_graph == ClockGraph.MEAN else clocks.slowest(numbers)
    low = (1 - DROP) * max((khz for khz in series if khz is not None), default=0)
    return _Lines(_halves(series, zoom, lambda clocks: _least(clocks, low)), [], are_stale)


def _halves(clocks: Sequence[V], zoom: int, merge: Callable[[Sequence[V]], V]) -> list[V]:
    """Return two values per column, each computed by `merge` from one half of the column's intervals."""
    if zoom == 1:
        return [khz for khz in clocks for _ in range(2)]
    halves: list[V] = []
    for end in range(len(clocks), 0, -zoom):
        begin, middle = max(end - zoom, 0), max(end - zoom // 2, 0)
        halves += [merge(clocks[middle:end]), merge(clocks[begin:middle])]
    return halves[::-1]


def _least(clocks: Sequence[Khz], low: float) -> Khz:
    """Return the lowest clock. If a clock is unknown, return None unless the lowest known clock is below `low`."""
    measured_khz = [khz for khz in clocks if khz is not None]
    least = min(measured_khz, default=None)
    return least if len(measured_khz) == len(clocks) or (least is not None and least < low) else None


def _span(model: ScreenModel, measured_khz: Sequence[float]) -> _Span:
    """Return the span of the axis, which contains all drawn clocks and references, with a margin."""
    drawn = [*measured_khz, *(khz for khz in (base_khz(model), highest_khz(model)) if khz is not None)]
    low, high = min(drawn), max(drawn)
    margin = max((high - low) * _MARGIN, (_LEAST_SPAN_KHZ - (high - low)) / 2, 0)
    return _Span(max(low - margin, 0), high + margin)


def _row(khz: float, span: _Span, tall: int, glyphs: Glyphs) -> int:
    dots = 4 if glyphs.has_braille else 1
    return row_of(khz, tall * dots, span.low, span.high) // dots


def _labels(span: _Span, tall: int, glyphs: Glyphs) -> Mapping[int, str]:
    """Return a few round figures in GHz by row, with a free row between them where possible."""
    for step in _STEPS_KHZ:
        ticks = range(-(-int(span.low) // step) * step, int(span.high) + 1, step)
        rows = [_row(khz, span, tall, glyphs) for khz in ticks]
        if 0 < len(set(rows)) == len(rows) <= max(min(tall // 2 + 1, _MOST_FIGURES), 2):
            digits = 2 if step < _STEPS_KHZ[1] else 1
            return {row: f"{khz / 1e6:.{digits}f}" for row, khz in zip(rows, ticks, strict=True)}
    return {0: f"{span.high / 1e6:.2f}", tall - 1: f"{span.low / 1e6:.2f}"}


def _references(model: ScreenModel, span: _Span, tall: int, axis: TimeAxis, glyphs: Glyphs) -> Mapping[int, str]:
    """Return the reference lines, with their names, by row; they show only where the clock's line leaves blanks."""
    dash, names = "┄" if glyphs.has_braille else "-", dict[int, list[str]]()
    for name, khz in (("highest", highest_khz(model)), ("base", base_khz(model))):
        if khz is not None:
            names.setdefault(_row(khz, span, tall, glyphs), []).append(f"{name} {khz / 1e6:.2f}")
    lead = dash * (axis.stop if axis.after > axis.before else 0)
    return {
        row: f"{lead}{dash} {', '.join(named)} ".ljust(axis.room, dash)[: axis.room] for row, named in names.items()
    }


def _pieces(line: str, is_stale: Sequence[bool], reference: str) -> Row:
    """Return the row of a line, with the reference where the line leaves blanks."""
    row: Row = []
    for index, drawn in enumerate(line):
        style: Style = "faint" if drawn == " " or is_stale[index] else "calm"
        row.append((reference[index] if drawn == " " else drawn, style))
    return join_styles(row)


def lane_count(model: ScreenModel, width: int) -> int:
    """Return the number of lanes: one for heat and one for power, if there are figures."""
    return len(_shares(model, intervals_in_sight(model, width)))


def _shares(model: ScreenModel, numbers: range) -> list[tuple[str, list[Khz]]]:
    """Return the heat and power lanes that have a known share in sight, or for which a package has a current figure."""
    partly = available_figures(model.frame) if model.frame is not None else set()
    lanes = [("heat", model.clocks.heat(numbers)), ("power", model.clocks.power(numbers))]
    return [lane for lane in lanes if lane[0] in partly or any(share is not None for share in lane[1])]


def _lanes(model: ScreenModel, axis: TimeAxis, height: int, glyphs: Glyphs) -> list[Row]:
    """Return bars of heat and power, the highest share per column; a full bar is the critical temperature or limit."""
    shares_by_name = _shares(model, axis.numbers)
    tall = min(max((height - TALL_LINE) // max(len(shares_by_name), 1), 1), _TALLEST_LANE)
    steps = (len(glyphs.ramp) - 1) * tall
    rows: list[Row] = []
    for name, shares in shares_by_name:
        columns = axis.spread(merge_by_zoom(shares, axis.zoom, partial(highest_if_certain, limit=HOT)))
        heights = [None if share is None else max(round(share * steps), 1) for share in columns]
        marks: list[Piece] = [
            (glyphs.unknown, "unknown" if share is None else style_of_share(share)) for share in columns
        ]
        after: Piece = (" " * axis.after, "plain")
        labels = [name, *[""] * (tall - 1)]
        for label, bars in zip(labels, tall_bars(heights, marks, tall, glyphs), strict=True):
            rows.append([(f"{label:<{LABEL}}{'':{axis.before}}", "faint"), *bars, after])
    return rows


def _slowdown_marks(model: ScreenModel, axis: TimeAxis) -> Mapping[int, str]:
    """Return the marks, by column, for heat or power limits that slowed target CPUs; heat takes precedence."""
    mark_by_column: dict[int, str] = {}
    for number, (heat, power) in zip(axis.numbers, model.clocks.slowdown_causes(axis.numbers), strict=True):
        if heat or power:
            column = axis.column(number)
            mark_by_column[column] = BY_HEAT if heat or mark_by_column.get(column) == BY_HEAT else BY_POWER
    return mark_by_column


def slowdown_marks(model: ScreenModel, width: int) -> frozenset[str]:
    """Return the marks for slowed target CPUs that the time axis shows."""
    return frozenset(_slowdown_marks(model, axis_of(model, width)).values())


def braille_line(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """Return `height` rows, from the top, of a line of values, two per character; neighbours are joined vertically.

    `low` is the lowest row of dots and `high` the uppermost one; None leaves a gap.
    """
    return _braille(_dots(values, height * _TALL, low, high), height)


def braille_dots(values: Sequence[Collection[float]], height: int, low: float, high: float) -> list[str]:
    """Return rows of Braille dots for several values in each half of a character, without joining neighbours."""
    return _braille([[row_of(value, height * _TALL, low, high) for value in half] for half in values], height)


def _braille(dots_by_column: Sequence[Sequence[int]], height: int) -> list[str]:
    cells = [[0] * (-(-len(dots_by_column) // 2)) for _ in range(height)]
    for index, dots in enumerate(dots_by_column):
        for dot in dots:
            cells[dot // _TALL][index // 2] |= _DOTS[index % 2][dot % _TALL]
    return ["".join(chr(_FIRST + bits) if bits else " " for bits in row) for row in cells]


def plain_dots(values: Sequence[Collection[float]], height: int, low: float, high: float) -> list[str]:
    """Return the rows of `braille_dots` in ASCII; a `*` shows a value in either half of a character."""
    pairs = [
        [*values[index], *(values[index + 1] if index + 1 < len(values) else ())] for index in range(0, len(values), 2)
    ]
    return _plain([[(row_of(value, height, low, high), "*") for value in pair] for pair in pairs], height)


def plain_line(values: Sequence[float | None], height: int, low: float, high: float) -> list[str]:
    """Return the rows of `braille_line` in ASCII, two values per character.

    `*` is the second value, and `|` joins it to the second value of the previous character.
    """
    dots_by_column = _dots(values[1::2], height, low, high)
    return _plain([[(dot, "|" if index else "*") for index, dot in enumerate(dots)] for dots in dots_by_column], height)


def _plain(signs_by_column: Sequence[Sequence[tuple[int, str]]], height: int) -> list[str]:
    signs_by_row = [dict(signs) for signs in signs_by_column]
    return ["".join(signs.get(row, " ") for signs in signs_by_row) for row in range(height)]


def _dots(values: Sequence[float | None], tall: int, low: float, high: float) -> list[list[int]]:
    """Return each value's row of dots, counted from the top, and the rows that join it to the value before."""
    groups: list[list[int]] = []
    before: int | None = None
    for value in values:
        if value is None:
            groups.append([])
            before = None
            continue
        at = row_of(value, tall, low, high)
        between = range(min(at, before), max(at, before)) if before is not None else ()
        groups.append([at, *(dot for dot in between if dot not in (at, before))])
        before = at
    return groups


def row_of(value: float, tall: int, low: float, high: float) -> int:
    """Return the value's row, counted from the top of `tall` rows; for a value beyond the axis, the nearest row."""
    share = (high - value) / (high - low) if high > low else 0.5
    return min(max(round(share * (tall - 1)), 0), tall - 1)
