"""Waiting until nobody else uses the target CPUs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from noisewatch.judgement.case import Case
from noisewatch.machine.command.running import Commands
from noisewatch.model.interval.disturbance import LOUD_SHARE, name_loud, threads_of
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.run.progress import RunListener
from noisewatch.operations.run.watch import RunWatch
from noisewatch.units import NS_PER_S

_LOOK_NS = NS_PER_S // 4
_MOST_NAMED = 3


def wait_for_quiet(watch: RunWatch, commands: Commands, wait_s: float, listener: RunListener) -> None:
    """Returns when target CPUs and their siblings are quiet, after that time, or when somebody asks to end."""
    until_ns = time.monotonic_ns() + round(wait_s * NS_PER_S)
    watch.look()
    while commands.pause(watch.last.taken_at_ns + _LOOK_NS):
        loud = list(_loud(watch.look()))
        left_ns = until_ns - time.monotonic_ns()
        if not loud:
            return
        who = ", ".join(loud[:_MOST_NAMED])
        if left_ns <= 0:
            listener.on_remark(f"not quiet after {wait_s:g} s: {who}")
            return
        listener.on_waiting(who, left_ns / NS_PER_S)


def _loud(window: Interval) -> Iterator[str]:
    """Yield the threads that used a CPU which has to be quiet, the largest first."""
    case = Case(window.after)
    for cpu in sorted(case.target | case.siblings):
        share = window.busy_share(cpu)
        if share is None or share > LOUD_SHARE:
            yield from name_loud(threads_of(window, cpu)) or [f"an unknown task on CPU {cpu}"]
