"""The keys of the monitor with their actions and names, and the help that lists them by purpose.

The help also explains the words and signs on the screens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from textual.binding import Binding
from textual.keys import Keys, key_to_character

from noisewatch.surfaces.tui.draw.text_row import Row, cut, length
from noisewatch.surfaces.tui.events.kinds import MARKS, SEVERAL
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
SCROLLING = frozenset(
    key for binding in BINDINGS if binding.action.startswith("scroll") for key in binding.key.split(",")
)
WHILE_TYPING = frozenset({"leave_at_once"})
IN_OVERLAY = frozenset(
    {"quit", "leave_at_once", "start", "leave", "scroll", "scroll_or_choose", "export", "fix_script"}
)
_PALETTE = ("ctrl+p", "command_palette", "command palette")  # bound by Textual
KEYS_IN_HELP = [*((binding.key, binding.action, binding.description) for binding in BINDINGS if binding.show), _PALETTE]
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


_TEXT = """\
noisewatch: what makes the CPUs of your benchmark noisy
  T   a target CPU        s   shares a core with one        x   offline
  noise/s  time taken from the task that would run there, per second
           ~ estimated: a typical cost, or noise that may have moved between CPUs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  one character per interval, logarithmic:
           half height from 1 ms/s (0.1%), full height from 200 ms/s
           _ none   ? unknown   . or , not among the 64 costliest: not followed
  measured  noise/s of the last 10 s, by the idle probe: S: 2% of idle CPUs
  with many CPUs: columns, then cells (a group shows its worst CPU)
  filter   kworker cpu:2-5 kind:irq >100us !rcu: all of it at once
  UNSTABLE  as `noisewatch preflight` judges, over 5 s or the last interval
  [7/9]    process 7, thread 9     unexplained  unattributed: busy, but no visible
           thread explains it; mostly short-lived threads
  outside  hypervisor or firmware     self  what noisewatch itself costs
"""
_EVENTS_A_LINE = 6
_SCROLLS = "  {} scroll, any other key closes"
_KEY, _COLUMN, _LEGEND = 11, 40, 84  # columns of a key, of a key with its effect, of the words
# By the beginning of an action; all other actions are for looking.
_GROUPS = {
    "move in time": (
        *("freeze", "speed", "event", "do('step", "do('next_zoom", "do('toggle_pause"),
        *("do('mark_baseline", "do('forget_baseline"),
    ),
    "act": ("ask", "idle_probe", "advise"),
    "copy, export, leave": ("copy", "export", "fix_script", "command_palette", "help", "quit"),
}
_LOOK = "look"


def help_rows(
    bindings: Sequence[tuple[str, str, str]], width: int, height: int, offset: int = 0, in_unicode: bool = True
) -> list[Row]:
    """Return the keys, and the words next to or below them, scrolled by `offset` if not all fit.

    Bindings are keys, their action and its effect; keys with the same effect share a row.
    """
    title, *words = _TEXT.splitlines()
    legend: list[Row] = [_plain(line) for line in (*words, *_events())]
    has_room_for_legend = width >= 2 * _COLUMN + _LEGEND
    columns = max(min((width - (_LEGEND if has_room_for_legend else 0)) // _COLUMN, 4), 1)
    keys = _in_columns(_by_group(bindings, in_unicode), columns)
    if has_room_for_legend:
        count = max(len(keys), len(legend))
        padded = [_cell(row, columns * _COLUMN) for row in [*keys, *([[]] * (count - len(keys)))]]
        body = [[*left, *right] for left, right in zip(padded, [*legend, *([[]] * (count - len(legend)))], strict=True)]
    else:
        body = [*keys, *legend]
    rows = [_plain(title), *body]
    if len(rows) > height:
        room = max(height - 2, 0)
        first = min(offset, len(body) - room)
        arrows = "↑ ↓" if in_unicode else "arrows"
        rows = [_plain(title), *body[first : first + room], _plain(_SCROLLS.format(arrows))]
    return [cut(row, width) for row in rows[:height]]


def _events() -> list[str]:
    """Return the letters below the timeline."""
    letters = [f"{mark} {kind}" for kind, mark in MARKS.items()] + [f"{SEVERAL} several"]
    lines = ["   ".join(letters[at : at + _EVENTS_A_LINE]) for at in range(0, len(letters), _EVENTS_A_LINE)]
    return [f"  {'events' if not at else '':<8} {line}" for at, line in enumerate(lines)]


def _by_group(bindings: Sequence[tuple[str, str, str]], in_unicode: bool) -> list[list[Row]]:
    """Return the rows of each group, its name first."""
    keys_of: dict[str, dict[str, list[str]]] = {name: {} for name in (_LOOK, *_GROUPS)}
    for keys, action, doing in sorted(bindings, key=lambda binding: not binding[1].startswith("do('go_to")):
        keys_of[_group_of(action)].setdefault(doing, []).extend(keys.split(","))
    return [
        [
            [(f"  {name}", "heading")],
            *(row for doing, keys in keys_by_effect.items() for row in _key_rows(keys, doing, in_unicode)),
        ]
        for name, keys_by_effect in keys_of.items()
        if keys_by_effect
    ]


def _key_rows(keys: Sequence[str], doing: str, in_unicode: bool) -> list[Row]:
    """Return a row for each effect of the keys, which may differ by screen."""
    names = " ".join(name_of_key(key, in_unicode) for key in keys)
    effects = doing.split("; ")
    return [
        [(f"  {name:<{_KEY}} ", "strong"), (effect, "plain")]
        for name, effect in zip_longest([names], effects, fillvalue="")
    ]


def _group_of(action: str) -> str:
    return next((name for name, begins in _GROUPS.items() if action.startswith(begins)), _LOOK)


def _in_columns(groups: Sequence[Sequence[Row]], count: int) -> list[Row]:
    """Return the groups in columns; each group goes completely into the shortest column so far."""
    columns: list[list[Row]] = [[] for _ in range(count)]
    for group in groups:
        min(columns, key=len).extend(group)
    height = max(map(len, columns))
    return [
        [piece for column in columns for piece in _cell(column[at] if at < len(column) else [], _COLUMN)]
        for at in range(height)
    ]


def _cell(row: Row, width: int) -> Row:
    """Return the row in exactly `width` columns."""
    shown = cut(row, width)
    return [*shown, (" " * (width - length(shown)), "plain")]


def _plain(line: str) -> Row:
    return [(line, "plain")]
