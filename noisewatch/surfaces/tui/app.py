"""The monitor's screen. It measures nothing: frames come from the sampler's process, and the newest one is shown."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.events import Key, MouseDown
from textual.worker import Worker

from noisewatch.errors import UsageError
from noisewatch.sources.device_events import DeviceListener, listen
from noisewatch.surfaces.frame import Frame
from noisewatch.surfaces.picture import plain_svg, png_of
from noisewatch.surfaces.tui.above import Above
from noisewatch.surfaces.tui.asked_screen import Sources, asked_screen
from noisewatch.surfaces.tui.bindings import ABOVE, BINDINGS, KEYS_IN_HELP, WHILE_TYPING
from noisewatch.surfaces.tui.copying import command_to_copy
from noisewatch.surfaces.tui.event_kinds import kind_of_device
from noisewatch.surfaces.tui.event_steps import show_event, step_to_event
from noisewatch.surfaces.tui.events import Event
from noisewatch.surfaces.tui.export import export
from noisewatch.surfaces.tui.glyphs import UNICODE, Glyphs
from noisewatch.surfaces.tui.help import help_rows
from noisewatch.surfaces.tui.line_view import LineView
from noisewatch.surfaces.tui.overview import cpu_room
from noisewatch.surfaces.tui.page import number_at
from noisewatch.surfaces.tui.player import Player
from noisewatch.surfaces.tui.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.screen_model import CPU, EVENTS, OVERVIEW, PREFLIGHT, SCREENS, SOURCES, Advice, ScreenModel
from noisewatch.surfaces.tui.screens import rows_of_screen
from noisewatch.surfaces.tui.sentinel_words import toggle_sentinel
from noisewatch.surfaces.tui.text_row import Row
from noisewatch.surfaces.tui.window_report import window_reports

_CHECK_S = 2.0  # between two looks whether the terminal and the sampler are still there
_AWAY_S = 5.0  # between two pictures while nobody looks
_LISTENS_AFTER_S = 2.0  # the first frames come first
_HUNG_UP = 129  # as a shell reports SIGHUP
_SELECTING = (SOURCES, CPU, EVENTS, PREFLIGHT)  # the screens whose rows are moved through


def _commands() -> type[Provider]:
    """Imported once it is asked for: the first picture comes first."""
    from noisewatch.surfaces.tui.palette import KeyCommands

    return KeyCommands


class MonitorApp(App[None]):
    """Draws the frames that `sampler` writes, a line each, to its standard output."""

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}
    CSS = "Screen { background: ansi_default; color: ansi_default; overflow: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]

    def __init__(
        self,
        sampler: Sequence[str] | None = None,
        glyphs: Glyphs = UNICODE,
        sources: Sources | None = None,
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.model = ScreenModel()
        self._sampler = SamplerProcess(sampler, self.show_frame) if sampler is not None else None
        self._sources = sources or Sources()
        self._glyphs = glyphs
        self._view = LineView(self.rows)
        self._player = Player(self, self.model, self._sampler, self.draw) if self._sampler is not None else None
        self._shows_help = False
        self._above = Above(self, self._sources, self.draw, self._pause_sampler, self._resume_sampler)
        self._aside: tuple[int, ...] = ()
        self._framed_s = self._drawn_s = time.monotonic()  # when the last frame came, and was drawn
        self._is_away = False

    def compose(self) -> ComposeResult:
        yield self._view

    async def on_mount(self) -> None:
        self.draw()
        if not self.is_headless:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
            self.set_interval(_CHECK_S, self._check)
            self.set_timer(_LISTENS_AFTER_S, lambda: self.listen_to(listen()))
        self._resume_sampler()

    def listen_to(self, listener: DeviceListener | str) -> None:
        """Takes what is said of this host's devices into the log; of another machine nobody says anything."""
        if isinstance(listener, str):
            self.model.log.silence = listener
            return

        def read() -> None:
            frame = self.model.newest
            for said in listener.read():
                if frame is not None and frame.source is None:
                    kind = kind_of_device(said.subsystem)
                    self.model.log.add(Event(frame.taken_at_ns, kind, said.text, self.model.history.count))
            self.draw()

        asyncio.get_running_loop().add_reader(listener.fileno(), read)

    async def _follow(self, sampler: SamplerProcess) -> None:
        """Shows the sampler's frames until it ends, and then why it ended."""
        reason = await sampler.follow()
        if reason is not None:
            self.model.trouble = f"the sampler ended: {reason}"
            self.draw()

    async def on_unmount(self) -> None:
        process = self._sampler.stop() if self._sampler is not None else None
        if process is not None:
            await process.wait()

    def _check(self) -> None:
        self._leave_without_terminal()
        if self._above.screen is None:  # a calibration pauses the sampler
            self.model.notice_silence(time.monotonic() - self._framed_s)
            if self.model.silence is not None:
                self.draw()

    def _leave_without_terminal(self) -> None:
        """A terminal that is gone without a hang-up signal would be read from for ever, at full speed."""
        if os.isatty(0):
            return
        if self._sampler is not None:
            self._sampler.stop()
        os._exit(_HUNG_UP)  # there is nothing left to restore, or to say goodbye on

    def show_frame(self, frame: Frame, line: bytes | None = None) -> None:
        """Takes in a frame and draws it, unless the picture is frozen."""
        self._move_aside(frame)
        self.model.add(frame, line)
        if self._player is not None and self.model.is_recorded:
            self._player.take(frame)
            return
        self._framed_s = time.monotonic()
        self.model.measure_own_cost()
        if not self._is_away or self._framed_s - self._drawn_s >= _AWAY_S:
            self.draw()

    def on_app_blur(self) -> None:
        """Nobody looks: the frames are taken in, and drawn now and then."""
        self._is_away = True

    def on_app_focus(self) -> None:
        self._is_away = False
        self.draw()

    def on_mouse_down(self, event: MouseDown) -> None:
        """A press on the timeline shows that moment."""
        at = number_at(self.model, event.x, event.y, *self.size)
        if at is not None:
            self._changed(lambda: self.model.go_to_number(at))

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(-1)

    def picture(self) -> str:
        """The screen as SVG; the same screen makes the same bytes."""
        return plain_svg(self.export_screenshot(title="noisewatch"))

    def draw(self) -> None:
        """What has changed since the last time."""
        self._drawn_s = time.monotonic()
        self._view.update()

    def rows(self, width: int, height: int) -> list[Row]:
        """The screen as it is now."""
        if self._above.screen is not None:
            return self._above.screen.rows(width, height, self._glyphs is UNICODE)
        if self._shows_help:
            return help_rows(KEYS_IN_HELP, width, height)
        return rows_of_screen(self.model, width, height, self._glyphs)

    def on_key(self, event: Key) -> None:
        if self.model.is_typing:
            event.prevent_default()
            self.model.type(event.key, event.character)
            self.draw()
        elif self._shows_help:
            event.prevent_default()
            self._changed(lambda: None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed all keys belong to it; what is shown above the monitor leaves the monitor alone."""
        if self.model.is_typing or len(self.screen_stack) > 1:  # a filter, or the palette
            return action in WHILE_TYPING
        return self._above.screen is None or action in ABOVE

    def action_leave_at_once(self) -> None:
        self.exit()

    def action_help(self) -> None:
        self._changed(lambda: setattr(self, "_shows_help", True))

    def action_freeze(self) -> None:
        """Of a recording: stops it, or lets it go on."""
        player = self._player if self.model.is_recorded else None
        self._changed(self.model.toggle_freeze if player is None else player.toggle)

    def action_speed(self, steps: int) -> None:
        if self._player is not None and self.model.is_recorded:
            self._player.change_speed(steps)
            self._changed(lambda: None)

    def action_step(self, intervals: int) -> None:
        self._changed(lambda: self.model.step(intervals))

    def action_newest(self) -> None:
        self._changed(self.model.step_to_newest)

    def action_disturbed(self, direction: int) -> None:
        self._changed(lambda: self.model.step_to_disturbed(direction))

    def action_event(self, direction: int) -> None:
        self._changed(lambda: step_to_event(self.model, direction))

    def action_copy(self) -> None:
        """Hands the command of the advice that is shown to the terminal's clipboard (OSC 52); nothing is executed."""
        command, notice = command_to_copy(self.model)
        if command is not None and not self._shows_help:
            self.copy_to_clipboard(command)
        self._changed(lambda: setattr(self.model, "notice", notice))

    def action_hold(self) -> None:
        self._changed(self.model.toggle_hold)

    def action_zoom(self) -> None:
        self._changed(self.model.next_zoom)

    def action_sort(self) -> None:
        self._changed(self.model.next_sort)

    def action_baseline(self) -> None:
        self._changed(self.model.mark_baseline)

    def action_no_baseline(self) -> None:
        self._changed(self.model.forget_baseline)

    def action_all_cpus(self) -> None:
        self._changed(lambda: setattr(self.model, "shows_all_cpus", not self.model.shows_all_cpus))

    def action_go_to(self, screen: str) -> None:
        self._changed(lambda: self.model.go_to(screen))

    def action_cpu(self, cpu: int) -> None:
        """Shows that CPU, whichever row is selected."""
        self.model.cpu = cpu
        self.action_go_to(CPU)

    def action_next(self, direction: int) -> None:
        if self.model.screen == CPU:
            self._changed(lambda: self.model.next_cpu(direction))
        else:
            at = SCREENS.index(self.model.screen) + direction
            self._changed(lambda: self.model.go_to(SCREENS[at % len(SCREENS)]))

    def action_filter(self) -> None:
        self._changed(self.model.begin_filter)

    def action_export(self) -> None:
        """Writes the screen as pictures, and what it tells, into the folder that we were started in."""
        shown = self._above.screen
        reports = shown.reports() if shown is not None else window_reports(self.model, self._intervals())
        svg = self.picture()
        pictures: dict[str, str | bytes] = {"svg": svg}
        with suppress(UsageError):  # without the library, or its font, the SVG has to do
            pictures["png"] = png_of(svg)
        written = export({**pictures, **reports}, time.localtime())
        self._changed(lambda: setattr(self.model, "notice", written))

    def _intervals(self) -> int:
        """That the timeline has room for."""
        return self.size.width * self.model.zoom

    def action_advise(self) -> None:
        """Asks what helps against the selected source; the machine is read in a thread."""
        selected = self.model.selected()
        open_machine = self._sources.open_machine
        if selected is not None and open_machine is not None:
            target = frozenset(self.model.frame.target if self.model.frame else ())
            from noisewatch.surfaces.tui.advising import advise  # all checks: the first picture comes first

            self.run_worker(lambda: advise(open_machine, target, selected), thread=True, name="advice")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.name == "advice" and isinstance(event.worker.result, Advice):
            self.model.advice = event.worker.result
            self.draw()

    def action_ask(self, name: str) -> None:
        """Announces what it will cost; nothing is started yet."""
        self._changed(lambda: self._above.announce(asked_screen(name, self.model.newest)))

    def action_sentinel(self) -> None:
        """Has the idle target CPUs measured from now on, or no longer."""
        self._changed(lambda: setattr(self.model, "notice", toggle_sentinel(self._sampler, self.model.newest)))

    def action_start(self) -> None:
        if self._above.screen is None:
            is_log = self.model.screen == EVENTS
            self._changed((lambda: show_event(self.model)) if is_log else self.model.drill_in)
        else:
            self._above.start()
            self.draw()

    def action_leave(self) -> None:
        if self._above.screen is None:
            self._changed(lambda: self.model.go_to(OVERVIEW))
        else:
            self._above.leave()
            self.draw()

    def _pause_sampler(self) -> None:
        if self._sampler is not None and not self.model.is_recorded:
            self._sampler.stop()

    def _resume_sampler(self) -> None:
        if self._sampler is not None and not self.model.is_recorded:
            self.run_worker(self._follow(self._sampler), exclusive=False)

    def action_scroll(self, lines: int) -> None:
        if self._above.screen is not None:
            self._above.screen.offset += lines
            self.draw()
            return
        if self.model.screen in _SELECTING:
            self._changed(lambda: self.model.select(lines))
        else:
            self._changed(lambda: self.model.scroll(lines, cpu_room(self.model, *self.size)))

    def _changed(self, change: Callable[[], None]) -> None:
        """While the help is shown, any key closes it and does nothing else."""
        self.model.notice = None
        if self._shows_help:
            self._shows_help = False
        else:
            change()
        self.draw()

    def _move_aside(self, frame: Frame) -> None:
        """The sampler knows which CPUs are to be left alone; this process follows it there."""
        if frame.sampler_cpu_s is None or frame.housekeeping == self._aside:
            return
        self._aside = frame.housekeeping
        wanted = set(frame.housekeeping) or set(frame.target[:1])
        try:
            for thread in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(thread), wanted)
        except OSError:
            return  # the sampler meets the same refusal, and its frames carry the remark
