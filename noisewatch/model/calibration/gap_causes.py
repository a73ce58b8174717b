"""Who made the gaps that a spinning loop has seen: by the kernel's trace, or inferred from the gaps alone.

By the trace a gap goes to whoever had most of it. A gap in which nobody was seen came from outside the kernel, and
so did what is longer than the kernel's part by far more than it takes to enter and to leave it: the hypervisor, or the
firmware. Without a trace a gap with a context switch belongs to another thread; one that begins where the clock ticks
is the tick; and of the rest nobody knows.

Ticks among gaps are known by nothing but when they begin: at one moment of the clock's period.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import TIMER_INTERRUPTS, is_far_above_tick
from noisewatch.model.trace.culprits import Crowd, crowds_of, name_of_source
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples, Gaps
    from noisewatch.kernel.interrupts.irqs import Irqs
    from noisewatch.kernel.trace.runs import CpuPieces, Thread, TracedSource

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
    """The gaps in that part of the period, _PHASE_NS long, in which most of them begin."""
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
_OF_NO_THREAD = frozenset({Kind.OUTSIDE, Kind.UNATTRIBUTED, Kind.QUOTA})  # whoever else was in the gap
_MOST = 0.5  # of the gaps
_LEAST_ENTRY_NS = 2_000  # into the kernel and out again, with cold caches


@dataclass(frozen=True, slots=True)
class Part:
    """What one source had of an interruption, altogether; or a `crowd` of them, of which `source` is one."""

    source: TracedSource
    name: str
    ns: int
    crowd: Crowd | None = None


@dataclass(frozen=True, slots=True)
class GapCause:
    """Who made a gap. `kernel_ns` is what the trace has seen of it; None is not traced."""

    kind: Kind
    name: str
    start_ns: int
    length_ns: int
    kernel_ns: int | None = None
    parts: tuple[Part, ...] = ()  # all that were in it, the longest first

    @property
    def thread(self) -> Thread | None:
        """That has made it, or that has called for it; None of a crowd."""
        has_one = self.parts and self.kind not in _OF_NO_THREAD and self.parts[0].crowd is None
        return self.parts[0].source.thread if has_one else None

    @property
    def pid(self) -> int | None:
        """The thread's process, or who has started the crowd."""
        crowd = self.parts[0].crowd if self.parts and self.kind not in _OF_NO_THREAD else None
        return crowd.pid if crowd is not None else self.thread.pid if self.thread is not None else None


def causes_by_trace(
    samples: CpuSamples, pieces: CpuPieces, offset_ns: int, irqs: Irqs | None, is_whole: bool = True
) -> list[GapCause]:
    """The cause of each gap. `offset_ns` is when the calibration began, since the trace did.

    Where the trace does not tell of all interrupts, nobody knows who made a gap in which none was seen.
    """
    nobody = (Kind.OUTSIDE, OUTSIDE) if is_whole else (Kind.UNATTRIBUTED, UNKNOWN_CAUSE)
    found = [
        _shares_of(pieces, samples.spinner_tid, start + offset_ns, start + offset_ns + length)
        for start, length in zip(samples.gaps.start_ns, samples.gaps.length_ns, strict=True)
    ]
    usual_ns = _usual_rest_ns(samples.gaps, found)
    crowds = crowds_in(pieces, irqs)
    causes = []
    for start, length, shares in zip(samples.gaps.start_ns, samples.gaps.length_ns, found, strict=True):
        kernel_ns = sum(shares.values())
        rest_ns = length - kernel_ns
        parts = parts_of(shares, pieces, irqs, crowds)
        if not parts or rest_ns > max(2 * usual_ns * len(shares), kernel_ns):
            causes.append(GapCause(*nobody, start, length, kernel_ns, parts))
        else:
            causes.append(
                GapCause(
                    kind=parts[0].source.kind,
                    name=parts[0].name,
                    start_ns=start,
                    length_ns=length,
                    kernel_ns=kernel_ns,
                    parts=parts,
                )
            )
    return causes


def crowds_in(pieces: CpuPieces, irqs: Irqs | None) -> Mapping[int, Crowd]:
    """Of a CPU's sources, by their numbers."""
    return crowds_of(pieces.sources, lambda source: name_of_source(source, irqs))


def parts_of(
    shares: Mapping[int, int], pieces: CpuPieces, irqs: Irqs | None, crowds: Mapping[int, Crowd]
) -> tuple[Part, ...]:
    """The shares of an interruption, in ns by the number of the source, as parts with names; the longest first."""
    found = [
        Part(each := pieces.sources[number], name_of_source(each, irqs), ns)
        for number, ns in shares.items()
        if number not in crowds
    ]
    numbers: dict[Crowd, list[int]] = defaultdict(list)
    for number in shares.keys() & crowds.keys():
        numbers[crowds[number]].append(number)
    for crowd, members in numbers.items():
        had_ns = sum(shares[number] for number in members)
        found.append(Part(pieces.sources[min(members)], crowd.name, had_ns, crowd))
    return tuple(sorted(found, key=lambda part: -part.ns))


def _shares_of(pieces: CpuPieces, spinner_tid: int | None, begin_ns: int, end_ns: int) -> dict[int, int]:
    """For how long each source had the CPU between the two, the spinner itself left out."""
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


def tells_of_spinner(pieces: CpuPieces, spinner_tid: int | None) -> bool:
    """Whether the spinner is among what the trace has seen: one of noise alone leaves it out."""
    seen = (pieces.sources[number].thread for number in set(pieces.source))
    return spinner_tid is not None and any(thread is not None and thread.tid == spinner_tid for thread in seen)


def was_idle(pieces: CpuPieces, offset_ns: int, start_ns: int, length_ns: int) -> bool:
    """Whether nobody had most of an interruption, not even the spinner, of which the trace tells."""
    begin_ns = start_ns + offset_ns
    return sum(_shares_of(pieces, None, begin_ns, begin_ns + length_ns).values()) < (1 - _MOST) * length_ns


def _usual_rest_ns(gaps: Gaps, found: Sequence[dict[int, int]]) -> float:
    """What entering and leaving the kernel usually adds to a gap; a hypervisor has to be left and entered as well.

    By the gaps without a switch: a loop that was switched out may have been stopped, with nobody in its place.
    """
    rests = [
        length - sum(shares.values())
        for length, switches, shares in zip(gaps.length_ns, gaps.switches, found, strict=True)
        if shares and switches <= 0
    ]
    return max(statistics.median(rests), _LEAST_ENTRY_NS) if rests else _LEAST_ENTRY_NS


def causes_by_gaps(samples: CpuSamples, hz: int | None, timers_per_s: float | None = None) -> list[GapCause]:
    """The same from nothing but the gaps; `hz` is how often this kernel ticks, None if not known.

    Where the CPU's timer interrupted it far more often, most of them are such interrupts.
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
