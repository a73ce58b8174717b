"""The log of events: changes from one frame to the next, and the kernel's device events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct, field

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.events.kinds import Event, fold_events, is_same_event
from noisewatch.surfaces.tui.events.watches import Watcher, new_watchers

_MOST = 1000


class EventLog(Struct):
    """The last events, ordered by time, the newest last."""

    events: deque[Event] = field(default_factory=lambda: deque(maxlen=_MOST))
    silence: str | None = None  # the reason why there are no device events
    chosen: Event | None = None  # the event that a key selected; None selects the newest
    drawn: Event | None = None  # the event that was drawn as selected
    filter: str = ""
    folds: bool = True  # whether repeated events are one line
    _watchers: tuple[Watcher, ...] = field(default_factory=new_watchers)

    def add(self, event: Event) -> None:
        """Insert the event in the order of time, unless this or the preceding interval already contains it.

        Both the kernel and the next frame report a CPU that goes offline. The end of an episode and the outcome of a
        repetition are known only later.
        """
        for earlier in reversed(self.events):
            if earlier.number < event.number - 1:
                break
            if (earlier.kind, earlier.text) == (event.kind, event.text):
                return
        later = []
        while self.events and _time_of(self.events[-1]) > _time_of(event):
            later.append(self.events.pop())
        self.events.append(event)
        self.events.extend(reversed(later))

    def watch(self, frame: Frame, number: int) -> None:
        """Add the events of the next frame, which is interval `number`."""
        for watcher in self._watchers:
            for event in watcher(frame, number):
                self.add(event)

    def in_intervals(self, numbers: range) -> Iterator[Event]:
        """Yield the events of these intervals, the newest first."""
        for event in reversed(self.events):
            if event.number < numbers.start:
                return
            if event.number < numbers.stop:
                yield event

    def listed(self) -> list[Event]:
        """Return the events that match all words of the filter, the newest first; `!` before a word negates it.

        Repeated events are folded into one, unless folding is off.
        """
        words = [(word.removeprefix("!"), not word.startswith("!")) for word in self.filter.casefold().split()]
        matching = [
            event
            for event in reversed(self.events)
            if all((word in f"{event.kind} {event.text}".casefold()) == is_so for word, is_so in words)
        ]
        return fold_events(matching) if self.folds else matching

    def row(self) -> int:
        """Return the row of the chosen event; if it was dropped or filtered out, the row of the event before it."""
        listed, chosen = self.listed(), self.chosen
        if chosen is None:
            return 0
        at = next((at for at, event in enumerate(listed) if is_same_event(event, chosen)), None)
        if at is not None:
            return at
        before = (at for at, event in enumerate(listed) if event.at_ns <= chosen.at_ns)
        return next(before, max(len(listed) - 1, 0))

    def selected(self) -> Event | None:
        """Return the event that is shown as selected."""
        listed = self.listed()
        drawn = self.drawn
        if self.chosen is None and drawn is not None and any(is_same_event(event, drawn) for event in listed):
            return drawn
        return listed[self.row()] if listed else None

    def choose(self, rows: int) -> None:
        """Move the selection down by this many rows."""
        listed = self.listed()
        if listed:
            self.chosen = listed[max(min(self.row() + rows, len(listed) - 1), 0)]


def _time_of(event: Event) -> tuple[int, int]:
    """Return the sort key: an interval's events precede device events of the moment when the interval ends."""
    return event.at_ns, event.number
