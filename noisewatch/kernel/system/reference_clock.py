"""A clock independent of CLOCK_MONOTONIC: a readable PTP clock, else the real-time clock.

    /dev/ptp0, /sys/class/ptp/ptp0/clock_name           KVM virtual PTP     (the host's, or a network card's)
    /sys/class/rtc/rtc0/{since_epoch,name,hctosys}      1764077712, rtc_cmos 8:00, 1

A PTP clock is read like any other (clock_gettime(2), dynamic clocks). A real-time clock only shows whole seconds, so it
is read every few milliseconds until the next second begins: the start of the second is known to a few milliseconds.

https://docs.kernel.org/driver-api/ptp.html, https://docs.kernel.org/admin-guide/rtc.html
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from noisewatch.errors import Unreadable
from noisewatch.machine import Json, Machine
from noisewatch.text import clean

QUESTION = "CLOCK_MONOTONIC beside another clock"
PTP, RTC = "/sys/class/ptp", "/sys/class/rtc"
_POLL_S = 0.004
_PATIENCE_NS = 2_000_000_000
_NS_PER_S = 1_000_000_000
_LAST_NS = 1 << 63
_NONE = f"no other clock is readable: neither {PTP}/ptp0 nor {RTC}/rtc0"


class ClockReading(Struct, frozen=True):
    """The reference clock's time (ns), and CLOCK_MONOTONIC before and after reading it."""

    reference_ns: int
    earliest_ns: int
    latest_ns: int


class ClockRatio(Struct, frozen=True):
    """The relative deviation of CLOCK_MONOTONIC from the reference (positive: faster), and its possible error."""

    deviation: float
    error: float


class ClockComparison(Struct, frozen=True):
    """Readings of one reference clock: two, or three if the first two had to be confirmed."""

    reference: str
    readings: tuple[ClockReading, ...]

    @property
    def ratios(self) -> tuple[ClockRatio, ...]:
        """The ratio between each reading and the next; empty if the reference did not advance."""
        pairs = list(zip(self.readings, self.readings[1:], strict=False))
        if any(last.reference_ns <= first.reference_ns for first, last in pairs):
            return ()
        return tuple(_ratio(first, last) for first, last in pairs)


def _ratio(first: ClockReading, last: ClockReading) -> ClockRatio:
    passed_ns = last.reference_ns - first.reference_ns
    least_ns, most_ns = last.earliest_ns - first.latest_ns, last.latest_ns - first.earliest_ns
    return ClockRatio((least_ns + most_ns) / 2 / passed_ns - 1, (most_ns - least_ns) / 2 / passed_ns)


class ReferenceClock(Protocol):
    """A clock that is compared with CLOCK_MONOTONIC."""

    name: str

    def read(self) -> ClockReading:
        """Return the current time; a clock of whole seconds first waits for the next second. Raise OSError."""

    def close(self) -> None:
        """Close the clock's file."""


class PtpClock:
    """A PTP clock, which is read without waiting."""

    def __init__(self, name: str, folder: str = PTP, devices: str = "/dev") -> None:
        """Open the clock. Raise OSError if it may not be read."""
        self._descriptor = os.open(f"{devices}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        self._clock = (~self._descriptor << 3) | 3  # FD_TO_CLOCKID
        self.name = f"{name} ({_read_text(f'{folder}/{name}/clock_name')})"

    def read(self) -> ClockReading:
        earliest_ns = time.monotonic_ns()
        now_ns = time.clock_gettime_ns(self._clock)
        return ClockReading(now_ns, earliest_ns, time.monotonic_ns())

    def close(self) -> None:
        os.close(self._descriptor)


class RealTimeClock:
    """A real-time clock, which is read repeatedly until its next second begins."""

    def __init__(
        self,
        name: str,
        folder: str = RTC,
        monotonic: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open the clock. Raise OSError if it may not be read."""
        self._descriptor = os.open(f"{folder}/{name}/since_epoch", os.O_RDONLY | os.O_CLOEXEC)
        self._monotonic, self._sleep = monotonic, sleep
        self.name = f"{name} ({_read_text(f'{folder}/{name}/name')})"

    def read(self) -> ClockReading:
        earliest_ns = began_ns = self._monotonic()
        second = self._second()
        while earliest_ns - began_ns < _PATIENCE_NS:
            self._sleep(_POLL_S)
            at_ns = self._monotonic()
            now = self._second()
            if now != second:
                return ClockReading(now * _NS_PER_S, earliest_ns, self._monotonic())
            earliest_ns = at_ns
        raise OSError(None, f"{self.name} does not advance")

    def _second(self) -> int:
        try:
            return int(os.pread(self._descriptor, 32, 0))
        except ValueError as error:
            raise OSError(None, f"{self.name}: not a number of seconds") from error

    def close(self) -> None:
        os.close(self._descriptor)


def _read_text(path: str) -> str:
    try:
        return clean(Path(path).read_text(errors="replace").strip())
    except OSError:
        return "unnamed"


def reference_clock(is_long: bool, ptp: str = PTP, rtc: str = RTC, devices: str = "/dev") -> ReferenceClock:
    """Return the best readable clock. Raise OSError if there is none.

    A real-time clock, with its whole seconds, is only suitable if the compared time `is_long`.
    """
    for name in _names(ptp):
        try:
            return PtpClock(name, ptp, devices)
        except OSError:
            continue  # usually only root may read it
    clocks = _names(rtc)
    if not clocks:
        raise OSError(None, _NONE)
    if not is_long:
        raise OSError(None, "the time is too short for a real-time clock, which counts whole seconds")
    return RealTimeClock(next((name for name in clocks if _read_text(f"{rtc}/{name}/hctosys") == "1"), clocks[0]), rtc)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def describe_failure(error: OSError) -> Json:
    """Return the failure as an answer, because a recording does not keep the reason of a refused question."""
    return {"reason": error.strerror or str(error)}


def describe_comparison(comparison: ClockComparison) -> Json:
    """Return the comparison in the format of recordings."""
    readings = [[reading.reference_ns, reading.earliest_ns, reading.latest_ns] for reading in comparison.readings]
    return {"reference": comparison.reference, "readings": readings}


def read_clock_comparison(machine: Machine, answer: Callable[[], Json]) -> ClockComparison | str:
    """Return the comparison, or the reason why there is none."""
    try:
        reply = machine.ask(QUESTION, answer)
    except Unreadable as error:
        return f"{QUESTION}: {error.reason}"
    match reply:
        case {"reason": str(reason)}:
            return f"{QUESTION}: {clean(reason)}"
    return parse_clock_comparison(reply) or f"{QUESTION}: malformed answer"


def parse_clock_comparison(answer: Json) -> ClockComparison | None:
    """Return the comparison in an answer; None for any other answer, such as from a damaged recording."""
    match answer:
        case {"reference": str(reference), "readings": [*readings]} if 2 <= len(readings) <= 3:
            parsed = [_parse_reading(reading) for reading in readings]
            valid = tuple(reading for reading in parsed if reading is not None)
            return ClockComparison(clean(reference), valid) if len(valid) == len(parsed) else None
    return None


def _parse_reading(answer: Json) -> ClockReading | None:
    match answer:
        case [int(reference_ns), int(earliest_ns), int(latest_ns)] if (
            0 <= reference_ns < _LAST_NS and 0 <= earliest_ns <= latest_ns < _LAST_NS
        ):
            return ClockReading(reference_ns, earliest_ns, latest_ns)
    return None
