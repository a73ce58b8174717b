"""Runs fixed work on several CPUs until their clocks are stable, and measures the time of one unit of work."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from noisewatch.machine.spinning.calibration.buffer import (
    CYCLES,
    INTERPRETER,
    MULTIPLY_NS,
    STOP_NS,
    THROUGHPUT,
    CalibrationBuffer,
    Slot,
)
from noisewatch.machine.spinning.calibration.run import Calibrating, Progress, calibrate

# A turn, and its first part, which draws power; the rest measures the clock.
_TURN_NS, _DENSE_NS = 500_000_000, 400_000_000
_NS_PER_S = 1_000_000_000
IsLevel = Callable[[Mapping[int, Sequence[float]]], bool]


def settle(
    cpus: Iterable[int], most_s: float, is_level: IsLevel, on_second: Callable[[float, float], None]
) -> dict[str, Any]:
    """Return the time of one unit of work by CPU, one median per second, as JSON in ns.

    `is_level` is called after each second with the times so far, and `on_second` several times a second with the
    elapsed and the maximum seconds. The work ends once `is_level` returns True. Raise CannotMeasure if it cannot be
    run.
    """
    turns = max(round(most_s * _NS_PER_S) // _TURN_NS, 1)
    slots = {cpu: [slot for turn in range(turns) for slot in _turn(turn * _TURN_NS)] for cpu in sorted(cpus)}
    watch = _Watch(is_level, on_second)
    results = calibrate(Calibrating(slots), watch)
    return {
        "cpus": [
            {
                "cpu": cpu["cpu"],
                "state": cpu["state"],
                "times_ns": [round(ns) for ns in times_of(_pairs(cpu[_speed_series(cpu["multiply_ns"])]))],
                "multiply_ns": cpu["multiply_ns"],
                "add_ns": cpu["add_ns"],
                "chain_length": cpu["chain_length"],
            }
            for cpu in results["cpus"]
        ]
    }


def _turn(begin: int) -> list[Slot]:
    return [(THROUGHPUT, begin, begin + _DENSE_NS), (INTERPRETER, begin + _DENSE_NS, begin + _TURN_NS)]


def _speed_series(multiply_ns: int) -> str:
    """Return the series that shows the CPU's speed: multiplications if there are any, or else interpreter work."""
    return CYCLES if multiply_ns > 0 else INTERPRETER


def _pairs(words: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(words[::2], words[1::2], strict=True))


def times_of(samples: Iterable[tuple[int, int]]) -> list[float]:
    """Return the median of each second's samples (begin, length), given in order; omit seconds without samples."""
    by_second: dict[int, list[int]] = {}
    for begin_ns, length_ns in samples:
        by_second.setdefault(begin_ns // _NS_PER_S, []).append(length_ns)
    return [statistics.median(lengths) for _, lengths in sorted(by_second.items())]


class _Watch:
    """Calls `is_level` after each second, and stops the spinners once it returns True."""

    def __init__(self, is_level: IsLevel, on_second: Callable[[float, float], None]) -> None:
        self._is_level, self._on_second = is_level, on_second
        self._seconds = 0
        self._begin_ns: int | None = None
        self._has_stopped = False

    def __call__(self, progress: Progress) -> None:
        self._on_second(progress.done_s, progress.total_s)
        if self._has_stopped or int(progress.done_s) <= self._seconds:
            return
        self._seconds = int(progress.done_s)
        if self._is_level({cpu: self._times(buffer) for cpu, buffer in progress.buffers.items()}):
            self._has_stopped = True
            for buffer in progress.buffers.values():
                buffer.header[STOP_NS] = max(round(progress.done_s * _NS_PER_S), 1)

    def _times(self, buffer: CalibrationBuffer) -> list[float]:
        """Return the median time of each elapsed second."""
        pairs = _pairs(buffer.sample_words(_speed_series(buffer.header[MULTIPLY_NS])))
        if not pairs:
            return []
        self._begin_ns = self._begin_ns or pairs[0][0] - _DENSE_NS
        begin_ns = self._begin_ns
        whole = ((at - begin_ns, ns) for at, ns in pairs if at - begin_ns < self._seconds * _NS_PER_S)
        return times_of(whole)
