"""Buffers of a running calibration."""

from __future__ import annotations

from noisewatch.machine.spinning.calibration.buffer import (
    GAPS,
    INTERPRETER,
    CalibrationBuffer,
    buffer_words,
    capacities_for,
)
from noisewatch.machine.spinning.loops.python_loops import COUNT, SPUN_NS


def buffer_of(*lengths_ns: int) -> CalibrationBuffer:
    """Return a buffer with gaps of these lengths, one in each millisecond."""
    capacities = capacities_for({GAPS: 10**9, INTERPRETER: 10**9})
    buffer = CalibrationBuffer(memoryview(bytearray(8 * buffer_words(capacities))).cast("q"), capacities)
    for length_ns in lengths_ns:
        add_gap(buffer, length_ns)
    return buffer


def add_gap(buffer: CalibrationBuffer, length_ns: int) -> None:
    """Append a gap, and a millisecond of spinning."""
    buffer.gaps[buffer.totals[COUNT] * 4 + 1] = length_ns
    buffer.totals[COUNT] += 1
    buffer.totals[SPUN_NS] += 1_000_000
