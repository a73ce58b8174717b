"""Clocks that are set, or do not advance."""

from __future__ import annotations

from noisewatch.kernel.system.clock import OFFSETS
from noisewatch.kernel.system.clock import QUESTION as CORRECTION
from noisewatch.kernel.system.reference_clock import QUESTION as COMPARISON
from noisewatch.machine import Json
from tests.judgement.example import Example
from tests.written.quiet.system import WALL_NS, compared

_S = 10**9
_RATE = "clock-rate-wrong"


def _shifted(wall_ns: int, boot_ns: int = 0) -> dict[str, list[int]]:
    return {OFFSETS: [WALL_NS + wall_ns, boot_ns]}


def _compared(*deviations: float, seconds: int = 6) -> dict[str, Json]:
    return {COMPARISON: compared(*deviations, seconds=seconds)}


def _corrected(ppm: int) -> dict[str, Json]:
    return {CORRECTION: {"status": 0, "tick": 10_000, "freq": ppm * 65_536}}


EXAMPLES = [
    Example("clock-steps", "fail", named="set back by 2.5 s", answers_later=_shifted(-2_500_000_000)),
    Example("clock-steps", "fail", named="set forward by 3 ms", answers_later=_shifted(3_000_000)),
    Example("clock-steps", "fail", named="suspended for 4,000 s", answers_later=_shifted(4000 * _S, 4000 * _S)),
    Example("clock-steps", "fail", named="by 1 s, and the machine was", answers_later=_shifted(3 * _S, 2 * _S)),
    Example("clock-steps", "pass", named="was not set", answers_later=_shifted(900_000, 200)),
    Example("clock-steps", "unknown", named=OFFSETS, answers={OFFSETS: "rubbish"}),
    #
    Example(_RATE, "fail", named="7.0% too fast against rtc0", answers=_compared(0.07, 0.07)),
    Example(_RATE, "fail", named="0.8% too slow", answers=_compared(-0.008, -0.0081)),
    Example(_RATE, "pass", named="as fast as rtc0 (rtc_cmos), within 0.14%", answers=_compared(0.0001)),
    Example(_RATE, "unknown", named="measured too briefly to resolve 0.5%", answers=_compared(0.0001, seconds=1)),
    Example(_RATE, "unknown", named="+0.45% ± 0.13%", answers=_compared(0.0045)),
    Example(_RATE, "unknown", named="the other clock may have been set", answers=_compared(0.07, 0.0001)),
    Example(_RATE, "unknown", named="the other clock may have been set", answers=_compared(0.07, -0.07)),
    Example(_RATE, "unknown", named="the other clock may have been set", answers=_compared(0.07)),
    Example(_RATE, "unknown", named="does not advance", answers=_compared(0.07, seconds=0)),
    Example(_RATE, "unknown", named="malformed answer", answers={COMPARISON: []}),
    Example(_RATE, "warn", named="corrects the rate by +500 ppm", answers={**_corrected(500)}),
    Example(_RATE, "warn", named="corrects the rate by -500 ppm", answers={**_corrected(-500), COMPARISON: []}),
    Example(_RATE, "pass", answers=_corrected(499)),
]
