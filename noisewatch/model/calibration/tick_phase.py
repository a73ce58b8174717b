"""Ticks among gaps, known by nothing but when they begin: at one moment of the clock's period."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

_FREQUENCIES_HZ = (250, 1000, 100, 300)  # that kernels are built with
_PHASE_NS = 10_000
_FEWEST_TICKS = 8
_SHORTEST_TICK = 4  # a quarter of the usual one
_DENSER = 5  # than gaps at any time would be


def starts_of_ticks(gaps: Sequence[tuple[int, int]], frequencies_hz: Iterable[int] = _FREQUENCIES_HZ) -> frozenset[int]:
    """Those that begin at the one moment of the period where gaps are by far the densest; of each period the longest.

    Gaps are pairs of start and length, in ns. A hypervisor makes gaps of its own right before and after it delivers it.
    """
    best: list[tuple[int, int]] = []
    best_period_ns = 1
    for hz in frequencies_hz:
        period_ns = round(1e9 / hz)
        near = _densest(gaps, period_ns)
        expected = len(gaps) * _PHASE_NS / period_ns
        if len(near) > max(len(best), _FEWEST_TICKS, _DENSER * expected):
            best, best_period_ns = near, period_ns
    longest: dict[int, tuple[int, int]] = {}
    for start, length in best:
        period = round((start - best[0][0]) / best_period_ns)
        longest[period] = max(longest.get(period, (0, 0)), (length, start))
    usual_ns = statistics.median(length for length, _ in longest.values()) if longest else 0
    return frozenset(start for length, start in longest.values() if length * _SHORTEST_TICK > usual_ns)


def _densest(gaps: Sequence[tuple[int, int]], period_ns: int) -> list[tuple[int, int]]:
    """The gaps in that stretch of the period, _PHASE_NS long, in which most of them begin."""
    phases = sorted((gap[0] % period_ns, gap) for gap in gaps)
    phases += [(phase + period_ns, gap) for phase, gap in phases if phase < _PHASE_NS]  # the period is a circle
    first, begin, end = 0, 0, 0
    for last, (phase, _) in enumerate(phases):
        while phase - phases[first][0] >= _PHASE_NS:
            first += 1
        if last + 1 - first > end - begin:
            begin, end = first, last + 1
    return [gap for _, gap in phases[begin:end]]
