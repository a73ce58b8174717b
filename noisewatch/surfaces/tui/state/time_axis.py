"""Which intervals stand in which columns: the same on the timeline and all charts of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel

LABEL = 7  # columns before the lane of the timeline
_WIDER_LABEL = 8  # columns: so much more the labels of the map may take, whose lanes show the same intervals
_WIDEST = 4  # columns of an interval
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """`room` columns, from the left, without the label; `zoom` intervals share a place, which takes `wide` columns.

    The intervals that are kept begin with `first`. Behind `last`, the last one in sight, `after` columns are left:
    while there is room the first interval stands at the left, and nothing moves. `marked` is that of the cursor.
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
        """Columns before the first interval in sight."""
        return self.stop - self.width

    @property
    def width(self) -> int:
        """Columns of all intervals in sight."""
        return self.places * self.wide

    @property
    def places(self) -> int:
        """Values that `spread` takes."""
        return -(-len(self.numbers) // self.zoom)

    @property
    def cursor(self) -> int | None:
        """The column of the cursor; None where there is none, or it is out of sight."""
        return self.column(self.marked) if self.marked is not None and self.marked in self.numbers else None

    def column(self, number: int) -> int:
        """Where a sign for that interval stands: in the middle of its columns."""
        return self.stop - ((self.last - number) // self.zoom + 1) * self.wide + (self.wide - 1) // 2

    def of_column(self, column: int) -> range:
        """The intervals that stand there, some of which may not be kept; none beside the lane."""
        if not self.before <= column < self.stop:
            return range(0)
        end = self.last + 1 - (self.stop - 1 - column) // self.wide * self.zoom
        return range(end - self.zoom, end)

    def spread(self, values: Sequence[T]) -> Sequence[T]:
        """Each as often as it takes columns."""
        return values if self.wide == 1 else [value for value in values for _ in range(self.wide)]

    def padded(self, values: Sequence[T], blank: T) -> list[T]:
        """Of all places in sight, for all columns."""
        return [*[blank] * self.before, *self.spread(values), *[blank] * self.after]

    def within(self, room: int) -> TimeAxis:
        """The same columns, counted from the right, beside a label that is wider or narrower."""
        return replace(self, room=max(room, 1))


def axis_of(model: ScreenModel, width: int) -> TimeAxis:
    """Of a timeline that takes so many columns with its label."""
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
