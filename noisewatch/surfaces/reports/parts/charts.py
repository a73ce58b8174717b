"""Histograms as lines of text, drawn by plotext where it can be imported. The only user of plotext.

Its figure is global: to be used from one thread alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from noisewatch.model.calibration.statistics import Histogram, lower_edge
from noisewatch.units import describe_ns

_PER_OCTAVE = 4  # bars to each doubling: the histogram's own sixteen would each be thinner than a column
_MARKERS = ("braille", "hd", "dot")
_LEAST_WIDTH, _LEAST_HEIGHT = 30, 6


def gap_chart(histogram: Histogram, width: int, height: int, in_unicode: bool, from_ns: int = 1_000) -> list[str]:
    """How many gaps were how long; both axes logarithmic, as one long gap costs as much as a thousand short ones."""
    bars = _bars(histogram, from_ns)
    if not bars or width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return []
    figure = _figure(width, height) if in_unicode else None
    if figure is None:
        return _plain_bars(bars, width, height)
    first = min(bars)
    places = range(first, max(bars) + 1)
    heights = [math.log10(bars.get(place, 0) + 1) for place in places]
    figure.draw(figure.bar(list(places), heights, width=1.0, marker="hd"))
    decades = [(_place(10**power), describe_ns(10**power)) for power in range(3, 11) if _place(10**power) in places]
    if decades:
        figure.ruler("x").ticks([place for place, _ in decades], [label for _, label in decades])
    powers = range(math.ceil(max(heights)) + 1)
    figure.ruler("y").ticks([math.log10(10**power + 1) for power in powers], [f"{10**power}" for power in powers])
    figure.ruler("y").lim(0, max(heights) * 1.05)
    return _lines(figure)


def comparison_chart(times_ns: Mapping[str, Sequence[float]], width: int, height: int, in_unicode: bool) -> list[str]:
    """How often fixed work took how long, a line for each name, on one axis; the far hundredth is left out."""
    known = {name: sorted(times) for name, times in times_ns.items() if times}
    if not known or width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return []
    low = min(times[0] for times in known.values())
    high = max(times[int(len(times) * 0.99)] for times in known.values())
    bin_count = max(width - 10, 20)
    step = max((high - low) / bin_count, 1.0)
    figure = _figure(width, height) if in_unicode else None
    if figure is None:
        return [line for name, times in known.items() for line in _plain_line(name, times, low, step, width)]
    for (name, times), marker in zip(known.items(), _MARKERS * len(known), strict=False):
        counts = _counted(times, low, step, bin_count)
        shares = [count / len(times) * 100 for count in counts]
        places = [(low + (at + 0.5) * step) / 1e3 for at in range(bin_count)]
        line = figure.signal(places, shares, marker=marker).lines()
        line.label(f" {name} ")
        figure.draw(line)
    figure.label("µs", "x")
    return _lines(figure)


def strip(histogram: Histogram, width: int, ramp: str, from_ns: int = 1_000) -> str:
    """The same distribution in one row: a character a bar, its height logarithmic."""
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


def _counted(times: Sequence[float], low: float, step: float, bin_count: int) -> list[int]:
    counts = [0] * bin_count
    for time in times:
        at = int((time - low) / step)
        if at < bin_count:
            counts[at] += 1
    return counts


def _figure(width: int, height: int) -> Any | None:
    """plotext's only figure, cleared; None where it cannot be imported (it has no wheel for musl)."""
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


def _lines(figure: Any) -> list[str]:
    return [line.rstrip() for line in figure.build().string(colorless=True).splitlines()]


def _plain_bars(bars: Mapping[int, int], width: int, height: int) -> list[str]:
    """A row a bar, in ASCII; neighbouring bars are put together where there are too many rows."""
    together = max(math.ceil((max(bars) - min(bars) + 1) / (height - 1)), 1)  # less one, as rows begin at multiples
    rows: dict[int, int] = {}
    for place, count in bars.items():
        rows[place // together] = rows.get(place // together, 0) + count
    room = max(width - 24, 1)
    top = max(math.log10(count + 1) for count in rows.values())
    lines = []
    for row in range(min(rows), max(rows) + 1):
        count = rows.get(row, 0)
        bar = "#" * round(math.log10(count + 1) / top * room)
        lines.append(f"{describe_ns(2 ** (row * together / _PER_OCTAVE)):>10} {bar} {count}".rstrip())
    return lines


def _plain_line(name: str, times: Sequence[float], low: float, step: float, width: int) -> list[str]:
    """One distribution in a row of ASCII."""
    room = max(width - 24, 10)
    counts = _counted(times, low, step * max(width - 10, 20) / room, room)
    top = max([1, *counts])
    ramp = " .:-=+*#@"
    return [f"{name[:20]:<22}" + "".join(ramp[math.ceil(count / top * (len(ramp) - 1))] for count in counts)]
