"""Keys and mouse of the monitor: whether the screen, an overlay or the help receives them, and their effects.

A fault costs only the requested action.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.events import Key, MouseDown
from textual.worker import Worker

from noisewatch.faults import Boundary, contained
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.app.export import (
    command_to_copy,
    export,
    export_scripts,
    pictures_of,
    shown_scripts,
    window_reports,
)
from noisewatch.surfaces.tui.app.keys import BINDINGS, IN_OVERLAY, SCROLLING, WHILE_TYPING
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess, toggle_idle_probe
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, OverlayHost, overlay_named
from noisewatch.surfaces.tui.screens.clock import rows_of_cpus
from noisewatch.surfaces.tui.screens.culprits import begin_filter, type_key
from noisewatch.surfaces.tui.screens.overview import cpu_room
from noisewatch.surfaces.tui.screens.page import number_at
from noisewatch.surfaces.tui.state.screen_model import SCREENS, WITH_CULPRITS, MapView, Quantity, Screen, ScreenModel

# The screens with a selected row.
_SELECTING = (Screen.IRQS, Screen.CPU, Screen.EVENTS, Screen.PREFLIGHT, Screen.CULPRITS)


class ActingApp(App[None]):
    """An application that changes its model as the bindings require; a subclass draws the model."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    model: ScreenModel
    _access: MachineAccess
    _sampler: SamplerProcess | None
    _player: Player | None
    _overlays: OverlayHost
    _shows_help: bool
    _help_offset: int
    _fix_sought: int | None = None  # number of the fix that is being searched

    @property
    @abstractmethod
    def is_in_unicode(self) -> bool:
        """Whether the terminal shows more than ASCII."""

    @abstractmethod
    def draw(self) -> None:
        """Draw the current model."""

    @abstractmethod
    def picture(self) -> str:
        """Return the screen as SVG."""

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; a fault costs only that action."""
        with Boundary(self._show_fault):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def _show_fault(self, reason: str, what: str = "do that") -> None:
        """Show the fault on the front screen."""
        (self._overlays.shown or self.model).notice = f"could not {what}: {reason}"
        self.draw()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Show the interval that was pressed on the timeline."""
        contained(lambda: self._press(event), self._show_fault)

    def _press(self, event: MouseDown) -> None:
        is_covered = self._overlays.shown is not None or self._shows_help or self.model.is_typing
        at = number_at(self.model, event.x, event.y, *self.size)
        if at is not None and not is_covered:
            self._change_model(lambda: self.model.go_to_number(at))

    def on_mouse_scroll_down(self) -> None:
        contained(lambda: self.action_scroll(1), self._show_fault)

    def on_mouse_scroll_up(self) -> None:
        contained(lambda: self.action_scroll(-1), self._show_fault)

    def on_key(self, event: Key) -> None:
        if self.model.is_typing:
            event.prevent_default()
            contained(lambda: type_key(self.model, event.key, event.character), self._show_fault)
            self.draw()
        elif self._shows_help and event.key not in SCROLLING:
            event.prevent_default()
            self._change_model(lambda: None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether the action is allowed now.

        While a filter is typed it gets all keys; under an overlay, actions on the monitor are not allowed.
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
        """Change the model and draw it; while the help is shown, only close the help. A fix follows the selection."""
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
        """Ask the sampler for data that only some screens show, while these are open."""
        screen, quantity = self.model.screen, self.model.map.quantity
        has_clock = screen == Screen.CLOCK or (screen == Screen.MAP and quantity == Quantity.HEAT)
        required = {"clock": has_clock, "answers": screen == Screen.PREFLIGHT}
        for name, is_required in required.items():
            if self._sampler is not None and self._sampler.asked.get(name, False) is not is_required:
                self._sampler.ask(name, is_required)

    def action_leave_at_once(self) -> None:
        self.exit()

    async def action_quit(self) -> None:
        """Close the help, an overlay, or what is opened on the screen; if there is none, end the program."""
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

    def action_event(self, direction: int) -> None:
        self._change_model(lambda: step_to_event(self.model, direction))

    def action_filter(self) -> None:
        self._change_model(lambda: begin_filter(self.model))

    def action_copy(self) -> None:
        """Copy the shown fix's command to the terminal's clipboard (OSC 52); it is not executed."""
        command, notice = command_to_copy(self.model)
        if command is not None and not self._shows_help:
            self.copy_to_clipboard(command)
        self._change_model(lambda: setattr(self.model, "notice", notice))

    def action_cpu(self, cpu: int) -> None:
        """Show the CPU on the screen of one CPU, independent of the selected row."""
        self.model.cpu = cpu
        self.action_do("go_to", Screen.CPU)

    def action_map_of(self, quantity: str) -> None:
        """Show the map of that quantity."""
        self.model.map = replace(self.model.map, quantity=Quantity(quantity))
        self.action_do("go_to", Screen.MAP)

    def action_explain_theme(self) -> None:
        self._show_notice(
            "the monitor has the terminal's own colours; noisewatch screenshot --theme light draws light ones"
        )

    def action_next(self, direction: int) -> None:
        if self.model.screen == Screen.CPU:
            self._change_model(lambda: self.model.next_cpu(direction))
        else:
            at = SCREENS.index(self.model.screen) + direction
            self._change_model(lambda: self.model.go_to(SCREENS[at % len(SCREENS)]))

    def action_export(self) -> None:
        """Write the screen as pictures and its data as reports into the working directory."""
        self._show_notice(contained(self._export_shown, lambda reason: f"nothing was written: {reason}"))

    def _export_shown(self) -> str:
        shown = self._overlays.shown
        intervals = self.size.width * self.model.zoom  # that fit on the timeline
        reports = shown.reports() if shown is not None else window_reports(self.model, intervals)
        return export({**pictures_of(self.picture()), **reports}, time.localtime())

    def action_advise(self) -> None:
        """Show the fix for the culprit that the user sees selected, or close it."""
        selected = self.model.selected()
        if self.model.screen not in (*WITH_CULPRITS, Screen.IRQS):
            text = "its fix, if any, is below: y copies it"
            self._show_notice(
                text
                if self.model.screen == Screen.PREFLIGHT
                else f"no culprit is selected here: screens {_culprit_screen_numbers()} list them"
            )
        elif self.model.shows_fix:
            self._change_model(self.model.close_fix)
        elif selected is not None and self._access.open_machine is not None:
            self._change_model(lambda: self.model.ask_for_fix(selected))

    def _find_fix(self) -> None:
        """Search the requested fix for the selected culprit in a thread; one thread at a time reads the machine."""
        selected, frame, open_machine = self.model.selected(), self.model.frame, self._access.open_machine
        if not self.model.awaits_fix or self._fix_sought is not None:
            return
        if selected is None or frame is None or open_machine is None:
            return
        from noisewatch.operations.advise import Advice, advise  # all checks: the first picture comes first

        self._fix_sought = self.model.fix_number
        target, culprits = frozenset(frame.target), frame.culprits
        self.run_worker(
            lambda: contained(
                lambda: advise(open_machine, target, selected, culprits),
                lambda reason: Advice(selected, (f"No advice: {reason}",)),
            ),
            thread=True,
            name="advice",
        )

    def action_fix_script(self) -> None:
        """Write the scripts that fix the shown causes and undo the fixes into the working directory."""
        shown, frame = self._overlays.shown, self.model.frame
        if shown is not None:
            if scripts := shown.scripts():
                self._show_notice(export_scripts(scripts))
        elif frame is None or frame.verdict is None:
            self._show_notice("no fix script: there is no verdict yet")
        else:
            self._show_notice(
                contained(lambda: self._scripts_written(frame), lambda reason: f"no fix script: {reason}")
            )

    def _scripts_written(self, frame: Frame) -> str:
        scripts = shown_scripts(frame)
        return export_scripts(scripts) if scripts else "no fix script: nothing fails or warns"

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
        """Announce an overlay with its cost; start it at once only if it just shows recorded data."""
        overlay = overlay_named(name, self.model.newest)
        self._change_model(lambda: self._overlays.announce(overlay))
        if overlay.costs_nothing and self._overlays.shown is overlay:
            self.action_start()

    def action_idle_probe(self) -> None:
        """Switch the idle probe on the target CPUs on or off."""
        self._change_model(lambda: setattr(self.model, "notice", toggle_idle_probe(self._sampler, self.model.newest)))

    def action_start(self) -> None:
        if self._overlays.shown is None:
            openers = {
                Screen.MAP: self._open_pointed,
                Screen.EVENTS: lambda: show_event(self.model),
                Screen.PREFLIGHT: self.model.toggle_check,
            }
            self._change_model(openers.get(self.model.screen, self.model.drill_in))
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
            self._help_offset = max(self._help_offset + lines, 0)
            self.draw()
            return
        if self._overlays.shown is not None:
            self._overlays.shown.offset += lines
            self.draw()
            return
        if self.model.shows_fix and abs(lines) > 1:
            self._change_model(lambda: self.model.scroll_fix(lines))
        elif self.model.screen in _SELECTING or (self.model.screen == Screen.OVERVIEW and abs(lines) == 1):
            self._change_model(lambda: self.model.select(lines))
        elif self.model.screen == Screen.MAP:
            self._change_model(lambda: self._set_map(self.model.map.moved(self.model, lines)))
        else:
            self._change_model(lambda: self.model.scroll(lines, _room(self.model, *self.size)))

    def action_scroll_or_choose(self) -> None:
        """Show the next quantity on the map; on other screens, move a row up."""
        if self._shows_help or self._overlays.shown is not None or self.model.screen != Screen.MAP:
            self.action_scroll(-1)
        else:
            self._change_model(lambda: self._set_map(self.model.map.with_next_quantity()))

    def action_toggle_hidden(self) -> None:
        """Toggle the map between all CPUs and the selected one's cache; on other screens, toggle silent IRQs."""
        if self.model.screen == Screen.MAP:
            self._change_model(lambda: self._set_map(self.model.map.with_part_toggled()))
        else:
            self._change_model(self.model.toggle_silent_irqs)

    def _set_map(self, view: MapView) -> None:
        self.model.map = view

    def _open_pointed(self) -> None:
        self.model.cpu = self.model.map.pointed(self.model)
        self.model.go_to(Screen.CPU)


def _culprit_screen_numbers() -> str:
    first, *others = sorted(SCREENS.index(screen) + 1 for screen in (*WITH_CULPRITS, Screen.IRQS))
    return f"{', '.join(map(str, [first, *others[:-1]]))} and {others[-1]}"


def _room(model: ScreenModel, width: int, height: int) -> int:
    return (rows_of_cpus if model.screen == Screen.CLOCK else cpu_room)(model, width, height)


def step_to_event(model: ScreenModel, direction: int) -> None:
    """Show the next interval with an event in that direction; without one, stay."""
    kept = model.history.kept
    happened = {event.number for event in model.log.events if event.number in kept}
    beyond = [number for number in happened if (number - model.number) * direction > 0]
    if beyond:
        model.go_to_number(min(beyond, key=lambda number: abs(number - model.number)))


def show_event(model: ScreenModel) -> None:
    """Show the interval of the chosen event on the overview."""
    event = model.log.selected()
    if event is None:
        return
    number = min(event.number, model.history.count - 1)  # a device event may be newer than all intervals
    if number < model.history.first:
        model.notice = "that interval is no longer kept"
    elif number >= 0:
        model.go_to_number(number)
        model.go_to(Screen.OVERVIEW)
