"""The longest interruptions of the main thread in a trace, with their times and parts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.trace.runs import CpuPieces
from noisewatch.kinds import Kind
from noisewatch.model.calibration.gap_causes import Part, crowds_in, parts_of
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class Interruption:
    """A time without a break in which other sources had the CPU. `start_ns` is since the trace began."""

    start_ns: int
    length_ns: int
    parts: tuple[Part, ...]  # the longest first


def longest_interruptions(
    pieces: CpuPieces, main_thread_tid: int | None, irqs: Irqs | None, most: int
) -> tuple[Interruption, ...]:
    """Return the longest interruptions of the main thread, the longest first.

    They contain all sources but the thread; both the thread and idleness end one.
    """
    longest = heapq.nlargest(most, _interruptions(pieces, main_thread_tid), key=lambda each: each[1] - each[0])
    crowds = crowds_in(pieces, irqs)
    return tuple(
        Interruption(start, end - start, parts_of(shares, pieces, irqs, crowds)) for start, end, shares in longest
    )


def _interruptions(pieces: CpuPieces, main_thread_tid: int | None) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Yield begin, end and time by source of each interruption."""
    begin = end = 0
    shares: dict[int, int] = {}
    for start_ns, end_ns, number in zip(pieces.start_ns, pieces.end_ns, pieces.source, strict=True):
        source = pieces.sources[number]
        works = source.kind == Kind.THREAD and source.thread is not None and source.thread.tid == main_thread_tid
        if shares and (works or start_ns > end):
            yield begin, end, shares
            shares = {}
        if works:
            continue
        if not shares:
            begin = start_ns
        end = end_ns
        shares[number] = shares.get(number, 0) + end_ns - start_ns
    if shares:
        yield begin, end, shares
