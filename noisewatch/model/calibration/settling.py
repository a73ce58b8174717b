"""Determines whether and when the clocks of working CPUs became level (stable).

A clock may be constant only until its turbo budget is used up. So it counts as level only if it is still constant after
the longest usual budget.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.turbo import LEAST_S

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSpeeds

_WINDOW = 10  # seconds
_LONGER = (_WINDOW, 20, 30)  # lengths of windows in seconds; in longer windows, noise is less likely to hide a trend
_LEVEL_SHARE = 0.01  # the usual difference between calibrations of one machine
_MOST_TREND = 0.03  # relative change within a window, including two standard errors
_IN_A_ROW = 5  # consecutive seconds with a level window: noise may hide a trend in one of them
_NOISE = 5  # tolerated difference of a level clock's times, in multiples of the median change from second to second


class SettledCpu(Struct, frozen=True):
    """The first and last speed of one CPU, in kHz, or relative to a first speed of 1 if the kHz are unknown.

    `after_s` is the second at which the CPU reached its last speed, or None if its clock was not level at the end.
    """

    cpu: int
    first: float
    last: float
    is_khz: bool
    after_s: int | None


class Settling(Struct, frozen=True):
    """The result of a warm-up that waited for level clocks."""

    seconds: int
    cpus: tuple[SettledCpu, ...]

    @property
    def is_level(self) -> bool:
        """Whether the clocks of all CPUs were level after the longest usual turbo budget."""
        return self.seconds >= LEAST_S and bool(self.cpus) and all(cpu.after_s is not None for cpu in self.cpus)

    @property
    def after_s(self) -> int | None:
        """The second at which the last CPU settled, or None if not all clocks were level."""
        seconds = [cpu.after_s for cpu in self.cpus if cpu.after_s is not None]
        return max(seconds) if self.is_level else None

    @property
    def slowest(self) -> SettledCpu | None:
        """The CPU whose clock dropped most, relative to its first speed; None if nothing was measured."""
        return min(self.cpus, key=lambda cpu: cpu.last / cpu.first, default=None)


def is_level(times_ns: Sequence[float]) -> bool:
    """Return whether the times of the last seconds are level; False if they are too few or too noisy to decide."""
    return all(_is_level_at_end(times_ns[: len(times_ns) - ago]) for ago in range(_IN_A_ROW))


def _is_level_at_end(times_ns: Sequence[float]) -> bool:
    """Return whether the last ten times span at most 1% or show no trend.

    If noise hides a trend, the last 20 and 30 times decide.
    """
    window = times_ns[-_WINDOW:]
    if len(window) < _WINDOW:
        return False
    if max(window) - min(window) <= _LEVEL_SHARE * statistics.median(window):
        return True
    for length in _LONGER:
        trend, margin = _trend(times_ns[-length:])
        if trend > max(_LEVEL_SHARE, margin) or length > len(times_ns):
            return False
        if trend <= _LEVEL_SHARE and trend + margin <= _MOST_TREND:
            return True
    return False


def _trend(times_ns: Sequence[float]) -> tuple[float, float]:
    """Return the relative change from the first time to the last, and two standard errors of this change.

    The method is linear regression: https://en.wikipedia.org/wiki/Simple_linear_regression#Normality_assumption
    """
    count = len(times_ns)
    slope, at_first = statistics.linear_regression(range(count), times_ns)
    apart = sum((ns - at_first - slope * second) ** 2 for second, ns in enumerate(times_ns))
    error = math.sqrt(apart / (count - 2) / (count * (count**2 - 1) / 12))
    whole = (count - 1) / statistics.median(times_ns)
    return abs(slope) * whole, 2 * error * whole


def _tolerance(window: Sequence[float]) -> float:
    """Return the largest difference (ns) from the median that times of a level clock may have."""
    step = statistics.median(abs(later - earlier) for earlier, later in pairwise(window))
    return max(_LEVEL_SHARE * statistics.median(window), _NOISE * step)


def are_level(times_by_cpu: Mapping[int, Sequence[float]]) -> bool:
    """Return whether work may stop: all CPUs are level, after the longest usual turbo budget."""
    return bool(times_by_cpu) and all(len(times) >= LEAST_S and is_level(times) for times in times_by_cpu.values())


def settling_of(speeds: Sequence[CpuSpeeds]) -> Settling:
    """Summarize the speeds.

    `seconds` is the number of seconds measured on every CPU. If any CPU was not measured, `seconds` is 0, and `cpus` is
    empty.
    """
    measured = [cpu_speeds for cpu_speeds in speeds if cpu_speeds.times_ns]
    seconds = min((len(cpu_speeds.times_ns) for cpu_speeds in measured), default=0)
    return Settling(seconds, tuple(map(_settled_cpu, measured))) if len(measured) == len(speeds) else Settling(0, ())


def _settled_cpu(speeds: CpuSpeeds) -> SettledCpu:
    times = speeds.times_ns
    first_ns, last_ns = times[0], statistics.median(times[-_WINDOW:])
    first = speeds.cycles * 1e6 / first_ns if speeds.cycles is not None else 1.0
    return SettledCpu(speeds.cpu, first, first * first_ns / last_ns, speeds.cycles is not None, _settling_second(times))


def _settling_second(times: Sequence[float]) -> int | None:
    """Return the last second whose time differs from the final times (0 if none does); None if they are not level."""
    if not is_level(times):
        return None
    window = times[-_WINDOW:]
    middle, tolerance = statistics.median(window), _tolerance(window)
    apart = [second for second, ns in enumerate(times, start=1) if abs(ns - middle) > tolerance]
    return max(apart, default=0)
