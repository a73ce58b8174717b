"""What a key asks for, above the monitor: announced, started, watched from a thread of its own, and left again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.app import App

from noisewatch.errors import CannotMeasure
from noisewatch.machine import Machine
from noisewatch.machine.calibrator.run import Progress
from noisewatch.surfaces.following import Followed
from noisewatch.surfaces.tui.asked_screen import RUNNING
from noisewatch.surfaces.tui.calibration_screen import CalibrationScreen, calibrate_machine
from noisewatch.surfaces.tui.gate_screen import Examine, GateAudience, GateScreen, examine_machine
from noisewatch.surfaces.tui.trace_screen import TraceScreen, follow_machine

Asked = CalibrationScreen | TraceScreen | GateScreen


@dataclass(frozen=True, slots=True)
class Sources:
    """What can be asked for beside the frames; None where there is no machine for it."""

    open_machine: Callable[[], Machine] | None = None
    examine: Examine | None = None


class Above:
    """At most one screen. `pause` and `resume` are the sampler's: a calibration would be in what it sees."""

    def __init__(
        self,
        app: App[None],
        sources: Sources,
        draw: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        self._app = app
        self._sources = sources
        self._draw, self._pause, self._resume = draw, pause, resume
        self.screen: Asked | None = None

    def announce(self, screen: Asked) -> None:
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
            self._in_thread(lambda: self._follow(screen))
            return
        self._pause()
        if isinstance(screen, CalibrationScreen):
            self._in_thread(lambda: self._calibrate(screen))
        else:
            self._in_thread(lambda: self._examine(screen))

    def leave(self) -> None:
        """Goes back to the monitor; what runs is stopped by its next look at the screen."""
        screen, self.screen = self.screen, None
        if screen is not None and not isinstance(screen, TraceScreen) and screen.state == RUNNING:
            self._resume()

    def _in_thread(self, work: Callable[[], None]) -> None:
        self._app.run_worker(work, thread=True, exit_on_error=False)

    def _show(self, screen: Asked, change: Callable[[], None]) -> None:
        """From a thread: changes the screen and draws it. Raises CannotMeasure once it was left."""
        if self.screen is not screen or not self._app.is_running:
            raise CannotMeasure("stopped")

        def show() -> None:
            change()
            self._draw()

        self._app.call_from_thread(show)

    def _follow(self, screen: TraceScreen) -> None:
        """One stretch after the other, until the screen is left."""

        def watch(done_s: float) -> None:
            is_news = int(done_s) != int(screen.done_s)
            self._show(screen, lambda: setattr(screen, "done_s", done_s) if is_news else None)

        while screen.state == RUNNING and self.screen is screen:
            self._take_stretch(screen, follow_machine(self._sources.open_machine, frozenset(screen.target), watch))

    def _take_stretch(self, screen: TraceScreen, result: Followed | str) -> None:
        self._finish(screen, lambda: screen.take(result))

    def _calibrate(self, screen: CalibrationScreen) -> None:
        def watch(progress: Progress) -> None:
            self._show(screen, lambda: screen.live.take(progress))

        result = calibrate_machine(self._sources.open_machine, frozenset(screen.target), watch)
        self._finish(screen, lambda: screen.finish(result), resumes=True)

    def _examine(self, screen: GateScreen) -> None:
        audience = GateAudience(screen, lambda change: self._show(screen, change))
        result = examine_machine(self._sources.examine, frozenset(screen.target), audience)
        self._finish(screen, lambda: screen.finish(result), resumes=True)

    def _finish(self, screen: Asked, take: Callable[[], None], resumes: bool = False) -> None:
        """Gives the screen its result, unless it was left meanwhile."""

        def finish() -> None:
            if self.screen is screen:
                take()
                if resumes:
                    self._resume()
                self._draw()

        if self._app.is_running:
            self._app.call_from_thread(finish)
