"""Comparison of CLOCK_MONOTONIC with another clock, from before the sample until after the calibration."""

from __future__ import annotations

import time
from dataclasses import field

from noisewatch.judgement.checks.system.clock_rate import WRONG
from noisewatch.kernel.system.reference_clock import (
    ClockComparison,
    ClockReading,
    ReferenceClock,
    described_comparison,
    described_failure,
    read_clock_comparison,
    reference_clock,
)
from noisewatch.machine import Json, Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.records import dataclass

_LEAST_S = 2.5  # enough to detect 0.5 % between the starts of two seconds, known to some milliseconds each
_AGAIN_S = 3.0  # the length of a second measurement, after a wrong rate


@dataclass(slots=True)
class ClockRateWatch:
    """A comparison that begins and ends; a reading of a real-time clock may take a second."""

    machine: Machine
    _reference: ReferenceClock | None = None
    _readings: list[ClockReading] = field(default_factory=list)
    _error: OSError | None = None

    def begin(self, seconds: float) -> None:
        """Read the other clock, unless the comparison has begun; its end comes after `seconds` or later."""
        if not self.machine.is_live or self._readings or self._error is not None:
            return
        try:
            self._reference = reference_clock(is_long=seconds >= _LEAST_S)
            self._readings.append(self._reference.read())
        except OSError as error:
            self._error = error

    def end(self) -> ClockComparison | str:
        """Return the comparison, or the recorded one, or the reason why there is none. It may begin again then."""
        if isinstance(self.machine, Recording):
            self.machine.go_to_aside()
        try:
            return read_clock_comparison(self.machine, self._answer)
        finally:
            if self._reference is not None:
                self._reference.close()
            self._reference, self._readings, self._error = None, [], None

    def _answer(self) -> Json:
        try:
            return described_comparison(self._compared())
        except OSError as error:
            return described_failure(error)

    def _compared(self) -> ClockComparison:
        """Read the clock again and compare; measure once more if the rate is wrong.

        Raise OSError if there is no other clock.
        """
        if self._reference is None or self._error is not None:
            raise self._error or OSError(None, "not begun")
        self._readings.append(self._reference.read())
        found = ClockComparison(self._reference.name, tuple(self._readings))
        if any(abs(ratio.deviation) > WRONG.value / 2 for ratio in found.ratios):
            time.sleep(_AGAIN_S)
            self._readings.append(self._reference.read())
        return ClockComparison(self._reference.name, tuple(self._readings))
