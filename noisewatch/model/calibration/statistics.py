"""Histograms with sixteen buckets for each power of two, and statistics that the standard library lacks."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

_SUB_BITS = 4
_SUBS = 1 << _SUB_BITS


def bucket_of(value: int) -> int:
    """Return the number of the bucket that contains `value` (>= 0). Each value below 32 has its own bucket."""
    if value < 2 * _SUBS:
        return value
    shift = value.bit_length() - _SUB_BITS - 1
    return (shift << _SUB_BITS) + (value >> shift)


def lower_edge(bucket: int) -> int:
    """Return the smallest value of the bucket, which ends just below the next bucket's smallest value."""
    if bucket < 2 * _SUBS:
        return bucket
    shift = (bucket >> _SUB_BITS) - 1
    return (_SUBS + (bucket & (_SUBS - 1))) << shift


class Histogram(Struct, frozen=True):
    """Counts of values by bucket. A bucket's width is 1, or at most 1/16 of its values.

    The layout is as in HdrHistogram (https://hdrhistogram.github.io/HdrHistogram/), with 16 sub-buckets.
    """

    counts: Mapping[int, int] = {}

    @classmethod
    def of(cls, values: Iterable[int]) -> Histogram:
        """Count the values in a histogram. Negative values count as 0."""
        return cls(Counter(bucket_of(max(value, 0)) for value in values))

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def merge(self, other: Histogram) -> Histogram:
        """Return the sum of both histograms."""
        return Histogram(Counter(self.counts) + Counter(other.counts))

    def quantile_bounds(self, share: float) -> tuple[int, int] | None:
        """Return the smallest and largest value of the bucket that contains rank ⌈share · n⌉, or None if empty.

        `share` is from 0 (the smallest) to 1 (the largest).
        """
        rank = max(-int(-share * self.count // 1), 1)
        cumulated = 0
        for bucket in sorted(self.counts):
            cumulated += self.counts[bucket]
            if cumulated >= rank:
                return lower_edge(bucket), lower_edge(bucket + 1) - 1
        return None

    def edges_and_counts(self) -> tuple[list[int], list[int]]:
        """Return n + 1 edges and the n counts between them, over the range of filled buckets; empty without values."""
        if not self.counts:
            return [], []
        buckets = range(min(self.counts), max(self.counts) + 1)
        edges = [lower_edge(bucket) for bucket in buckets]
        return [*edges, lower_edge(buckets[-1] + 1)], [self.counts.get(bucket, 0) for bucket in buckets]


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` of the sorted values lie, by linear interpolation, or None for no values.

    Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, doi 10.1080/00031305.1996.10473566: the
    default of numpy. One value, or equal values, give that value.
    """
    if not ordered:
        return None
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def mad(values: Sequence[float]) -> float | None:
    """Return the median absolute deviation from the median, not scaled; None for no values, 0 for a single value.

    Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", 1993, doi 10.1080/01621459.1993.10476408.
    """
    if not values:
        return None
    middle = statistics.median(values)
    return statistics.median([abs(value - middle) for value in values])


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (n - 1) as a share of the mean.

    None for fewer than two values, or if the mean is 0.
    """
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)  # statistics.stdev uses fractions and takes ten times as long
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return deviation / mean if mean else None


def mvalue(values: Sequence[float]) -> float | None:
    """Return the modality of the distribution: 2 for one mode, 4 for two modes of equal height; None below 32 values.

    It is the sum of the height differences between neighbouring bars of the histogram, in units of the tallest bar
    (B. Gregg, "Modality", https://www.brendangregg.com/FrequencyTrails/modes.html). The outermost hundredth on each
    side is left out, because a single outlier would squeeze all other values into one bar. The number of bars follows
    Sturges (1926), doi 10.1080/01621459.1926.10502161. Equal values are one mode.
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
