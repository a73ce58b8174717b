"""Keys and mouse of the monitor: dispatch to screen, overlay or help; a fault costs only the requested action."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.events import Key, MouseDown

from noisewatch.faults import Boundary, contained
from noisewatch.surfaces.tui.app.keys import BINDINGS, IN_OVERLAY, SCROLLING, WHILE_TYPING
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.overlays.host import OverlayHost
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.culprits import type_key
from noisewatch.surfaces.tui.screens.page import number_at
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel


class KeyedApp(App[None]):
    """An application with the bindings; subclasses implement their actions."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    model: ScreenModel
    _access: MachineAccess
    _sampler: SamplerProcess | None
    _player: Player | None
    _overlays: OverlayHost
    _shows_help: bool
    _help_offset: int

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

    @abstractmethod
    def action_scroll(self, lines: int) -> None:
        """Move the front screen by this many rows."""

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; a fault costs only that action."""
        with Boundary(self._cannot):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def _cannot(self, reason: str, what: str = "do that") -> None:
        """Show the fault on the front screen."""
        (self._overlays.shown or self.model).notice = f"could not {what}: {reason}"
        self.draw()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Show the interval that was pressed on the timeline."""
        contained(lambda: self._press(event), self._cannot)

    def _press(self, event: MouseDown) -> None:
        is_covered = self._overlays.shown is not None or self._shows_help or self.model.is_typing
        at = number_at(self.model, event.x, event.y, *self.size)
        if at is not None and not is_covered:
            self._changed(lambda: self.model.go_to_number(at))

    def on_mouse_scroll_down(self) -> None:
        contained(lambda: self.action_scroll(1), self._cannot)

    def on_mouse_scroll_up(self) -> None:
        contained(lambda: self.action_scroll(-1), self._cannot)

    def on_key(self, event: Key) -> None:
        if self.model.is_typing:
            event.prevent_default()
            contained(lambda: type_key(self.model, event.key, event.character), self._cannot)
            self.draw()
        elif self._shows_help and event.key not in SCROLLING:
            event.prevent_default()
            self._changed(lambda: None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether the action is allowed now.

        While a filter is typed it gets all keys; under an overlay, actions on the monitor are not allowed.
        """
        if self.model.is_typing or len(self.screen_stack) > 1:  # a filter, or the palette
            return action in WHILE_TYPING
        return self._overlays.shown is None or action in IN_OVERLAY

    def _tell(self, notice: str) -> None:
        """Show a notice on the front screen."""
        if self._overlays.shown is not None:
            self._overlays.shown.notice = notice
            self.draw()
        else:
            self._changed(lambda: setattr(self.model, "notice", notice))

    def _changed(self, change: Callable[[], None]) -> None:
        """Change the model and draw it; while the help is shown, only close the help."""
        self.model.notice = None
        if self._shows_help:
            self._shows_help = False
        else:
            change()
        if self._player is not None and self.model.is_recorded:
            self._player.read_on()
        self._ask_for_what_is_shown()
        self.draw()

    def _ask_for_what_is_shown(self) -> None:
        """Ask the sampler for data that only some screens show, while these are open."""
        screen, quantity = self.model.screen, self.model.map.quantity
        has_clock = screen == Screen.CLOCK or (screen == Screen.MAP and quantity == Quantity.HEAT)
        wants = {"clock": has_clock, "answers": screen == Screen.PREFLIGHT}
        for name, is_wanted in wants.items():
            if self._sampler is not None and self._sampler.asked.get(name, False) is not is_wanted:
                self._sampler.ask(name, is_wanted)
