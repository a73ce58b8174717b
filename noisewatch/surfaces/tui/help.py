"""The help screen: what the columns mean, and the keys, as they are bound."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.text_row import Row, cut

_TEXT = """\
noisewatch: who takes time from the CPUs of your benchmark
  T   a target CPU        s   shares a core with one        x   offline
  lost/s   time taken from whoever would run there, per second
           ~ counted, not measured: an estimate from typical costs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  a character an interval, on a logarithmic scale:
           half the height from 1 ms a second (0.1 %), full from 200 ms
  measured  lost/s of the last 10 s, by the sentinel: S spins 2 % of idle targets
  many CPUs stand in columns, or as cells: of one, or the worst of some
  filter   kworker cpu:2-5 kind:irq >100us !rcu: all of it at once
  the verdict is that of `noisewatch preflight` over the last 5 s
"""
_MORE = "  … a higher terminal shows more"
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
_KEY, _COLUMN = 12, 38


def help_rows(bindings: Sequence[tuple[str, str]], width: int, height: int) -> list[Row]:
    """As much of it as fits, the keys first; bindings are keys and what they do, and those that do the same stand
    together.
    """
    keys_by_action: dict[str, list[str]] = {}
    for keys, action in bindings:
        keys_by_action.setdefault(action, []).extend(keys.split(","))
    entries = [f"  {_named(keys):<{_KEY}} {action}" for action, keys in keys_by_action.items()]
    columns = max(min(width // _COLUMN, 3), 1)
    count = -(-len(entries) // columns)
    lines = ["".join(f"{entry:<{_COLUMN}}" for entry in entries[row::count]) for row in range(count)]
    title, *text = _TEXT.splitlines()
    shown = [title, *text, "", *lines]
    if len(shown) > height:
        shown = [title, *lines, *text]
    if len(shown) > height:
        shown = [*shown[: max(height - 1, 0)], _MORE]
    return [cut([(line.rstrip(), "plain")], width) for line in shown[:height]]


def _named(keys: Sequence[str]) -> str:
    return " ".join(_NAMES.get(key, key.replace("shift+", "shift-")) for key in keys)
