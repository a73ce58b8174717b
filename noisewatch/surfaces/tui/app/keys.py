"""The keys of the monitor, with their actions and names."""

from __future__ import annotations

from textual.binding import Binding
from textual.keys import Keys, key_to_character

from noisewatch.surfaces.tui.state.screen_model import SCREENS

# An effect that differs on some screens follows behind `; `, with the screen's name.
BINDINGS = [
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
    Binding("left_square_bracket", "do('step_to_spike', -1)", "previous spike, clock drop"),
    Binding("right_square_bracket", "do('step_to_spike', 1)", "next spike, clock drop"),
    Binding("left_curly_bracket", "event(-1)", "previous event"),
    Binding("right_curly_bracket", "event(1)", "next event"),
    Binding("H", "do('toggle_pause_on_spike')", "pause on spike"),
    Binding("w", "do('next_zoom')", "zoom time"),
    Binding("s", "do('next_sort')", "sort"),
    Binding("m", "do('mark_baseline')", "mark baseline"),
    Binding("M", "do('forget_baseline')", "clear baseline"),
    Binding("a", "do('toggle_all_cpus')", "all CPUs"),
    Binding("g", "do('toggle_folding')", "group rows; clock: next graph"),
    Binding("z", "toggle_hidden", "irqs: show silent IRQs; map: one cache, or all"),
    Binding("v", "do('toggle_all_checks')", "all checks"),
    Binding("c", "ask('calibration')", "calibrate"),
    Binding("t", "ask('trace')", "trace"),
    Binding("p", "ask('preflight')", "run preflight"),
    Binding("r", "ask('history')", "machine's history"),
    Binding("S", "idle_probe", "idle probe"),
    *(Binding(str(number + 1), f"do('go_to', '{name}')", name) for number, name in enumerate(SCREENS)),
    Binding("tab", "next(1)", "next CPU or screen", priority=True),
    Binding("shift+tab", "next(-1)", "previous CPU or screen", priority=True),
    Binding("slash", "filter", "filter"),
    Binding("f", "advise", "fix"),
    Binding("y", "copy", "copy fix"),
    Binding("F", "fix_script", "write fix script"),
    Binding("e", "export", "export"),
    Binding("enter", "start", "open CPU, start"),
    Binding("escape", "leave", "back"),
    Binding("question_mark,h,f1", "help", "help"),
    Binding("down,j", "scroll(1)", "scroll"),
    Binding("up", "scroll(-1)", "scroll"),
    Binding("k", "scroll_or_choose", "a row up; map: noise, clock or heat"),
    Binding("pagedown", "scroll(10)", "scroll"),
    Binding("pageup", "scroll(-10)", "scroll"),
    Binding("q", "quit", "quit, close", priority=True),  # last in the palette, whose first row Enter runs
]
SCROLLING = frozenset(key for each in BINDINGS if each.action.startswith("scroll") for key in each.key.split(","))
WHILE_TYPING = frozenset({"leave_at_once"})
IN_OVERLAY = frozenset(
    {"quit", "leave_at_once", "start", "leave", "scroll", "scroll_or_choose", "export", "fix_script"}
)
_PALETTE = ("ctrl+p", "command_palette", "command palette")  # bound by Textual
KEYS_IN_HELP = [*((each.key, each.action, each.description) for each in BINDINGS if each.show), _PALETTE]
KEY_NAMES = tuple(key.value for key in Keys)  # of keys that are not characters


def is_key(name: str) -> bool:
    """Return whether a key has this name: a character, a character's name, or another key's name."""
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
_ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


def name_of_key(key: str, in_unicode: bool = True) -> str:
    """Return the name of a key on a keyboard; `key` is Textual's name."""
    *held, last = key.split("+")
    return "-".join([*held, (_NAMES | _ARROWS if in_unicode else _NAMES).get(last, last)])
