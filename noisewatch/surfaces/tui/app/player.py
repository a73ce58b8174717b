"""The playback of a recording: which interval is next, when it is due, and how far ahead is read."""

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
    """The moving cursor of the model; reading the recording runs ahead of it."""

    def __init__(self, model: ScreenModel) -> None:
        self._model = model
        self.has_begun = False

    def begin(self) -> None:
        """Play from the first interval."""
        self.has_begun = True
        if self._model.history.count:
            self._model.cursor, self._model.plays = self._model.history.first, True

    def toggle(self) -> None:
        """Stop or play; at the end, play from the beginning."""
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
        """Change the speed by this many steps; positive is faster."""
        at = SPEEDS.index(self._model.speed) + steps
        self._model.speed = SPEEDS[max(min(at, len(SPEEDS) - 1), 0)]

    @property
    def wait_s(self) -> float | None:
        """The time until the next interval is due, or None while stopped."""
        model = self._model
        if not model.plays:
            return None
        following = model.number + 1
        if following >= model.history.count:
            return _NOT_READ_YET_S
        return min(max(model.history.frame(following).seconds / model.speed, _SHORTEST_S), _LONGEST_S)

    def advance(self) -> None:
        """Go to the next interval, if still playing; stop at the end, and at a spike that is to pause it."""
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
    """A player of the sampler's frames for `app`, whose screen `draw` draws."""

    def __init__(self, app: App[None], model: ScreenModel, sampler: SamplerProcess, draw: Callable[[], None]) -> None:
        self._app = app
        self._model = model
        self._sampler = sampler
        self._draw = draw
        self._playback = Playback(model)
        self._next: Timer | None = None  # interval
        self._draws_soon = False

    def take(self, frame: Frame) -> None:
        """Draw a new frame only now and then: a recording is read faster than it is played."""
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
        """Stop or play."""
        self._playback.toggle()
        self._go_on()

    def change_speed(self, steps: int) -> None:
        """Change the speed by this many steps; positive is faster."""
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
        """Set the timer for the next interval at the current speed."""
        if self._next is not None:
            self._next.stop()
        wait_s = self._playback.wait_s
        self._next = self._app.set_timer(wait_s, self._play) if wait_s is not None else None
        self.read_on()

    def read_on(self) -> None:
        """Read ahead of the picture as far as the history has room."""
        self._sampler.read_on(self._model.has_room)
