"""The kernel's clocks: their rate, their source, the time of day and their offsets.

The rate is how much the kernel speeds up or slows down its clocks, CLOCK_MONOTONIC included, to follow a time server.
adjtimex(2) reads the rate; noisewatch never sets it. `tick` is by how many microseconds the clocks advance in each
1/100 s: 10000 if unchanged. `freq` is a further change, in units of 2^-16 parts per million.

The source is the clock from which timestamps are taken:

    /sys/devices/system/clocksource/clocksource0/current_clocksource      tsc
    /sys/devices/system/clocksource/clocksource0/available_clocksource    tsc kvm-clock

https://docs.kernel.org/timers/timekeeping.html

A snapshot contains the time of day from clock_gettime(CLOCK_REALTIME). All other times are on CLOCK_MONOTONIC.

The offsets are how far CLOCK_REALTIME and CLOCK_BOOTTIME are ahead of CLOCK_MONOTONIC (clock_gettime(2)). Slewing moves
all three clocks alike. Setting the clock changes only the first offset; suspending the machine changes both.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

from msgspec import Struct

from noisewatch.errors import Unreadable
from noisewatch.kernel.numbers import parse_identifier, parse_identifiers
from noisewatch.kernel.reader import Reader
from noisewatch.machine import Json, Machine

QUESTION = "the clock's rate (adjtimex)"
_TICK_US = 10_000
_UNSYNCHRONISED = 0x40  # STA_UNSYNC
_KEYS = ("status", "tick", "freq")


class ClockRate(Struct, frozen=True):
    """The clock's rate, as its deviation from the rate that the kernel measured at boot."""

    deviation_ppm: float
    is_synchronised: bool


class _Timex(ctypes.Structure):
    """struct timex of <sys/timex.h>, with room for future fields."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        *((name, ctypes.c_long) for name in ("offset", "freq", "maxerror", "esterror")),
        ("status", ctypes.c_int),
        *((name, ctypes.c_long) for name in ("constant", "precision", "tolerance", "seconds", "microseconds", "tick")),
        ("rest", ctypes.c_byte * 256),
    )


def read_clock_rate(reader: Reader) -> ClockRate | None:
    """Return the current rate, or None if it cannot be read."""
    return clock_rate_of(reader.ask(QUESTION, _ask))


def _ask() -> dict[str, int]:
    library = ctypes.CDLL(None, use_errno=True)
    timex = _Timex()
    if library.adjtimex(ctypes.byref(timex)) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return {name: getattr(timex, name) for name in _KEYS}


def clock_rate_of(answer: Json) -> ClockRate | None:
    """Return the rate in an answer; None for any other answer, such as from a damaged recording."""
    if not isinstance(answer, dict) or not all(type(answer.get(name)) is int for name in _KEYS):
        return None
    tick_ppm = (answer["tick"] - _TICK_US) * 1e6 / _TICK_US
    return ClockRate(tick_ppm + answer["freq"] / 65_536, not answer["status"] & _UNSYNCHRONISED)


_FOLDER = "/sys/devices/system/clocksource/clocksource0"
CURRENT = f"{_FOLDER}/current_clocksource"
AVAILABLE = f"{_FOLDER}/available_clocksource"


class ClockSource(Struct, frozen=True):
    """The clock source in use, and the available ones. None means unknown."""

    current: str | None
    available: tuple[str, ...] | None


def read_clock_source(reader: Reader) -> ClockSource:
    """Return the clock source in use, and the available ones."""
    return ClockSource(
        reader.parse(CURRENT, parse_identifier), reader.parse(AVAILABLE, parse_identifiers, expected=False)
    )


TIME_OF_DAY = "time of day"
_LAST_NS = 1 << 63  # in the year 2262, the end of signed 64-bit ns
_DAY_S = 86_400


class TimeOfDay(Struct, frozen=True):
    """The time in ns since 1970 in UTC, and by how many seconds the machine's local time is ahead of UTC."""

    wall_ns: int
    ahead_s: int


def read_time_of_day(machine: Machine) -> TimeOfDay | None:
    """Return the current time; None for a copied tree, or a recording from before noisewatch recorded it."""
    try:
        answer = machine.ask(TIME_OF_DAY, _ask_time_of_day)
    except Unreadable:
        return None
    match answer:
        case [int(wall_ns), int(ahead_s)] if 0 < wall_ns < _LAST_NS and abs(ahead_s) <= _DAY_S:
            return TimeOfDay(wall_ns, ahead_s)
    return None


def _ask_time_of_day() -> Json:
    wall_ns = time.time_ns()
    return [wall_ns, time.localtime(wall_ns // 1_000_000_000).tm_gmtoff]


_LAG = "time until the tasks were read"


def read_lag_ns(machine: Machine, taken_at_ns: int) -> int:
    """Return the delay (ns) between reading the CPUs' times, at `taken_at_ns`, and the tasks' times; 0 if unknown.

    It is usually some milliseconds, but varies, and reaches a third of a second on a slow machine.
    """
    try:
        lag_ns = machine.ask(_LAG, lambda: machine.now_ns() - taken_at_ns)
    except Unreadable:
        return 0
    return lag_ns if isinstance(lag_ns, int) and lag_ns >= 0 else 0


OFFSETS = "how far the clocks are ahead of CLOCK_MONOTONIC"
_AT_ONCE_NS = 20_000  # clocks read within this time count as simultaneous
_TRIES = 10


class ClockOffsets(Struct, frozen=True):
    """How far (ns) the time of day and CLOCK_BOOTTIME are ahead of CLOCK_MONOTONIC."""

    wall_ns: int
    boot_ns: int


def read_clock_offsets(reader: Reader) -> ClockOffsets | None:
    """Return the current offsets; None for a copied tree, or a recording from before noisewatch recorded them."""
    match reader.ask(OFFSETS, _ask_offsets):
        case [int(wall_ns), int(boot_ns)]:
            return ClockOffsets(wall_ns, boot_ns)
    return None


def _ask_offsets() -> Json:
    now = clock_offsets_now()
    return [now.wall_ns, now.boot_ns]


def clock_offsets_now() -> ClockOffsets:
    """Return the offsets of this host's clocks."""
    return ClockOffsets(ahead_ns(time.time_ns), ahead_ns(lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)))


def ahead_ns(clock: Callable[[], int], monotonic: Callable[[], int] = time.monotonic_ns) -> int:
    """Return how far (ns) a clock is ahead of CLOCK_MONOTONIC, from the least interrupted of several tries."""
    tries: list[tuple[int, int]] = []
    while len(tries) < _TRIES and (not tries or tries[-1][0] > _AT_ONCE_NS):
        before_ns, now_ns, after_ns = monotonic(), clock(), monotonic()
        tries.append((after_ns - before_ns, now_ns - (before_ns + after_ns) // 2))
    return min(tries)[1]
