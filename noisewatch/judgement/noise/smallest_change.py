"""The smallest difference of two means that a test will show, given how much samples vary."""

from __future__ import annotations

import math
from functools import cache

SIGNIFICANCE, POWER = 0.05, 0.80
TEST = "Welch's t-test, two-sided 5 %, power 0.8"


def smallest_change(cv: float, samples: int) -> float:
    """The smallest relative difference of two means that `samples` samples each will show, by `TEST`.

    (t(1 - α/2) + t(power)) · CV · √(2/n), with 2n - 2 degrees of freedom: Cohen, "Statistical Power Analysis for the
    Behavioral Sciences", 1988, ch. 2. Infinite for fewer than two samples.
    """
    if samples < 2:
        return math.inf
    freedom = 2 * samples - 2
    factor = t_quantile(1 - SIGNIFICANCE / 2, freedom) + t_quantile(POWER, freedom)
    return factor * cv * math.sqrt(2 / samples)


@cache
def t_quantile(share: float, freedom: int) -> float:
    """The value below which `share` (0.5 to 1) of Student's t distribution lies, to 1e-6.

    The density integrated by Simpson's rule and inverted by bisection: https://dlmf.nist.gov/3.5.
    """
    low, high = 0.0, 1.0
    while _t_share(high, freedom) < share:
        high *= 2
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_share(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _t_share(value: float, freedom: int) -> float:
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    width = value / _PANELS
    heights = [math.pow(1 + (width * at) ** 2 / freedom, -(freedom + 1) / 2) for at in range(_PANELS + 1)]
    inner = 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    return 0.5 + scale * width / 3 * (heights[0] + inner + heights[-1])


_PANELS = 400
