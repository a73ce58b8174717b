"""The figures of a machine in its history, and for each figure the smallest change that counts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple


class Figure(StrEnum):
    """A figure of a calibration: the mean of the target CPUs, except for the slowest CPU's figures and noise floors.

    The slowest CPU has figures of its own, because one bad CPU among many hardly moves a mean. They are relative to the
    median of all target CPUs. A noise floor is that of the worst CPU. The history's file contains the values of this
    enum.
    """

    LATENCY = "latency work"  # ns per piece, like all work
    THROUGHPUT = "throughput work"
    INTERPRETER = "interpreter work"
    CACHE = "cache walk"
    MEMORY = "memory walk"
    BANDWIDTH = "memory copy"
    CLOCK = "clock"  # kHz
    CLOCK_READING = "clock reading"  # ns
    SHORT_GAPS = "gaps below 10 µs"  # per second, like all gaps
    MIDDLE_GAPS = "gaps of 10 to 100 µs"
    LONG_GAPS = "gaps from 100 µs on"
    NOISE_1MS = "noise floor at 1 ms"  # CV of mixed work, like all noise floors
    NOISE_10MS = "noise floor at 10 ms"
    NOISE_100MS = "noise floor at 100 ms"
    SLOWEST_LATENCY = "latency work (slowest CPU)"  # multiple of all CPUs' median, like all figures of the slowest CPU
    SLOWEST_THROUGHPUT = "throughput work (slowest CPU)"
    SLOWEST_INTERPRETER = "interpreter work (slowest CPU)"
    SLOWEST_CACHE = "cache walk (slowest CPU)"
    SLOWEST_MEMORY = "memory walk (slowest CPU)"
    SLOWEST_BANDWIDTH = "memory copy (slowest CPU)"
    SLOWEST_CLOCK = "clock (slowest CPU)"


SLOWEST = {
    Figure.LATENCY: Figure.SLOWEST_LATENCY,
    Figure.THROUGHPUT: Figure.SLOWEST_THROUGHPUT,
    Figure.INTERPRETER: Figure.SLOWEST_INTERPRETER,
    Figure.CACHE: Figure.SLOWEST_CACHE,
    Figure.MEMORY: Figure.SLOWEST_MEMORY,
    Figure.BANDWIDTH: Figure.SLOWEST_BANDWIDTH,
    Figure.CLOCK: Figure.SLOWEST_CLOCK,
}
OF_THE_SLOWEST = frozenset(SLOWEST.values())
GAPS_NS = {  # minimum (included) and maximum (excluded)
    Figure.SHORT_GAPS: (0, 10_000),
    Figure.MIDDLE_GAPS: (10_000, 100_000),
    Figure.LONG_GAPS: (100_000, math.inf),
}
NOISE_NS = {Figure.NOISE_1MS: 1_000_000, Figure.NOISE_10MS: 10_000_000, Figure.NOISE_100MS: 100_000_000}


class Nature(StrEnum):
    """The kind of quantity that a figure measures."""

    TIME = "time"  # a larger value is slower
    RATE = "rate"  # a larger value is faster
    NOISE = "noise"  # a larger value is noisier


class FigureTraits(NamedTuple):
    """The properties of a figure.

    `least_change` is the smallest change that counts, as the natural logarithm of a ratio. Values below `floor` count
    as `floor`.
    """

    nature: Nature
    unit: str
    least_change: float
    floor: float


_SPEED, _READING, _TWICE = math.log(1.01), math.log(1.05), math.log(2.0)
_WORK = FigureTraits(Nature.TIME, "ns", _SPEED, 1e-3)
_GAPS = FigureTraits(Nature.NOISE, "/s", _TWICE, 1.0)
_FLOOR = FigureTraits(Nature.NOISE, "CV", _TWICE, 1e-4)
TRAITS: dict[Figure, FigureTraits] = {
    **dict.fromkeys(
        (Figure.LATENCY, Figure.THROUGHPUT, Figure.INTERPRETER, Figure.CACHE, Figure.MEMORY, Figure.BANDWIDTH),
        _WORK,
    ),
    **dict.fromkeys(OF_THE_SLOWEST, FigureTraits(Nature.TIME, "median", _SPEED, 1e-3)),
    Figure.CLOCK: FigureTraits(Nature.RATE, "kHz", _SPEED, 1.0),
    Figure.SLOWEST_CLOCK: FigureTraits(Nature.RATE, "median", _SPEED, 1e-3),
    Figure.CLOCK_READING: FigureTraits(Nature.TIME, "ns", _READING, 1e-3),
    **dict.fromkeys(GAPS_NS, _GAPS),
    **dict.fromkeys(NOISE_NS, _FLOOR),
}


def logarithm(figure: Figure, value: float) -> float:
    """Return the natural logarithm of the value, or of the figure's floor if the value is below it."""
    return math.log(max(value, TRAITS[figure].floor))


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values, or None if any value is unknown or there are none."""
    all_values = list(values)
    known = [value for value in all_values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(all_values) else None


def slowest_of(figure: Figure, value_by_cpu: Mapping[int, float]) -> tuple[int, float]:
    """Return the slowest CPU and its value, for a figure of speed. Raise ValueError without CPUs."""
    pick = min if TRAITS[figure].nature == Nature.RATE else max
    return pick(value_by_cpu.items(), key=itemgetter(1))


def gap_rates(gaps_per_s: float | None, count_by_edge_ns: Mapping[float, float] | None) -> dict[Figure, float | None]:
    """Return one CPU's gap rates (per second) by length, from the rate of all gaps and a histogram; None means unknown.

    The histogram has counts by the lower edges (ns) of its buckets. A bucket's width is a sixteenth of its values.
    """
    total = sum((count_by_edge_ns or {}).values())
    if gaps_per_s is None or count_by_edge_ns is None or (gaps_per_s > 0 and total <= 0):
        return dict.fromkeys(GAPS_NS)
    rates: dict[Figure, float | None] = {}
    for figure, (begin_ns, end_ns) in GAPS_NS.items():
        matching = sum(count for edge_ns, count in count_by_edge_ns.items() if begin_ns <= edge_ns < end_ns)
        rates[figure] = gaps_per_s * matching / total if total else 0.0
    return rates
