"""The timeline: noise of the worst target CPU by interval, events, and which interval is shown."""

from __future__ import annotations

from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS, Glyphs, columns_of, level_pieces
from noisewatch.surfaces.tui.draw.text_row import Row, cut, length
from noisewatch.surfaces.tui.events.kinds import EventKind, mark_of
from noisewatch.surfaces.tui.runs.lane import run_row, runs_at
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.time_axis import LABEL, TimeAxis, axis_of
from noisewatch.units import short_share

_LANE, _EVENTS = f"{'target':<{LABEL}}", f"{'event':<{LABEL}}"
_LIMIT = short_share(GRAVE_NS / 1e9)


def timeline_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the lane of the worst target CPU and the axis; from three rows on with events, from four with runs."""
    if height < 2 or width <= LABEL or not model.history.count:
        return [[] for _ in range(height)]
    axis = axis_of(model, width)
    lane = level_pieces(axis.spread(columns_of(model.history.worst(axis.numbers), axis.zoom)), glyphs)
    rows: list[Row] = [[(_LANE, "faint"), (" " * axis.before, "plain"), *lane, (" " * axis.after, "plain")]]
    if height > 2:
        rows.append([(_EVENTS, "faint"), (_marks(model, axis), "strong")])
    if height > 3 and model.runs.has_any:
        rows.insert(1, run_row(model, axis, glyphs))
    return [*rows, _axis_row(model, axis, width, glyphs)]


def in_sight(model: ScreenModel, width: int) -> range:
    """Return the intervals that a timeline of that width shows."""
    return axis_of(model, width).numbers


def _ends(model: ScreenModel, axis: TimeAxis) -> tuple[str, str]:
    """Return the times of the first and the last interval in sight."""
    begin = time_of(model, axis.numbers[0])
    if axis.last < model.history.count - 1 or model.is_recorded:
        return begin, time_of(model, axis.last)
    return begin, "last" if model.is_stale else "now"


def time_of(model: ScreenModel, number: int) -> str:
    """Return the time of day of an interval, or else its time in the recording, or its age."""
    at_ns = round((model.clocks.taken_at_s(number) or 0.0) * 1e9)
    wall_clock = model.wall_clock(at_ns)
    if wall_clock is not None:
        return wall_clock
    if model.is_recorded:
        return f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    newest_ns = model.newest.taken_at_ns if model.newest is not None else at_ns
    return f"-{(newest_ns - at_ns) / 1e9:.0f} s"


def _axis_row(model: ScreenModel, axis: TimeAxis, width: int, glyphs: Glyphs) -> Row:
    """Return the axis: the times of both ends, and the cursor's mark with its time and events.

    An end that does not fit next to the cursor's text is dropped.
    """
    begin, end = _ends(model, axis)
    has_ends = axis.width > len(begin) + len(end)
    first, stop = LABEL + axis.before, LABEL + axis.stop
    if axis.cursor is None:
        return [(" " * first, "plain"), (f"{begin:<{axis.width - len(end)}}{end}", "faint")] if has_ends else []
    begin, end = (begin, end) if has_ends else ("", "")
    at = LABEL + axis.cursor
    said = _said(model, axis)
    left, right = (first + len(begin) + 1, stop - len(end) - 1) if has_ends else (0, width)
    begin, left = (begin, left) if left <= at else ("", 0)
    end, right = (end, right) if at < right else ("", width)
    rooms = [(right - at - 1, True, begin, end), (at - left, False, begin, end)]
    rooms += [(width - at - 1, True, begin, ""), (at, False, "", end)]
    room, is_right, begin, end = next((each for each in rooms if each[0] >= length(said)), max(rooms))
    said = cut(said, room)
    lead = f"{'':<{first}}{begin}" if begin else ""
    before = at if is_right else at - length(said)
    middle: Row = [(glyphs.cursor, "strong"), *said] if is_right else [*said, (glyphs.cursor, "strong")]
    row: Row = [(f"{lead:<{before}}", "faint"), *middle]
    return [*row, (f"{end:>{stop - length(row)}}", "faint")] if end else row


def _said(model: ScreenModel, axis: TimeAxis) -> Row:
    """Return the time and events of the shown column."""
    numbers = axis.of_column(axis.cursor) if axis.cursor is not None else range(0)
    told = [event.text for event in model.log.within(numbers) if event.kind != EventKind.RUN][::-1]
    told += runs_at(model, axis)
    at_time = f" {_at(model)}"
    return [(f"{at_time}: ", "strong"), ("; ".join(told) + " ", "plain")] if told else [(f"{at_time} ", "strong")]


def _marks(model: ScreenModel, axis: TimeAxis) -> str:
    """Return a letter for each column that has an event."""
    kinds_by_column: dict[int, set[EventKind]] = {}
    column_by_number: dict[int, int] = {}
    for event in model.log.within(axis.numbers):
        column = column_by_number.get(event.number)
        if column is None:
            column = column_by_number[event.number] = axis.column(event.number)
        kinds_by_column.setdefault(column, set()).add(event.kind)
    columns = [" "] * axis.room
    for column, kinds in kinds_by_column.items():
        columns[column] = mark_of(kinds)
    return "".join(columns)


def number_in(model: ScreenModel, column: int, width: int) -> int | None:
    """Return the interval drawn in the column, or None outside of the lane."""
    numbers = axis_of(model, width).of_column(column - LABEL) if model.history.count else range(0)
    return numbers[-1] if numbers and numbers[-1] >= model.history.first else None


def _at(model: ScreenModel) -> str:
    into = f"{model.into_s():.0f} s" if model.is_recorded else f"{model.behind_s():.0f} s ago"
    at = model.wall_clock()
    return f"{at}, {into}" if at is not None else into


def timeline_title(model: ScreenModel) -> str:
    """Return the title that describes the lane."""
    each = f", the worst of {model.zoom} intervals a column" if model.zoom > 1 else ""
    return f"noise of the worst target CPU{each}"


def over_limit(model: ScreenModel) -> list[str]:
    """Return in how many kept intervals the noise of a target CPU was over the limit, and in how many it is unknown."""
    numbers = model.history.kept
    if not numbers:
        return []
    noisy, unread = model.history.noisy_within(numbers)
    counted = f"over {_LIMIT} in {noisy} of {len(numbers)} interval{'s' * (len(numbers) != 1)}"
    return [counted, f"{unread} unknown"] if unread else [counted]
