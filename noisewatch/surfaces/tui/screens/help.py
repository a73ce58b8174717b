"""The help screen: what the columns mean, and the keys, as they are bound."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.app.keys import name_of_key
from noisewatch.surfaces.tui.draw.text_row import Row, cut

_TEXT = """\
noisewatch: who takes time from the CPUs of your benchmark
  T   a target CPU        s   shares a core with one        x   offline
  lost/s   time taken from whoever would run there, per second
           ~ an estimate: of typical costs, or of what may have moved between CPUs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  a character an interval, on a logarithmic scale:
           half the height from 1 ms a second (0.1 %), full from 200 ms
  measured  lost/s of the last 10 s, by the idle probe: S spins 2 % of idle targets
  many CPUs stand in columns, or as cells: of one, or the worst of some
  filter   kworker cpu:2-5 kind:irq >100us !rcu: all of it at once
  NOISY    what `noisewatch preflight` calls unstable, over 5 s or the last interval
  [7/9]    process 7, thread 9     unexplained  busy, but no thread was seen:
           mostly of processes that lived for less than an interval
  outside  the hypervisor, or the firmware     self  what noisewatch costs
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
