"""The last seconds of a calibration, as if it had been shorter."""

from __future__ import annotations

from typing import Any

from noisewatch.machine.spinning.calibration.buffer import CYCLES, GAPS, OF_WORK, SPINS
from noisewatch.machine.spinning.loops.python_loops import GAP_WORDS, WORK_WORDS

_WORDS = {GAPS: GAP_WORDS, **dict.fromkeys((*OF_WORK, CYCLES, SPINS), WORK_WORDS)}


def last_of(calibration: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return the rounds of its last seconds, or all of it if it was shorter."""
    begin_ns = calibration["length_ns"] - round(seconds * 1e9)
    return (
        calibration if begin_ns <= 0 else {**calibration, "cpus": [_from(cpu, begin_ns) for cpu in calibration["cpus"]]}
    )


def _from(cpu: dict[str, Any], min_ns: int) -> dict[str, Any]:
    """Return the CPU's data from the first round that begins at `min_ns` or later."""
    begin_ns = min(begin for kind, begin, _ in cpu["slots"] if kind == GAPS and begin >= min_ns)
    words = {
        name: [
            word
            for at in range(0, len(cpu[name]), width)
            if cpu[name][at] >= begin_ns
            for word in cpu[name][at : at + width]
        ]
        for name, width in _WORDS.items()
    }
    return {**cpu, **words, "slots": [slot for slot in cpu["slots"] if slot[1] >= begin_ns]}
