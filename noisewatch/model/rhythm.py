"""Recognizes a source that disturbs at regular times, or at a steady rate: pure functions.

A trace has the times at which a source had a CPU. Intervals between two snapshots have less: the noise of each interval
shows a period of several intervals, and the counts of the scheduler show a steady rate, but not whether it is regular
within an interval.

Other sources interrupt a disturbance, so its runs are first put together: a break of at least a quarter of the usual
break separates two disturbances. The usual break is the median of the breaks, weighted by their lengths, because short
breaks may be many.

Of sources whose breaks are random, fewer than 1 in 1,000 look regular (tests/model/test_rhythm.py counts them).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from noisewatch.units import NS_PER_S, describe_ns

_SEPARATES = 0.25  # share of the usual break; a longer break separates two disturbances
_NEAR = 0.9  # least share of the times between two disturbances that are near their median
_COVERED = 0.8  # least share of the observed time from the first disturbance to the last one
# The fewest disturbances, and how far the times between them may be from their median. Fewer must be more regular.
_LIMITS = ((8, 0.1), (5, 0.02))
_LEAST_STEPS = 4  # shortest period in which the resolution is a small part, as a multiple of the resolution
_ALIKE = 0.25  # share of the median; lengths within it are described by one figure
_OMITTED = 10  # one in ten lengths is shorter than `shortest_ns`, and one in ten is longer than `longest_ns`
_FEWEST_INTERVALS, _FEWEST_RUNS = 10, 5.0  # of a steady rate: intervals, and runs in each
_RATE_SPREAD, _COUNT_DOUBT = 0.1, 1.5  # difference from the mean rate: a share of it, or runs in an interval
_LOUD = 0.1  # share of the highest noise; intervals with less are between disturbances
_MANY = 9.95  # per second; from here on, whole numbers


class Rhythm(Struct, frozen=True):
    """A regular disturbance: the mean time from one start to the next, and the lengths (ns) of most disturbances."""

    period_ns: int
    count: int
    usual_ns: int
    shortest_ns: int
    longest_ns: int

    @property
    def text(self) -> str:
        """The description: `10 times a second, 5 ms each`, or `every 2 s, mostly 3 to 20 ms each`."""
        return f"{_often(self.period_ns)}, {self._lengths}"

    @property
    def _lengths(self) -> str:
        shortest, longest = describe_ns(self.shortest_ns), describe_ns(self.longest_ns)
        is_alike = max(self.longest_ns - self.usual_ns, self.usual_ns - self.shortest_ns) <= _ALIKE * self.usual_ns
        if is_alike or shortest == longest:
            return f"{describe_ns(self.usual_ns)} each"
        number, _, unit = shortest.partition(" ")
        return f"mostly {number if longest.endswith(f' {unit}') else shortest} to {longest} each"


def _often(period_ns: float) -> str:
    if period_ns > NS_PER_S:
        return f"every {describe_ns(float(f'{period_ns:.2g}'))}"
    per_s = float(f"{NS_PER_S / period_ns:.2g}")
    if per_s == 1:
        return "every 1 s"
    return f"{per_s:,.0f} times a second" if per_s >= _MANY else f"{per_s:g} times a second"


class SteadyRate(Struct, frozen=True):
    """The mean rate and the mean length (ns) of a thread's runs; `alike` of `count` intervals were near both."""

    rate_per_s: float
    length_ns: float
    count: int
    alike: int

    @property
    def text(self) -> str:
        """The description: `10 times a second, 5 ms each on average`."""
        length = describe_ns(float(f"{self.length_ns:.2g}"))
        return f"{_often(NS_PER_S / self.rate_per_s)}, {length} each on average"


def steady_rate(rates_per_s: Sequence[float], noise_ns_per_s: Sequence[float], seconds: float) -> SteadyRate | None:
    """Return the rate of runs if it and the length of runs were alike in nearly all intervals, or else None.

    Both sequences have a value for each interval of `seconds`. The counts of equal intervals may differ by one, and
    threads are not read at the same moment of each interval.
    """
    count = len(rates_per_s)
    if count < _FEWEST_INTERVALS or min(rates_per_s) <= 0 or min(noise_ns_per_s) <= 0:
        return None
    lengths = [noise / rate for rate, noise in zip(rates_per_s, noise_ns_per_s, strict=True)]
    rate_per_s, length_ns = statistics.median(rates_per_s), statistics.median(lengths)
    may_differ = max(_RATE_SPREAD * rate_per_s, _COUNT_DOUBT / seconds)
    alike = sum(
        abs(rate - rate_per_s) <= may_differ and abs(length - length_ns) <= _ALIKE * length_ns
        for rate, length in zip(rates_per_s, lengths, strict=True)
    )
    if rate_per_s * seconds < _FEWEST_RUNS or alike < _NEAR * count:
        return None
    return SteadyRate(sum(rates_per_s) / count, sum(noise_ns_per_s) / sum(rates_per_s), count, alike)


def rhythm_of_intervals(noise_ns_per_s: Sequence[float | None], seconds: float) -> Rhythm | None:
    """Return the rhythm of a source by its noise in intervals of `seconds`, or None if it is irregular or unknown.

    A disturbance is one or more intervals in a row with at least a tenth of the highest noise.
    """
    noise = [value for value in noise_ns_per_s if value is not None]
    if len(noise) < len(noise_ns_per_s) or seconds <= 0:
        return None
    least, interval_ns = _LOUD * max(noise, default=0.0), round(seconds * NS_PER_S)
    starts: list[int] = []
    ends: list[int] = []
    for number, value in enumerate(noise):
        if value <= 0 or value < least:
            continue
        begin_ns, length_ns = number * interval_ns, min(round(value * seconds), interval_ns)
        if number and starts and noise[number - 1] >= least > 0:
            ends[-1] += length_ns
        else:
            starts.append(begin_ns)
            ends.append(begin_ns + length_ns)
    return rhythm_of(starts, ends, len(noise) * interval_ns, interval_ns)


def rhythm_of(start_ns: Sequence[int], end_ns: Sequence[int], length_ns: int, resolution_ns: int = 0) -> Rhythm | None:
    """Return the rhythm of a source's runs in `length_ns` of observed time, or None if they are few or irregular.

    The runs are in order and do not overlap. Times between many disturbances may also differ by the resolution of their
    times, if that is a small part of the period.
    """
    starts, lengths = _disturbances(start_ns, end_ns)
    periods = [later - earlier for earlier, later in pairwise(starts)]
    spread = next((spread for fewest, spread in _LIMITS if len(starts) >= fewest), None)
    if spread is None or starts[-1] - starts[0] < _COVERED * length_ns:
        return None
    period_ns = statistics.median(periods)
    is_coarse = len(starts) >= _LIMITS[0][0] and period_ns >= _LEAST_STEPS * resolution_ns
    may_differ_ns = max(spread * period_ns, resolution_ns if is_coarse else 0)
    near = sum(abs(period - period_ns) <= may_differ_ns for period in periods)
    mean_ns = (starts[-1] - starts[0]) / len(periods)
    if near < _NEAR * len(periods) or abs(mean_ns - period_ns) > spread * period_ns:
        return None
    ordered = sorted(lengths)
    omitted = len(ordered) // _OMITTED
    return Rhythm(
        period_ns=round(mean_ns),
        count=len(starts),
        usual_ns=round(statistics.median(ordered)),
        shortest_ns=ordered[omitted],
        longest_ns=ordered[-1 - omitted],
    )


def _disturbances(start_ns: Sequence[int], end_ns: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the start of each disturbance, and the time (ns) of its runs."""
    breaks = [later - end for end, later in zip(end_ns, start_ns[1:], strict=False)]
    least_ns = _SEPARATES * _usual_break_ns(breaks)
    starts, lengths = list(start_ns[:1]), [end_ns[0] - start_ns[0]] if start_ns else []
    for break_ns, start, end in zip(breaks, start_ns[1:], end_ns[1:], strict=True):
        if break_ns >= least_ns:
            starts.append(start)
            lengths.append(0)
        lengths[-1] += end - start
    return starts, lengths


def _usual_break_ns(breaks: Sequence[int]) -> int:
    """Return the median of the breaks, each weighted by its length."""
    rest_ns = sum(breaks) / 2
    for break_ns in sorted(breaks, reverse=True):
        rest_ns -= break_ns
        if rest_ns <= 0:
            return break_ns
    return 0
