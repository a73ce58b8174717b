"""The help: all keys by purpose, and the meaning of words and signs on the screens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from noisewatch.surfaces.tui.app.keys import name_of_key
from noisewatch.surfaces.tui.draw.text_row import Row, cut, length
from noisewatch.surfaces.tui.events.kinds import MARKS, SEVERAL

_TEXT = """\
noisewatch: who makes the CPUs of your benchmark noisy
  T   a target CPU        s   shares a core with one        x   offline
  noise/s  time taken from whoever would run there, per second
           ~ estimated: a typical cost, or noise that may have moved between CPUs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  one character per interval, logarithmic:
           half height from 1 ms/s (0.1 %), full height from 200 ms/s
           _ none   ? unknown   . or , not among the 64 costliest: not followed
  measured  noise/s of the last 10 s, by the idle probe: S: 2 % of idle CPUs
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
    has_room_beside = width >= 2 * _COLUMN + _LEGEND
    columns = max(min((width - (_LEGEND if has_room_beside else 0)) // _COLUMN, 4), 1)
    keys = _in_columns(_by_group(bindings, in_unicode), columns)
    if has_room_beside:
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
    told = [f"{mark} {kind}" for kind, mark in MARKS.items()] + [f"{SEVERAL} several"]
    lines = ["   ".join(told[at : at + _EVENTS_A_LINE]) for at in range(0, len(told), _EVENTS_A_LINE)]
    return [f"  {'events' if not at else '':<8} {line}" for at, line in enumerate(lines)]


def _by_group(bindings: Sequence[tuple[str, str, str]], in_unicode: bool) -> list[list[Row]]:
    """Return the rows of each group, its name first."""
    keys_of: dict[str, dict[str, list[str]]] = {name: {} for name in (_LOOK, *_GROUPS)}
    for keys, action, doing in sorted(bindings, key=lambda each: not each[1].startswith("do('go_to")):
        keys_of[_group_of(action)].setdefault(doing, []).extend(keys.split(","))
    return [
        [
            [(f"  {name}", "heading")],
            *(row for doing, keys in found.items() for row in _key_rows(keys, doing, in_unicode)),
        ]
        for name, found in keys_of.items()
        if found
    ]


def _key_rows(keys: Sequence[str], doing: str, in_unicode: bool) -> list[Row]:
    """Return a row for each effect of the keys, which may differ by screen."""
    names = " ".join(name_of_key(key, in_unicode) for key in keys)
    each = doing.split("; ")
    return [
        [(f"  {name:<{_KEY}} ", "strong"), (said, "plain")] for name, said in zip_longest([names], each, fillvalue="")
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
