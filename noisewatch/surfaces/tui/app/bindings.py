"""The keys of the monitor, and which of them hold while something is typed, or shown above it."""

from __future__ import annotations

from textual.binding import Binding
from textual.keys import Keys, key_to_character

from noisewatch.surfaces.tui.state.screen_model import SCREENS

BINDINGS = [
    Binding("q", "quit", "quit", priority=True),
    Binding("ctrl+c", "leave_at_once", "quit", priority=True, show=False),
    Binding("space", "freeze", "freeze, play"),
    Binding("less_than_sign", "speed(-1)", "play slower"),
    Binding("greater_than_sign", "speed(1)", "play faster"),
    Binding("left", "do('step', -1)", "step back"),
    Binding("right", "do('step', 1)", "step forth"),
    Binding("shift+left", "do('step', -10)", "ten back"),
    Binding("shift+right", "do('step', 10)", "ten forth"),
    Binding("home", "do('step', -1_000_000)", "to the oldest"),
    Binding("end", "do('step_to_newest')", "to the newest"),
    Binding("left_square_bracket", "do('step_to_spike', -1)", "spike before"),
    Binding("right_square_bracket", "do('step_to_spike', 1)", "spike after"),
    Binding("left_curly_bracket", "event(-1)", "event before"),
    Binding("right_curly_bracket", "event(1)", "event after"),
    Binding("H", "do('toggle_pause_on_spike')", "pause on spike"),
    Binding("w", "do('next_zoom')", "zoom the time"),
    Binding("s", "do('next_sort')", "sort"),
    Binding("m", "do('mark_baseline')", "mark the baseline"),
    Binding("M", "do('forget_baseline')", "forget it"),
    Binding("a", "do('toggle_all_cpus')", "all CPUs"),
    Binding("c", "ask('calibration')", "calibrate"),
    Binding("t", "ask('trace')", "trace"),
    Binding("p", "ask('preflight')", "run the preflight"),
    Binding("S", "idle_probe", "idle probe"),
    *(Binding(str(number + 1), f"do('go_to', '{name}')", name) for number, name in enumerate(SCREENS)),
    Binding("tab", "next(1)", "next CPU, next screen", priority=True),
    Binding("shift+tab", "next(-1)", "the one before", priority=True),
    Binding("slash", "filter", "filter"),
    Binding("f", "advise", "what helps"),
    Binding("y", "copy", "copy the command that helps"),
    Binding("e", "export", "export"),
    Binding("enter", "start", "its CPU; start"),
    Binding("escape", "leave", "leave"),
    Binding("question_mark,h,f1", "help", "help"),
    Binding("down,j", "scroll(1)", "scroll"),
    Binding("up,k", "scroll(-1)", "scroll"),
    Binding("pagedown", "scroll(10)", "scroll"),
    Binding("pageup", "scroll(-10)", "scroll"),
]
SCROLLING = frozenset(key for each in BINDINGS if each.action.startswith("scroll") for key in each.key.split(","))
WHILE_TYPING = frozenset({"leave_at_once"})
ABOVE = frozenset({"quit", "leave_at_once", "start", "leave", "scroll", "export"})
_PALETTE = ("ctrl+p", "find what keys do")  # bound by Textual
KEYS_IN_HELP = [*((each.key, each.description) for each in BINDINGS if each.show), _PALETTE]
KEY_NAMES = tuple(key.value for key in Keys)  # of those that are no characters


def is_key(name: str) -> bool:
    """Whether a key is called so: a character, the name of one, or another key's."""
    return name in KEY_NAMES or (key_to_character(name) or "\0").isprintable()
