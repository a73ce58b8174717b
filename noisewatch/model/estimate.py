"""Measured figures with their random deviation, and the ratio of two such figures."""

from __future__ import annotations

import math

from msgspec import Struct

from noisewatch.model.distributions import t_quantile
from noisewatch.model.run.series import Bounds


class Estimate(Struct, frozen=True):
    """A measured value above 0, with the standard deviation of its natural logarithm.

    The deviation has `freedom` degrees of freedom.
    """

    value: float
    deviation: float
    freedom: int


class Ratio(Struct, frozen=True):
    """The ratio of the second to the first estimate, with its interval."""

    value: float
    interval: Bounds

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes 1, so chance does not explain the difference."""
        return not self.interval.low <= 1 <= self.interval.high


def ratio_of(first: Estimate, second: Estimate, significance: float) -> Ratio:
    """Return the ratio, with an interval that misses the true ratio in a share `significance` (0 to 1) of cases.

    Misses on both sides count. This is Welch's t-test for the logarithms of two independent samples, with the smaller
    of the two degrees of freedom, which errs towards no difference: Welch, 1938, doi 10.1093/biomet/29.3-4.350.
    """
    error = math.hypot(first.deviation, second.deviation)
    half = t_quantile(1 - significance / 2, max(min(first.freedom, second.freedom), 1)) * error
    change = math.log(second.value) - math.log(first.value)
    return Ratio(_power(change), Bounds(_power(change - half), _power(change + half)))


def _power(logarithm: float) -> float:
    """Return e to the power of `logarithm`, or infinity if that is too large for a float."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
