"""The clock that timestamps come from.

    /sys/devices/system/clocksource/clocksource0/current_clocksource      tsc
    /sys/devices/system/clocksource/clocksource0/available_clocksource    tsc kvm-clock

https://docs.kernel.org/timers/timekeeping.html
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.kernel.numbers import parse_identifier, parse_identifiers
from noisewatch.kernel.reader import Reader

_FOLDER = "/sys/devices/system/clocksource/clocksource0"
CURRENT = f"{_FOLDER}/current_clocksource"
AVAILABLE = f"{_FOLDER}/available_clocksource"


@dataclass(frozen=True, slots=True)
class ClockSource:
    """None is unknown."""

    current: str | None
    available: tuple[str, ...] | None


def read_clock_source(reader: Reader) -> ClockSource:
    """The clock source in use, and those that could be."""
    return ClockSource(
        reader.parsed(CURRENT, parse_identifier), reader.parsed(AVAILABLE, parse_identifiers, expected=False)
    )
