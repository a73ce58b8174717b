"""The help screen: keys and columns."""

from __future__ import annotations

from noisewatch.surfaces.tui.text_row import Row

_TEXT = """\
noisewatch: who takes time from the CPUs of your benchmark

  T   a target CPU        s   shares a core with one        x   offline

  lost/s   time taken from whoever would run there, per second
           ~ counted, not measured: an estimate from typical costs
  irq/s    interrupts of all kinds           sirq/s   softirqs
  load     share of the time that others used the CPU
  history  . one character an interval, on a logarithmic scale:
           half the height from 1 ms a second (0.1 %), full from 200 ms

  the verdict is that of `noisewatch preflight` over the last 5 s

  q        quit                       space    freeze and go on
  s        sort by cost, rate, CPU    a        culprits of all CPUs
  up down  scroll the CPUs            c        calibrate the target CPUs
  t        trace them: who interrupts?  ? h      this help, any key closes

  left right   step back and forth in time, ten with shift; home, end: oldest, newest
  [ ]          the disturbance before, after       H   freeze at the next one
  w            more intervals a column: 1, 2, 10, 60
"""


def help_rows(height: int) -> list[Row]:
    """As much of the text as fits."""
    return [[(line, "plain")] for line in _TEXT.splitlines()][:height]
