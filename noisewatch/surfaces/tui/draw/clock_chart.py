"""The clocks of the target CPUs over time, in the columns of the timeline, with heat and power below them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from noisewatch.surfaces.tui.draw.braille import braille_dots, braille_line, plain_dots, plain_line, row_of
from noisewatch.surfaces.tui.draw.clock_facts import base_khz, highest_khz, why_no_clock
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, length
from noisewatch.surfaces.tui.draw.timeline import in_sight, last_in_sight, time_of
from noisewatch.surfaces.tui.state.clock_history import ClockGraph
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

LABEL = 7  # columns: as wide as the label of the timeline
_LEAST_CHART = 3  # rows, that of the time among them
_LEAST_WITH_LANES = 6
_LEAST_SPAN_KHZ = 100_000  # of the axis: a clock that hardly moves is a level line
_MARGIN = 0.06  # of the span, above and below
_STEPS_KHZ = (50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000)  # between the figures of the axis
_MOST_FIGURES = 6  # of the axis
TALL_LINE, _TALLEST_LANE = 20, 8  # rows: what is left over then goes to heat and power, up to so many each
_BETWEEN_TIMES = 24  # columns
_HOT, _HOTTEST = 0.85, 0.97  # of what is critical, or of the limit
BY_HEAT, BY_POWER = "h", "P"  # on the axis of the time

Khz = float | None
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Lines:
    """Two clocks, or of several CPUs two sets of them, a column; and by column, whether all of them are stale."""

    halves: Sequence[Khz]
    sets: Sequence[frozenset[int]]
    are_stale: Sequence[bool]

    @property
    def known(self) -> list[float]:
        return [khz for khz in self.halves if khz is not None] or [khz for each in self.sets for khz in each]


def chart_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The line, its axes, and the base and the highest clock as references; or why there is no line."""
    room, numbers = width - LABEL, in_sight(model, width)
    lines = _lines(model, numbers)
    if not lines.known or height < _LEAST_CHART or room < 2:
        said = [cut([(f" {line}", "plain")], width) for line in textwrap.wrap(why_no_clock(model), max(width - 2, 10))]
        return (said if not lines.known else [])[:height]
    lanes = _lanes(model, numbers, room, height - 1, glyphs) if height >= _LEAST_WITH_LANES else []
    tall, axis = height - 1 - len(lanes), _axis(model, lines.known)
    drawn = _drawn(lines, room, tall, axis, glyphs)
    is_stale = [False] * (room - len(lines.are_stale)) + list(lines.are_stale)
    cursor = room - 1 - last_in_sight(model, width)[1] if model.cursor is not None else None
    tick, edge = ("┤", "┊") if glyphs.has_braille else ("+", "|")
    labels, references = _labels(axis, tall, glyphs), _references(model, axis, tall, room, glyphs)
    rows: list[Row] = [
        [
            (f"{labels.get(at, ''):>5} {tick if at in labels else edge}", "faint"),
            *_pieces(line, is_stale, references.get(at, " " * room), cursor),
        ]
        for at, line in enumerate(drawn)
    ]
    return [*rows, *lanes, time_row(model, numbers, room, glyphs, _slowed(model, numbers))]


def _drawn(lines: _Lines, room: int, tall: int, axis: _Axis, glyphs: Glyphs) -> list[str]:
    if lines.sets:
        sets = [*[frozenset[int]()] * (2 * room - len(lines.sets)), *lines.sets]
        return (braille_dots if glyphs.has_braille else plain_dots)(sets, tall, axis.low, axis.high)
    halves = [*[None] * (2 * room - len(lines.halves)), *lines.halves]
    return (braille_line if glyphs.has_braille else plain_line)(halves, tall, axis.low, axis.high)


def _lines(model: ScreenModel, numbers: range) -> _Lines:
    """As the user wants them: of the slowest target CPU, of each, or their mean."""
    clocks, target = model.clocks, model.frame.target if model.frame is not None else ()
    stale, zoom = clocks.are_stale(numbers), model.zoom
    ends = range(len(stale), 0, -zoom)
    are_stale = [all(stale[max(end - zoom, 0) : end]) for end in ends][::-1]
    if model.clock_graph == ClockGraph.EACH:
        return _Lines([], _halves(clocks.each(target, numbers), zoom, _all_of), are_stale)
    each = clocks.means(numbers) if model.clock_graph == ClockGraph.MEAN else clocks.slowest(numbers)
    return _Lines(_halves(each, zoom, _least), [], are_stale)


def _halves(clocks: Sequence[V], zoom: int, of: Callable[[Sequence[V]], V]) -> list[V]:
    """Two of them a column, each `of` half of its intervals."""
    if zoom == 1:
        return [khz for khz in clocks for _ in range(2)]
    halves: list[V] = []
    for end in range(len(clocks), 0, -zoom):
        begin, middle = max(end - zoom, 0), max(end - zoom // 2, 0)
        halves += [of(clocks[middle:end]), of(clocks[begin:middle])]
    return halves[::-1]


def _all_of(clocks: Sequence[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*clocks)


def _least(clocks: Sequence[Khz]) -> Khz:
    return min((khz for khz in clocks if khz is not None), default=None)


def _axis(model: ScreenModel, known: Sequence[float]) -> _Axis:
    """All that is drawn, the references too."""
    drawn = [*known, *(khz for khz in (base_khz(model), highest_khz(model)) if khz is not None)]
    low, high = min(drawn), max(drawn)
    margin = max((high - low) * _MARGIN, (_LEAST_SPAN_KHZ - (high - low)) / 2, 0)
    return _Axis(max(low - margin, 0), high + margin)


def _row(khz: float, axis: _Axis, tall: int, glyphs: Glyphs) -> int:
    """That in which the line has this clock."""
    dots = 4 if glyphs.has_braille else 1
    return row_of(khz, tall * dots, axis.low, axis.high) // dots


def _labels(axis: _Axis, tall: int, glyphs: Glyphs) -> Mapping[int, str]:
    """A few round figures in GHz, by the row that they belong to, with a row between them."""
    for step in _STEPS_KHZ:
        ticks = range(-(-int(axis.low) // step) * step, int(axis.high) + 1, step)
        rows = [_row(khz, axis, tall, glyphs) for khz in ticks]
        if 0 < len(set(rows)) == len(rows) <= max(min(tall // 2 + 1, _MOST_FIGURES), 2):
            digits = 2 if step < _STEPS_KHZ[1] else 1
            return {row: f"{khz / 1e6:.{digits}f}" for row, khz in zip(rows, ticks, strict=True)}
    return {0: f"{axis.high / 1e6:.2f}", tall - 1: f"{axis.low / 1e6:.2f}"}


def _references(model: ScreenModel, axis: _Axis, tall: int, room: int, glyphs: Glyphs) -> Mapping[int, str]:
    """By row the line that stands where nothing else is drawn, with its name at the left."""
    dash, names = "┄" if glyphs.has_braille else "-", dict[int, list[str]]()
    for name, khz in (("highest", highest_khz(model)), ("base", base_khz(model))):
        if khz is not None:
            names.setdefault(_row(khz, axis, tall, glyphs), []).append(f"{name} {khz / 1e6:.2f}")
    return {row: f"{dash} {', '.join(named)} ".ljust(room, dash)[:room] for row, named in names.items()}


def _pieces(line: str, is_stale: Sequence[bool], reference: str, cursor: int | None) -> Row:
    """Runs of one style; the column of the snapshot that is shown stands out."""
    row: Row = []
    for at, drawn in enumerate(line):
        style: Style = "selected" if at == cursor else "faint" if drawn == " " or is_stale[at] else "calm"
        _add(row, reference[at] if drawn == " " else drawn, style)
    return row


def _add(row: Row, text: str, style: Style) -> None:
    if row and row[-1][1] == style:
        row[-1] = (row[-1][0] + text, style)
    else:
        row.append((text, style))


def lane_count(model: ScreenModel, width: int) -> int:
    """Of heat and power: those of which anything is known in sight."""
    numbers = in_sight(model, width)
    return sum(any(share is not None for share in each) for _, each in _shares(model, numbers))


def _shares(model: ScreenModel, numbers: range) -> list[tuple[str, list[Khz]]]:
    return [("heat", model.clocks.heat(numbers)), ("power", model.clocks.power(numbers))]


def _lanes(model: ScreenModel, numbers: range, room: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Heat and power, the highest of each column, full where it is critical, or at the limit."""
    known = [(name, shares) for name, shares in _shares(model, numbers) if any(each is not None for each in shares)]
    tall = min(max((height - TALL_LINE) // max(len(known), 1), 1), _TALLEST_LANE)
    rows: list[Row] = []
    for name, shares in known:
        ends = range(len(shares), 0, -model.zoom)
        columns = [_most(shares[max(end - model.zoom, 0) : end]) for end in ends][::-1]
        rows += [
            [
                (f"{'' if below else name:<{LABEL}}{'':{room - len(columns)}}", "faint"),
                *_lane(columns, at, tall, glyphs),
            ]
            for below, at in enumerate(range(tall - 1, -1, -1))
        ]
    return rows


def _lane(columns: Sequence[Khz], at: int, tall: int, glyphs: Glyphs) -> Row:
    """One of its rows, counted from below."""
    row: Row = []
    steps = len(glyphs.ramp) - 1
    for share in columns:
        if share is None:
            _add(row, " " if at else glyphs.unknown, "unknown")
        else:
            style: Style = "grave" if share >= _HOTTEST else "notable" if share >= _HOT else "calm"
            filled = max(round(share * steps * tall), 1) - at * steps
            _add(row, glyphs.ramp[min(max(filled, 0), steps)], style)
    return row


def _most(shares: Sequence[Khz]) -> Khz:
    """None where one that is not known may be more, and what is known is nothing to speak of."""
    known = [share for share in shares if share is not None]
    most = max(known, default=None)
    return most if len(known) == len(shares) or (most or 0) >= _HOT else None


def _slowed(model: ScreenModel, numbers: range) -> Mapping[int, str]:
    """By column, counted from the right, what slowed the target CPUs."""
    found: dict[int, str] = {}
    for number, (heat, power) in zip(numbers, model.clocks.slowed_by(numbers), strict=True):
        if heat or power:
            column = (numbers[-1] - number) // model.zoom
            found[column] = BY_HEAT if heat or found.get(column) == BY_HEAT else BY_POWER
    return found


def slowed_marks(model: ScreenModel, width: int) -> frozenset[str]:
    """Those that stand on the axis."""
    return frozenset(_slowed(model, in_sight(model, width)).values())


def time_row(
    model: ScreenModel, numbers: range, room: int, glyphs: Glyphs, mark_by_column: Mapping[int, str] | None = None
) -> Row:
    """The time of day below some of the last `room` columns; how long ago it was, where that is unknown.

    Marks stand in their columns, counted from the right; a time gives way to them.
    """
    corner, across = ("└", "─") if glyphs.has_braille else ("+", "-")
    marks = {room - 1 - column: mark for column, mark in (mark_by_column or {}).items()}
    line = [marks.get(at, across) for at in range(room)]
    columns = -(-len(numbers) // model.zoom)
    is_newest = numbers[-1] == model.history.count - 1 and not model.is_recorded
    end = ("last" if model.is_stale else "now") if is_newest else ""
    for left in range(room - columns, room - _BETWEEN_TIMES // 2, _BETWEEN_TIMES):
        said = time_of(model, max(numbers[-1] - (room - 1 - left) * model.zoom, numbers[0]))
        if not marks.keys() & range(left, left + len(said)):
            line[left : left + len(said)] = said
    line[room - len(end) :] = end
    row: Row = [(" " * (LABEL - 1) + corner, "faint")]
    for at, text in enumerate(line[:room]):
        _add(row, text, "notable" if at in marks and text == marks[at] else "faint")
    return row if length(row) <= room + LABEL else cut(row, room + LABEL)
