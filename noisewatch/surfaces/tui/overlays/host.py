"""Where an overlay is shown above the monitor: announced, started, run in a thread of its own, and left again."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from noisewatch.errors import CannotMeasure
from noisewatch.faults import contained
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState

_DRAW_EVERY_S = 0.25  # a calibration tells more often how far it is, and its chart takes milliseconds to draw


class OverlayHost:
    """Holds at most one overlay. `pause` and `resume` are the sampler's: a calibration would be in what it sees.

    `keep` is told of an overlay that has a result.
    """

    def __init__(
        self,
        app: App[None],
        access: MachineAccess,
        draw: Callable[[], None],
        pause: Callable[[], None],
        resume: Callable[[], None],
        keep: Callable[[Overlay], None],
    ) -> None:
        self._app = app
        self._access = access
        self._draw, self._pause, self._resume, self._keep = draw, pause, resume, keep
        self.shown: Overlay | None = None
        self._next_draw_s = 0.0

    def announce(self, overlay: Overlay) -> None:
        """Shows what it will cost; nothing is started yet."""
        if self.shown is None:
            self.shown = overlay

    def start(self) -> None:
        """Begins what was announced."""
        overlay = self.shown
        if overlay is None or not overlay.can_start:
            return
        overlay.state = OverlayState.RUNNING
        if overlay.pauses_sampler:
            self._pause()
        self._app.run_worker(lambda: self._run(overlay), thread=True)

    def leave(self) -> None:
        """Goes back to the monitor; what runs is stopped by its next look at the overlay."""
        overlay, self.shown = self.shown, None
        if overlay is not None and overlay.pauses_sampler and overlay.state == OverlayState.RUNNING:
            self._resume()

    def _run(self, overlay: Overlay) -> None:
        """In a thread; the overlay is changed, and drawn, by the other one."""
        try:
            while overlay.state == OverlayState.RUNNING and self.shown is overlay and self._app.is_running:
                take = self._measured(overlay)
                if self._app.is_running:
                    self._app.call_from_thread(self._finish, overlay, take)
        finally:
            overlay.end()

    def _measured(self, overlay: Overlay) -> Callable[[], None]:
        """What has the overlay take in the result, or why there is none."""

        def failed(reason: str) -> Callable[[], None]:
            return lambda: overlay.fail(reason)

        return contained(lambda: overlay.measure(self._access, lambda change: self._show(overlay, change)), failed)

    def _show(self, overlay: Overlay, change: Callable[[], None]) -> None:
        """Raises CannotMeasure once the overlay was left."""
        if self.shown is not overlay or not self._app.is_running:
            raise CannotMeasure("stopped")
        self._app.call_from_thread(self._change, change)

    def _change(self, change: Callable[[], None]) -> None:
        change()
        if time.monotonic() >= self._next_draw_s:
            self._next_draw_s = time.monotonic() + _DRAW_EVERY_S
            self._draw()

    def _take_in(self, overlay: Overlay, take: Callable[[], None]) -> None:
        take()
        self._keep(overlay)

    def _finish(self, overlay: Overlay, take: Callable[[], None]) -> None:
        if self.shown is not overlay:
            return
        contained(lambda: self._take_in(overlay, take), overlay.fail)
        self._draw()
        if overlay.pauses_sampler and overlay.state != OverlayState.RUNNING:
            self._resume()
