"""The causes and parts of interruptions: of gaps in a calibration, and of the longest interruptions in a trace.

With a trace, the cause of a gap is the source that took the largest part of it. A gap without any source comes from
outside the kernel: from the hypervisor or the firmware. So does a gap whose untraced part is longer than its traced
part, and far longer than entering and leaving the kernel takes. If the trace does not cover all interrupts, the cause
of such gaps is unknown. Without a trace, a gap with a context switch is another thread's, and a gap that begins at the
clock's tick is the tick. If the CPU has far more timer interrupts than ticks, and enough to explain most gaps without a
context switch, all of these gaps are timer interrupts. The cause of all others is unknown. attribution.py then assigns
some of the gaps to CPU quotas.

A tick is recognized by its start, because all ticks begin at the same phase of the tick period. Gaps that begin there
but are much shorter than most of them are not ticks.
"""

from __future__ import annotations

import heapq
import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.trace.runs import CpuPieces
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import TIMER_INTERRUPTS, is_far_above_tick
from noisewatch.model.trace.culprits import Crowd, crowds_of, name_of_source

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples, Gaps
    from noisewatch.kernel.trace.runs import Thread, TracedSource


_FREQUENCIES_HZ = (250, 1000, 100, 300)  # the tick rates that kernels support
_PHASE_NS = 10_000
_FEWEST_TICKS = 8
_SHORTEST_TICK = 4  # a tick has at least a quarter of the usual length
_DENSER = 5  # ticks are at least this many times as dense as gaps at random times


def starts_of_ticks(gaps: Sequence[tuple[int, int]], frequencies_hz: Iterable[int] = _FREQUENCIES_HZ) -> frozenset[int]:
    """Return the starts of the gaps that are ticks: those at the phase where gaps are by far the densest.

    Gaps are pairs of start and length, in ns. Only the longest gap of each period counts, because a hypervisor causes
    gaps right before and after it delivers the tick.
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
    """Return the gaps that begin in the busiest part of the period, _PHASE_NS long."""
    phases = sorted((gap[0] % period_ns, gap) for gap in gaps)
    phases += [(phase + period_ns, gap) for phase, gap in phases if phase < _PHASE_NS]  # the period is a circle
    first, begin, end = 0, 0, 0
    for last, (phase, _) in enumerate(phases):
        while phase - phases[first][0] >= _PHASE_NS:
            first += 1
        if last + 1 - first > end - begin:
            begin, end = first, last + 1
    return [gap for _, gap in phases[begin:end]]


OUTSIDE = "outside the kernel: hypervisor or firmware"
UNKNOWN_CAUSE = "a kernel interrupt, or outside the kernel"
ANOTHER_THREAD = "another thread"
TICK = "timer tick"
# Kinds of gaps that no thread caused, even if one ran during the gap.
_OF_NO_THREAD = frozenset({Kind.OUTSIDE, Kind.UNATTRIBUTED, Kind.QUOTA})
_MOST = 0.5  # least share that counts as most: of the gaps, or of an interruption's length
_LEAST_ENTRY_NS = 2_000  # time to enter and leave the kernel with cold caches


class Part(Struct, frozen=True):
    """The time of one source within an interruption, or of a `crowd` of sources that contains `source`."""

    source: TracedSource
    name: str
    ns: int
    crowd: Crowd | None = None


class GapCause(Struct, frozen=True):
    """The cause of a gap. `kernel_ns` is the part that the trace explains, or None without a trace."""

    kind: Kind
    name: str
    start_ns: int
    length_ns: int
    kernel_ns: int | None = None
    parts: tuple[Part, ...] = ()  # all sources that ran in the gap, the longest first

    @property
    def thread(self) -> Thread | None:
        """The thread that caused or requested the gap; None for a crowd."""
        has_one = self.parts and self.kind not in _OF_NO_THREAD and self.parts[0].crowd is None
        return self.parts[0].source.thread if has_one else None

    @property
    def pid(self) -> int | None:
        """The process of the thread, or the process that started the crowd."""
        crowd = self.parts[0].crowd if self.parts and self.kind not in _OF_NO_THREAD else None
        return crowd.pid if crowd is not None else self.thread.pid if self.thread is not None else None


def causes_by_trace(
    samples: CpuSamples, pieces: CpuPieces, offset_ns: int, irqs: Irqs | None, is_whole: bool = True
) -> list[GapCause]:
    """Return the cause of each gap. `offset_ns` is the calibration's start relative to the trace's start.

    If the trace does not cover all interrupts, the cause is unknown where it would otherwise be outside the kernel.
    """
    unexplained = (Kind.OUTSIDE, OUTSIDE) if is_whole else (Kind.UNATTRIBUTED, UNKNOWN_CAUSE)
    shares_by_gap = [
        _shares_of(pieces, samples.spinner_tid, start + offset_ns, start + offset_ns + length)
        for start, length in zip(samples.gaps.start_ns, samples.gaps.length_ns, strict=True)
    ]
    usual_ns = _usual_rest_ns(samples.gaps, shares_by_gap)
    crowds = crowds_in(pieces, irqs)
    causes = []
    for start, length, shares in zip(samples.gaps.start_ns, samples.gaps.length_ns, shares_by_gap, strict=True):
        kernel_ns = sum(shares.values())
        rest_ns = length - kernel_ns
        parts = parts_of(shares, pieces, irqs, crowds)
        is_nobodys = not parts or rest_ns > max(2 * usual_ns * len(shares), kernel_ns)
        kind, name = unexplained if is_nobodys else (parts[0].source.kind, parts[0].name)
        causes.append(GapCause(kind, name, start, length, kernel_ns, parts))
    return causes


def crowds_in(pieces: CpuPieces, irqs: Irqs | None) -> Mapping[int, Crowd]:
    """Return the crowd (ended threads with one name) of each source that belongs to one, by source number."""
    return crowds_of(pieces.sources, lambda source: name_of_source(source, irqs))


def parts_of(
    shares: Mapping[int, int], pieces: CpuPieces, irqs: Irqs | None, crowds: Mapping[int, Crowd]
) -> tuple[Part, ...]:
    """Return the parts of an interruption with their names, the longest first.

    `shares` has the time (ns) of each source, by its number.
    """
    parts = [
        Part(source := pieces.sources[number], name_of_source(source, irqs), ns)
        for number, ns in shares.items()
        if number not in crowds
    ]
    numbers: dict[Crowd, list[int]] = defaultdict(list)
    for number in shares.keys() & crowds.keys():
        numbers[crowds[number]].append(number)
    for crowd, members in numbers.items():
        had_ns = sum(shares[number] for number in members)
        parts.append(Part(pieces.sources[min(members)], crowd.name, had_ns, crowd))
    return tuple(sorted(parts, key=lambda part: -part.ns))


def _shares_of(pieces: CpuPieces, spinner_tid: int | None, begin_ns: int, end_ns: int) -> dict[int, int]:
    """Return the CPU time (ns) of each source between two times, without the spinner."""
    shares: dict[int, int] = defaultdict(int)
    at = max(bisect_right(pieces.end_ns, begin_ns), 0)
    while at < len(pieces.start_ns) and pieces.start_ns[at] < end_ns:
        number = pieces.source[at]
        thread = pieces.sources[number].thread
        is_spinner = pieces.sources[number].kind == Kind.THREAD and thread is not None and thread.tid == spinner_tid
        overlap_ns = min(pieces.end_ns[at], end_ns) - max(pieces.start_ns[at], begin_ns)
        if overlap_ns > 0 and not is_spinner:
            shares[number] += overlap_ns
        at += 1
    return dict(shares)


def includes_spinner(pieces: CpuPieces, spinner_tid: int | None) -> bool:
    """Return whether the trace includes the spinner; a trace that only records noise does not."""
    threads = (pieces.sources[number].thread for number in set(pieces.source))
    return spinner_tid is not None and any(thread is not None and thread.tid == spinner_tid for thread in threads)


def was_idle(pieces: CpuPieces, offset_ns: int, start_ns: int, length_ns: int) -> bool:
    """Return whether the CPU was idle for most of an interruption. The trace must include the spinner."""
    begin_ns = start_ns + offset_ns
    return sum(_shares_of(pieces, None, begin_ns, begin_ns + length_ns).values()) < (1 - _MOST) * length_ns


def _usual_rest_ns(gaps: Gaps, shares_by_gap: Sequence[dict[int, int]]) -> float:
    """Return the time (ns) that kernel entry and exit, and a hypervisor, usually add to a gap.

    Only gaps without a context switch count: a loop that was switched out may have been stopped while nothing else ran.
    """
    rests = [
        length - sum(shares.values())
        for length, switches, shares in zip(gaps.length_ns, gaps.switches, shares_by_gap, strict=True)
        if shares and switches <= 0
    ]
    return max(statistics.median(rests), _LEAST_ENTRY_NS) if rests else _LEAST_ENTRY_NS


def causes_by_gaps(samples: CpuSamples, hz: int | None, timers_per_s: float | None = None) -> list[GapCause]:
    """Infer the cause of each gap without a trace. `hz` is the kernel's tick rate, or None if unknown.

    If timer interrupts were far more frequent than the tick (`timers_per_s`), and frequent enough to explain most gaps
    without a context switch, all of these gaps are timer interrupts.
    """
    gaps = samples.gaps
    unswitched = [
        (start, length)
        for start, length, switches in zip(gaps.start_ns, gaps.length_ns, gaps.switches, strict=True)
        if switches <= 0
    ]
    are_timers = (
        timers_per_s is not None
        and is_far_above_tick(timers_per_s, hz)
        and timers_per_s * samples.spun_ns / 1e9 > _MOST * len(unswitched)
    )
    ticks = starts_of_ticks(unswitched, [hz]) if hz else starts_of_ticks(unswitched)
    causes = []
    for start, length, switches in zip(gaps.start_ns, gaps.length_ns, gaps.switches, strict=True):
        if switches > 0:
            causes.append(GapCause(Kind.THREAD, ANOTHER_THREAD, start, length))
        elif are_timers:
            causes.append(GapCause(Kind.TIMER, TIMER_INTERRUPTS, start, length))
        elif start in ticks:
            causes.append(GapCause(Kind.TICK, TICK, start, length))
        else:
            causes.append(GapCause(Kind.UNATTRIBUTED, UNKNOWN_CAUSE, start, length))
    return causes


class Interruption(Struct, frozen=True):
    """A period in which sources other than the main thread had the CPU, without a break.

    `start_ns` counts from the start of the trace.
    """

    start_ns: int
    length_ns: int
    parts: tuple[Part, ...]  # the longest first


def longest_interruptions(
    pieces: CpuPieces, main_thread_tid: int | None, irqs: Irqs | None, most: int
) -> tuple[Interruption, ...]:
    """Return the longest interruptions of the main thread, the longest first.

    Any source other than this thread interrupts it. An interruption ends when the thread runs or the CPU is idle.
    """
    longest = heapq.nlargest(most, _interruptions(pieces, main_thread_tid), key=lambda span: span[1] - span[0])
    crowds = crowds_in(pieces, irqs)
    return tuple(
        Interruption(start, end - start, parts_of(shares, pieces, irqs, crowds)) for start, end, shares in longest
    )


def _interruptions(pieces: CpuPieces, main_thread_tid: int | None) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Yield each interruption's begin, end, and time (ns) by source."""
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
