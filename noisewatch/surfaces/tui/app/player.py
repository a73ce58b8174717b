"""The timers behind a recording that plays: when the next interval is due, and how far ahead is read."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.timer import Timer

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.state.playback import Playback
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

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
