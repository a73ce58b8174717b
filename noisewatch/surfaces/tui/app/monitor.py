"""The monitor's application, which shows the frames that the sampler's process sends."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import ActionParseResult
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.events import Key, MouseDown
from textual.worker import Worker

from noisewatch.faults import Boundary, contain_faults
from noisewatch.kernel.device_events import DeviceListener, listen
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.pinning import pin_all_threads
from noisewatch.surfaces.drawing.glyphs import UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import Row, to_ascii
from noisewatch.surfaces.tui.app.calm_driver import CalmDriver
from noisewatch.surfaces.tui.app.export import (
    command_to_copy,
    export,
    export_fixes,
    export_scripts,
    pictures_of,
    window_reports,
)
from noisewatch.surfaces.tui.app.keys import COMMANDS, IN_OVERLAY, SCROLLING, WHILE_TYPING, help_offset, help_rows
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess, toggle_idle_probe
from noisewatch.surfaces.tui.draw.line_view import LineScreen, LineView
from noisewatch.surfaces.tui.events.kinds import Event, EventKind, kind_of_device
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayHost, overlay_named, wrap_lines
from noisewatch.surfaces.tui.screens.culprits import begin_filter, type_key
from noisewatch.surfaces.tui.screens.page import number_at
from noisewatch.surfaces.tui.screens.table import ALL_ROWS, SCREEN_ENTRIES, rows_of_screen
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.own_cost import OwnCostMeter
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel

if TYPE_CHECKING:
    from noisewatch.surfaces.picture import Line

_SILENCE_NOTICE_PERIOD_S = 2.0
_AWAY_S = 5.0  # time between pictures while the terminal has no focus
_LISTENS_AFTER_S = 2.0  # device events are read only after this time, so that they do not delay the first frames
_HUNG_UP = 129  # exit status, as a shell reports SIGHUP


class MonitorApp(App[None]):
    """An application that draws the sampler's frames or, without a sampler, the frames passed to `show_frame`.

    An error in the action of a key ends only that action.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(command.key, command.action, command.name, show=not command.is_hidden, priority=command.comes_first)
        for command in COMMANDS
    ]
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
        self._player = Player(self.model, self.set_timer, self.draw, sampler.read_on) if sampler is not None else None
        self._shows_help, self._help_offset = False, 0
        self._fix_sought: int | None = None  # number of the fix that is being looked up
        self._overlays = OverlayHost(
            self, self._access, self.draw, self._pause_sampler, self._resume_sampler, self._keep_calibration
        )
        self._pinned_cpus: tuple[int, ...] = ()
        self._framed_s = self._drawn_s = time.monotonic()  # when the last frame arrived, and the last drawing
        self._silence_timer: asyncio.TimerHandle | None = None  # reports missing frames, unless one arrives first
        self._is_away = False

    def get_default_screen(self) -> LineScreen:
        return LineScreen()

    def compose(self) -> ComposeResult:
        yield self._view

    async def on_mount(self) -> None:
        self.draw()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))  # other programs used the terminal
        if not self.is_headless:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
            self.set_timer(_LISTENS_AFTER_S, lambda: self.listen_to(listen()))
        self._resume_sampler()

    def listen_to(self, listener: DeviceListener | str) -> None:
        """Log this host's device events; other machines have none. A string is the reason for a missing listener."""
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
        """Show the sampler's frames until it ends, and then the reason. After an error, restart a live sampler once."""
        reason = await sampler.follow(self._add_frame_contained, self._draw_pending)
        if reason is not None and not self.model.is_recorded:
            self._report_restart(reason)
            reason = await sampler.follow(self._add_frame_contained, self._draw_pending)
        if reason is not None:
            self.model.trouble, self.model.notice = f"the sampler ended: {reason}", None
            self.draw()

    def _report_restart(self, reason: str) -> None:
        """Show and log the restart: data is missing until the sampler's next frame."""
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
        """Restart the timer that reports missing frames; a periodic timer would wake this process needlessly."""
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
        if not self.model.is_recorded:  # a recording may have no further frames
            self._schedule_silence_notice(_SILENCE_NOTICE_PERIOD_S)

    def on_hung_up(self) -> None:
        """Exit because the terminal is gone; a shell's hang-up signal may have been ignored."""
        if self._sampler is not None:
            self._sampler.stop()
        os._exit(_HUNG_UP)  # no terminal is left to restore

    def show_frame(self, frame: Frame) -> None:
        """Add a frame, and draw the screen if it is due."""
        self.add_frame(frame)
        self._draw_pending()

    def pass_over(self, frame: Frame) -> None:
        """Add a frame without drawing it, but treat its rows as drawn."""
        self.add_frame(frame)
        self.model.note_drawn()

    def _add_frame_contained(self, frame: Frame, line: bytes) -> None:
        contain_faults(
            lambda: self.add_frame(frame, line), lambda reason: self._show_fault(reason, "show the new frame")
        )

    def add_frame(self, frame: Frame, line: bytes | None = None) -> None:
        """Add a frame to the model, to be drawn later: of frames that arrive together, only the newest is drawn."""
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
        from noisewatch.surfaces.picture import svg_of_lines  # imported late, so that the monitor starts sooner

        return svg_of_lines(self.lines(), self.size.width, self.title_of_picture)

    def lines(self) -> Sequence[Line]:
        """Return the current screen with its overlays as rendered lines."""
        update = self.screen._compositor.render_update(full=True, screen_stack=self._background_screens)
        return self.console.render_lines(update or "", self.console.options.update_width(self.size.width), pad=False)

    @property
    def is_covered(self) -> bool:
        """Whether the help, an overlay or the palette covers the screen."""
        return self._overlays.shown is not None or self._shows_help or len(self.screen_stack) > 1

    @property
    def title_of_picture(self) -> str:
        """The title of a picture, with the name of the host or recording."""
        frame = self.model.frame
        return f"noisewatch · {frame.machine}" if frame is not None else "noisewatch"

    def draw(self) -> None:
        """Draw the changes since the last picture."""
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
        lines = wrap_lines([message, "", f"1 to {len(Screen)} show the other screens; q quits"], width)
        return self._for_terminal([[(line, "plain")] for line in lines[:height]])

    def _for_terminal(self, rows: list[Row]) -> list[Row]:
        if self.is_in_unicode:
            return rows
        return [[(to_ascii(text), style) for text, style in row] for row in rows]

    def _rows(self, width: int, height: int) -> list[Row]:
        screen = self._overlays.shown
        if screen is not None:
            return screen.rows(width, height, self.is_in_unicode)
        if self._shows_help:
            return help_rows(width, height, self._help_offset, self.is_in_unicode)
        return rows_of_screen(self.model, width, height, self._glyphs)

    def action_command_palette(self) -> None:
        """Open the palette, which finds screens, actions and CPUs by name."""
        from noisewatch.surfaces.tui.app.palette import Palette  # imported late, so that the monitor starts sooner

        if len(self.screen_stack) == 1:
            self.push_screen(Palette(self.is_in_unicode))

    def _keep_calibration(self, screen: Overlay[Any]) -> None:
        """Keep the overlay's calibration, if it made one, so that other screens can show it."""
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
        """Pin this process to the housekeeping CPUs or, if there are none, to the first target CPU."""
        if frame.sampler_cpu_s is None or frame.housekeeping == self._pinned_cpus:
            return
        self._pinned_cpus = frame.housekeeping
        with suppress(OSError):  # if pinning is refused, the sampler cannot pin itself either, and its frames report it
            pin_all_threads(frozenset(frame.housekeeping or frame.target[:1]))

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; an error ends only that action."""
        with Boundary(self._show_fault):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def _show_fault(self, reason: str, what: str = "do that") -> None:
        """Show the fault as a notice in the overlay, or else on the screen."""
        (self._overlays.shown or self.model).notice = f"could not {what}: {reason}"
        self.draw()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Show the interval that was clicked on the timeline."""
        contain_faults(lambda: self._press(event), self._show_fault)

    def _press(self, event: MouseDown) -> None:
        is_covered = self._overlays.shown is not None or self._shows_help or self.model.is_typing
        at = number_at(self.model, event.x, event.y, *self.size)
        if at is not None and not is_covered:
            self._change_model(lambda: self.model.go_to_number(at))

    def on_mouse_scroll_down(self) -> None:
        contain_faults(lambda: self.action_scroll(1), self._show_fault)

    def on_mouse_scroll_up(self) -> None:
        contain_faults(lambda: self.action_scroll(-1), self._show_fault)

    def on_key(self, event: Key) -> None:
        if self.model.is_typing:
            event.prevent_default()
            contain_faults(lambda: type_key(self.model, event.key, event.character), self._show_fault)
            self.draw()
        elif self._shows_help and event.key not in SCROLLING:
            event.prevent_default()
            self._change_model(lambda: None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether the action is allowed now.

        While a filter is typed or the palette is open, only Ctrl-C is allowed; an overlay allows some actions.
        """
        if self.model.is_typing or len(self.screen_stack) > 1:  # a filter, or the palette
            return action in WHILE_TYPING
        return self._overlays.shown is None or action in IN_OVERLAY

    def _show_notice(self, notice: str) -> None:
        if self._overlays.shown is not None:
            self._overlays.shown.notice = notice
            self.draw()
        else:
            self._change_model(lambda: setattr(self.model, "notice", notice))

    def _change_model(self, change: Callable[[], None]) -> None:
        """Change the model, draw it, and look up a requested fix; while the help is shown, only close the help."""
        self.model.notice = None
        if self._shows_help:
            self._shows_help = False
        else:
            change()
        if self._player is not None and self.model.is_recorded:
            self._player.read_on()
        self._request_shown_data()
        self.draw()
        self._find_fix()

    def _request_shown_data(self) -> None:
        """Ask the sampler for data that only some screens show, while one of these screens is open."""
        screen, quantity = self.model.screen, self.model.map.quantity
        has_clock = screen == Screen.CLOCK or (screen == Screen.MAP and quantity == Quantity.HEAT)
        required = {"clock": has_clock, "answers": screen == Screen.PREFLIGHT}
        for name, is_required in required.items():
            if self._sampler is not None and self._sampler.asked.get(name, False) is not is_required:
                self._sampler.ask(name, is_required)

    def action_leave_at_once(self) -> None:
        self.exit()

    async def action_quit(self) -> None:
        """Close the help, the overlay, or an opened part of the screen; if nothing is open, exit."""
        if self._shows_help or self._overlays.shown is not None or self.model.has_opened:
            self.action_leave()
        else:
            self.exit()

    def action_do(self, method: str, *arguments: object) -> None:
        """Call a method that only changes the model."""
        self._change_model(lambda: getattr(self.model, method)(*arguments))

    def action_help(self) -> None:
        self._help_offset = 0
        self._change_model(lambda: setattr(self, "_shows_help", True))

    def action_freeze(self) -> None:
        """Freeze or thaw the picture; stop or play a recording."""
        player = self._player if self.model.is_recorded else None
        self._change_model(self.model.toggle_freeze if player is None else player.toggle)

    def action_speed(self, steps: int) -> None:
        if self._player is not None and self.model.is_recorded:
            self._player.change_speed(steps)
            self._change_model(lambda: None)

    def action_filter(self) -> None:
        self._change_model(lambda: begin_filter(self.model))

    def action_copy(self) -> None:
        """Copy the shown fix's command to the terminal's clipboard (OSC 52); it is not executed."""
        command, notice = command_to_copy(self.model)
        if command is not None and not self._shows_help:
            self.copy_to_clipboard(command)
        self._change_model(lambda: setattr(self.model, "notice", notice))

    def action_explain_theme(self) -> None:
        self._show_notice(
            "the monitor uses the terminal's own colours; noisewatch screenshot --theme light draws a light picture"
        )

    def action_export(self) -> None:
        """Write the screen as pictures and its data as reports into the working directory."""
        self._show_notice(contain_faults(self._export_shown, lambda reason: f"nothing was written: {reason}"))

    def _export_shown(self) -> str:
        shown = self._overlays.shown
        intervals = self.size.width * self.model.zoom  # the number that fits on the timeline
        reports = shown.reports() if shown is not None else window_reports(self.model, intervals)
        return export({**pictures_of(self.picture()), **reports}, time.localtime())

    def action_advise(self) -> None:
        """Show a fix for the selected culprit, or close the shown fix."""
        selected = self.model.selected()
        if self.model.screen not in (*WITH_CULPRITS, Screen.IRQS):
            text = "this screen shows the fix of the selected cause, if there is one; y copies it"
            self._show_notice(
                text
                if self.model.screen == Screen.PREFLIGHT
                else f"no culprit is selected here: screens {_culprit_screen_numbers()} list culprits"
            )
        elif self.model.shows_fix:
            self._change_model(self.model.close_fix)
        elif selected is not None and self._access.open_machine is not None:
            self._change_model(lambda: self.model.ask_for_fix(selected))

    def _find_fix(self) -> None:
        """Look up the requested fix in a thread, if no earlier fix is still being looked up."""
        selected, frame, open_machine = self.model.selected(), self.model.frame, self._access.open_machine
        if not self.model.awaits_fix or self._fix_sought is not None:
            return
        if selected is None or frame is None or open_machine is None:
            return
        from noisewatch.operations.advise import Advice, advise  # imports all checks, so not before the first picture

        self._fix_sought = self.model.fix_number
        target, culprits = frozenset(frame.target), frame.culprits
        self.run_worker(
            lambda: contain_faults(
                lambda: advise(open_machine, target, selected, culprits),
                lambda reason: Advice(selected, (f"No advice: {reason}",)),
            ),
            thread=True,
            name="advice",
        )

    def action_fix_script(self) -> None:
        """Write, into the working directory, the scripts that fix the shown causes and undo the fixes."""
        shown, frame = self._overlays.shown, self.model.frame
        if shown is not None:
            if scripts := shown.scripts():
                self._show_notice(export_scripts(scripts))
        elif frame is None or frame.verdict is None:
            self._show_notice("no fix script: there is no verdict yet")
        else:
            self._show_notice(contain_faults(lambda: export_fixes(frame), lambda reason: f"no fix script: {reason}"))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        result = event.worker.result
        if event.worker.name != "advice" or not event.worker.is_finished:
            return
        is_current, self._fix_sought = self._fix_sought == self.model.fix_number, None
        if is_current and self.model.awaits_fix and result is not None:
            self.model.advice, self.model.awaits_fix = result, False
            self.draw()
        self._find_fix()

    def action_ask(self, name: str) -> None:
        """Announce an overlay with its cost; start it at once if it costs nothing."""
        overlay = overlay_named(name, self.model.newest)
        self._change_model(lambda: self._overlays.announce(overlay))
        if overlay.costs_nothing and self._overlays.shown is overlay:
            self.action_start()

    def action_idle_probe(self) -> None:
        """Toggle the idle probe on the target CPUs."""
        self._change_model(lambda: setattr(self.model, "notice", toggle_idle_probe(self._sampler, self.model.newest)))

    def action_start(self) -> None:
        if self._overlays.shown is None:
            self._change_model(lambda: SCREEN_ENTRIES[self.model.screen].enter(self.model))
        else:
            self._overlays.start()
            self.draw()

    def action_leave(self) -> None:
        if self._overlays.shown is None:
            self._change_model(self.model.go_back)
        else:
            self._overlays.leave()
            self.draw()

    def action_scroll(self, lines: int) -> None:
        if self._shows_help:
            self._help_offset = help_offset(self._help_offset + lines, *self.size)
            self.draw()
        elif self._overlays.shown is not None:
            self._overlays.shown.offset += lines
            self.draw()
        elif self.model.shows_fix and 1 < abs(lines) < ALL_ROWS:
            self._change_model(lambda: self.model.scroll_fix(lines))
        else:
            entry = SCREEN_ENTRIES[self.model.screen]
            self._change_model(lambda: entry.move(self.model, lines, self.size))

    def action_scroll_or_choose(self) -> None:
        """Show the next quantity on the map; on other screens, scroll up by a row."""
        if self._shows_help or self._overlays.shown is not None or self.model.screen != Screen.MAP:
            self.action_scroll(-1)
        else:
            self._change_model(self.model.next_quantity)


def _culprit_screen_numbers() -> str:
    first, *others = sorted(screen.number for screen in (*WITH_CULPRITS, Screen.IRQS))
    return f"{', '.join(map(str, [first, *others[:-1]]))} and {others[-1]}"
