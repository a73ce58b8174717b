"""Who made the gaps that a spinning loop has seen: by the kernel's trace, or inferred from the gaps alone.

By the trace a gap goes to whoever had most of it. A gap in which nobody was seen came from outside of the kernel, and
so did what is longer than the kernel's part by far more than it takes to enter and to leave it: the hypervisor, or the
firmware. Without a trace a gap with a context switch belongs to another thread; one that begins where the clock ticks
is the tick; and of the rest nobody knows.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from noisewatch.model.culprits import Culprit, name_of_source
from noisewatch.model.disturbance import Disturbance
from noisewatch.sources.calibration import CalibrationSamples, CpuSamples, Gaps
from noisewatch.sources.irqs import Irqs
from noisewatch.sources.trace import CpuPieces, Thread, Trace, TracedSource
from noisewatch.sources.trace_timeline import rounded_ns

OUTSIDE = "outside of the kernel: hypervisor or firmware"
UNKNOWN_CAUSE = "a kernel interrupt, or outside of the kernel"
ANOTHER_THREAD = "another thread"
TICK = "timer tick"
_LEAST_ENTRY_NS = 2_000  # into the kernel and out again, with cold caches
_FREQUENCIES_HZ = (250, 1000, 100, 300)  # that kernels are built with
_PHASE_NS = 10_000
_FEWEST_TICKS = 8
_SHORTEST_TICK = 4  # a quarter of the usual one
_DENSER = 5  # than gaps at any time would be


@dataclass(frozen=True, slots=True)
class GapCause:
    """Who made a gap. `kernel_ns` is what the trace has seen of it; None is not traced."""

    kind: str
    name: str
    start_ns: int
    length_ns: int
    kernel_ns: int | None = None
    sources: tuple[TracedSource, ...] = ()  # all that were in it, the longest first

    @property
    def thread(self) -> Thread | None:
        """That has made it, or that has called for it."""
        return self.sources[0].thread if self.sources and self.kind not in ("outside", "unexplained") else None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who made the gaps of each CPU. `reason` says why there was no trace to tell; None where there was."""

    causes_by_cpu: Mapping[int, Sequence[GapCause]] = field(default_factory=dict)
    culprits_by_cpu: Mapping[int, tuple[Culprit, ...]] = field(default_factory=dict)  # the costliest first
    reason: str | None = None


def attribution_of(
    samples: CalibrationSamples, trace: Trace | str, irqs: Irqs | None = None, hz: int | None = None
) -> Attribution:
    """By the trace where there is one, else by the gaps; `hz` is how often the kernel ticks, None if not known."""
    traced = {} if isinstance(trace, str) else {each.cpu: each for each in trace.cpus if each.is_whole}
    offset_ns = 0 if isinstance(trace, str) else samples.begin_ns - trace.begin_ns
    is_whole = isinstance(trace, str) or trace.tells_all_interrupts
    causes = {
        said.cpu: causes_by_trace(said, traced[said.cpu], offset_ns, irqs, is_whole)
        if said.cpu in traced
        else causes_by_gaps(said, hz)
        for said in samples.cpus
    }
    culprits = {said.cpu: gap_culprits(causes[said.cpu], said.cpu, said.spun_ns) for said in samples.cpus}
    reason = trace if isinstance(trace, str) else "events were lost" if len(traced) < len(trace.cpus) else None
    return Attribution(causes, culprits, reason)


def causes_by_trace(
    samples: CpuSamples, pieces: CpuPieces, offset_ns: int, irqs: Irqs | None, is_whole: bool = True
) -> list[GapCause]:
    """The cause of each gap. `offset_ns` is when the calibration began, since the trace did.

    Where the trace does not tell of all interrupts, nobody knows who made a gap in which none was seen.
    """
    nobody = ("outside", OUTSIDE) if is_whole else ("unexplained", UNKNOWN_CAUSE)
    found = [
        _shares_of(pieces, samples.spinner_tid, start + offset_ns, start + offset_ns + length)
        for start, length in zip(samples.gaps.start_ns, samples.gaps.length_ns, strict=True)
    ]
    usual_ns = _usual_rest_ns(samples.gaps, found)
    causes = []
    for start, length, shares in zip(samples.gaps.start_ns, samples.gaps.length_ns, found, strict=True):
        kernel_ns = sum(shares.values())
        rest_ns = length - kernel_ns
        ordered = sorted(shares, key=lambda number: -shares[number])
        sources = tuple(pieces.sources[number] for number in ordered)
        if not sources or rest_ns > max(2 * usual_ns * len(sources), kernel_ns):
            causes.append(GapCause(*nobody, start, length, kernel_ns, sources))
        else:
            name = name_of_source(sources[0], irqs)
            causes.append(GapCause(sources[0].kind, name, start, length, kernel_ns, sources))
    return causes


def _shares_of(pieces: CpuPieces, spinner_tid: int | None, begin_ns: int, end_ns: int) -> dict[int, int]:
    """For how long each source had the CPU between the two, the spinner itself left out."""
    shares: dict[int, int] = defaultdict(int)
    at = max(bisect_right(pieces.end_ns, begin_ns), 0)
    while at < len(pieces.start_ns) and pieces.start_ns[at] < end_ns:
        number = pieces.source[at]
        thread = pieces.sources[number].thread
        is_spinner = pieces.sources[number].kind == "thread" and thread is not None and thread.tid == spinner_tid
        overlap_ns = min(pieces.end_ns[at], end_ns) - max(pieces.start_ns[at], begin_ns)
        if overlap_ns > 0 and not is_spinner:
            shares[number] += overlap_ns
        at += 1
    return dict(shares)


def _usual_rest_ns(gaps: Gaps, found: Sequence[dict[int, int]]) -> float:
    """What entering and leaving the kernel usually adds to a gap; a hypervisor has to be left and entered as well."""
    rests = [length - sum(shares.values()) for length, shares in zip(gaps.length_ns, found, strict=True) if shares]
    return max(statistics.median(rests), _LEAST_ENTRY_NS) if rests else _LEAST_ENTRY_NS


def causes_by_gaps(samples: CpuSamples, hz: int | None) -> list[GapCause]:
    """The same from nothing but the gaps; `hz` is how often this kernel ticks, None if not known."""
    gaps = samples.gaps
    unswitched = [
        (start, length)
        for start, length, switches in zip(gaps.start_ns, gaps.length_ns, gaps.switches, strict=True)
        if switches <= 0
    ]
    ticks = _at_ticks(unswitched, [hz] if hz else _FREQUENCIES_HZ)
    causes = []
    for start, length, switches in zip(gaps.start_ns, gaps.length_ns, gaps.switches, strict=True):
        if switches > 0:
            causes.append(GapCause("thread", ANOTHER_THREAD, start, length))
        elif start in ticks:
            causes.append(GapCause("tick", TICK, start, length))
        else:
            causes.append(GapCause("unexplained", UNKNOWN_CAUSE, start, length))
    return causes


def _at_ticks(gaps: Sequence[tuple[int, int]], frequencies_hz: Iterable[int]) -> frozenset[int]:
    """Those that begin at the one moment of the period where gaps are by far the densest; of each period the longest.

    A hypervisor makes gaps of its own right before and after it delivers the tick.
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


def gap_culprits(causes: Sequence[GapCause], cpu: int, spun_ns: int) -> tuple[Culprit, ...]:
    """Who made the gaps of one CPU, the costliest first; lengths are those of the gaps."""
    together: dict[tuple[str, str, int | None], list[GapCause]] = defaultdict(list)
    for cause in causes:
        together[cause.kind, cause.name, cause.thread.tid if cause.thread is not None else None].append(cause)
    found = [_culprit(each, cpu, spun_ns) for each in together.values()]
    return tuple(sorted(found, key=lambda each: -(each.disturbance.stolen_ns or 0)))


def _culprit(causes: list[GapCause], cpu: int, spun_ns: int) -> Culprit:
    first = causes[0]
    stolen_ns = sum(each.length_ns for each in causes)
    thread = first.thread
    disturbance = Disturbance(
        kind=first.kind,
        name=first.name,
        cpu=cpu,
        stolen_ns=stolen_ns,
        share=stolen_ns / spun_ns if spun_ns else None,
        rate_per_s=len(causes) * 1e9 / spun_ns if spun_ns else None,
        pid=(thread.pid or thread.tid) if thread is not None else None,
        tid=thread.tid if thread is not None else None,
        irq=first.sources[0].irq if first.sources and first.kind == "irq" else None,
        is_inferred=first.kernel_ns is None,
    )
    lengths = Counter(rounded_ns(each.length_ns) for each in causes)
    return Culprit(disturbance, len(causes), max(each.length_ns for each in causes), lengths)
