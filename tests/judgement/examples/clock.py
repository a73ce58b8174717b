"""Area `clock`."""

from __future__ import annotations

from noisewatch.kernel.system.clock_rate import QUESTION
from noisewatch.machine import Json
from tests.judgement.example import Example

_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
_STEADY = "processor : 0\nflags : fpu tsc constant_tsc nonstop_tsc\n"


def _rate(tick_us: int, ppm: int) -> dict[str, Json]:
    return {QUESTION: {"status": 0, "tick": tick_us, "freq": ppm * 65_536}}


EXAMPLES = [
    Example("slow-clock-source", "fail", {f"{_CLOCKS}/current_clocksource": "hpet\n"}, "hpet"),
    Example("slow-clock-source", "unknown", gone=(f"{_CLOCKS}/current_clocksource",)),
    Example(
        "tsc-not-invariant", "fail", {"/proc/cpuinfo": "processor : 0\nflags : fpu tsc constant_tsc\n"}, "nonstop_tsc"
    ),
    Example("tsc-not-invariant", "fail", {"/proc/cpuinfo": f"{_STEADY}\n\n{_STEADY}".replace(" nonstop_tsc", "", 1)}),
    Example("tsc-not-invariant", "unknown", {"/proc/cpuinfo": "processor : 0\n"}),
    Example("tsc-not-invariant", "unknown", gone=("/proc/cpuinfo",)),
    Example("tsc-not-invariant", "not-applicable", {"/proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\n"}),
    Example("clock-steered", "fail", named="+510 ppm", answers=_rate(10_005, 10)),
    Example("clock-steered", "fail", named="-8333 ppm", answers=_rate(9_917, -33)),
    Example("clock-steered", "pass", named="+500 ppm", answers=_rate(10_000, 500)),
    Example("clock-steered", "unknown", answers={QUESTION: {"status": 0, "tick": 10_000}}),
]
