"""The timeline: the noise of the worst target CPU in each interval, what happened, and which interval is shown."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS, Glyphs, columns_of, level_pieces
from noisewatch.surfaces.tui.draw.text_row import Row, cut, length
from noisewatch.surfaces.tui.events.kinds import EventKind, mark_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_share

_LABEL, _EVENT_LABEL = "target ", "event  "

_WIDER_LABEL = 10  # columns: so much more the labels of the map take, whose lanes show the same intervals
_LIMIT = short_share(GRAVE_NS / 1e9)


@dataclass(frozen=True, slots=True)
class _Window:
    """The intervals in sight, the last one at the right, so many a column; `behind` is the column that is shown."""

    last: int
    room: int
    zoom: int
    behind: int

    def numbers(self, first: int) -> range:
        """Those of them that are kept."""
        return range(max(self.last + 1 - self.room * self.zoom, first), self.last + 1)

    def column(self, number: int) -> int:
        """The column of an interval, counted from the right."""
        return (self.last - number) // self.zoom

    def of_column(self, column: int) -> range:
        end = self.last + 1 - column * self.zoom
        return range(end - self.zoom, end)


def timeline_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The lane, the newest interval at the right; with three rows the events; and where the picture was taken."""
    room = width - len(_LABEL)
    if height < 2 or room < 1 or not model.history.count:
        return [[] for _ in range(height)]
    window = _window(model, room)
    lane = level_pieces(
        columns_of(model.history.worst(window.numbers(model.history.first)), model.zoom)[-room:], glyphs
    )
    rows: list[Row] = [[(_LABEL, "faint"), (" " * (room - length(lane)), "plain"), *lane]]
    if height > 2:
        rows.append([(_EVENT_LABEL, "faint"), (_marks(model, window), "strong")])
    return [*rows, _axis_row(model, window, width, glyphs)]


def _window(model: ScreenModel, room: int) -> _Window:
    last = model.history.count - 1
    behind = (last - model.number) // model.zoom
    if behind >= max(room - _WIDER_LABEL, 1):  # so far back that the window has to move
        last -= (behind - room // 2) * model.zoom
        behind = (last - model.number) // model.zoom
    return _Window(last, room, model.zoom, behind)


def last_in_sight(model: ScreenModel, width: int) -> tuple[int, int]:
    """The interval at the right edge, and the column that is shown, counted from there: lanes above agree with it."""
    if not model.history.count:
        return model.number, 0
    window = _window(model, max(width - len(_LABEL), 1))
    return window.last, window.behind


def in_sight(model: ScreenModel, width: int) -> range:
    """The intervals that a timeline of that width shows."""
    if not model.history.count:
        return range(0)
    return _window(model, max(width - len(_LABEL), 1)).numbers(model.history.first)


def _ends(model: ScreenModel, window: _Window) -> tuple[str, str]:
    """When the first interval in sight ended, and the last one."""
    numbers = window.numbers(model.history.first)
    begin = time_of(model, numbers[0])
    if window.last < model.history.count - 1 or model.is_recorded:
        return begin, time_of(model, window.last)
    return begin, "last" if model.is_stale else "now"


def time_of(model: ScreenModel, number: int) -> str:
    """The time of day; where that is not known, how far into the recording, or how long ago."""
    at_ns = round((model.clocks.taken_at_s(number) or 0.0) * 1e9)
    wall_clock = model.wall_clock(at_ns)
    if wall_clock is not None:
        return wall_clock
    if model.is_recorded:
        return f"{(at_ns - (model.begin_ns or 0)) / 1e9:.0f} s"
    newest_ns = model.newest.taken_at_ns if model.newest is not None else at_ns
    return f"-{(newest_ns - at_ns) / 1e9:.0f} s"


def _axis_row(model: ScreenModel, window: _Window, width: int, glyphs: Glyphs) -> Row:
    """How far the lane reaches, at both ends; between them the mark below the column that is shown, and what was then.

    An end that finds no room beside those goes.
    """
    columns = -(-len(window.numbers(model.history.first)) // window.zoom)
    begin, end = _ends(model, window)
    has_ends = columns > len(begin) + len(end)
    first = len(_LABEL) + window.room - columns
    if model.cursor is None:
        return [(" " * first, "plain"), (f"{begin:<{columns - len(end)}}{end}", "faint")] if has_ends else []
    begin, end = (begin, end) if has_ends else ("", "")
    at = len(_LABEL) + window.room - 1 - window.behind
    left, right = (first + len(begin) + 1, width - len(end) - 1) if has_ends else (0, width)
    said = _said(model, window)
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
    return [*row, (f"{end:>{width - length(row)}}", "faint")] if end else row


def _said(model: ScreenModel, window: _Window) -> Row:
    """When the column was that is shown, and what happened then."""
    told = [event.text for event in model.log.within(window.of_column(window.behind))][::-1]
    at_time = f" {_at(model)}"
    return [(f"{at_time}: ", "strong"), ("; ".join(told) + " ", "plain")] if told else [(f"{at_time} ", "strong")]


def _marks(model: ScreenModel, window: _Window) -> str:
    """A letter in each column in which something happened."""
    kinds_by_column: dict[int, set[EventKind]] = {}
    for event in model.log.within(window.numbers(model.history.first)):
        kinds_by_column.setdefault(window.column(event.number), set()).add(event.kind)
    columns = (kinds_by_column.get(column) for column in range(window.room - 1, -1, -1))
    return "".join(mark_of(kinds) if kinds else " " for kinds in columns)


def number_in(model: ScreenModel, column: int, width: int) -> int | None:
    """The interval that is drawn in the column; None beside the lane."""
    room = width - len(_LABEL)
    if not len(_LABEL) <= column < width or not model.history.count:
        return None
    number = _window(model, room).last - (width - 1 - column) * model.zoom
    return number if number >= model.history.first else None


def _at(model: ScreenModel) -> str:
    into = f"{model.into_s():.0f} s" if model.is_recorded else f"{model.behind_s():.0f} s ago"
    at = model.wall_clock()
    return f"{at}, {into}" if at is not None else into


def timeline_title(model: ScreenModel) -> str:
    """What the lane shows."""
    each = f", the worst of {model.zoom} intervals a column" if model.zoom > 1 else ""
    return f"noise of the worst target CPU{each}"


def over_limit(model: ScreenModel, width: int) -> list[str]:
    """In how many of the intervals in sight the noise of a target CPU was over the limit, or may have been."""
    numbers = in_sight(model, width)
    if not numbers:
        return []
    noisy, unread = model.history.noisy_within(numbers)
    counted = f"over {_LIMIT} in {noisy} of {len(numbers)} intervals"
    return [counted, f"{unread} unknown"] if unread else [counted]
