"""What is usual for a figure of a machine, by the spread between the entries of its history."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from noisewatch.model.distributions import t_quantile
from noisewatch.records import dataclass

LEAST_ENTRIES = 5
_OUTSIDE = 1e-5  # the share of next entries outside, of one figure that did not change: many are asked, and often


@dataclass(frozen=True, slots=True)
class Usual:
    """Between which values the next one lies, as natural logarithms."""

    middle: float
    low: float
    high: float
    count: int


def usual_of(values: Sequence[float], least_change: float) -> Usual | None:
    """Of the entries so far, as natural logarithms; None of fewer than `LEAST_ENTRIES`.

    The prediction interval of one more value (Hahn and Meeker, "Statistical Intervals", 1991, ch. 4.8), and never
    narrower than `least_change` to either side.
    """
    if len(values) < LEAST_ENTRIES:
        return None
    middle = statistics.fmean(values)
    reach = t_quantile(1 - _OUTSIDE / 2, len(values) - 1) * statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    reach = max(reach, least_change)
    return Usual(middle, middle - reach, middle + reach, len(values))
