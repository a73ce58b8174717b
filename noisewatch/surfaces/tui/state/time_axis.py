"""The mapping of intervals to columns, shared by the timeline and all charts of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel

LABEL = 7  # columns before the lane of the timeline
_WIDER_LABEL = 8  # more columns for the labels of the map, whose lanes show the same intervals
_WIDEST = 4  # most columns of one interval
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A lane of `room` columns, without its label; `zoom` intervals share a place, which takes `wide` columns.

    `first` is the oldest kept interval, `last` the newest in sight. `after` columns behind it are left: while there
    is room, the first interval is at the left, and no column moves. `marked` is the interval of the cursor.
    """

    room: int
    first: int
    last: int
    zoom: int
    wide: int
    after: int
    marked: int | None

    @property
    def numbers(self) -> range:
        """The intervals in sight."""
        places = (self.room - self.after) // self.wide
        return range(max(self.last + 1 - places * self.zoom, self.first), self.last + 1)

    @property
    def stop(self) -> int:
        """The column behind the last interval."""
        return self.room - self.after

    @property
    def before(self) -> int:
        """The number of columns before the first interval in sight."""
        return self.stop - self.width

    @property
    def width(self) -> int:
        """The number of columns of all intervals in sight."""
        return self.places * self.wide

    @property
    def places(self) -> int:
        """The number of places in sight: the number of values that `spread` expects."""
        return -(-len(self.numbers) // self.zoom)

    @property
    def cursor(self) -> int | None:
        """The column of the cursor, or None if there is no cursor in sight."""
        return self.column(self.marked) if self.marked is not None and self.marked in self.numbers else None

    def column(self, number: int) -> int:
        """Return the column for a sign of the interval: the middle of its columns."""
        return self.stop - ((self.last - number) // self.zoom + 1) * self.wide + (self.wide - 1) // 2

    def of_column(self, column: int) -> range:
        """Return the intervals of a column, some of which may not be kept; an empty range outside of the lane."""
        if not self.before <= column < self.stop:
            return range(0)
        end = self.last + 1 - (self.stop - 1 - column) // self.wide * self.zoom
        return range(end - self.zoom, end)

    def spread(self, values: Sequence[T]) -> Sequence[T]:
        """Repeat the values, so that there is one for each column."""
        return values if self.wide == 1 else [value for value in values for _ in range(self.wide)]

    def padded(self, values: Sequence[T], blank: T) -> list[T]:
        """Return the values of all places in sight, spread and padded with `blank` to all columns of the lane."""
        return [*[blank] * self.before, *self.spread(values), *[blank] * self.after]

    def within(self, room: int) -> TimeAxis:
        """Return the axis with another `room`, its columns aligned at the right, for a wider or narrower label."""
        return replace(self, room=max(room, 1))


def axis_of(model: ScreenModel, width: int) -> TimeAxis:
    """Return the axis of a timeline that has `width` columns, label included."""
    room = max(width - LABEL, 1)
    first, last, zoom = model.history.first, model.history.count - 1, model.zoom
    least = max(room - (_WIDER_LABEL if model.screen == Screen.MAP else 0), 1)
    places, behind = -(-(last + 1 - first) // zoom), (last - model.number) // zoom
    if behind >= least:  # so far back that the window has to move, and stays full
        moved = min(behind - least // 2, places - least)
        last, places = last - moved * zoom, places - moved
    is_whole = model.is_recorded and model.newest is not None and model.newest.is_last
    widest = _WIDEST if zoom == 1 else least  # few places fill the lane, so that zooming out empties none of it
    wide = max(min(least // places, widest), 1) if is_whole and places else 1
    return TimeAxis(
        room=room,
        first=first,
        last=last,
        zoom=zoom,
        wide=wide,
        after=max(least - places * wide, 0),
        marked=model.cursor,
    )
