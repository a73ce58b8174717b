"""What is scheduled to start on this machine, and what the clock says that it goes by.

Asked once a run, as a program has to be started for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.crontabs import Crontabs, read_crontabs
from noisewatch.kernel.tasks.systemd_timers import Timer, read_timers
from noisewatch.machine import Json

CLOCK_QUESTION = "wall clock"
_LAST_US = 1 << 57  # in the year 6537: what lies beyond is no date
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class WallClock:
    """µs since 1970 in UTC, and how many seconds local time, by which cron goes, is ahead of it."""

    now_us: int
    ahead_s: int


@dataclass(frozen=True, slots=True)
class Jobs:
    """None is unknown; no timers at all where systemd does not run."""

    clock: WallClock | None
    timers: tuple[Timer, ...] | None
    crontabs: Crontabs


def read_jobs(reader: Reader) -> Jobs:
    """What is scheduled now."""
    return Jobs(_clock(reader.ask(CLOCK_QUESTION, ask_clock)), read_timers(reader), read_crontabs(reader))


def ask_clock() -> Json:
    """The time, and how far local time is ahead."""
    now_us = time.time_ns() // 1000
    return [now_us, time.localtime(now_us // 1_000_000).tm_gmtoff]


def _clock(answer: Json) -> WallClock | None:
    """None where the answer is something else, as in a damaged recording."""
    match answer:
        case [int(now_us), int(ahead_s)] if 0 < now_us < _LAST_US and abs(ahead_s) <= _DAY_S:
            return WallClock(now_us, ahead_s)
    return None
