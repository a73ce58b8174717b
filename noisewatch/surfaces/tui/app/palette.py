"""The command palette: screens, actions and CPUs by plain words, one row each, in the terminal's own colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from re import findall

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from noisewatch.records import dataclass
from noisewatch.surfaces.tui.app.actions import ActingApp
from noisewatch.surfaces.tui.app.keys import BINDINGS, name_of_key
from noisewatch.surfaces.tui.state.screen_model import SCREENS, Quantity, Screen

_KEY, _NAME = 12, 28
# Other words for an action, by the beginning of the action.
_WORDS = {
    "do('go_to', 'overview')": "screen: all CPUs, noise, culprits, summary, home",
    "do('go_to', 'map')": "screen: all CPUs over time, heat map",
    "do('go_to', 'irqs')": "screen: interrupts, devices, affinity, softirqs",
    "do('go_to', 'clock')": "screen: frequency, turbo, temperature, heat, power, throttling, governor",
    "do('go_to', 'cpu')": "screen: one CPU, its culprits by kind",
    "do('go_to', 'events')": "screen: log of what changed",
    "do('go_to', 'preflight')": "screen: checks, verdict, causes, fixes, gate",
    "do('go_to', 'culprits')": "screen: who makes noise, threads, processes, list",
    "freeze": "stop, pause, hold, resume",
    "speed": "recording, replay",
    "do('step_to_spike'": "disturbance, noise",
    "do('step": "time, seconds, history",
    "event": "change, log",
    "do('toggle_pause": "freeze, stop at the next disturbance",
    "do('next_zoom": "time axis, scale, minutes, hour",
    "do('next_sort": "order by cost, rate, change",
    "do('mark_baseline": "compare, before, after, difference",
    "do('forget_baseline": "forget baseline, compare no longer",
    "do('toggle_all_cpus": "housekeeping CPUs, too",
    "do('toggle_folding": "fold, unfold, by device",
    "toggle_hidden": "interrupts that never come; one cache, one node of the map",
    "do('toggle_all_checks": "verbose, what each check says",
    "ask('calibration')": "noise floor, gaps, microbenchmark, measure",
    "ask('trace')": "follow threads and interrupts with the kernel's tracer",
    "ask('preflight')": "gate, check, verdict, with a calibration",
    "ask('history')": "remembered calibrations, slower or faster than usual, what changed",
    "idle_probe": "measure idle CPUs",
    "next(": "the one beside it",
    "start": "open, enter, why, begin",
    "leave": "close, cancel, return",
    "scroll_or_choose": "on the map: noise, interrupts, clock, heat",
    "filter": "find, search, name, kind",
    "advise": "advice, help, what to do, undo",
    "fix_script": "all fixes and their undo as shell scripts, file",
    "copy": "command, clipboard",
    "export": "save, picture, svg, png, json, markdown",
    "help": "keys, words, legend",
    "quit": "exit, leave",
}


@dataclass(frozen=True, slots=True)
class _Command:
    """A command of the palette; `words` are further search terms."""

    key: str
    name: str
    words: str
    run: Callable[[], object]

    @property
    def row(self) -> Content:
        return Content.assemble(f"{self.key:<{_KEY}}", f"{self.name:<{_NAME}}", (self.words, "dim"))

    def score(self, query: str) -> float:
        """Return how well the query matches: 1 for the name or key, 0 for no match."""
        name, asked = self.name.lower(), query.lower()
        if name == asked or self.key == query:
            return 1.0
        if name.startswith(asked):
            return 0.9
        if _matches(name, asked):
            return 0.7
        return 0.5 if _matches(f"{name} {self.words.lower()}", asked) else 0.0


def _matches(text: str, asked: str) -> bool:
    """Return whether each typed word begins a word of the text."""
    words = findall(r"\w+", text)
    return all(any(word.startswith(part) for word in words) for part in asked.split())


class KeyCommands(Provider):
    """A provider of the keys' actions, the quantities of the map, and the CPUs."""

    async def discover(self) -> Hits:
        for command in self._of_keys():
            yield DiscoveryHit(command.row, command.run, command.name)

    async def search(self, query: str) -> Hits:
        for command in (*self._of_keys(), *self._of_others(), *self._of_cpus()):
            if (score := command.score(query)) > 0:
                yield Hit(score, command.row, command.run, command.name)

    @property
    def _monitor(self) -> ActingApp:
        """The application, which is always the monitor."""
        assert isinstance(self.app, ActingApp)
        return self.app

    def _of_keys(self) -> Iterator[_Command]:
        for binding in BINDINGS:
            if binding.show and not binding.action.startswith("scroll("):
                words = next((words for begin, words in _WORDS.items() if binding.action.startswith(begin)), "")
                keys = " ".join(name_of_key(key, self._monitor.is_in_unicode) for key in binding.key.split(","))
                name, *more = binding.description.split("; ")
                action, words = binding.action, ", ".join([*more, words]) if more else words
                if action == "quit":  # the key first closes what is open; in the palette it ends the program
                    name, action = "quit", "leave_at_once"
                yield _Command(keys, name, words, partial(self.app.run_action, action))

    def _of_others(self) -> Iterator[_Command]:
        key = str(SCREENS.index(Screen.MAP) + 1)
        for quantity in Quantity:
            run = partial(self.app.run_action, f"map_of('{quantity}')")
            name = "map of IRQs" if quantity == Quantity.INTERRUPTS else f"map of {quantity}"  # irqs is their screen
            yield _Command(key, name, f"{quantity} on the map, over time", run)
        run = partial(self.app.run_action, "explain_theme")
        yield _Command("", "light colours, theme", "screenshot --theme light", run)

    def _of_cpus(self) -> Iterator[_Command]:
        key = str(SCREENS.index(Screen.CPU) + 1)
        for line in self._monitor.model.cpus:
            yield _Command(key, f"CPU {line.cpu}", line.role, partial(self.app.run_action, f"cpu({line.cpu})"))


class Palette(CommandPalette):
    """Textual's command palette, without its theme."""

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
