"""How much useful work a CPU gave over time, and how long samples of a benchmark would therefore have taken.

Fixed work says how fast the CPU was, and what interrupted it; a gap took time and gave nothing; between gaps the CPU
was as fast as the fixed work done next to it. Laid end to end, these pieces are what a benchmark would have met, and
a sample is replayed by asking how long its work takes from some point on. Gaps, sharing, clock and drift are all in
it. (Replay of measured detours: Hoefler, Schneider, Lumsdaine, "Characterizing the Influence of System Noise on
Large-Scale Applications by Simulation", SC'10, doi 10.1109/SC.2010.12; blocks of fixed work: as the Allan variance.)
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from noisewatch.machine.calibrator.plan import COMMAND, GAPS, NATIVE_WORK, WORK
from noisewatch.sources.calibration import CpuSamples, Samples

Piece = tuple[float, float]  # ns that passed, ns of undisturbed work that were done meanwhile


class Timeline:
    """Pieces of one CPU's time, laid end to end. `useful_ns` is how much work all of it gives."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        kept = [piece for piece in pieces if piece[0] > 0]
        self._passed = [0.0, *accumulate(passed for passed, _ in kept)]
        self._done = [0.0, *accumulate(done for _, done in kept)]

    @property
    def passed_ns(self) -> float:
        return self._passed[-1]

    @property
    def useful_ns(self) -> float:
        return self._done[-1]

    def sample_times(self, work_ns: float, step_ns: float) -> list[float]:
        """How long samples of `work_ns` would have taken, one beginning every `step_ns` of work."""
        count = int((self.useful_ns - work_ns) / step_ns) + 1 if self.useful_ns >= work_ns else 0
        begins = self._passed_at([number * step_ns for number in range(count)])
        ends = self._passed_at([number * step_ns + work_ns for number in range(count)])
        return [end - begin for begin, end in zip(begins, ends, strict=True)]

    def _passed_at(self, amounts: Sequence[float]) -> list[float]:
        """The time at which so much work was done; the amounts rise. A gap lies behind the work before it."""
        done, passed, last = self._done, self._passed, len(self._done) - 1
        times, at = [], 0
        for amount in amounts:
            while at < last and done[at + 1] < amount:
                at += 1
            if at == last:
                times.append(passed[last])
                continue
            width = done[at + 1] - done[at]
            times.append(passed[at] + (passed[at + 1] - passed[at]) * ((amount - done[at]) / width if width else 0.0))
        return times


def timeline_of(calibrated: Iterable[CpuSamples]) -> Timeline:
    """What one CPU gave in one calibration, or in several, one after the other."""
    runs = list(calibrated)
    usual_ns_by_kind = {
        kind: statistics.median(lengths)
        for kind in (WORK, NATIVE_WORK, COMMAND)
        if (lengths := [length for run in runs for length in _work_of(run, kind).length_ns])
    }
    return Timeline(piece for run in runs for piece in _pieces(run, usual_ns_by_kind))


def _work_of(run: CpuSamples, kind: str) -> Samples:
    return {WORK: run.work, NATIVE_WORK: run.native_work, COMMAND: run.command}[kind]


def _pieces(run: CpuSamples, usual_ns_by_kind: Mapping[str, float]) -> Iterable[Piece]:
    main = COMMAND if COMMAND in usual_ns_by_kind else WORK
    for kind, begin_ns, end_ns in run.slots:
        if kind in usual_ns_by_kind:
            lengths = _between(_work_of(run, kind), begin_ns, end_ns)
            yield from ((length, usual_ns_by_kind[kind]) for length in lengths)
        elif kind == GAPS:
            slowness = _slowness_after(_work_of(run, main), end_ns, usual_ns_by_kind.get(main, 0.0))
            yield from _gap_pieces(run, begin_ns, end_ns, slowness)


def _between(work: Samples, begin_ns: int, end_ns: int) -> Sequence[int]:
    first, last = (bisect_left(work.start_ns, edge) for edge in (begin_ns, end_ns))
    return work.length_ns[first:last]


def _slowness_after(work: Samples, at_ns: int, usual_ns: float, count: int = 200) -> float:
    """By how much the work done next took longer than usual; that done last where none follows."""
    first = min(bisect_left(work.start_ns, at_ns), max(len(work.start_ns) - count, 0))
    lengths = work.length_ns[first : first + count]
    return statistics.median(lengths) / usual_ns if lengths and usual_ns else 1.0


def _gap_pieces(run: CpuSamples, begin_ns: int, end_ns: int, slowness: float) -> Iterable[Piece]:
    gaps = run.gaps
    first, last = (bisect_left(gaps.start_ns, edge) for edge in (begin_ns, end_ns))
    at_ns = begin_ns
    for start_ns, length_ns in zip(gaps.start_ns[first:last], gaps.length_ns[first:last], strict=True):
        if start_ns > at_ns:
            yield start_ns - at_ns, (start_ns - at_ns) / slowness
        yield length_ns, 0.0
        at_ns = start_ns + length_ns
    if end_ns > at_ns:
        yield end_ns - at_ns, (end_ns - at_ns) / slowness
