"""The clock of the slowest target CPU over time, in the columns of the timeline."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from noisewatch.surfaces.tui.draw.braille import braille_line, plain_line, row_of
from noisewatch.surfaces.tui.draw.clock_facts import base_khz, highest_khz, why_no_clock
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, length
from noisewatch.surfaces.tui.draw.timeline import last_in_sight
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

LABEL = 7  # columns: as wide as the label of the timeline
_LEAST_CHART = 3  # rows, that of the time among them
_LEAST_SPAN_KHZ = 100_000  # of the axis: a clock that hardly moves is a level line
_MARGIN = 0.06  # of the span, above and below
_BETWEEN_TIMES = 24  # columns

Khz = float | None


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float


def in_sight(model: ScreenModel, width: int) -> range:
    """The intervals that the timeline shows on a part of the screen that is so wide, as far as they are kept."""
    last, _ = last_in_sight(model, width)
    room = max(width - LABEL, 1)
    return range(max(last + 1 - room * model.zoom, model.history.first), last + 1)


def chart_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The line, its axes, and the base and the highest clock as references; or why there is no line."""
    room, numbers = width - LABEL, in_sight(model, width)
    halves, stale = _halves(model, numbers)
    known = [khz for khz in halves if khz is not None]
    if not known or height < _LEAST_CHART or room < 2:
        said = [cut([(f" {line}", "plain")], width) for line in textwrap.wrap(why_no_clock(model), max(width - 2, 10))]
        return (said if not known else [])[:height]
    axis = _axis(model, known)
    padding: list[Khz] = [None] * (2 * room - len(halves))
    draw = braille_line if glyphs.has_braille else plain_line
    lines = draw([*padding, *halves], height - 1, axis.low, axis.high)
    is_stale = [False] * (room - len(stale)) + stale
    references = {row_of(khz, height - 1, axis.low, axis.high) for khz in (base_khz(model), highest_khz(model)) if khz}
    cursor = room - 1 - last_in_sight(model, width)[1] if model.cursor is not None else None
    edge, dash = ("┤", "┄") if glyphs.has_braille else ("|", "-")
    rows: list[Row] = []
    for at, line in enumerate(lines):
        ghz = (axis.high - (axis.high - axis.low) * at / max(height - 2, 1)) / 1e6
        reference = dash if at in references else " "
        rows.append([(f"{ghz:5.2f} {edge}", "faint"), *_pieces(line, is_stale, reference, cursor)])
    return [*rows, time_row(model, numbers, room, glyphs)]


def _halves(model: ScreenModel, numbers: range) -> tuple[list[Khz], list[bool]]:
    """Two clocks a column, each the slowest of half of its intervals; and by column, whether all of them are stale."""
    clocks, stale = model.clocks.slowest(numbers), model.clocks.are_stale(numbers)
    if model.zoom == 1:
        return [khz for khz in clocks for _ in range(2)], stale
    halves: list[Khz] = []
    are_stale: list[bool] = []
    for end in range(len(clocks), 0, -model.zoom):
        begin, middle = max(end - model.zoom, 0), max(end - model.zoom // 2, 0)
        halves += [_least(clocks[middle:end]), _least(clocks[begin:middle])]
        are_stale.append(all(stale[begin:end]))
    return halves[::-1], are_stale[::-1]


def _least(clocks: Sequence[int | None]) -> Khz:
    return min((khz for khz in clocks if khz is not None), default=None)


def _axis(model: ScreenModel, known: Sequence[float]) -> _Axis:
    """All that is drawn, the references too."""
    drawn = [*known, *(khz for khz in (base_khz(model), highest_khz(model)) if khz is not None)]
    low, high = min(drawn), max(drawn)
    margin = max((high - low) * _MARGIN, (_LEAST_SPAN_KHZ - (high - low)) / 2, 0)
    return _Axis(max(low - margin, 0), high + margin)


def _pieces(line: str, is_stale: Sequence[bool], reference: str, cursor: int | None) -> Row:
    """Runs of one style; the column of the snapshot that is shown stands out."""
    row: Row = []
    for at, drawn in enumerate(line):
        style: Style = "selected" if at == cursor else "faint" if drawn == " " or is_stale[at] else "calm"
        shown = reference if drawn == " " else drawn
        if row and row[-1][1] == style:
            row[-1] = (row[-1][0] + shown, style)
        else:
            row.append((shown, style))
    return row


def time_row(model: ScreenModel, numbers: range, room: int, glyphs: Glyphs) -> Row:
    """The time of day below some of the last `room` columns; how long ago it was, where that is unknown."""
    corner, across = ("└", "─") if glyphs.has_braille else ("+", "-")
    line = across * room
    columns = -(-len(numbers) // model.zoom)
    newest_s = model.clocks.taken_at_s(numbers[-1])
    end = "" if model.history.count - 1 > numbers[-1] else "last" if model.is_stale else "now"
    for left in range(room - columns, room - _BETWEEN_TIMES // 2, _BETWEEN_TIMES):
        number = max(numbers[-1] - (room - 1 - left) * model.zoom, numbers[0])
        at_s = model.clocks.taken_at_s(number)
        if at_s is None or newest_s is None:
            continue
        said = model.wall_clock(round(at_s * 1e9)) or f"-{newest_s - at_s:.0f} s"
        line = line[:left] + said + line[left + len(said) :]
    line = line[: room - len(end)] + end
    row: Row = [(" " * (LABEL - 1) + corner, "faint"), (line, "faint")]
    return row if length(row) <= room + LABEL else cut(row, room + LABEL)
