"""The command palette, which finds screens, actions and CPUs by plain words, in the terminal's own colours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from re import findall

from msgspec.structs import replace
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from noisewatch.surfaces.tui.app.keys import COMMANDS, LOOK, Command, name_of_key
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.state.map_view import Quantity
from noisewatch.surfaces.tui.state.screen_model import Screen

_KEY, _NAME = 12, 28


def _score(command: Command, query: str) -> float:
    """Return how well the query matches the command: from 0 (no match) to 1 (its name or key)."""
    name, asked = command.name.lower(), query.lower()
    if name == asked or query in command.key.split():
        return 1.0
    if name.startswith(asked):
        return 0.9
    if _matches(name, asked):
        return 0.7
    return 0.5 if _matches(f"{name} {command.words.lower()}", asked) else 0.0


def _matches(text: str, asked: str) -> bool:
    """Return whether each typed word begins a word of the text."""
    words = findall(r"\w+", text)
    return all(any(word.startswith(part) for word in words) for part in asked.split())


def _row(command: Command) -> Content:
    return Content.assemble(f"{command.key:<{_KEY}}", f"{command.name:<{_NAME}}", (command.words, "dim"))


def _key_commands(in_unicode: bool) -> Iterator[Command]:
    """Yield the commands that have a key, with the names printed on the keys."""
    for command in COMMANDS:
        if command.is_hidden or command.action_name in ("scroll", "command_palette"):
            continue
        keys = " ".join(name_of_key(key, in_unicode) for key in command.key.split(","))
        name, *more = command.name.split("; ")
        action, words = command.action, ", ".join([*more, command.words])
        if action == "quit":  # the key closes opened parts first; the palette's command exits
            name, action = "quit", "leave_at_once"
        yield replace(command, key=keys, name=name, words=words, action=action)


def _other_commands() -> Iterator[Command]:
    key = str(Screen.MAP.number)
    for quantity in Quantity:
        # not `map of interrupts`: the query `interrupts` would list it before the screen `irqs`
        name = "map of IRQs" if quantity == Quantity.INTERRUPTS else f"map of {quantity}"
        yield Command(key, name, LOOK, f"{quantity} on the map, over time", f"do('go_to_map', '{quantity}')")
    yield Command("", "light colours, theme", LOOK, "screenshot --theme light", "explain_theme")


class KeyCommands(Provider):
    """A provider of the palette's commands: the keys' actions, the map's quantities, and the CPUs."""

    async def discover(self) -> Hits:
        for command in _key_commands(self._monitor.is_in_unicode):
            yield DiscoveryHit(_row(command), partial(self.app.run_action, command.action), command.name)

    async def search(self, query: str) -> Hits:
        for command in (*_key_commands(self._monitor.is_in_unicode), *_other_commands(), *self._cpu_commands()):
            if (score := _score(command, query)) > 0:
                yield Hit(score, _row(command), partial(self.app.run_action, command.action), command.name)

    @property
    def _monitor(self) -> MonitorApp:
        """The application, which is always the monitor."""
        assert isinstance(self.app, MonitorApp)
        return self.app

    def _cpu_commands(self) -> Iterator[Command]:
        key = str(Screen.CPU.number)
        for line in self._monitor.model.cpus:
            yield Command(key, f"CPU {line.cpu}", LOOK, line.role, f"do('go_to_cpu', {line.cpu})")


class Palette(CommandPalette):
    """Textual's command palette in the terminal's own colours."""

    CSS = """
    Palette { background: transparent; color: ansi_default; }
    Palette > Vertical { margin: 2 4; background: ansi_default; }
    Palette #--input, Palette CommandList { border: round ansi_bright_black; background: ansi_default; }
    Palette.-ascii #--input, Palette.-ascii CommandList { border: ascii ansi_bright_black; }
    Palette SearchIcon { display: none; }
    Palette CommandInput { border: none; height: 1; color: ansi_default; background: ansi_default; }
    Palette CommandList {
        scrollbar-color: ansi_bright_black;
        scrollbar-background: ansi_default;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    Palette CommandList > .option-list--option { padding: 0 1; color: ansi_default; text-style: none; }
    Palette CommandList > .option-list--option-highlighted { color: ansi_black; background: ansi_white; }
    """

    def __init__(self, in_unicode: bool) -> None:
        super().__init__({KeyCommands}, placeholder="a screen, an action or a CPU: freq, irq, fix, export, cpu 3")
        self.set_class(not in_unicode, "-ascii")
