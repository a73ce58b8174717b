"""A recording that plays: which interval is next and when it is due, and how far ahead is read."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.timer import Timer

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_NOT_READ_YET_S = 0.1
_SHORTEST_S, _LONGEST_S = 0.02, 10.0


class Playback:
    """Moves the cursor of the model. What is read of the recording runs ahead of it."""

    def __init__(self, model: ScreenModel) -> None:
        self._model = model
        self.has_begun = False

    def begin(self) -> None:
        """From the first interval."""
        self.has_begun = True
        if self._model.history.count:
            self._model.cursor, self._model.plays = self._model.history.first, True

    def toggle(self) -> None:
        """Stops, or goes on; from the beginning where the end was reached."""
        model = self._model
        if not model.history.count:
            return
        if not model.plays and self._is_at_end():
            self.begin()
        else:
            model.plays = not model.plays
        if model.cursor is None:
            model.cursor = model.history.count - 1

    def change_speed(self, steps: int) -> None:
        """So many steps faster, or slower."""
        at = SPEEDS.index(self._model.speed) + steps
        self._model.speed = SPEEDS[max(min(at, len(SPEEDS) - 1), 0)]

    @property
    def wait_s(self) -> float | None:
        """Until the next interval is to be shown; None while the picture stands."""
        model = self._model
        if not model.plays:
            return None
        following = model.number + 1
        if following >= model.history.count:
            return _NOT_READ_YET_S
        return min(max(model.history.frame(following).seconds / model.speed, _SHORTEST_S), _LONGEST_S)

    def advance(self) -> None:
        """Goes to the next interval, unless it was stopped since that was due; stops at the end, and at a spike that
        is to pause it."""
        model = self._model
        if not model.plays:
            return
        if self._is_at_end():
            model.plays = False
        elif model.number + 1 < model.history.count:
            model.cursor = model.number + 1
            if model.pauses_on_spike and model.history.is_spike(model.cursor):
                model.plays = model.pauses_on_spike = False

    def _is_at_end(self) -> bool:
        newest = self._model.newest
        return newest is not None and newest.is_last and self._model.number >= self._model.history.count - 1


_READ_AHEAD_DRAWN_S = 0.1


class Player:
    """Plays what the sampler reads, for `app`, whose screen `draw` draws."""

    def __init__(self, app: App[None], model: ScreenModel, sampler: SamplerProcess, draw: Callable[[], None]) -> None:
        self._app = app
        self._model = model
        self._sampler = sampler
        self._draw = draw
        self._playback = Playback(model)
        self._next: Timer | None = None  # interval
        self._draws_soon = False

    def take(self, frame: Frame) -> None:
        """A recording comes faster than it is played: what comes is drawn now and then."""
        if not self._playback.has_begun:
            if self._model.history.count > 1 or frame.is_last:
                self._playback.begin()
                self._go_on()
            self._draw()
        elif not self._draws_soon:
            self._draws_soon = True
            self._app.set_timer(_READ_AHEAD_DRAWN_S, self._draw_ahead)
        self.read_on()

    def toggle(self) -> None:
        """Stops, or goes on."""
        self._playback.toggle()
        self._go_on()

    def change_speed(self, steps: int) -> None:
        """So many steps faster, or slower."""
        self._playback.change_speed(steps)
        self._go_on()

    def _draw_ahead(self) -> None:
        self._draws_soon = False
        self._draw()

    def _play(self) -> None:
        self._playback.advance()
        self._go_on()
        self._draw()

    def _go_on(self) -> None:
        """The next interval is due when it is, at the speed that is wanted now."""
        if self._next is not None:
            self._next.stop()
        wait_s = self._playback.wait_s
        self._next = self._app.set_timer(wait_s, self._play) if wait_s is not None else None
        self.read_on()

    def read_on(self) -> None:
        """So far ahead of the picture as there is room, wherever a key has put it."""
        self._sampler.read_on(self._model.has_room)
