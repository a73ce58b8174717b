"""Which interval is shown: the newest, unless the picture is frozen or one was stepped back to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.irqs import IrqSetting
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.collected import Collected

ZOOMS = (1, 2, 10, 60)  # intervals a column


@dataclass(slots=True)
class TimeTravel(Collected):
    """Stepped back, or frozen, it goes on collecting."""

    cursor: int | None = None  # the number of the interval that is shown; None is always the newest
    pauses_on_spike: bool = False  # whether the next one freezes the picture
    plays: bool = False  # of a recording, whether the picture goes on by itself
    speed: float = 1.0
    zoom: int = ZOOMS[0]
    notice: str | None = None  # what a key has done, until the next one

    @property
    def frame(self) -> Frame | None:
        return self.newest if self.cursor is None else self.history.frame(self.cursor)

    @property
    def irq_settings(self) -> Mapping[str, IrqSetting]:
        """As they were told last up to what is shown, by label."""
        return self.irqs.settings if self.cursor is None else self.irqs.settings_at(self.cursor)

    @property
    def has_room(self) -> bool:
        """Whether more may be taken in without forgetting what has not been shown yet."""
        return self.cursor is None or self.history.count - self.number < self.history.capacity

    @property
    def number(self) -> int:
        """Of the interval that is shown; -1 before there is one."""
        return self.history.count - 1 if self.cursor is None else self.cursor

    def add(self, frame: Frame, line: bytes | None = None) -> None:
        """Takes in the next frame, and what it came as; moves what is shown where it has to."""
        self.take_in(frame, line)
        self.silence = self.trouble = None
        if frame.seconds <= 0:
            return
        if self.cursor is not None:
            if self.cursor < self.history.first:
                self.cursor, self.notice = self.history.first, "that interval is no longer kept: this is the oldest"
        elif self.pauses_on_spike and not self.is_recorded and self.history.is_spike(self.history.count - 1):
            self.cursor, self.pauses_on_spike = self.history.count - 1, False

    def toggle_freeze(self) -> None:
        """Stays at the interval that is shown, or goes back to the newest."""
        if self.cursor is None and self.history.count:
            self.cursor = self.history.count - 1
        else:
            self.cursor = None

    def toggle_pause_on_spike(self) -> None:
        """Has the next spike freeze the picture; that needs a picture that moves."""
        self.pauses_on_spike = not self.pauses_on_spike
        if self.pauses_on_spike and not self.is_recorded:
            self.cursor = None

    def step(self, intervals: int) -> None:
        """Goes so many intervals forward, or back; it stays there until it is thawed."""
        if self.history.count:
            self.go_to_number(self.number + intervals * self.zoom)

    def go_to_number(self, number: int) -> None:
        """Stays at that interval, or at the nearest that is kept."""
        self.cursor, self.plays = max(min(number, self.history.count - 1), self.history.first), False

    def step_to_newest(self) -> None:
        """Shows the newest from now on."""
        self.cursor, self.plays = None, False

    def go_to_time(self, at_ns: int) -> None:
        """Goes to the interval that the time is in, or to the nearest that is kept."""
        kept = self.history.kept
        if kept:
            at = bisect_left(kept, at_ns, key=lambda number: self.history.frame(number).taken_at_ns)
            self.go_to_number(kept[min(at, len(kept) - 1)])

    def step_to_spike(self, direction: int) -> None:
        """Goes that way to where the next spike of a target CPU began; stays where there is none, and says so."""
        self.step_among(self.history.spikes(), direction, "spike")

    def step_among(self, numbers: Sequence[int], direction: int, what: str) -> None:
        """Goes that way to the next of these intervals; stays where there is none, and says so."""
        beyond = [number for number in numbers if (number - self.number) * direction > 0]
        if beyond:
            self.go_to_number(beyond[0] if direction > 0 else beyond[-1])
        else:
            self.notice = f"no {'later' if direction > 0 else 'earlier'} {what}"

    def next_zoom(self) -> None:
        self.zoom = ZOOMS[(ZOOMS.index(self.zoom) + 1) % len(ZOOMS)]
