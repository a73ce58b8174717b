"""The cost of the monitor itself, in this process and the sampler's, from frame to frame."""

from __future__ import annotations

import re
import resource
import time
from pathlib import Path

from msgspec import Struct

from noisewatch.patterns import regex

_LEAST_S = 0.5  # of two frames that arrive together, the second has the sampler's work of an interval
_WRITTEN = regex(rb"^wchar: (\d+)$", re.MULTILINE)


class Usage(Struct, frozen=True):
    """The resources that the monitor and its sampler have used so far.

    `written_bytes` were written by the monitor, nearly all to the terminal. None means unknown.
    """

    at_s: float
    cpu_s: float
    wakeups: int
    written_bytes: int | None


class OwnCost(Struct, frozen=True):
    """The monitor's cost in an interval; `wakeups_per_s` counts its threads' voluntary context switches."""

    cpu_share: float
    wakeups_per_s: float
    written_per_s: float | None


class OwnCostMeter:
    """A meter of the monitor's cost over half a second or more, in which delayed frames weigh little."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._cost: OwnCost | None = None

    def measure(self, sampler_cpu_s: float, sampler_wakeups: int) -> OwnCost | None:
        """Return the newest cost, or None if it is unknown."""
        before, now = self._usage, own_usage(sampler_cpu_s, sampler_wakeups)
        if before is None or now.at_s - before.at_s >= _LEAST_S:
            self._usage, self._cost = now, cost_between(before, now) if before is not None else None
        return self._cost


def own_usage(sampler_cpu_s: float, sampler_wakeups: int) -> Usage:
    """Return the resources that both processes have used so far."""
    wakeups = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw + sampler_wakeups
    return Usage(time.monotonic(), time.process_time() + sampler_cpu_s, wakeups, _written_bytes())


def cost_between(before: Usage, after: Usage) -> OwnCost | None:
    """Return the cost between two usages, or None if no time has passed or the sampler was restarted."""
    seconds = after.at_s - before.at_s
    if seconds <= 0 or after.cpu_s < before.cpu_s or after.wakeups < before.wakeups:
        return None
    written = None
    if before.written_bytes is not None and after.written_bytes is not None:
        written = (after.written_bytes - before.written_bytes) / seconds
    return OwnCost((after.cpu_s - before.cpu_s) / seconds, (after.wakeups - before.wakeups) / seconds, written)


def _written_bytes() -> int | None:
    """Return `wchar` of /proc/self/io (Documentation/filesystems/proc.rst), or None if it cannot be read."""
    try:
        match = _WRITTEN.search(Path("/proc/self/io").read_bytes())
    except OSError:
        return None
    return int(match[1]) if match is not None else None
