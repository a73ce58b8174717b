"""The load during a calibration: busy processes that were started for it.

No file contains this: a live machine is asked what was started, and a recording replays the answer.
"""

from __future__ import annotations

from collections.abc import Callable

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import count_of, field_of
from noisewatch.machine import Json, Machine
from noisewatch.records import dataclass

QUESTION = "busy-load"
_MOST_SHARE = 1_000_000


@dataclass(frozen=True, slots=True)
class BusyLoad:
    """`processes` busy processes, pinned to `cpus` in turn; each had `busy_share` of its CPU on average."""

    cpus: CpuSet
    processes: int
    busy_share: float


def read_busy_load(machine: Machine, answer: Callable[[], Json]) -> BusyLoad:
    """Return the load of the last calibration. Raise Unreadable and Malformed."""
    return parse_busy_load(machine.ask(QUESTION, answer))


def parse_busy_load(answer: Json) -> BusyLoad:
    """Parse the answer that `described` wrote. Raise Malformed."""
    cpus = field_of(answer, "cpus", list)
    if not all(type(cpu) is int and cpu >= 0 for cpu in cpus):
        raise Malformed("the CPUs of a load", str(cpus))
    millionths = count_of(answer, "busy_millionths")
    return BusyLoad(frozenset(cpus), count_of(answer, "processes"), min(millionths, _MOST_SHARE) / _MOST_SHARE)


def described(load: BusyLoad) -> Json:
    """Return the load as a recording keeps it."""
    return {
        "cpus": sorted(load.cpus),
        "processes": load.processes,
        "busy_millionths": round(load.busy_share * _MOST_SHARE),
    }
