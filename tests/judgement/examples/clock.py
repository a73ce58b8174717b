"""Area `clock`."""

from __future__ import annotations

from tests.judgement.example import Example

_CLOCKS = "/sys/devices/system/clocksource/clocksource0"

EXAMPLES = [
    Example("slow-clock-source", "fail", {f"{_CLOCKS}/current_clocksource": "hpet\n"}, "hpet"),
    Example("slow-clock-source", "unknown", gone=(f"{_CLOCKS}/current_clocksource",)),
]
