"""The player of a recording: it moves the shown interval at the chosen speed, and limits reading ahead."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_NOT_READ_YET_S = 0.1
_SHORTEST_S, _LONGEST_S = 0.02, 10.0
_READ_AHEAD_DRAWN_S = 0.1


class Player:
    """A player that moves the model's cursor through a recording, which is read ahead of the cursor.

    `set_timer` calls a function after a time (s), `draw` draws the screen, `read_on` sets whether frames are read.
    """

    def __init__(
        self,
        model: ScreenModel,
        set_timer: Callable[[float, Callable[[], None]], Timer],
        draw: Callable[[], None],
        read_on: Callable[[bool], None],
    ) -> None:
        self._model = model
        self._set_timer, self._draw, self._read_on = set_timer, draw, read_on
        self._next: Timer | None = None  # the timer that shows the next interval
        self._has_begun = self._draws_soon = False

    def take(self, frame: Frame) -> None:
        """Begin to play with the first frames; draw later ones rarely, because reading is faster than playing."""
        if not self._has_begun:
            if self._model.history.count > 1 or frame.is_last:
                self.begin()
            self._draw()
        elif not self._draws_soon:
            self._draws_soon = True
            self._set_timer(_READ_AHEAD_DRAWN_S, self._draw_ahead)
        self.read_on()

    def _draw_ahead(self) -> None:
        self._draws_soon = False
        self._draw()

    def begin(self) -> None:
        """Play from the first interval."""
        self._has_begun = True
        if self._model.history.count:
            self._model.cursor, self._model.plays = self._model.history.first, True
        self._go_on()

    def toggle(self) -> None:
        """Stop or play; at the end, play again from the beginning."""
        model = self._model
        if model.history.count and not model.plays and self._is_at_end():
            self.begin()
        elif model.history.count:
            model.plays = not model.plays
            model.cursor = model.history.count - 1 if model.cursor is None else model.cursor
        self._go_on()

    def change_speed(self, steps: int) -> None:
        """Change the speed by this many steps of SPEEDS; positive is faster."""
        at = SPEEDS.index(self._model.speed) + steps
        self._model.speed = SPEEDS[max(min(at, len(SPEEDS) - 1), 0)]
        self._go_on()

    def wait_s(self) -> float | None:
        """Return the time until the next interval is due, or None while stopped."""
        model = self._model
        if not model.plays:
            return None
        following = model.number + 1
        if following >= model.history.count:
            return _NOT_READ_YET_S
        return min(max(model.history.frame(following).seconds / model.speed, _SHORTEST_S), _LONGEST_S)

    def advance(self) -> None:
        """Show the next interval if still playing; stop at the end, and on a spike if the model pauses on spikes."""
        model = self._model
        if model.plays and self._is_at_end():
            model.plays = False
        elif model.plays and model.number + 1 < model.history.count:
            model.cursor = model.number + 1
            if model.pauses_on_spike and model.history.is_spike(model.cursor):
                model.plays = model.pauses_on_spike = False
        self._go_on()
        self._draw()

    def _is_at_end(self) -> bool:
        newest = self._model.newest
        return newest is not None and newest.is_last and self._model.number >= self._model.history.count - 1

    def _go_on(self) -> None:
        """Set the timer for the next interval at the current speed."""
        if self._next is not None:
            self._next.stop()
        wait_s = self.wait_s()
        self._next = self._set_timer(wait_s, self.advance) if wait_s is not None else None
        self.read_on()

    def read_on(self) -> None:
        """Let frames be read ahead of the picture while the history has room."""
        self._read_on(self._model.has_room)
