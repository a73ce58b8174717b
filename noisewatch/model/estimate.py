"""What was measured of a figure, and how far it would be elsewhere by chance alone; and the ratio of two of them."""

from __future__ import annotations

import math

from noisewatch.model.distributions import t_quantile
from noisewatch.model.run.series import Bounds
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """`deviation` is the standard deviation of the natural logarithm of the value, known with so many degrees of
    freedom. The value is above 0.
    """

    value: float
    deviation: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times the first the second is, and the interval of that."""

    value: float
    interval: Bounds

    @property
    def is_shown(self) -> bool:
        """Whether the interval leaves out 1, so that chance does not explain the difference."""
        return not self.interval.low <= 1 <= self.interval.high


def ratio_of(first: Estimate, second: Estimate, significance: float) -> Ratio:
    """With an interval that misses the true ratio in `significance` (0 to 1) of cases, on both sides together.

    Welch's t-test of two independent samples, of the logarithms of their values, with the fewer degrees of freedom of
    both sides, which errs on the side of no difference: Welch, 1938, doi 10.1093/biomet/29.3-4.350.
    """
    error = math.hypot(first.deviation, second.deviation)
    half = t_quantile(1 - significance / 2, max(min(first.freedom, second.freedom), 1)) * error
    change = math.log(second.value) - math.log(first.value)
    return Ratio(_power(change), Bounds(_power(change - half), _power(change + half)))


def _power(logarithm: float) -> float:
    """No number is too large: what nobody can bound is infinite."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
