"""A CPU's useful work over time, and the times of benchmark samples predicted from it.

A piece is a measured unit of work with its time, or a gap: time without work. Pieces show the CPU's speed for their
kind of work, and its interruptions. Joined end to end, they are the CPU time that a benchmark would have had. A sample
is replayed by computing how long its work takes from some point on. This covers gaps, sharing, clock and drift. (Replay
of measured detours: Hoefler, Schneider, Lumsdaine, "Characterizing the Influence of System Noise on Large-Scale
Applications by Simulation", SC'10, doi 10.1109/SC.2010.12; blocks of fixed work: as in the Allan variance.)

Each kind of work was measured in its own slots. In the slots of other kinds, its speed is taken from its nearest slot,
because sharing of the core, the cache or the clock varies over time and affects each kind differently. Interruptions
too long to be explained by sharing remain where they were measured.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, cycle, pairwise, repeat
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.kinds import Work
from noisewatch.machine.spinning.calibration.buffer import (
    BANDWIDTH,
    CACHE,
    COMMAND,
    FETCH,
    GAPS,
    INTERPRETER,
    LATENCY,
    MEMORY,
    STARTED,
    THROUGHPUT,
)

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples, Gaps


_Timed = tuple[int, int, bool]  # start and length (ns), and whether work was done
Piece = tuple[float, float]  # elapsed ns, and the ns that the work done in them would have taken undisturbed
INTERRUPTIONS = (GAPS,)  # series that measure only lost time, for work that sharing does not slow
# The series that together represent a kind of work.
SERIES_OF: Mapping[Work, tuple[str, ...]] = {
    Work.LATENCY: (LATENCY,),
    Work.THROUGHPUT: (THROUGHPUT,),
    Work.INTERPRETER: (INTERPRETER,),
    Work.CACHE: (CACHE,),
    Work.MEMORY: (MEMORY,),
    Work.BANDWIDTH: (BANDWIDTH,),
    Work.MIXED: (INTERPRETER, THROUGHPUT, LATENCY),
}
_OF_MEMORY = (CACHE, MEMORY)
_OWN_BREAK_NS = 200_000  # longest pause of noisewatch itself between samples: three chains of multiplications
_LONG_NS = 100_000  # least interruption of work that sharing hardly slows: longer than an interrupt with its softirq
_LONG_SHARE = 1.5  # excess as a share of the usual time: sharing the core at most doubles the time
_LONG_IN_CHAIN = 0.5  # the same share for work that sharing hardly slows
_FEW = 3  # fewer pieces have no reliable median: half of them may be interrupted


def usual_ns_by_series(runs: Iterable[CpuSamples]) -> dict[str, float]:
    """Return the median length (ns) of all samples of each measured series."""
    lengths: dict[str, list[int]] = {}
    for run in runs:
        for series, samples in run.samples_by_series.items():
            lengths.setdefault(series, []).extend(samples.length_ns)
    return {series: statistics.median(series_lengths) for series, series_lengths in lengths.items() if series_lengths}


class Stretch(Struct, frozen=True):
    """A period in which one series was measured.

    `pieces` are all pieces, `calm` the same pieces without their long interruptions. `long` contains the start and
    length (ns) of these interruptions: delays too long to be explained by sharing the core.
    """

    series: str
    begin_ns: float
    end_ns: float
    is_start: bool
    pieces: tuple[Piece, ...]
    calm: tuple[Piece, ...]
    long: tuple[tuple[float, float], ...]


def stretches_of(run: CpuSamples, usual_ns: Mapping[str, float]) -> list[Stretch]:
    """Return a stretch for each of the CPU's slots in which anything was measured.

    `usual_ns` has the usual time of one sample of each series.
    """
    stretches: list[Stretch] = []
    planned_ns = -1  # planned end of the previous slot
    expected_ns: int | None = None  # when the previous slot really ended; None after a rest, which has no fixed end
    for kind, begin_ns, end_ns in run.slots:
        series = STARTED.get(kind, kind)
        timed = list(
            _spin_pieces(run, begin_ns, end_ns) if series == GAPS else _work_pieces(run, series, begin_ns, end_ns)
        )
        if planned_ns != begin_ns:  # a rest
            expected_ns = None
        if timed:
            # If the slot began on time, a pause before it only means that samples were not recorded.
            is_late = timed[0][0] - begin_ns > _OWN_BREAK_NS
            timed = [
                *(_pause_between_samples(expected_ns, timed[0][0]) if is_late and expected_ns is not None else ()),
                *timed,
            ]
            stretches.append(_stretch(series, kind in STARTED, timed, usual_ns.get(series, 0.0)))
            expected_ns = round(stretches[-1].end_ns)
        elif kind in FETCH or series not in usual_ns:
            expected_ns = end_ns
        elif expected_ns is None:  # without pieces, another thread had the whole slot
            expected_ns = begin_ns
        planned_ns = end_ns
    return stretches


def uninterrupted_means(run: CpuSamples, series: str, part_ns: int) -> list[float]:
    """Return the mean length (ns) of the series' samples without interruptions, in each part of `part_ns` or longer."""
    means: list[float] = []
    for stretch in stretches_of(run, usual_ns_by_series([run])):
        if stretch.series == series:
            lengths = [length_ns for length_ns, done_ns in stretch.calm if done_ns]
            per_part = max(math.ceil(part_ns * len(lengths) / max(sum(lengths), 1)), 1)
            whole = len(lengths) // per_part * per_part
            means += [statistics.fmean(lengths[at : at + per_part]) for at in range(0, whole, per_part)]
    return means


def least_interruption_ns(series: str, usual_ns: float) -> float:
    """Return the smallest excess (ns) over the usual time that counts as an interruption, not as sharing."""
    if series in (GAPS, LATENCY):
        return max(_LONG_NS, _LONG_IN_CHAIN * usual_ns)
    return _LONG_SHARE * usual_ns


def _stretch(series: str, is_start: bool, timed: Sequence[_Timed], usual_ns: float) -> Stretch:
    """Build the stretch from its timed pieces.

    Short gaps count as calm. For work, a long excess over the median is an interruption.
    """
    lengths = [length for _, length, is_useful in timed if is_useful]
    local_ns = statistics.median(lengths) if lengths and series != GAPS else 0.0
    local_ns = min(local_ns, usual_ns) if len(lengths) < _FEW else local_ns
    least_ns = least_interruption_ns(series, usual_ns)
    pieces: list[Piece] = []
    calm: list[Piece] = []
    long: list[tuple[float, float]] = []
    around_ns = _slower_neighbours(timed) if series in _OF_MEMORY else repeat(0)
    for (at_ns, length_ns, is_useful), neighbour_ns in zip(timed, around_ns, strict=False):
        done_ns = 0.0 if not is_useful else usual_ns or length_ns
        pieces.append((length_ns, done_ns))
        calm_ns = max(local_ns, neighbour_ns)
        over_ns = max(length_ns - calm_ns, 0.0) if is_useful and series != GAPS else 0.0 if is_useful else length_ns
        is_long = over_ns >= least_ns
        if is_long:
            long.append((at_ns, over_ns))
        if is_useful or not is_long:
            calm.append((length_ns - over_ns if is_long else length_ns, done_ns))
    begin_ns, (last_ns, length_ns, _) = timed[0][0], timed[-1]
    return Stretch(series, begin_ns, last_ns + length_ns, is_start, tuple(pieces), tuple(calm), tuple(long))


def _slower_neighbours(timed: Sequence[_Timed]) -> list[int]:
    """Return for each piece the length of the slower of its two neighbours.

    An emptied cache slows several pieces in a row; another thread's turn slows only one.
    """
    lengths = [length for _, length, _ in timed]
    return [max(lengths[max(at - 1, 0) : at] + lengths[at + 1 : at + 2], default=0) for at in range(len(lengths))]


def _work_pieces(run: CpuSamples, series: str, begin_ns: int, end_ns: int) -> Iterator[_Timed]:
    samples = run.samples_of(series)
    first, last = (bisect_left(samples.start_ns, edge) for edge in (begin_ns, end_ns))
    expected_ns = samples.start_ns[first] if first < last else begin_ns
    for start_ns, length_ns in zip(samples.start_ns[first:last], samples.length_ns[first:last], strict=True):
        yield from _pause_between_samples(expected_ns, start_ns)
        yield start_ns, length_ns, True
        expected_ns = start_ns + length_ns


def _pause_between_samples(expected_ns: int, start_ns: int) -> Iterator[_Timed]:
    """Yield the pause between two samples as an interruption if it exceeds noisewatch's own work between samples."""
    if start_ns - expected_ns > _OWN_BREAK_NS:
        yield expected_ns, start_ns - expected_ns, False


def _spin_pieces(run: CpuSamples, begin_ns: int, end_ns: int) -> Iterator[_Timed]:
    spins = run.spins
    first, last = (bisect_left(spins.start_ns, edge) for edge in (begin_ns, end_ns))
    if run.gaps.lost_count:  # gaps beyond the buffer are unknown
        last = max(min(last, bisect_left(spins.start_ns, max(run.gaps.start_ns, default=0)) - 1), first)
    expected_ns = spins.start_ns[first] if first < last else begin_ns
    for start_ns, length_ns in zip(spins.start_ns[first:last], spins.length_ns[first:last], strict=True):
        yield from _pause_between_samples(expected_ns, start_ns)
        expected_ns = start_ns + length_ns
        yield from _split_at_gaps(run.gaps, start_ns, expected_ns)


def _split_at_gaps(gaps: Gaps, begin_ns: int, end_ns: int) -> Iterator[_Timed]:
    first, last = (bisect_left(gaps.start_ns, edge) for edge in (begin_ns, end_ns))
    at_ns = begin_ns
    for start_ns, length_ns in zip(gaps.start_ns[first:last], gaps.length_ns[first:last], strict=True):
        if start_ns > at_ns:
            yield at_ns, start_ns - at_ns, True
        yield start_ns, length_ns, False
        at_ns = start_ns + length_ns
    if end_ns > at_ns:
        yield at_ns, end_ns - at_ns, True


def lay_out(
    stretches: Sequence[Stretch], series: Sequence[str], least_ns: float, are_interrupted: bool = True
) -> Iterator[tuple[Stretch, list[Piece]]]:
    """Yield each stretch with the pieces that work of these series would have had in it.

    Stretches of other series contribute only interruptions of at least `least_ns`, because the series' own pieces
    already include shorter ones. If not `are_interrupted`, all long interruptions are left out.
    """
    own = _Own(stretch for stretch in stretches if stretch.series in series and stretch.calm)
    for stretch in stretches:
        if stretch.series in series:
            yield stretch, list(stretch.pieces if are_interrupted else stretch.calm)
        else:
            nearest = own.nearest(stretch)
            long = [interruption for interruption in stretch.long if are_interrupted and interruption[1] >= least_ns]
            yield stretch, _fill_between(nearest, stretch, long) if nearest is not None else []


class _Own:
    """The stretches of one kind of work in two lists, ordered by their middles: process starts, and all others."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._alike: dict[bool, list[Stretch]] = {True: [], False: []}
        for stretch in stretches:
            self._alike[stretch.is_start].append(stretch)
        self._middles = {
            is_start: [_middle_ns(stretch) for stretch in alike] for is_start, alike in self._alike.items()
        }

    def nearest(self, stretch: Stretch) -> Stretch | None:
        """Return the nearest stretch in time, or None if there is none.

        For a process start, only process starts are considered; for any other stretch, only other stretches. Without a
        stretch of the same kind, stretches of the other kind are considered.
        """
        is_start = stretch.is_start if self._alike[stretch.is_start] else not stretch.is_start
        alike, middles, at_ns = self._alike[is_start], self._middles[is_start], _middle_ns(stretch)
        after = bisect_left(middles, at_ns)
        neighbours = range(max(after - 1, 0), min(after + 1, len(alike)))
        return alike[min(neighbours, key=lambda number: abs(middles[number] - at_ns))] if neighbours else None


def _middle_ns(stretch: Stretch) -> float:
    return (stretch.begin_ns + stretch.end_ns) / 2


def _fill_between(nearest: Stretch, stretch: Stretch, long: Iterable[tuple[float, float]]) -> list[Piece]:
    calm = [piece for piece in nearest.calm if piece[0] > 0]
    if not calm:
        return []
    source, at_ns = cycle(calm), stretch.begin_ns
    pieces: list[Piece] = []
    for start_ns, length_ns in long:
        pieces += _take_pieces(source, start_ns - at_ns)
        pieces.append((length_ns, 0.0))
        at_ns = start_ns + length_ns
    pieces += _take_pieces(source, stretch.end_ns - at_ns)
    return pieces


def _take_pieces(source: Iterator[Piece], left_ns: float) -> list[Piece]:
    """Return the next pieces that fill `left_ns`, with the last piece cut to fit."""
    pieces: list[Piece] = []
    while left_ns > 0:
        piece = next(source)
        passed_ns = piece[0]
        if passed_ns > left_ns:
            piece = left_ns, piece[1] * left_ns / passed_ns
        pieces.append(piece)
        left_ns -= passed_ns
    return pieces


class Timeline:
    """Pieces of one CPU's time, joined end to end. `useful_ns` is the amount of work in all of them."""

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
        """Return the time (ns) at which `done_ns` of work was done. At a gap, this is the time before the gap."""
        done, passed = self._done, self._passed
        at = bisect_left(done, done_ns)
        if at == 0:
            return 0.0
        if at == len(done):
            return passed[-1]
        done_before, passed_before = done[at - 1], passed[at - 1]
        return passed_before + (passed[at] - passed_before) * (done_ns - done_before) / (done[at] - done_before)


class Timelines(Struct, frozen=True):
    """One CPU's time: its steady part, and one part per simulated start of a process."""

    steady: Timeline
    starts: tuple[Timeline, ...]
    worked_ns: float = 0.0  # time of the measured work
    piece_ns: float = 0.0  # usual time of one piece of the work, for the slowest series
    looks: int = 0  # number of groups of stretches in which the work was done

    @property
    def useful_ns(self) -> float:
        return self.steady.useful_ns + sum(start.useful_ns for start in self.starts)

    @property
    def passed_ns(self) -> float:
        return self.steady.passed_ns + sum(start.passed_ns for start in self.starts)

    def run_times(self, work_ns: float, count: int, choose: Random) -> list[float]:
        """Simulate the times (ns) of `count` consecutive samples of a process, after a first one to warm up.

        The process continues through the steady part from a random point on, cyclically. Only half of the processes
        begin at a random point of one of the starts: the others are programs that take longer to reach their first
        sample.
        """
        start = choose.choice(self.starts) if self.starts and choose.random() < _AT_START else _NOTHING
        since_ns, from_ns = choose.random() * start.useful_ns, choose.random() * self.steady.useful_ns
        edges = self._passed_at(start, since_ns, from_ns, [(number + 1) * work_ns for number in range(count + 1)])
        return [end - begin for begin, end in pairwise(edges)]

    def _passed_at(self, start: Timeline, since_ns: float, from_ns: float, done_ns: Iterable[float]) -> list[float]:
        """Return the times (ns), from the beginning of `start`, at which the amounts of work are done.

        A noise floor calls this a million times, so the totals of the steady part are looked up only once.
        """
        passed_at, useful_ns, passed_ns = self.steady.passed_at, self.steady.useful_ns, self.steady.passed_ns
        if not useful_ns:
            return [start.passed_at(since_ns + done) for done in done_ns]
        start_ns = start.useful_ns
        # the start comes first, so the steady time begins later by this offset
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
_APART_NS = 50_000_000  # longer than the pauses between two slices of one turn


class Replay:
    """The time of one CPU for work of any kind, over one or several consecutive calibrations."""

    def __init__(self, runs: Iterable[CpuSamples]) -> None:
        self._runs = tuple(runs)
        self._usual_ns = usual_ns_by_series(self._runs)
        self._stretches = [stretches_of(run, self._usual_ns) for run in self._runs]

    def timelines(self, series: Sequence[str] | None = None, are_interrupted: bool = True) -> Timelines:
        """Return the timelines of work of these series; empty if any series was not measured.

        Without `series`, the work is the user's command if it was measured, otherwise the measured part of mixed work.
        If not `are_interrupted`, long interruptions are left out; the CPU's speed is unchanged.
        """
        if series is None:
            series = [name for name in (COMMAND, *SERIES_OF[Work.MIXED]) if name in self._usual_ns]
            series = [COMMAND] if COMMAND in series else series
        if not {*series} <= {GAPS, *self._usual_ns}:
            return Timelines(_NOTHING, ())
        least_ns = max((least_interruption_ns(name, self._usual_ns.get(name, 0.0)) for name in series), default=0.0)
        steady: list[Piece] = []
        starts: list[list[Piece]] = []
        for stretches in self._stretches:
            is_in_start = False
            for stretch, pieces in lay_out(stretches, series, least_ns, are_interrupted):
                if stretch.is_start and not is_in_start:
                    starts.append([])
                (starts[-1] if stretch.is_start else steady).extend(pieces)
                is_in_start = stretch.is_start
        return Timelines(
            Timeline(steady),
            tuple(start for pieces in starts if (start := Timeline(pieces)).useful_ns > 0),
            float(sum(self._worked_ns(name) for name in series)),
            max((self._usual_ns.get(name, 0.0) for name in series), default=0.0),
            sum(_count_groups(stretches, series) for stretches in self._stretches),
        )

    def _worked_ns(self, series: str) -> int:
        return sum(run.spun_ns if series == GAPS else sum(run.samples_of(series).length_ns) for run in self._runs)


def _count_groups(stretches: Sequence[Stretch], series: Sequence[str]) -> int:
    """Count the groups of stretches of these series. Pauses of more than _APART_NS separate groups."""
    own = [stretch for stretch in stretches if stretch.series in series]
    apart = (after.begin_ns - before.end_ns > _APART_NS for before, after in pairwise(own))
    return sum(apart) + bool(own)


def timelines_of(
    calibrated: Iterable[CpuSamples], series: Sequence[str] | None = None, are_interrupted: bool = True
) -> Timelines:
    """Return the timelines of one kind of work only (see `Replay.timelines`)."""
    return Replay(calibrated).timelines(series, are_interrupted)
