"""The keys of the monitor: what they do, and the help and the command palette that list them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.keys import Keys, key_to_character

from noisewatch.surfaces.tui.draw.text_row import Row, cut
from noisewatch.surfaces.tui.state.screen_model import SCREENS, ScreenModel

BINDINGS = [
    Binding("q", "quit", "quit", priority=True),
    Binding("ctrl+c", "leave_at_once", "quit", priority=True, show=False),
    Binding("space", "freeze", "freeze, play"),
    Binding("less_than_sign", "speed(-1)", "play slower"),
    Binding("greater_than_sign", "speed(1)", "play faster"),
    Binding("left", "do('step', -1)", "step back"),
    Binding("right", "do('step', 1)", "step forward"),
    Binding("shift+left", "do('step', -10)", "10 back"),
    Binding("shift+right", "do('step', 10)", "10 forward"),
    Binding("home", "do('step', -1_000_000)", "oldest"),
    Binding("end", "do('step_to_newest')", "newest"),
    Binding("left_square_bracket", "do('step_to_spike', -1)", "previous spike"),
    Binding("right_square_bracket", "do('step_to_spike', 1)", "next spike"),
    Binding("left_curly_bracket", "event(-1)", "previous event"),
    Binding("right_curly_bracket", "event(1)", "next event"),
    Binding("H", "do('toggle_pause_on_spike')", "pause on spike"),
    Binding("w", "do('next_zoom')", "zoom time"),
    Binding("s", "do('next_sort')", "sort"),
    Binding("m", "do('mark_baseline')", "mark baseline"),
    Binding("M", "do('forget_baseline')", "clear baseline"),
    Binding("a", "do('toggle_all_cpus')", "all CPUs"),
    Binding("g", "do('toggle_folding')", "group culprits, IRQs"),
    Binding("z", "do('toggle_silent_irqs')", "silent IRQs"),
    Binding("c", "ask('calibration')", "calibrate"),
    Binding("t", "ask('trace')", "trace"),
    Binding("p", "ask('preflight')", "run preflight"),
    Binding("S", "idle_probe", "idle probe"),
    *(Binding(str(number + 1), f"do('go_to', '{name}')", name) for number, name in enumerate(SCREENS)),
    Binding("tab", "next(1)", "next CPU or screen", priority=True),
    Binding("shift+tab", "next(-1)", "previous CPU or screen", priority=True),
    Binding("slash", "filter", "filter"),
    Binding("f", "advise", "fix"),
    Binding("y", "copy", "copy fix"),
    Binding("e", "export", "export"),
    Binding("enter", "start", "open CPU, start"),
    Binding("escape", "leave", "back"),
    Binding("question_mark,h,f1", "help", "help"),
    Binding("down,j", "scroll(1)", "scroll"),
    Binding("up,k", "scroll(-1)", "scroll"),
    Binding("pagedown", "scroll(10)", "scroll"),
    Binding("pageup", "scroll(-10)", "scroll"),
]
SCROLLING = frozenset(key for each in BINDINGS if each.action.startswith("scroll") for key in each.key.split(","))
WHILE_TYPING = frozenset({"leave_at_once"})
IN_OVERLAY = frozenset({"quit", "leave_at_once", "start", "leave", "scroll", "export"})
_PALETTE = ("ctrl+p", "command palette")  # bound by Textual
KEYS_IN_HELP = [*((each.key, each.description) for each in BINDINGS if each.show), _PALETTE]
KEY_NAMES = tuple(key.value for key in Keys)  # of those that are no characters


def is_key(name: str) -> bool:
    """Whether a key is called so: a character, the name of one, or another key's."""
    return name in KEY_NAMES or (key_to_character(name) or "\0").isprintable()


_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "slash": "/",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
}


def name_of_key(key: str) -> str:
    """As it stands on a keyboard; `key` is Textual's name of it."""
    return _NAMES.get(key, key.replace("shift+", "shift-").replace("ctrl+", "ctrl-"))


_TEXT = """\
noisewatch: who makes the CPUs of your benchmark noisy
  T   a target CPU        s   shares a core with one        x   offline
  noise/s  time taken from whoever would run there, per second
           ~ estimated: a typical cost, or noise that may have moved between CPUs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  one character per interval, logarithmic:
           half height from 1 ms/s (0.1 %), full height from 200 ms/s
  measured  noise/s of the last 10 s, by the idle probe: S spins 2 % of idle targets
  with many CPUs: columns, then cells (a group shows its worst CPU)
  filter   kworker cpu:2-5 kind:irq >100us !rcu: all of it at once
  UNSTABLE  as `noisewatch preflight` judges, over 5 s or the last interval
  [7/9]    process 7, thread 9     unexplained  unattributed: busy, but no visible
           thread explains it; mostly short-lived threads
  outside  hypervisor or firmware     self  what noisewatch itself costs
"""
_SCROLLS = "  arrows scroll, any other key closes"
_KEY, _COLUMN = 12, 38


def help_rows(bindings: Sequence[tuple[str, str]], width: int, height: int, offset: int = 0) -> list[Row]:
    """The keys first where not all of it fits, scrolled by `offset`; bindings are keys and what they do, and those that
    do the same stand together.
    """
    keys_by_action: dict[str, list[str]] = {}
    for keys, action in bindings:
        keys_by_action.setdefault(action, []).extend(keys.split(","))
    entries = [f"  {' '.join(map(name_of_key, keys)):<{_KEY}} {action}" for action, keys in keys_by_action.items()]
    columns = max(min(width // _COLUMN, 3), 1)
    count = -(-len(entries) // columns)
    lines = ["".join(f"{entry:<{_COLUMN}}" for entry in entries[row::count]) for row in range(count)]
    title, *text = _TEXT.splitlines()
    whole = [title, *text, "", *lines]
    if len(whole) > height:
        whole = [title, *lines, *text]
        room = max(height - 1, 0)
        first = min(offset, len(whole) - room)
        whole = [*whole[first : first + room], _SCROLLS]
    return [cut([(line.rstrip(), "plain")], width) for line in whole[:height]]


class KeyCommands(Provider):
    """What can be asked for by its name."""

    async def discover(self) -> Hits:
        for name, told, command in self._key_commands():
            yield DiscoveryHit(name, command, help=told)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, told, command in (*self._key_commands(), *self._cpu_commands()):
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), command, help=told)

    def _key_commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        for binding in BINDINGS:
            if binding.show:
                yield (
                    binding.description,
                    f"key {' '.join(map(name_of_key, binding.key.split(',')))}",
                    partial(self.app.run_action, binding.action),
                )

    def _cpu_commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        model: ScreenModel = self.app.model  # type: ignore[attr-defined]  # the only app that has this palette
        for line in model.frame.cpus if model.frame is not None else ():
            yield f"CPU {line.cpu}", line.role, partial(self.app.run_action, f"cpu({line.cpu})")
