"""What a key asks for, above the monitor: announced, started, watched from a thread of its own, and left again."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from noisewatch.errors import CannotMeasure
from noisewatch.judgement.case import Calibrated
from noisewatch.machine import Machine
from noisewatch.machine.calibrator.run import Progress
from noisewatch.surfaces.following import Followed
from noisewatch.surfaces.tui.asked_screen import RUNNING
from noisewatch.surfaces.tui.calibration_screen import CalibrationScreen, calibrate_machine
from noisewatch.surfaces.tui.trace_screen import TraceScreen, follow_machine


class Above:
    """At most one screen. `pause` and `resume` are the sampler's: a calibration would be in what it sees."""

    def __init__(
        self,
        app: App[None],
        open_machine: Callable[[], Machine] | None,
        draw: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        self._app = app
        self._open_machine = open_machine
        self._draw, self._pause, self._resume = draw, pause, resume
        self.screen: CalibrationScreen | TraceScreen | None = None

    def announce(self, screen: CalibrationScreen | TraceScreen) -> None:
        """Shows what it will cost; nothing is started yet."""
        if self.screen is None:
            self.screen = screen

    def start(self) -> None:
        """Begins what was announced."""
        screen = self.screen
        if screen is None or not screen.can_start:
            return
        screen.state = RUNNING
        if isinstance(screen, TraceScreen):
            self._app.run_worker(lambda: self._follow(screen), thread=True, exit_on_error=False)
        else:
            self._pause()
            self._app.run_worker(lambda: self._calibrate(screen), thread=True, exit_on_error=False)

    def leave(self) -> None:
        """Goes back to the monitor; what runs is stopped by its next look at the screen."""
        screen, self.screen = self.screen, None
        if isinstance(screen, CalibrationScreen) and screen.state == RUNNING:
            self._resume()

    def _stop_if_left(self, screen: CalibrationScreen | TraceScreen) -> None:
        if self.screen is not screen or not self._app.is_running:
            raise CannotMeasure("stopped")

    def _follow(self, screen: TraceScreen) -> None:
        """In a thread: one stretch after the other, until the screen is left."""

        def watch(done_s: float) -> None:
            self._stop_if_left(screen)
            if int(done_s) != int(screen.done_s):
                self._app.call_from_thread(self._show_followed, screen, done_s, None)

        while screen.state == RUNNING and self.screen is screen:
            result = follow_machine(self._open_machine, frozenset(screen.target), watch)
            if self.screen is not screen or not self._app.is_running:
                return
            self._app.call_from_thread(self._show_followed, screen, 0.0, result)

    def _show_followed(self, screen: TraceScreen, done_s: float, result: Followed | str | None) -> None:
        screen.done_s = done_s
        if result is not None:
            screen.take(result)
        self._draw()

    def _calibrate(self, screen: CalibrationScreen) -> None:
        """In a thread; the screen is drawn, and its state changed, by the other one."""

        def watch(progress: Progress) -> None:
            self._stop_if_left(screen)
            self._app.call_from_thread(self._show_progress, screen, progress)

        result = calibrate_machine(self._open_machine, frozenset(screen.target), watch)
        if self._app.is_running:
            self._app.call_from_thread(self._finish, screen, result)

    def _show_progress(self, screen: CalibrationScreen, progress: Progress) -> None:
        screen.live.take(progress)
        self._draw()

    def _finish(self, screen: CalibrationScreen, result: Calibrated | str) -> None:
        if self.screen is screen:
            screen.finish(result)
            self._resume()
            self._draw()
