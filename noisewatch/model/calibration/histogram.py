"""Durations counted in buckets whose width grows with them: sixteen to each power of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_SUB_BITS = 4
_SUBS = 1 << _SUB_BITS


def bucket_of(value: int) -> int:
    """The number of the bucket that holds `value` (0 or more); below 32 each value has its own."""
    if value < 2 * _SUBS:
        return value
    shift = value.bit_length() - _SUB_BITS - 1
    return (shift << _SUB_BITS) + (value >> shift)


def lower_edge(bucket: int) -> int:
    """The smallest value of the bucket; its largest is one less than the next one's smallest."""
    if bucket < 2 * _SUBS:
        return bucket
    shift = (bucket >> _SUB_BITS) - 1
    return (_SUBS + (bucket & (_SUBS - 1))) << shift


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values fell into each bucket. A bucket is at most 1/16 of its values wide.

    The layout is that of HdrHistogram (https://hdrhistogram.github.io/HdrHistogram/), with 16 sub-buckets.
    """

    counts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[int]) -> Histogram:
        """The values' histogram. Negative values count as 0."""
        return cls(Counter(bucket_of(max(value, 0)) for value in values))

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def merged(self, other: Histogram) -> Histogram:
        """Both together: as if all values had been counted in one."""
        return Histogram(Counter(self.counts) + Counter(other.counts))

    def quantile_bounds(self, share: float) -> tuple[int, int] | None:
        """The bucket, from its smallest value to its largest, that holds the value of rank ⌈share · n⌉; None if empty.

        `share` is from 0 (the smallest) to 1 (the largest).
        """
        wanted = max(-int(-share * self.count // 1), 1)
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return lower_edge(bucket), lower_edge(bucket + 1) - 1
        return None

    def edges_and_counts(self) -> tuple[list[int], list[int]]:
        """From the first bucket with a value to the last: n + 1 edges, and the n counts between them."""
        if not self.counts:
            return [], []
        buckets = range(min(self.counts), max(self.counts) + 1)
        edges = [lower_edge(bucket) for bucket in buckets]
        return [*edges, lower_edge(buckets[-1] + 1)], [self.counts.get(bucket, 0) for bucket in buckets]
