"""The host of overlays above the monitor: it announces, starts, runs (in a thread) and leaves an overlay."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from noisewatch.errors import CannotMeasure
from noisewatch.faults import contained
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState

_DRAW_EVERY_S = 0.25  # a calibration reports progress more often, and its chart takes milliseconds to draw


class OverlayHost:
    """The holder of at most one overlay. `pause` and `resume` the sampler, which would otherwise see a calibration.

    `keep` is called with an overlay that has a result.
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
        """Show the overlay with its cost; nothing is started yet."""
        if self.shown is None:
            self.shown = overlay

    def start(self) -> None:
        """Start the announced overlay."""
        overlay = self.shown
        if overlay is None or not overlay.can_start:
            return
        overlay.state = OverlayState.RUNNING
        if overlay.pauses_sampler:
            self._pause()
        self._app.run_worker(lambda: self._run(overlay), thread=True)

    def leave(self) -> None:
        """Return to the monitor; a running measurement stops when it next updates the overlay."""
        overlay, self.shown = self.shown, None
        if overlay is not None and overlay.pauses_sampler and overlay.state == OverlayState.RUNNING:
            self._resume()

    def _run(self, overlay: Overlay) -> None:
        """Measure in a thread; the main thread changes and draws the overlay."""
        try:
            while overlay.state == OverlayState.RUNNING and self.shown is overlay and self._app.is_running:
                take = self._measured(overlay)
                if self._app.is_running:
                    self._app.call_from_thread(self._finish, overlay, take)
        finally:
            overlay.end()

    def _measured(self, overlay: Overlay) -> Callable[[], None]:
        """Return the function that stores the result in the overlay, or the reason of the failure."""

        def failed(reason: str) -> Callable[[], None]:
            return lambda: overlay.fail(reason)

        return contained(lambda: overlay.measure(self._access, lambda change: self._show(overlay, change)), failed)

    def _show(self, overlay: Overlay, change: Callable[[], None]) -> None:
        """Change and draw the overlay. Raise CannotMeasure once the overlay was left."""
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
