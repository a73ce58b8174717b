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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING

from noisewatch.machine.spinning.calibration.buffer import COMMAND, GAPS, NATIVE_WORK, START, WORK

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples, Gaps, Samples

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

    def passed_at(self, done_ns: float) -> float:
        """The time at which so much work was done. A gap lies behind the work before it."""
        at = bisect_left(self._done, done_ns)
        if at == 0:
            return 0.0
        if at == len(self._done):
            return self._passed[-1]
        width = self._done[at] - self._done[at - 1]
        return self._passed[at - 1] + (self._passed[at] - self._passed[at - 1]) * (done_ns - self._done[at - 1]) / width

    def sample_times(self, work_ns: float) -> list[float]:
        """How long samples of `work_ns` would have taken, one after the other."""
        count = int(self.useful_ns / work_ns)
        edges = [self.passed_at(number * work_ns) for number in range(count + 1)]
        return [end - begin for begin, end in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Timelines:
    """One CPU's time: as it went on, and as it went each time a process had just been started there."""

    steady: Timeline
    starts: tuple[Timeline, ...]
    worked_ns: float = 0.0  # in which work was done, and not only gaps looked for
    piece_ns: float = 0.0  # one piece of that work

    @property
    def useful_ns(self) -> float:
        return self.steady.useful_ns + sum(start.useful_ns for start in self.starts)

    @property
    def passed_ns(self) -> float:
        return self.steady.passed_ns + sum(start.passed_ns for start in self.starts)

    def run_times(self, work_ns: float, count: int, choose: Random) -> list[float]:
        """How long `count` samples of a process would have taken, after a first one to warm up.

        It goes on as the steady time did from some point on, round and round; every other one begins as one of the
        starts did, as some programs take longer than that to get to their first sample.
        """
        start = choose.choice(self.starts) if self.starts and choose.random() < _AT_START else _NOTHING
        from_ns = choose.random() * self.steady.useful_ns
        edges = [self._passed_at(start, from_ns, (number + 1) * work_ns) for number in range(count + 1)]
        return [end - begin for begin, end in pairwise(edges)]

    def _passed_at(self, start: Timeline, from_ns: float, done_ns: float) -> float:
        if done_ns <= start.useful_ns or not self.steady.useful_ns:
            return start.passed_at(done_ns)
        steady = self.steady
        rounds, rest_ns = divmod(from_ns + done_ns - start.useful_ns, steady.useful_ns)
        since_ns = rounds * steady.passed_ns + steady.passed_at(rest_ns) - steady.passed_at(from_ns)
        return start.passed_ns + since_ns


def timelines_of(calibrated: Iterable[CpuSamples], next_count: int = 200, are_interrupted: bool = True) -> Timelines:
    """What one CPU gave in one calibration, or in several, one after the other.

    Between gaps it was as fast as in the `next_count` pieces of work done next. Not `are_interrupted`, it is what would
    have been without any interruption, the CPU being as fast as it was.
    """
    runs = list(calibrated)
    kept = _as_they_are if are_interrupted else _without_interruptions
    usual_ns_by_kind = {
        kind: statistics.median(lengths)
        for kind in (WORK, NATIVE_WORK, COMMAND)
        if (lengths := [length for run in runs for length in _work_of(run, kind).length_ns])
    }
    starts = [
        Timeline(kept(_work_pieces(run.work, begin_ns, end_ns, usual_ns_by_kind[WORK])))
        for run in runs
        for kind, begin_ns, end_ns in run.slots
        if kind == START and run.work.length_ns
    ]
    steady = Timeline(kept(piece for run in runs for piece in _pieces(run, usual_ns_by_kind, next_count)))
    worked_ns = float(sum(sum(_work_of(run, kind).length_ns) for run in runs for kind in usual_ns_by_kind))
    known_starts = tuple(start for start in starts if start.useful_ns > 0)
    return Timelines(steady, known_starts, worked_ns, max(usual_ns_by_kind.values(), default=0.0))


def _as_they_are(pieces: Iterable[Piece]) -> Iterable[Piece]:
    return pieces


def _without_interruptions(pieces: Iterable[Piece]) -> Iterable[Piece]:
    """What shares a core makes work take up to twice as long; longer it takes where the CPU was taken away."""
    return ((passed if passed < _SLOWEST * done else done, done) for passed, done in pieces if done > 0)


_NOTHING = Timeline(())
_AT_START = 0.5
_SLOWEST = 2.5
_OWN_BREAK_NS = 200_000  # thrice what a chain of multiplications takes


def _work_of(run: CpuSamples, kind: str) -> Samples:
    return {WORK: run.work, NATIVE_WORK: run.native_work, COMMAND: run.command}[kind]


def _pieces(run: CpuSamples, usual_ns_by_kind: Mapping[str, float], next_count: int) -> Iterable[Piece]:
    main = COMMAND if COMMAND in usual_ns_by_kind else WORK
    for kind, begin_ns, end_ns in run.slots:
        if kind in usual_ns_by_kind:
            yield from _work_pieces(_work_of(run, kind), begin_ns, end_ns, usual_ns_by_kind[kind])
        elif kind == GAPS:
            slowness = _slowness_after(_work_of(run, main), end_ns, usual_ns_by_kind.get(main, 0.0), next_count)
            yield from _gap_pieces(run, begin_ns, end_ns, slowness)


def _work_pieces(work: Samples, begin_ns: int, end_ns: int, usual_ns: float) -> Iterable[Piece]:
    first, last = (bisect_left(work.start_ns, edge) for edge in (begin_ns, end_ns))
    expected_ns = work.start_ns[first] if first < last else begin_ns
    for start_ns, length_ns in zip(work.start_ns[first:last], work.length_ns[first:last], strict=True):
        yield from _break(expected_ns, start_ns)
        yield length_ns, usual_ns
        expected_ns = start_ns + length_ns


def _break(expected_ns: int, start_ns: int) -> Iterable[Piece]:
    """We look after other things between two pieces, and if that takes long, somebody else was in between."""
    if start_ns - expected_ns > _OWN_BREAK_NS:
        yield start_ns - expected_ns, 0.0


def _slowness_after(work: Samples, at_ns: int, usual_ns: float, count: int) -> float:
    """By how much the work done next took longer than usual; that done last where none follows."""
    first = min(bisect_left(work.start_ns, at_ns), max(len(work.start_ns) - count, 0))
    lengths = work.length_ns[first : first + count]
    return statistics.median(lengths) / usual_ns if lengths and usual_ns else 1.0


def _gap_pieces(run: CpuSamples, begin_ns: int, end_ns: int, slowness: float) -> Iterable[Piece]:
    first, last = (bisect_left(run.spins.start_ns, edge) for edge in (begin_ns, end_ns))
    if run.gaps.lost_count:  # nothing is known of what was found when there was no more room
        last = max(min(last, bisect_left(run.spins.start_ns, max(run.gaps.start_ns, default=0)) - 1), first)
    expected_ns = run.spins.start_ns[first] if first < last else begin_ns
    for start_ns, length_ns in zip(run.spins.start_ns[first:last], run.spins.length_ns[first:last], strict=True):
        yield from _break(expected_ns, start_ns)
        expected_ns = start_ns + length_ns
        yield from _spin_pieces(run.gaps, start_ns, expected_ns, slowness)


def _spin_pieces(gaps: Gaps, begin_ns: int, end_ns: int, slowness: float) -> Iterable[Piece]:
    first, last = (bisect_left(gaps.start_ns, edge) for edge in (begin_ns, end_ns))
    at_ns = begin_ns
    for start_ns, length_ns in zip(gaps.start_ns[first:last], gaps.length_ns[first:last], strict=True):
        if start_ns > at_ns:
            yield start_ns - at_ns, (start_ns - at_ns) / slowness
        yield length_ns, 0.0
        at_ns = start_ns + length_ns
    if end_ns > at_ns:
        yield end_ns - at_ns, (end_ns - at_ns) / slowness
