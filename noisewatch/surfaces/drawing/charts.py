"""Small text charts: a histogram in one row, and the duration of work over time, drawn by plotext.

Only this module uses plotext. Its figure is global, so only one thread may use it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from noisewatch.model.calibration.statistics import Histogram, lower_edge
from noisewatch.units import describe_ns

_PER_OCTAVE = 4  # bars per doubling; the histogram's own 16 bars would be narrower than a column


def strip(histogram: Histogram, width: int, ramp: str, from_ns: int = 1_000) -> str:
    """Draw a histogram of gaps by length, with one character per bar, of logarithmic height.

    The first bar begins at `from_ns`, and includes all shorter gaps.
    """
    bars = _bars(histogram, from_ns)
    first = _place(from_ns)
    heights = [math.log10(bars.get(first + index, 0) + 1) for index in range(width)]
    top = max(max(heights, default=0.0), 1.0)
    return "".join(ramp[math.ceil(height / top * (len(ramp) - 1))] for height in heights)


def _place(ns: int) -> int:
    """Return the index of the bar that counts the duration."""
    return math.floor(math.log2(max(ns, 1)) * _PER_OCTAVE)


def _bars(histogram: Histogram, from_ns: int) -> dict[int, int]:
    bars: dict[int, int] = {}
    for bucket, count in histogram.counts.items():
        place = _place(max(lower_edge(bucket), from_ns))
        bars[place] = bars.get(place, 0) + count
    return bars


def work_chart(start_ns: Sequence[int], length_ns: Sequence[int], width: int, height: int) -> list[str]:
    """Draw the median and the longest time of the pieces of work over the calibration, below a legend.

    The chart is empty if there are too few samples, if it does not fit, or if plotext cannot be imported (it has no
    wheel for musl).
    """
    figure = _figure(width, height - 1) if width >= _LEAST_WIDTH and len(length_ns) >= _FEWEST else None
    if figure is None:
        return []
    columns = width // 2
    span_ns = (start_ns[-1] - start_ns[0]) / columns or 1.0
    lengths: dict[int, list[int]] = {}
    for start, length in zip(start_ns, length_ns, strict=True):
        lengths.setdefault(int((start - start_ns[0]) / span_ns), []).append(length)
    seconds = [(start_ns[0] + (at + 0.5) * span_ns) / 1e9 for at in lengths]
    for aggregate, marker in ((statistics.median, "hd"), (max, "braille")):
        figure.draw(
            figure.signal(seconds, [aggregate(bin_lengths) for bin_lengths in lengths.values()], marker=marker).lines()
        )
    places = _round_places(min(statistics.median(bin_lengths) for bin_lengths in lengths.values()), max(length_ns))
    figure.ruler("y").lim(places[0], places[-1])
    figure.ruler("y").ticks(places, [describe_ns(place) if place else "0" for place in places])
    figure.label("s", "x")
    return [_LEGEND, *(line.rstrip() for line in figure.build().string(colorless=True).splitlines())]


def _round_places(lowest_ns: float, highest_ns: float) -> list[float]:
    """Return a few round durations that include both ends, no two with the same label."""
    least = math.floor(math.log10(max(highest_ns, 1))) - 2  # three digits are shown
    steps = (size * 10.0**power for power in itertools.count(least) for size in (1, 2, 5))
    ranges = ((step, math.floor(lowest_ns / step), math.floor(highest_ns / step) + 1) for step in steps)
    step, first, last = next(candidate for candidate in ranges if candidate[2] - candidate[1] < _MOST_PLACES)
    return [step * index for index in range(first, last + 1)]


_LEAST_WIDTH, _FEWEST = 40, 20
_MOST_PLACES = 5
_LEGEND = "▚ median   ⢕ longest"


def _figure(width: int, height: int) -> Any | None:
    """Return plotext's global figure, cleared, or None if plotext cannot be imported."""
    try:
        import plotext
    except ImportError:
        return None
    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    return figure
