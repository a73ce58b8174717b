"""Paired measurements with and without something, and their ratio."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from noisewatch.kernel.calibration import CalibrationSamples, parse_calibration
from noisewatch.machine.spinning.calibration.buffer import GAPS
from noisewatch.machine.spinning.calibration.run import Calibrating, Watch, calibrate
from noisewatch.model.distributions import t_quantile


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean of ratios, and the bounds of its 95 % confidence interval."""

    low: float
    middle: float
    high: float
    rounds: int

    def __str__(self) -> str:
        return f"{self.middle:.3f}, 95 % confidence {self.low:.3f} to {self.high:.3f}, {self.rounds} rounds"


def spin(cpu: int, seconds: float, watch: Watch = lambda progress: None) -> CalibrationSamples:
    """Run a spinner on a CPU, and return its gaps."""
    return parse_calibration(calibrate(Calibrating({cpu: [(GAPS, 0, round(seconds * 1e9))]}), watch))


def paired_ratio(measure: Callable[[bool], float], rounds: int) -> Ratio:
    """Return the ratio of `measure(True)` to `measure(False)`, measured in pairs of alternating order."""
    values: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * rounds):
        is_with = number % 4 in (1, 2)
        values[is_with].append(measure(is_with))
    logs = [math.log(second / first) for first, second in zip(values[False], values[True], strict=True)]
    mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    half = t_quantile(0.975, len(logs) - 1) * error
    low, middle, high = (math.exp(value) for value in (mean - half, mean, mean + half))
    return Ratio(low, middle, high, rounds)
