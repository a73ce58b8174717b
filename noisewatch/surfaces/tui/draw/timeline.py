"""The timeline: the worst target CPU's noise, events and runs, in a column for each interval.

All charts of a screen put intervals in the same columns. A run's repetition spans its duration, with its number and the
sign of its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.judgement.run.reasons import RunStanding, mark_of
from noisewatch.operations.frame.frame import RepetitionLine
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row, Style, cut, join_styles, length
from noisewatch.surfaces.tui.draw.levels import level_pieces
from noisewatch.surfaces.tui.events.kinds import EventKind, event_mark
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, columns_of
from noisewatch.surfaces.tui.state.run_history import describe_repetition, latest_ends_ns, overlapping_repetitions
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.units import NS_PER_S, describe_count, short_share

RUNNING = ">"
_WORST_FIRST: list[str] = list(reversed(RunStanding))
_STYLES: dict[str, Style] = {
    RunStanding.DISTURBED: "grave",
    RunStanding.UNKNOWN: "unknown",
    RunStanding.FAILED: "notable",
    RunStanding.CUT_SHORT: "notable",
    RunStanding.UNDISTURBED: "good",
}


def run_row(model: ScreenModel, axis: TimeAxis, glyphs: Glyphs) -> Row:
    """Return the lane of runs; a shared column shows the worst repetition, and numbers are shown if they fit."""
    signs: list[tuple[str, Style]] = [(" ", "plain")] * axis.room
    ordered = _repetitions_by_start(model)
    ends_ns = latest_ends_ns(ordered)
    running = min((since_ns for _, since_ns in model.runs.running_since()), default=None)
    columns_of: dict[tuple[int, int], list[int]] = {}  # by begin and number
    for column, begin_ns, end_ns in _columns(model, axis):
        repetitions = overlapping_repetitions(ordered, ends_ns, begin_ns, end_ns)
        if repetitions:
            worst = min(
                repetitions, key=lambda repetition: (_WORST_FIRST.index(repetition.outcome), -repetition.began_ns)
            )
            signs[column] = mark_of(RunStanding(worst.outcome), glyphs.has_braille), _STYLES[worst.outcome]
            columns_of.setdefault((worst.began_ns, worst.number), []).append(column)
        elif running is not None and end_ns >= running:
            signs[column] = RUNNING, "strong"
    for (_, number), columns in columns_of.items():
        digits = str(number)
        if len(columns) > len(digits):  # one column is left for the outcome's sign
            for column, digit in zip(columns, digits, strict=False):
                signs[column] = digit, signs[column][1]
    return [(f"{'run':<{LABEL}}", "faint"), *join_styles(signs)]


def _repetitions_by_start(model: ScreenModel) -> list[RepetitionLine]:
    return sorted(model.runs.repetitions(), key=attrgetter("began_ns"))


def _columns(model: ScreenModel, axis: TimeAxis) -> list[tuple[int, int, int]]:
    """Return the lane's columns that have kept intervals, each with its start and end (ns)."""
    cells = []
    for column in range(axis.before, axis.stop):
        times = _kept_span_ns(model, axis.intervals_in(column))
        if times is not None:
            cells.append((column, *times))
    return cells


def _kept_span_ns(model: ScreenModel, numbers: Sequence[int]) -> tuple[int, int] | None:
    """Return the start of the first kept interval and the end of the last one (ns), or None if none is kept."""
    kept = [number for number in numbers if model.history.first <= number < model.history.count]
    if not kept:
        return None
    end_s = model.clocks.end_time_s(kept[-1])
    begin_s = model.clocks.end_time_s(kept[0] - 1) if kept[0] > model.history.first else None
    begin_ns = (model.begin_ns or 0) if begin_s is None else round(begin_s * NS_PER_S)
    return None if end_s is None else (begin_ns, round(end_s * NS_PER_S))


def runs_at(model: ScreenModel, axis: TimeAxis) -> list[str]:
    """Return the repetitions in the cursor's column, the worst first."""
    times = _kept_span_ns(model, axis.intervals_in(axis.cursor)) if axis.cursor is not None else None
    if times is None:
        return []
    ordered = _repetitions_by_start(model)
    repetitions = sorted(
        overlapping_repetitions(ordered, latest_ends_ns(ordered), *times),
        key=lambda repetition: _WORST_FIRST.index(repetition.outcome),
    )
    return [describe_repetition(repetition) for repetition in repetitions]


LABEL = 7  # columns of the label before the lane of the timeline
_WIDER_LABEL = 8  # additional columns for labels of the map, whose lanes show the same intervals
_BETWEEN_TIMES = 24  # columns from one time to the next on the axis
T = TypeVar("T")


class TimeAxis(Struct, frozen=True):
    """A lane of `room` columns, without its label; `zoom` intervals share a place.

    All places have equal widths: `held` places take `filled` columns, rounded down to whole columns. `first` is the
    oldest kept interval, `last` the newest in sight. To its right are `after` free columns, because the first interval
    stays at the left while there is room. `marked` is the cursor's interval.
    """

    room: int
    first: int
    last: int
    zoom: int
    held: int = 1
    filled: int = 1  # at least `held`: each place takes one or more whole columns
    after: int = 0
    marked: int | None = None

    @property
    def numbers(self) -> range:
        """The intervals in sight."""
        return range(max(self.last + 1 - self._place_at(self.stop) * self.zoom, self.first), self.last + 1)

    @property
    def stop(self) -> int:
        """The column after the last interval."""
        return self.room - self.after

    @property
    def before(self) -> int:
        """The number of columns before the first interval in sight."""
        return self.stop - self.width

    @property
    def width(self) -> int:
        """The number of columns of all intervals in sight."""
        return self._columns_of(self.places)

    @property
    def places(self) -> int:
        """The number of places in sight."""
        return -(-len(self.numbers) // self.zoom)

    def _columns_of(self, places: int) -> int:
        """Return the number of columns of the last `places` places."""
        return places * self.filled // self.held

    def _place_at(self, columns: int) -> int:
        """Return the number of places, from the last one on, that fit into that many columns."""
        return ((columns + 1) * self.held - 1) // self.filled

    @property
    def cursor(self) -> int | None:
        """The cursor's column, or None if no cursor is in sight."""
        return self.column(self.marked) if self.marked is not None and self.marked in self.numbers else None

    def column(self, number: int) -> int:
        """Return the column for the interval's sign: the middle of its columns."""
        place = (self.last - number) // self.zoom
        return self.stop - (self._columns_of(place) + self._columns_of(place + 1) + 2) // 2

    def intervals_in(self, column: int) -> range:
        """Return the intervals of a column, even if no longer kept, or an empty range outside the lane."""
        if not self.before <= column < self.stop:
            return range(0)
        end = self.last + 1 - self._place_at(self.stop - 1 - column) * self.zoom
        return range(end - self.zoom, end)

    def spread(self, values: Sequence[T]) -> Sequence[T]:
        """Return the values, repeated to have one for each column.

        Each place has one value, or two if columns are drawn in halves.
        """
        places = self.places
        if self.filled == self.held or not places:
            return values
        halves = len(values) // places
        return [
            value
            for at, value in enumerate(values)
            for _ in range(self._columns_of(places - at // halves) - self._columns_of(places - at // halves - 1))
        ]

    def pad(self, values: Sequence[T], blank: T) -> list[T]:
        """Return the values, spread over the columns in sight; `blank` fills the lane's other columns."""
        return [*[blank] * self.before, *self.spread(values), *[blank] * self.after]

    def with_room(self, room: int) -> TimeAxis:
        """Return the axis with another `room`, for a wider or narrower label; columns stay aligned at the right."""
        return replace(self, room=max(room, 1))


def axis_of(model: ScreenModel, width: int) -> TimeAxis:
    """Return the axis of a timeline that has `width` columns, label included."""
    room = max(width - LABEL, 1)
    first, last, zoom = model.history.first, model.history.count - 1, model.zoom
    least = max(room - (_WIDER_LABEL if model.screen == Screen.MAP else 0), 1)
    places, behind = -(-(last + 1 - first) // zoom), (last - model.number) // zoom
    if behind >= least:  # the shown interval is out of sight: move the window, and keep it full
        moved = min(behind - least // 2, places - least)
        last, places = last - moved * zoom, places - moved
    held, filled = _scale(model, least, places)
    return TimeAxis(
        room=room,
        first=first,
        last=last,
        zoom=zoom,
        held=held,
        filled=filled,
        after=max(least - places * filled // held, 0),
        marked=model.cursor,
    )


def strip_axis(model: ScreenModel, width: int) -> TimeAxis:
    """Return the axis of a strip of `width` columns that ends with the shown interval, scaled like the timeline."""
    places = -(-(model.history.count - model.history.first) // model.zoom)
    held, filled = _scale(model, width, places)
    return TimeAxis(max(width, 0), model.history.first, model.number, model.zoom, held, filled)


def _scale(model: ScreenModel, columns: int, places: int) -> tuple[int, int]:
    """Return how many places take how many columns: all of a whole recording fill the columns, others take one each."""
    is_whole = model.is_recorded and model.newest is not None and model.newest.is_last
    return (places, columns) if is_whole and 0 < places < columns else (1, 1)


_LANE, _EVENTS = f"{'target':<{LABEL}}", f"{'event':<{LABEL}}"
_LIMIT = short_share(GRAVE_NS / 1e9)


def timeline_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the lane of the worst target CPU and the axis; in three rows or more also events, in four also runs."""
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


def intervals_in_sight(model: ScreenModel, width: int) -> range:
    """Return the intervals that a timeline of that width shows."""
    return axis_of(model, width).numbers


def _is_live_end(model: ScreenModel, axis: TimeAxis) -> bool:
    """Return whether the last interval in sight is the newest of a running machine."""
    return axis.last == model.history.count - 1 and not model.is_recorded


def _end(model: ScreenModel, axis: TimeAxis) -> str:
    """Return the time of the last interval in sight."""
    return ("last" if model.is_stale else "now") if _is_live_end(model, axis) else time_of(model, axis.last)


def time_of(model: ScreenModel, number: int) -> str:
    """Return the time of day of an interval; if unknown, its time in the recording, or its age."""
    at_ns = round((model.clocks.end_time_s(number) or 0.0) * 1e9)
    wall_clock = model.wall_clock(at_ns)
    if wall_clock is not None:
        return wall_clock
    if model.is_recorded:
        return f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    newest_ns = model.newest.taken_at_ns if model.newest is not None else at_ns
    return f"-{(newest_ns - at_ns) / 1e9:.0f} s"


def _axis_row(model: ScreenModel, axis: TimeAxis, width: int, glyphs: Glyphs) -> Row:
    """Return the axis: the times of both ends, and the cursor's mark with its time and events.

    An end's time is dropped if it does not fit next to the cursor's text.
    """
    begin, end = time_of(model, axis.numbers[0]), _end(model, axis)
    has_ends = axis.width > len(begin) + len(end)
    first, stop = LABEL + axis.before, LABEL + axis.stop
    if axis.cursor is None:
        return [(" " * first, "plain"), (f"{begin:<{axis.width - len(end)}}{end}", "faint")] if has_ends else []
    begin, end = (begin, end) if has_ends else ("", "")
    at = LABEL + axis.cursor
    text = _cursor_text(model, axis)
    left, right = (first + len(begin) + 1, stop - len(end) - 1) if has_ends else (0, width)
    begin, left = (begin, left) if left <= at else ("", 0)
    end, right = (end, right) if at < right else ("", width)
    rooms = [(right - at - 1, True, begin, end), (at - left, False, begin, end)]
    rooms += [(width - at - 1, True, begin, ""), (at, False, "", end)]
    room, is_right, begin, end = next((choice for choice in rooms if choice[0] >= length(text)), max(rooms))
    text = cut(text, room)
    lead = f"{'':<{first}}{begin}" if begin else ""
    before = at if is_right else at - length(text)
    middle: Row = [(glyphs.cursor, "strong"), *text] if is_right else [*text, (glyphs.cursor, "strong")]
    row: Row = [(f"{lead:<{before}}", "faint"), *middle]
    return [*row, (f"{end:>{stop - length(row)}}", "faint")] if end else row


def time_row(
    model: ScreenModel, axis: TimeAxis, glyphs: Glyphs, mark_by_column: Mapping[int, str] | None = None
) -> Row:
    """Return the time axis with the marks of columns, and the times of some columns, as `time_of` returns them.

    A time that would hide a mark is left out.
    """
    corner, across = ("└", "─") if glyphs.has_braille else ("+", "-")
    marks, room = mark_by_column or {}, axis.room
    line = [marks.get(index, across) for index in range(room)]
    is_newest = _is_live_end(model, axis)
    end = _end(model, axis) if is_newest or axis.numbers else ""
    for left in range(axis.before, axis.stop - _BETWEEN_TIMES // 2, _BETWEEN_TIMES):
        time_text = time_of(model, max(axis.intervals_in(left)[-1], axis.numbers[0]))
        if not marks.keys() & range(left, left + len(time_text)):
            line[left : left + len(time_text)] = time_text
    is_free = set(line[max(axis.stop - len(end) - 1, 0) : axis.stop]) <= {across}
    if axis.stop >= len(end) and (is_newest or is_free) and not marks.keys() & range(axis.stop - len(end), axis.stop):
        line[axis.stop - len(end) : axis.stop] = end
    cursor = axis.cursor
    if cursor is not None and line[cursor] == across:
        line[cursor] = glyphs.cursor
    drawn: Row = [(" " * (LABEL - 1) + corner, "faint")]
    for index, text in enumerate(line[:room]):
        is_mark = index in marks and text == marks[index]
        drawn.append((text, "notable" if is_mark else "strong" if text == glyphs.cursor else "faint"))
    row = join_styles(drawn)
    return row if length(row) <= room + LABEL else cut(row, room + LABEL)


_BLANKS = frozenset(" ┄-_")  # signs of a chart that do not stand for a value in their column


def mark_cursor(rows: Sequence[Row], axis: TimeAxis, glyphs: Glyphs) -> list[Row]:
    """Return the rows of a chart with a vertical line in the column of the shown interval; values are highlighted."""
    if axis.cursor is None:
        return list(rows)
    line = "│" if glyphs.has_braille else ":"
    return [_mark_column(row, LABEL + axis.cursor, line) for row in rows]


def _mark_column(row: Row, column: int, line: str) -> Row:
    """Return the row with the sign in `column` highlighted, or replaced by `line` if it is blank."""
    marked: Row = []
    for text, style in row:
        if 0 <= column < len(text):
            sign = text[column]
            own: Style = style if style == "unknown" else "strong"
            marked += [(text[:column], style), (line if sign in _BLANKS else sign, own), (text[column + 1 :], style)]
        else:
            marked.append((text, style))
        column -= len(text)
    return [piece for piece in marked if piece[0]]


def _cursor_text(model: ScreenModel, axis: TimeAxis) -> Row:
    """Return the time and events of the shown column."""
    numbers = axis.intervals_in(axis.cursor) if axis.cursor is not None else range(0)
    texts = [event.text for event in model.log.in_intervals(numbers) if event.kind != EventKind.RUN][::-1]
    texts += runs_at(model, axis)
    at_time = f" {_cursor_time(model)}"
    return [(f"{at_time}: ", "strong"), ("; ".join(texts) + " ", "plain")] if texts else [(f"{at_time} ", "strong")]


def _marks(model: ScreenModel, axis: TimeAxis) -> str:
    """Return a letter for each column that has an event."""
    kinds_by_column: dict[int, set[EventKind]] = {}
    column_by_number: dict[int, int] = {}
    for event in model.log.in_intervals(axis.numbers):
        column = column_by_number.get(event.number)
        if column is None:
            column = column_by_number[event.number] = axis.column(event.number)
        kinds_by_column.setdefault(column, set()).add(event.kind)
    columns = [" "] * axis.room
    for column, kinds in kinds_by_column.items():
        columns[column] = event_mark(kinds)
    return "".join(columns)


def number_in(model: ScreenModel, column: int, width: int) -> int | None:
    """Return the last interval drawn in the column, or None outside the lane."""
    numbers = axis_of(model, width).intervals_in(column - LABEL) if model.history.count else range(0)
    return numbers[-1] if numbers and numbers[-1] >= model.history.first else None


def _cursor_time(model: ScreenModel) -> str:
    into = f"{model.into_s():.0f} s" if model.is_recorded else f"{model.behind_s():.0f} s ago"
    at = model.wall_clock()
    return f"{at}, {into}" if at is not None else into


def timeline_title(model: ScreenModel) -> str:
    """Return the title that describes the lane."""
    zoom_text = f", each column: the worst of {model.zoom} intervals" if model.zoom > 1 else ""
    return f"noise of the worst target CPU{zoom_text}"


def over_limit(model: ScreenModel) -> list[str]:
    """Return texts on the kept intervals: noise of target CPUs over the limit or unknown, and drops of their clocks."""
    numbers = model.history.kept
    if not numbers:
        return []
    noisy, unknown_count = model.history.count_noisy(numbers)
    count_text = f"over {_LIMIT} in {noisy} of {describe_count(len(numbers), 'interval')}"
    unknown = [f"{unknown_count} unknown"] if unknown_count else []
    drops = len(model.clocks.drops())
    return [count_text, *unknown, *([describe_count(drops, "clock drop")] if drops else [])]
