"""The useful work that a CPU gave over time, and the times of benchmark samples that follow from it.

Pieces of work show how fast the CPU was for their kind, and what interrupted it; a gap took time and gave no work. Laid
end to end, these pieces are what a benchmark would have had. A sample is replayed by computing how long its work takes
from some point on. This covers gaps, sharing, clock and drift. (Replay of measured detours: Hoefler, Schneider,
Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation", SC'10, doi
10.1109/SC.2010.12; blocks of fixed work: as the Allan variance.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING

from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import COMMAND, GAPS
from noisewatch.model.calibration.stretches import (
    SERIES_OF,
    Piece,
    Stretch,
    cut_ns,
    laid_out,
    stretches_of,
    usual_ns_by_series,
)
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples


class Timeline:
    """Pieces of one CPU's time, laid end to end. `useful_ns` is the amount of work in all of them."""

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
        """Return the time (ns) at which `done_ns` of work was done. A gap lies after the work before it."""
        done, passed = self._done, self._passed
        at = bisect_left(done, done_ns)
        if at == 0:
            return 0.0
        if at == len(done):
            return passed[-1]
        done_before, passed_before = done[at - 1], passed[at - 1]
        return passed_before + (passed[at] - passed_before) * (done_ns - done_before) / (done[at] - done_before)

    def sample_times(self, work_ns: float) -> list[float]:
        """Return the times (ns) of consecutive samples of `work_ns` of work."""
        count = int(self.useful_ns / work_ns)
        edges = [self.passed_at(number * work_ns) for number in range(count + 1)]
        return [end - begin for begin, end in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Timelines:
    """One CPU's time: its steady part, and one part for each time a process had just been started."""

    steady: Timeline
    starts: tuple[Timeline, ...]
    worked_ns: float = 0.0  # in which work was done, and not only gaps looked for
    piece_ns: float = 0.0  # one piece of that work
    looks: int = 0  # separate times at which that work was done

    @property
    def useful_ns(self) -> float:
        return self.steady.useful_ns + sum(start.useful_ns for start in self.starts)

    @property
    def passed_ns(self) -> float:
        return self.steady.passed_ns + sum(start.passed_ns for start in self.starts)

    def run_times(self, work_ns: float, count: int, choose: Random) -> list[float]:
        """Simulate the times (ns) of `count` consecutive samples of a process, after a first one to warm up.

        The process continues as the steady time did from a random point on, round and round. Half of the processes
        begin somewhere in one of the starts, because some programs take longer than others to get to their first
        sample.
        """
        start = choose.choice(self.starts) if self.starts and choose.random() < _AT_START else _NOTHING
        since_ns, from_ns = choose.random() * start.useful_ns, choose.random() * self.steady.useful_ns
        edges = self._passed_at(start, since_ns, from_ns, [(number + 1) * work_ns for number in range(count + 1)])
        return [end - begin for begin, end in pairwise(edges)]

    def _passed_at(self, start: Timeline, since_ns: float, from_ns: float, done_ns: Iterable[float]) -> list[float]:
        """Return the times (ns) at which the amounts of work are done, from the start's first work on.

        A noise floor calls this a million times, so the steady time's totals are looked up once.
        """
        passed_at, useful_ns, passed_ns = self.steady.passed_at, self.steady.useful_ns, self.steady.passed_ns
        if not useful_ns:
            return [start.passed_at(since_ns + done) for done in done_ns]
        start_ns = start.useful_ns
        # offset of the steady time's beginning, because the start comes first
        ahead_ns = start.passed_ns - passed_at(from_ns)
        edges: list[float] = []
        for done in done_ns:
            left_ns = since_ns + done - start_ns
            if left_ns <= 0:
                edges.append(start.passed_at(since_ns + done))
            else:
                rounds, rest_ns = divmod(from_ns + left_ns, useful_ns)
                edges.append(ahead_ns + rounds * passed_ns + passed_at(rest_ns))
        return edges


_NOTHING = Timeline(())
_AT_START = 0.5
_APART_NS = 50_000_000  # longer than between two slices of one turn


class Replay:
    """The CPU time that one CPU gave to work of any kind in one or several consecutive calibrations."""

    def __init__(self, runs: Iterable[CpuSamples]) -> None:
        self._runs = tuple(runs)
        self._usual_ns = usual_ns_by_series(self._runs)
        self._stretches = [stretches_of(run, self._usual_ns) for run in self._runs]

    def timelines(self, series: Sequence[str] | None = None, are_interrupted: bool = True) -> Timelines:
        """Return the timelines of work of these series; empty if one of them was not measured.

        Without `series` the work is the user's command if one was measured, otherwise mixed work, or the measured part
        of it. If not `are_interrupted`, long interruptions are left out, and the CPU's speed is unchanged.
        """
        if series is None:
            series = [each for each in (COMMAND, *SERIES_OF[Work.MIXED]) if each in self._usual_ns]
            series = [COMMAND] if COMMAND in series else series
        if not {*series} <= {GAPS, *self._usual_ns}:
            return Timelines(_NOTHING, ())
        least_ns = max((cut_ns(each, self._usual_ns.get(each, 0.0)) for each in series), default=0.0)
        steady: list[Piece] = []
        starts: list[list[Piece]] = []
        for stretches in self._stretches:
            is_in_start = False
            for stretch, pieces in laid_out(stretches, series, least_ns, are_interrupted):
                if stretch.is_start and not is_in_start:
                    starts.append([])
                (starts[-1] if stretch.is_start else steady).extend(pieces)
                is_in_start = stretch.is_start
        return Timelines(
            Timeline(steady),
            tuple(start for pieces in starts if (start := Timeline(pieces)).useful_ns > 0),
            float(sum(self._worked_ns(each) for each in series)),
            max((self._usual_ns.get(each, 0.0) for each in series), default=0.0),
            sum(_looks(stretches, series) for stretches in self._stretches),
        )

    def _worked_ns(self, series: str) -> int:
        return sum(run.spun_ns if series == GAPS else sum(run.samples_of(series).length_ns) for run in self._runs)


def _looks(stretches: Sequence[Stretch], series: Sequence[str]) -> int:
    """Count the groups of stretches of these series, such as one in each turn of the CPU."""
    own = [stretch for stretch in stretches if stretch.series in series]
    apart = (after.begin_ns - before.end_ns > _APART_NS for before, after in pairwise(own))
    return sum(apart) + bool(own)


def timelines_of(
    calibrated: Iterable[CpuSamples], series: Sequence[str] | None = None, are_interrupted: bool = True
) -> Timelines:
    """Return the timelines of one kind of work, if no other kind is needed (see `Replay.timelines`)."""
    return Replay(calibrated).timelines(series, are_interrupted)
