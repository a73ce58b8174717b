"""The few statistics that are used; those that the standard library has are taken from there."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the sorted values lie, by linear interpolation; None of no values.

    Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, doi 10.1080/00031305.1996.10473566:
    what numpy does unless told otherwise. Of one value, or of equal ones, it is that value.
    """
    if not ordered:
        return None
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def mad(values: Sequence[float]) -> float | None:
    """The median absolute deviation from the median, not scaled; None of no values, 0 of one or of equal ones.

    Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", 1993, doi 10.1080/01621459.1993.10476408.
    """
    if not values:
        return None
    middle = statistics.median(values)
    return statistics.median([abs(value - middle) for value in values])


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """The sample standard deviation (n - 1) as a share of the mean; None of fewer than two values, or of mean 0."""
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    return statistics.stdev(values, mean) / mean if mean else None


def mvalue(values: Sequence[float]) -> float | None:
    """How many humps the distribution has: 2 is one, 4 is two of equal height. None of fewer than 32 values.

    The sum of the differences in height from bar to bar of the histogram, in units of its tallest bar: B. Gregg,
    "Modality", https://www.brendangregg.com/FrequencyTrails/modes.html. The outermost hundredth on each side is left
    out, as one far value would put all others into one bar. The number of bars is that of Sturges (1926), doi
    10.1080/01621459.1926.10502161. Equal values are one hump.
    """
    if len(values) < _FEWEST_FOR_HUMPS:
        return None
    ordered = sorted(values)
    cut = len(ordered) // 100
    kept = ordered[cut : len(ordered) - cut]
    low, high = kept[0], kept[-1]
    if high <= low:
        return 2.0
    bar_count = math.ceil(math.log2(len(kept))) + 1
    heights = [0] * bar_count
    for value in kept:
        heights[min(int((value - low) / (high - low) * bar_count), bar_count - 1)] += 1
    steps = sum(abs(after - before) for before, after in zip([0, *heights], [*heights, 0], strict=True))
    return steps / max(heights)


_FEWEST_FOR_HUMPS = 32
