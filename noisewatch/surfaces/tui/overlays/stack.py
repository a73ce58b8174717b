"""What a key asks for, above the monitor: announced, started, watched from a thread of its own, and left again."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from noisewatch.errors import CannotMeasure
from noisewatch.faults import contained
from noisewatch.surfaces.tui.overlays.overlay import RUNNING, Overlay, Sources

_DRAW_EVERY_S = 0.25  # a calibration tells more often how far it is, and its chart takes milliseconds to draw


class Above:
    """At most one screen. `pause` and `resume` are the sampler's: a calibration would be in what it sees.

    `keep` is told of a screen that has a result.
    """

    def __init__(
        self,
        app: App[None],
        sources: Sources,
        draw: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
        keep: Callable[[Overlay], None],
    ) -> None:
        self._app = app
        self._sources = sources
        self._draw, self._pause, self._resume, self._keep = draw, pause, resume, keep
        self.screen: Overlay | None = None
        self._next_draw_s = 0.0

    def announce(self, screen: Overlay) -> None:
        """Shows what it will cost; nothing is started yet."""
        if self.screen is None:
            self.screen = screen

    def start(self) -> None:
        """Begins what was announced."""
        screen = self.screen
        if screen is None or not screen.can_start:
            return
        screen.state = RUNNING
        if screen.pauses_sampler:
            self._pause()
        self._app.run_worker(lambda: self._run(screen), thread=True)

    def leave(self) -> None:
        """Goes back to the monitor; what runs is stopped by its next look at the screen."""
        screen, self.screen = self.screen, None
        if screen is not None and screen.pauses_sampler and screen.state == RUNNING:
            self._resume()

    def _run(self, screen: Overlay) -> None:
        """In a thread; the screen is changed, and drawn, by the other one."""
        try:
            while screen.state == RUNNING and self.screen is screen and self._app.is_running:
                take = self._measured(screen)
                if self._app.is_running:
                    self._app.call_from_thread(self._finish, screen, take)
        finally:
            screen.end()

    def _measured(self, screen: Overlay) -> Callable[[], None]:
        """What has the screen take in the result, or why there is none."""

        def failed(reason: str) -> Callable[[], None]:
            return lambda: screen.fail(reason)

        return contained(lambda: screen.measure(self._sources, lambda change: self._show(screen, change)), failed)

    def _show(self, screen: Overlay, change: Callable[[], None]) -> None:
        """Raises CannotMeasure once the screen was left."""
        if self.screen is not screen or not self._app.is_running:
            raise CannotMeasure("stopped")
        self._app.call_from_thread(self._change, change)

    def _change(self, change: Callable[[], None]) -> None:
        change()
        if time.monotonic() >= self._next_draw_s:
            self._next_draw_s = time.monotonic() + _DRAW_EVERY_S
            self._draw()

    def _take_in(self, screen: Overlay, take: Callable[[], None]) -> None:
        take()
        self._keep(screen)

    def _finish(self, screen: Overlay, take: Callable[[], None]) -> None:
        if self.screen is not screen:
            return
        contained(lambda: self._take_in(screen, take), screen.fail)
        self._draw()
        if screen.pauses_sampler and screen.state != RUNNING:
            self._resume()
