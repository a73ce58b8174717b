"""A histogram in one row of text."""

from __future__ import annotations

import math

from noisewatch.model.calibration.statistics import Histogram, lower_edge

_PER_OCTAVE = 4  # bars to each doubling: the histogram's own sixteen would each be thinner than a column


def strip(histogram: Histogram, width: int, ramp: str, from_ns: int = 1_000) -> str:
    """How many gaps were how long, from `from_ns` on: a character a bar, its height logarithmic."""
    bars = _bars(histogram, from_ns)
    first = _place(from_ns)
    heights = [math.log10(bars.get(first + at, 0) + 1) for at in range(width)]
    top = max(max(heights, default=0.0), 1.0)
    return "".join(ramp[math.ceil(height / top * (len(ramp) - 1))] for height in heights)


def _place(ns: int) -> int:
    """The number of the bar that a duration belongs to."""
    return math.floor(math.log2(max(ns, 1)) * _PER_OCTAVE)


def _bars(histogram: Histogram, from_ns: int) -> dict[int, int]:
    bars: dict[int, int] = {}
    for bucket, count in histogram.counts.items():
        place = _place(max(lower_edge(bucket), from_ns))
        bars[place] = bars.get(place, 0) + count
    return bars
