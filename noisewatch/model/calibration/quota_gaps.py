"""Which of a calibration's gaps a CPU quota made: the kernel stops the group's threads until the next period begins.

Nobody tells which gap was such a stop. By the trace it is a gap into which the loop was switched out, and in most of
which nobody else ran. On a busy CPU others use the time, and without a trace nobody knows whether they do: then the
longest gaps with a switch are taken for the rest of the time that the kernel counted.

Where groups further out cannot be seen there is no such count: then stops that end at one moment of a period, as a
quota's do, look like one. The tick's preemptions end at one moment of 4 or 10 ms in the same way, so that periods as
short as that are not looked for: but where the trace has seen nobody in most of the stops, nothing else explains them.
Fixed work is stopped as well, and tells of no switch: there the trace has to show that not even the loop ran.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from noisewatch.kinds import THREADS, Kind
from noisewatch.machine.spinning.calibration.buffer import OF_WORK
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.records import dataclass
from noisewatch.units import describe_ns

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CpuSamples, Samples
    from noisewatch.model.calibration.gap_causes import GapCause
    from noisewatch.model.interval.interval import Throttle

HIDDEN = "a probable CPU quota of a cgroup that is not visible"
_MS = 1_000_000
_LOOKED_FOR_NS = tuple(ms * _MS for ms in (1000, 500, 250, 200, 100, 50, 40, 30, 25, 20))  # the longest that fits
_LEAST_GAP_NS = 100_000  # a period is 1 ms at least; shorter gaps are switches to threads that do little
_LEAST_STOP_NS = 2 * _MS  # what the kernel takes back at a tick is longer
_FEWEST_STOPS = 4
_FEWEST_OF_LONG = 2  # of a period of which few fit into a calibration
_LONG_PERIOD_NS = 500 * _MS
_LONG_STOP = 0.08  # of the period
_LONG_STOP_NS = 100 * _MS  # no thread of the fair scheduler has the CPU for as long as that while others wait for it
_PHASE, _NARROW_PHASE = 0.05, 0.01  # of the period, in which they end: two may do so by chance
_MOSTLY = 0.5
_MOST_OF_THEM = 0.9


@dataclass(frozen=True, slots=True)
class Quotas:
    """What is known of the quotas in force: the groups that were stopped meanwhile, and whether there may be others."""

    throttles: tuple[Throttle, ...] = ()
    length_ns: int = 0  # of the calibration
    cpu_count: int = 1  # that were calibrated
    are_hidden: bool = False  # groups further out cannot be seen

    @property
    def share(self) -> float | None:
        """Of the time of each calibrated CPU that the groups were stopped; None is unknown.

        The kernel tells the sum of all CPUs; the loops, which never rest, are taken to have had all of it.
        """
        known = [each.ns for each in self.throttles if each.ns is not None]
        if not known or not self.length_ns or len(known) < len(self.throttles):
            return None
        return min(sum(known) / self.length_ns / self.cpu_count, 1.0)


IsIdle = Callable[[int, int], bool]  # whether nobody, not even the loop, had the CPU for most of a start and a length
_Stop = tuple[int, int]  # start and length, in ns


def with_quotas(
    samples: CpuSamples, causes: Sequence[GapCause], quotas: Quotas, is_idle: IsIdle | None = None
) -> list[GapCause]:
    """The causes, with those gaps given to a quota that are taken for its stops; `is_idle` asks the trace, if any."""
    stopped = _stopped(samples, causes)
    if quotas.throttles:
        budget_ns = None if quotas.share is None else quotas.share * samples.spun_ns
        return _named(causes, _within(causes, stopped, budget_ns), quotas.throttles[0].name)
    if not quotas.are_hidden:
        return list(causes)
    period_ns = hidden_period_ns(samples, causes)
    if period_ns is None:
        idle = {start for start, _ in _mostly_idle(samples, causes, is_idle)}
        return _named(causes, {at for at in stopped if causes[at].start_ns in idle}, HIDDEN)
    in_phase = _in_phase([(causes[at].start_ns, causes[at].length_ns) for at in stopped], period_ns)
    return _named(causes, {at for at in stopped if causes[at].start_ns in in_phase}, name_of_hidden(period_ns))


def name_of_hidden(period_ns: int) -> str:
    return f"{HIDDEN}, with a period of {describe_ns(period_ns)}"


def _mostly_idle(samples: CpuSamples, causes: Sequence[GapCause], is_idle: IsIdle | None) -> list[_Stop]:
    """The stops in which nobody ran, where they are most of the time of all gaps as long as a stop may be."""
    work = [stop for stop in _stops_of_work(samples) if stop[1] >= _LEAST_STOP_NS]
    idle = [(causes[at].start_ns, causes[at].length_ns) for at in _stopped(samples, causes) if _is_idle(causes[at])]
    idle += [stop for stop in work if is_idle is not None and is_idle(*stop)]
    all_ns = sum(cause.length_ns for cause in causes if cause.length_ns >= _LEAST_GAP_NS) + _time_of(work)
    are_enough = len(idle) >= _FEWEST_STOPS or sum(ns >= _LONG_STOP_NS for _, ns in idle) >= _FEWEST_OF_LONG
    return idle if are_enough and _time_of(idle) > _MOSTLY * all_ns else []


def _time_of(stops: Iterable[_Stop]) -> int:
    return sum(ns for _, ns in stops)


def quota_on(
    samples: CpuSamples, causes: Sequence[GapCause], quotas: Quotas, is_idle: IsIdle | None = None
) -> Disturbance | None:
    """What quotas took of the CPU over the whole calibration, as far as that can be told; None where there was none.

    It cannot be more than the loop was stopped for, whoever did it.
    """
    stops = _stops(samples, causes)
    looked_ns = samples.spun_ns + sum(sum(work.length_ns) for work in _works(samples))
    if quotas.throttles:
        stopped_share = _time_of(stops) / looked_ns if looked_ns else 0.0
        shares = [share for share in (quotas.share, stopped_share or None) if share is not None]
        return _quota(samples, quotas, quotas.throttles[0].name, min(shares, default=None))
    if not quotas.are_hidden:
        return None
    period_ns = hidden_period_ns(samples, causes)
    if period_ns is None:
        return _idle_quota(samples, quotas, _mostly_idle(samples, causes, is_idle), looked_ns)
    in_phase = _in_phase(stops, period_ns)
    share = _time_of(_of(stops, in_phase)) / looked_ns if looked_ns else None
    return _quota(samples, quotas, name_of_hidden(period_ns), share)


def _idle_quota(samples: CpuSamples, quotas: Quotas, idle: Sequence[_Stop], looked_ns: int) -> Disturbance | None:
    """Short stops are too little of a piece of work to be seen there: then the gaps tell of all of the time."""
    if not idle:
        return None
    begins = frozenset(samples.gaps.start_ns)
    gaps = [stop for stop in idle if stop[0] in begins]
    if len(gaps) >= _FEWEST_STOPS:
        return _quota(samples, quotas, HIDDEN, _time_of(gaps) / samples.spun_ns if samples.spun_ns else None)
    return _quota(samples, quotas, HIDDEN, _time_of(idle) / looked_ns if looked_ns else None)


def long_stops(samples: CpuSamples, causes: Sequence[GapCause]) -> tuple[int, ...]:
    """How long the loop was stopped each time, in ns, where that is longer than others have the CPU by turns."""
    return tuple(ns for _, ns in _stops(samples, causes) if ns >= _LONG_STOP_NS)


def _quota(samples: CpuSamples, quotas: Quotas, name: str, share: float | None) -> Disturbance:
    ns = None if share is None else round(share * quotas.length_ns)
    return Disturbance(
        kind=Kind.QUOTA, name=name, cpu=samples.cpu, stolen_ns=ns, share=share, rate_per_s=None, is_inferred=True
    )


def hidden_period_ns(samples: CpuSamples, causes: Sequence[GapCause]) -> int | None:
    """The period at one moment of which the stops end, by far most of their time; None where there is none."""
    stops = _stops(samples, causes)
    most_ns = _time_of(stops) * _MOST_OF_THEM
    for period_ns in _LOOKED_FOR_NS:
        shorter = [stop for stop in stops if stop[1] < period_ns]
        found = _of(shorter, _in_phase(shorter, period_ns))
        if len(found) >= _FEWEST_STOPS and _time_of(found) >= most_ns:
            return period_ns
        narrow = _of(shorter, _in_phase(shorter, period_ns, _NARROW_PHASE))
        long_count = sum(ns > _LONG_STOP * period_ns for _, ns in narrow)
        if period_ns >= _LONG_PERIOD_NS and long_count >= _FEWEST_OF_LONG and _time_of(narrow) >= most_ns:
            return period_ns
    return None


def _of(stops: Sequence[_Stop], starts: Collection[int]) -> list[_Stop]:
    return [stop for stop in stops if stop[0] in starts]


def _stopped(samples: CpuSamples, causes: Sequence[GapCause]) -> list[int]:
    """The gaps that may be a quota's stops, by their place in the list."""
    return [
        at
        for at, (cause, switches) in enumerate(zip(causes, samples.gaps.switches, strict=True))
        if switches != 0 and cause.length_ns >= _LEAST_GAP_NS and (_is_idle(cause) or cause.kind in THREADS)
    ]


def _is_idle(cause: GapCause) -> bool:
    """Whether nobody was seen in most of a traced gap: the trace leaves idleness out."""
    return cause.kernel_ns is not None and cause.length_ns - cause.kernel_ns > _MOSTLY * cause.length_ns


def _within(causes: Sequence[GapCause], stopped: Sequence[int], budget_ns: float | None) -> set[int]:
    """Those in which nobody ran, and the longest others that the time counted by the kernel has room for."""
    idle = {at for at in stopped if _is_idle(causes[at])}
    if budget_ns is None:
        return idle or {at for at in stopped if causes[at].kernel_ns is None}
    rest_ns = budget_ns - sum(causes[at].length_ns for at in idle)
    chosen = set(idle)
    for at in sorted(set(stopped) - idle, key=lambda at: -causes[at].length_ns):
        if causes[at].length_ns * _MOSTLY <= rest_ns:
            chosen.add(at)
            rest_ns -= causes[at].length_ns
    return chosen


def _stops(samples: CpuSamples, causes: Sequence[GapCause]) -> list[_Stop]:
    """Start and length of what may be a quota's stops, in gaps and in pieces of fixed work, in ns."""
    gaps = [(causes[at].start_ns, causes[at].length_ns) for at in _stopped(samples, causes)]
    return sorted((start, length) for start, length in gaps + _stops_of_work(samples) if length >= _LEAST_STOP_NS)


def _stops_of_work(samples: CpuSamples) -> list[_Stop]:
    return [stop for work in _works(samples) for stop in _interruptions(work)]


def _works(samples: CpuSamples) -> tuple[Samples, ...]:
    return tuple(samples.samples_of(series) for series in OF_WORK)


def _interruptions(work: Samples) -> list[_Stop]:
    """Pieces that took longer than usual: when they began, and by how much."""
    if not work.length_ns:
        return []
    usual_ns = round(statistics.median(work.length_ns))
    return [
        (start + usual_ns, length - usual_ns)
        for start, length in zip(work.start_ns, work.length_ns, strict=True)
        if length > usual_ns
    ]


def _in_phase(stops: Sequence[_Stop], period_ns: int, share: float = _PHASE) -> frozenset[int]:
    """The starts of those that end in that part of the period in which most of their time does."""
    ends = sorted(((start + length) % period_ns, length, start) for start, length in stops)
    circle = [*ends, *((phase + period_ns, length, start) for phase, length, start in ends)]
    width_ns = round(share * period_ns)
    best, best_ns, first, together_ns = (0, 0), 0, 0, 0
    for last, (phase, length, _) in enumerate(circle):
        together_ns += length
        while phase - circle[first][0] > width_ns:
            together_ns -= circle[first][1]
            first += 1
        if together_ns > best_ns:
            best, best_ns = (first, last + 1), together_ns
    return frozenset(start for _, _, start in circle[slice(*best)])


def _named(causes: Sequence[GapCause], chosen: set[int], name: str) -> list[GapCause]:
    return [
        replace(cause, kind=Kind.QUOTA, name=name) if at in chosen else cause  #
        for at, cause in enumerate(causes)
    ]
