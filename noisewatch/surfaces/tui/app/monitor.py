"""The monitor's application. It measures nothing: the sampler's process sends frames, and the newest one is shown."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from noisewatch.faults import contained
from noisewatch.kernel.device_events import DeviceListener, listen
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.pinning import pin_all_threads
from noisewatch.surfaces.tui.app.actions import ActingApp
from noisewatch.surfaces.tui.app.calm_driver import CalmDriver
from noisewatch.surfaces.tui.app.keys import KEYS_IN_HELP, help_rows
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.glyphs import UNICODE, Glyphs
from noisewatch.surfaces.tui.draw.line_view import LineScreen, LineView
from noisewatch.surfaces.tui.draw.text_row import Row, in_ascii
from noisewatch.surfaces.tui.events.kinds import Event, EventKind, kind_of_device
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayHost, wrapped
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.own_cost import OwnCostMeter
from noisewatch.surfaces.tui.state.screen_model import SCREENS, ScreenModel

if TYPE_CHECKING:
    from noisewatch.surfaces.picture import Line

_SILENCE_NOTICE_PERIOD_S = 2.0
_AWAY_S = 5.0  # between two pictures while the terminal has no focus
_LISTENS_AFTER_S = 2.0  # the first frames come first
_HUNG_UP = 129  # as a shell reports SIGHUP


class MonitorApp(ActingApp):
    """An application that draws the frames of the sampler, or without one the frames that it is given."""

    CSS = "Screen { background: ansi_default; color: ansi_default; overflow: hidden; }"

    def __init__(
        self,
        sampler: SamplerProcess | None = None,
        glyphs: Glyphs = UNICODE,
        access: MachineAccess | None = None,
        pace_s: float = 1.0,
        driver: type[CalmDriver] = CalmDriver,
    ) -> None:
        super().__init__(driver_class=driver, ansi_color=True)
        self.animation_level = "none"
        self.model = ScreenModel(pace_s=pace_s)
        self._sampler = sampler
        self._draws_soon = False
        self._meter = OwnCostMeter()
        self._access = access or MachineAccess()
        self._glyphs = glyphs
        self._view = LineView(self.rows, self.rows_of_fault)
        self._player = Player(self, self.model, self._sampler, self.draw) if self._sampler is not None else None
        self._shows_help, self._help_offset = False, 0
        self._overlays = OverlayHost(
            self, self._access, self.draw, self._pause_sampler, self._resume_sampler, self._keep_calibration
        )
        self._pinned_cpus: tuple[int, ...] = ()
        self._framed_s = self._drawn_s = time.monotonic()  # when the last frame came, and was drawn
        self._silence_timer: asyncio.TimerHandle | None = None  # shows the silence, unless a frame comes
        self._is_away = False

    def get_default_screen(self) -> LineScreen:
        return LineScreen()

    def compose(self) -> ComposeResult:
        yield self._view

    async def on_mount(self) -> None:
        self.draw()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))  # others used the terminal
        if not self.is_headless:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
            self.set_timer(_LISTENS_AFTER_S, lambda: self.listen_to(listen()))
        self._resume_sampler()

    def listen_to(self, listener: DeviceListener | str) -> None:
        """Add this host's device events to the log; other machines have none. A string is why there is no listener."""
        if isinstance(listener, str):
            self.model.log.silence = listener
            return

        def read() -> None:
            frame = self.model.newest
            for device_event in listener.read():
                if frame is not None and frame.origin is None:
                    kind = kind_of_device(device_event.subsystem)
                    self.model.log.add(Event(frame.taken_at_ns, kind, device_event.text, self.model.history.count))
            self.draw()

        asyncio.get_running_loop().add_reader(listener.fileno(), read)

    async def _follow(self, sampler: SamplerProcess) -> None:
        """Show the sampler's frames until it ends, and then the reason; after an error it is restarted once."""
        reason = await sampler.follow(self._take_in_contained, self._draw_pending)
        if reason is not None and not self.model.is_recorded:
            self._report_restart(reason)
            reason = await sampler.follow(self._take_in_contained, self._draw_pending)
        if reason is not None:
            self.model.trouble, self.model.notice = f"the sampler ended: {reason}", None
            self.draw()

    def _report_restart(self, reason: str) -> None:
        """Show and log the restart: what the sampler would have observed until its next frame is missing."""
        self.model.notice = f"the sampler ended and was restarted: {reason}"
        if self.model.newest is not None:
            at_ns, number = self.model.newest.taken_at_ns, self.model.history.count
            self.model.log.add(Event(at_ns, EventKind.MONITOR, self.model.notice, number))
        self._await_frame()
        self.draw()

    async def on_unmount(self) -> None:
        process = self._sampler.stop() if self._sampler is not None else None
        if process is not None:
            await asyncio.to_thread(process.wait)

    def _await_frame(self) -> None:
        """Restart the timer for the next frame; a periodic timer would wake this process needlessly."""
        self._framed_s = time.monotonic()
        self._schedule_silence_notice(self.model.longest_silence_s)

    def _schedule_silence_notice(self, seconds: float) -> None:
        if self._silence_timer is not None:
            self._silence_timer.cancel()
        self._silence_timer = asyncio.get_running_loop().call_later(seconds, self._show_silence)

    def _show_silence(self) -> None:
        if self._overlays.shown is None:  # a calibration pauses the sampler
            self.model.notice_silence(time.monotonic() - self._framed_s)
            if self.model.silence is not None:
                self.draw()
        if not self.model.is_recorded:  # no further frames are expected of a recording
            self._schedule_silence_notice(_SILENCE_NOTICE_PERIOD_S)

    def on_hung_up(self) -> None:
        """Exit, as the terminal is gone; a shell's hang-up signal may have been ignored."""
        if self._sampler is not None:
            self._sampler.stop()
        os._exit(_HUNG_UP)  # there is nothing left to restore, or to say goodbye on

    def show_frame(self, frame: Frame) -> None:
        """Add a frame and draw it, unless the picture is frozen."""
        self.take_in(frame)
        self._draw_pending()

    def pass_over(self, frame: Frame) -> None:
        """Add a frame that is not drawn, as if it had been."""
        self.take_in(frame)
        self.model.note_drawn()

    def _take_in_contained(self, frame: Frame, line: bytes) -> None:
        contained(
            lambda: self.take_in(frame, line), lambda reason: self._show_fault(reason, "show what the sampler saw")
        )

    def take_in(self, frame: Frame, line: bytes | None = None) -> None:
        """Add a frame to the model; of frames that come faster than they can be drawn, only the newest is drawn."""
        self._leave_target_cpus(frame)
        self.model.add(frame, line)
        if self._player is not None and self.model.is_recorded:
            self._player.take(frame)
            return
        self._await_frame()
        if frame.sampler_cpu_s is not None:
            self.model.own_cost = self._meter.measure(frame.sampler_cpu_s, frame.sampler_wakeups or 0)
        self._draws_soon = not self._is_away or self._framed_s - self._drawn_s >= _AWAY_S

    def _draw_pending(self) -> None:
        if self._draws_soon:
            self._draws_soon = False
            self.draw()

    def on_app_blur(self) -> None:
        """Draw rarely while the terminal has no focus; frames are still added."""
        self._is_away = True

    def on_app_focus(self) -> None:
        self._is_away = False
        self.draw()

    def picture(self) -> str:
        """Return the screen as SVG; the same screen makes the same bytes."""
        from noisewatch.surfaces.picture import svg_of_lines  # the first picture on the screen comes first

        return svg_of_lines(self.lines(), self.size.width, self.title_of_picture)

    def lines(self) -> Sequence[Line]:
        """Return the current screen with its overlays as rendered lines."""
        update = self.screen._compositor.render_update(full=True, screen_stack=self._background_screens)
        return self.console.render_lines(update or "", self.console.options.update_width(self.size.width), pad=False)

    @property
    def title_of_picture(self) -> str:
        """The title with the name of the host or recording."""
        frame = self.model.frame
        return f"noisewatch · {frame.machine}" if frame is not None else "noisewatch"

    def draw(self) -> None:
        """Draw what has changed since the last picture."""
        self._drawn_s = time.monotonic()
        self.model.note_drawn()
        self._view.update()

    @property
    def is_in_unicode(self) -> bool:
        """Whether the terminal shows more than ASCII."""
        return self._glyphs.has_braille

    def rows(self, width: int, height: int) -> list[Row]:
        return self._for_terminal(self._rows(width, height))

    def rows_of_fault(self, reason: str, width: int, height: int) -> list[Row]:
        """Return the rows of a screen that cannot be drawn, with the reason."""
        screen = self._overlays.shown
        if screen is not None:
            return self._for_terminal(screen.rows_of_fault(reason, width, height))
        name = "help" if self._shows_help else self.model.screen
        message = f"could not draw the {name}: {reason}; the next picture may work"
        lines = wrapped([message, "", f"1 to {len(SCREENS)} show the other screens, q quits"], width)
        return self._for_terminal([[(line, "plain")] for line in lines[:height]])

    def _for_terminal(self, rows: list[Row]) -> list[Row]:
        if self.is_in_unicode:
            return rows
        return [[(in_ascii(text), style) for text, style in row] for row in rows]

    def _rows(self, width: int, height: int) -> list[Row]:
        screen = self._overlays.shown
        if screen is not None:
            return screen.rows(width, height, self.is_in_unicode)
        if self._shows_help:
            return help_rows(KEYS_IN_HELP, width, height, self._help_offset, self.is_in_unicode)
        return rows_of_screen(self.model, width, height, self._glyphs)

    def action_command_palette(self) -> None:
        """Open the palette that finds screens, actions and CPUs by name."""
        from noisewatch.surfaces.tui.app.palette import Palette  # the first picture comes first

        if len(self.screen_stack) == 1:
            self.push_screen(Palette(self.is_in_unicode))

    def _keep_calibration(self, screen: Overlay) -> None:
        """Keep an overlay's calibration for the screen of one CPU."""
        if screen.calibration is not None:
            self.model.calibration = screen.calibration
            self.model.calibrated_at_ns = self.model.newest.taken_at_ns if self.model.newest is not None else None

    def _pause_sampler(self) -> None:
        if self._sampler is not None and not self.model.is_recorded:
            self._sampler.stop()

    def _resume_sampler(self) -> None:
        if self._sampler is not None and not self.model.is_recorded:
            self._await_frame()
            self.run_worker(self._follow(self._sampler), exclusive=False)

    def _leave_target_cpus(self, frame: Frame) -> None:
        """Pin this process to the sampler's CPUs, away from the target CPUs."""
        if frame.sampler_cpu_s is None or frame.housekeeping == self._pinned_cpus:
            return
        self._pinned_cpus = frame.housekeeping
        with suppress(OSError):  # the sampler is refused too, and its frames have the remark
            pin_all_threads(frozenset(frame.housekeeping or frame.target[:1]))
