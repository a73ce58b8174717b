"""Attributes a calibration's gaps to culprits, including CPU quotas.

If the kernel was traced during the calibration, the trace decides. Otherwise the culprit is inferred from the kind of
gap, and from the tasks and interrupts that the kernel counted on that CPU during the calibration.

A CPU quota stops a cgroup's threads until the next period, but the kernel does not report which gaps were such stops.
With a trace, they are the gaps in which the loop was switched out and the CPU was mostly idle. On a busy CPU, other
threads use that time. There, and without a trace, the longest gaps with a context switch are assigned to the quota, up
to the stopped time that the kernel counted.

The count is missing for hidden groups: outer cgroups that are not visible. Stops that end at the same phase of a period
suggest a hidden quota. Preemptions at the tick also end in phase, every 4 or 10 ms, so such short periods are not
considered. If the trace shows an idle CPU during most stops, only a quota explains them.

Loops of fixed work are stopped too, but do not record context switches. Their stops count as idle only if the trace
shows that not even the loop ran.
"""

from __future__ import annotations

import heapq
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.trace.runs import NOT_TRACED, CpuPieces, Trace
from noisewatch.kernel.trace.timeline import round_ns
from noisewatch.kinds import THREADS, Kind
from noisewatch.machine.spinning.calibration.buffer import OF_WORK
from noisewatch.model.calibration.gap_causes import (
    GapCause,
    causes_by_gaps,
    causes_by_trace,
    includes_spinner,
    was_idle,
)
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of, sort_by_cost, timer_interrupts_per_s
from noisewatch.model.trace.culprits import MeasuredCulprit, Others, others_of, with_kinds
from noisewatch.units import describe_ns

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples, Samples
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.model.interval.interval import Interval, Throttle


HIDDEN = "a probable CPU quota of a cgroup that is not visible"
_MS = 1_000_000
_LOOKED_FOR_NS = tuple(ms * _MS for ms in (1000, 500, 250, 200, 100, 50, 40, 30, 25, 20))  # longest first
_LEAST_GAP_NS = 100_000  # quota periods are at least 1 ms; shorter gaps are switches to threads with little work
_LEAST_STOP_NS = 2 * _MS  # a quota's stops are longer than this, because the kernel enforces quotas at ticks
_FEWEST_STOPS = 4
_FEWEST_OF_LONG = 2  # number of long stops that suffices, because few long periods fit into a calibration
_LONG_PERIOD_NS = 500 * _MS
_LONG_STOP = 0.08  # share of the period; a longer stop counts as long
_LONG_STOP_NS = 100 * _MS  # no thread of the fair scheduler keeps the CPU this long while others wait
_PHASE, _NARROW_PHASE = 0.05, 0.01  # share of the period within which stops end; the narrow one is for few stops
_MOSTLY = 0.5
_MOST_OF_THEM = 0.9


class Quotas(Struct, frozen=True):
    """The observed quotas: the groups stopped during the calibration, and whether there may be hidden groups."""

    throttles: tuple[Throttle, ...] = ()
    length_ns: int = 0  # calibration length
    cpu_count: int = 1  # calibrated CPUs
    are_hidden: bool = False  # there may be outer groups that are not visible

    @property
    def share(self) -> float | None:
        """The share of time for which the groups were stopped, averaged over the calibrated CPUs.

        None if it is unknown, or if no group was stopped. The kernel reports the sum over all CPUs. The loops never
        pause, so the whole sum is assigned to them.
        """
        measured_ns = [throttle.ns for throttle in self.throttles if throttle.ns is not None]
        if not measured_ns or not self.length_ns or len(measured_ns) < len(self.throttles):
            return None
        return min(sum(measured_ns) / self.length_ns / self.cpu_count, 1.0)


IsIdle = Callable[[int, int], bool]  # (start, length): whether the CPU was mostly idle, not even running the loop
_Stop = tuple[int, int]  # start and length, in ns


def with_quotas(
    samples: CpuSamples, causes: Sequence[GapCause], quotas: Quotas, is_idle: IsIdle | None = None
) -> list[GapCause]:
    """Return the causes, with probable quota stops reassigned to the quota.

    `is_idle` is None without a trace that includes the loop.
    """
    stopped = _stop_candidates(samples, causes)
    if quotas.throttles:
        budget_ns = None if quotas.share is None else quotas.share * samples.spun_ns
        return _assign_to_quota(causes, _choose_gaps(causes, stopped, budget_ns), quotas.throttles[0].name)
    if not quotas.are_hidden:
        return list(causes)
    period_ns = hidden_period_ns(samples, causes)
    if period_ns is None:
        idle = {start for start, _ in _idle_stops(samples, causes, is_idle)}
        return _assign_to_quota(causes, {at for at in stopped if causes[at].start_ns in idle}, HIDDEN)
    in_phase = _starts_in_phase([(causes[at].start_ns, causes[at].length_ns) for at in stopped], period_ns)
    return _assign_to_quota(
        causes, {at for at in stopped if causes[at].start_ns in in_phase}, name_of_hidden(period_ns)
    )


def name_of_hidden(period_ns: int) -> str:
    return f"{HIDDEN}, with a period of {describe_ns(period_ns)}"


def _idle_stops(samples: CpuSamples, causes: Sequence[GapCause], is_idle: IsIdle | None) -> list[_Stop]:
    """Return the stops in which the CPU was idle, or none if they are few or less than half of all stopped time.

    Long gaps and slow pieces of work count as stopped time.
    """
    work = [stop for stop in _stops_of_work(samples) if stop[1] >= _LEAST_STOP_NS]
    idle = [
        (causes[at].start_ns, causes[at].length_ns) for at in _stop_candidates(samples, causes) if _is_idle(causes[at])
    ]
    idle += [stop for stop in work if is_idle is not None and is_idle(*stop)]
    all_ns = sum(cause.length_ns for cause in causes if cause.length_ns >= _LEAST_GAP_NS) + _total_ns(work)
    are_enough = len(idle) >= _FEWEST_STOPS or sum(ns >= _LONG_STOP_NS for _, ns in idle) >= _FEWEST_OF_LONG
    return idle if are_enough and _total_ns(idle) > _MOSTLY * all_ns else []


def _total_ns(stops: Iterable[_Stop]) -> int:
    return sum(ns for _, ns in stops)


def quota_disturbance(
    samples: CpuSamples, causes: Sequence[GapCause], quotas: Quotas, is_idle: IsIdle | None = None
) -> Disturbance | None:
    """Return the disturbance of the CPU by quotas over the whole calibration, or None without a quota.

    Its time is at most the observed time of possible stops, if there are any.
    """
    stops = _possible_stops(samples, causes)
    looked_ns = samples.spun_ns + sum(sum(work.length_ns) for work in _work_series(samples))
    if quotas.throttles:
        stopped_share = _total_ns(stops) / looked_ns if looked_ns else 0.0
        shares = [share for share in (quotas.share, stopped_share or None) if share is not None]
        return _quota(samples, quotas, quotas.throttles[0].name, min(shares, default=None))
    if not quotas.are_hidden:
        return None
    period_ns = hidden_period_ns(samples, causes)
    if period_ns is None:
        return _idle_quota(samples, quotas, _idle_stops(samples, causes, is_idle), looked_ns)
    in_phase = _starts_in_phase(stops, period_ns)
    share = _total_ns(_select_stops(stops, in_phase)) / looked_ns if looked_ns else None
    return _quota(samples, quotas, name_of_hidden(period_ns), share)


def _idle_quota(samples: CpuSamples, quotas: Quotas, idle: Sequence[_Stop], looked_ns: int) -> Disturbance | None:
    """Return the disturbance by a hidden quota, inferred from idle stops, or None without idle stops.

    Fixed work does not reveal short stops. If enough gaps are idle stops, the result is therefore extrapolated from
    their share of the spinning time.
    """
    if not idle:
        return None
    begins = frozenset(samples.gaps.start_ns)
    gaps = [stop for stop in idle if stop[0] in begins]
    if len(gaps) >= _FEWEST_STOPS:
        return _quota(samples, quotas, HIDDEN, _total_ns(gaps) / samples.spun_ns if samples.spun_ns else None)
    return _quota(samples, quotas, HIDDEN, _total_ns(idle) / looked_ns if looked_ns else None)


def long_stops(samples: CpuSamples, causes: Sequence[GapCause]) -> tuple[int, ...]:
    """Return the lengths (ns) of the loop's stops that exceed another thread's time slice."""
    return tuple(ns for _, ns in _possible_stops(samples, causes) if ns >= _LONG_STOP_NS)


def _quota(samples: CpuSamples, quotas: Quotas, name: str, share: float | None) -> Disturbance:
    ns = None if share is None else round(share * quotas.length_ns)
    return Disturbance(
        kind=Kind.QUOTA, name=name, cpu=samples.cpu, stolen_ns=ns, share=share, rate_per_s=None, is_inferred=True
    )


def hidden_period_ns(samples: CpuSamples, causes: Sequence[GapCause]) -> int | None:
    """Return the period (ns) in which most stops (by time) end at the same phase, or None if no period fits."""
    stops = _possible_stops(samples, causes)
    most_ns = _total_ns(stops) * _MOST_OF_THEM
    for period_ns in _LOOKED_FOR_NS:
        shorter = [stop for stop in stops if stop[1] < period_ns]
        in_phase = _select_stops(shorter, _starts_in_phase(shorter, period_ns))
        if len(in_phase) >= _FEWEST_STOPS and _total_ns(in_phase) >= most_ns:
            return period_ns
        narrow = _select_stops(shorter, _starts_in_phase(shorter, period_ns, _NARROW_PHASE))
        long_count = sum(ns > _LONG_STOP * period_ns for _, ns in narrow)
        if period_ns >= _LONG_PERIOD_NS and long_count >= _FEWEST_OF_LONG and _total_ns(narrow) >= most_ns:
            return period_ns
    return None


def _select_stops(stops: Sequence[_Stop], starts: Collection[int]) -> list[_Stop]:
    return [stop for stop in stops if stop[0] in starts]


def _stop_candidates(samples: CpuSamples, causes: Sequence[GapCause]) -> list[int]:
    """Return the indices of the gaps that may be a quota's stops."""
    return [
        at
        for at, (cause, switches) in enumerate(zip(causes, samples.gaps.switches, strict=True))
        if switches != 0 and cause.length_ns >= _LEAST_GAP_NS and (_is_idle(cause) or cause.kind in THREADS)
    ]


def _is_idle(cause: GapCause) -> bool:
    """Return whether the trace covers less than half of the gap, so the CPU was mostly idle; False without a trace."""
    return cause.kernel_ns is not None and cause.length_ns - cause.kernel_ns > _MOSTLY * cause.length_ns


def _choose_gaps(causes: Sequence[GapCause], stopped: Sequence[int], budget_ns: float | None) -> set[int]:
    """Return the indices of the gaps to assign to the quota: idle gaps, then the longest others within the budget.

    `budget_ns` is the stopped time that the kernel counted. If it is None (unknown), only the idle gaps are returned,
    or all untraced gaps if none is idle.
    """
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


def _possible_stops(samples: CpuSamples, causes: Sequence[GapCause]) -> list[_Stop]:
    """Return start and length (ns) of each possible quota stop, in gaps and in pieces of fixed work."""
    gaps = [(causes[at].start_ns, causes[at].length_ns) for at in _stop_candidates(samples, causes)]
    return sorted((start, length) for start, length in gaps + _stops_of_work(samples) if length >= _LEAST_STOP_NS)


def _stops_of_work(samples: CpuSamples) -> list[_Stop]:
    return [stop for work in _work_series(samples) for stop in _interruptions(work)]


def _work_series(samples: CpuSamples) -> tuple[Samples, ...]:
    return tuple(samples.samples_of(series) for series in OF_WORK)


def _interruptions(work: Samples) -> list[_Stop]:
    """Return the time by which each slow piece exceeds the median, as start and length (ns)."""
    if not work.length_ns:
        return []
    usual_ns = round(statistics.median(work.length_ns))
    return [
        (start + usual_ns, length - usual_ns)
        for start, length in zip(work.start_ns, work.length_ns, strict=True)
        if length > usual_ns
    ]


def _starts_in_phase(stops: Sequence[_Stop], period_ns: int, share: float = _PHASE) -> frozenset[int]:
    """Return the starts of the stops that end at the period's most common phase, weighted by stopped time.

    `share` is the width of the phase, as a share of the period.
    """
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


def _assign_to_quota(causes: Sequence[GapCause], chosen: set[int], name: str) -> list[GapCause]:
    return [
        replace(cause, kind=Kind.QUOTA, name=name) if at in chosen else cause  #
        for at, cause in enumerate(causes)
    ]


EXITED = "threads that ended before they could be read"
_LEAST_UNEXPLAINED = 0.005  # least share of the spinning time that observed threads do not explain


class ConcurrentObservations(Struct, frozen=True):
    """Observations made at the same time as a calibration.

    `trace` is the trace, or the reason why it is missing. `interval` is None if no second snapshot was taken.
    """

    trace: Trace | str = NOT_TRACED
    snapshot: Snapshot | None = None
    interval: Interval | None = None


class Attribution(Struct, frozen=True):
    """The culprits behind the gaps of each CPU. `reason` explains why a trace is missing or incomplete, or is None."""

    causes_by_cpu: Mapping[int, Sequence[GapCause]] = {}
    culprits_by_cpu: Mapping[int, tuple[MeasuredCulprit, ...]] = {}  # the costliest first
    reason: str | None = None
    # Culprits observed on the CPU, if the gaps do not show the culprit.
    suspects_by_cpu: Mapping[int, tuple[Disturbance, ...]] = {}
    quota_by_cpu: Mapping[int, Disturbance] = {}  # only CPUs on which quotas stopped the loops
    # Lengths (ns) of the loop's long stops, which are typical of hidden quotas.
    long_stops_by_cpu: Mapping[int, tuple[int, ...]] = {}
    others_by_cpu: Mapping[int, Others] = {}  # over the whole calibration, from the trace
    is_live: bool = False  # whether this host was calibrated just now

    def with_rhythm(self, culprit: Disturbance) -> Disturbance:
        """Return the culprit with its rhythm in the trace of the calibration, if it was traced and is regular."""
        others = self.others_by_cpu.get(culprit.cpu)
        same = [other for other in others.disturbances if _is_same(other, culprit)] if others is not None else []
        rhythm = same[0].rhythm if len(same) == 1 else None
        return culprit if rhythm is None else replace(culprit, rhythm=rhythm)

    def longest(self, cpu: int, most: int) -> Sequence[GapCause]:
        """Return the `most` longest gaps of the CPU, the longest first."""
        return heapq.nlargest(most, self.causes_by_cpu.get(cpu, ()), key=lambda cause: cause.length_ns)


def attribution_of(samples: CalibrationSamples, observations: ConcurrentObservations) -> Attribution:
    """Attribute the gaps to their causes: by the trace on CPUs where it is complete, otherwise by inference."""
    trace, snapshot = observations.trace, observations.snapshot
    irqs = snapshot.irqs if snapshot is not None else None
    hz = snapshot.platform.tick_hz if snapshot is not None else None
    whole = () if isinstance(trace, str) else [with_kinds(pieces, irqs, trace.length_ns, hz) for pieces in trace.cpus]
    traced = {pieces.cpu: pieces for pieces in whole if pieces.is_whole}
    offset_ns = 0 if isinstance(trace, str) else samples.begin_ns - trace.begin_ns
    is_whole = isinstance(trace, str) or trace.covers_all_interrupts
    causes = {
        cpu_samples.cpu: causes_by_trace(cpu_samples, traced[cpu_samples.cpu], offset_ns, irqs, is_whole)
        if cpu_samples.cpu in traced
        else causes_by_gaps(cpu_samples, hz, timer_interrupts_per_s(observations.interval, cpu_samples.cpu))
        for cpu_samples in samples.cpus
    }
    quotas = _quotas(samples, observations)
    idle = _idleness(samples, traced, offset_ns)
    quota_by_cpu = {
        cpu_samples.cpu: quota_disturbance(cpu_samples, causes[cpu_samples.cpu], quotas, idle.get(cpu_samples.cpu))
        for cpu_samples in samples.cpus
    }
    by_quota = {cpu: quota for cpu, quota in quota_by_cpu.items() if quota is not None}
    long = {
        cpu_samples.cpu: long_stops(cpu_samples, causes[cpu_samples.cpu])
        for cpu_samples in samples.cpus
        if quotas.are_hidden
    }
    causes = {
        cpu_samples.cpu: with_quotas(cpu_samples, causes[cpu_samples.cpu], quotas, idle.get(cpu_samples.cpu))
        for cpu_samples in samples.cpus
    }
    culprits = {
        cpu_samples.cpu: gap_culprits(causes[cpu_samples.cpu], cpu_samples.cpu, cpu_samples.spun_ns)
        for cpu_samples in samples.cpus
    }
    reason = trace if isinstance(trace, str) else "events were lost" if len(traced) < len(trace.cpus) else None
    suspects = {
        cpu_samples.cpu: _suspects(observations.interval, cpu_samples, causes[cpu_samples.cpu])
        for cpu_samples in samples.cpus
        if cpu_samples.cpu not in traced and observations.interval is not None
    }
    for cpu, quota in by_quota.items():
        named = sum(
            culprit.disturbance.share or 0.0 for culprit in culprits[cpu] if culprit.disturbance.kind == Kind.QUOTA
        )
        if named * 2 <= (quota.share or 0.0):  # most stops did not occur while the loop looked for gaps
            suspects[cpu] = sort_by_cost([quota, *suspects.get(cpu, ())])
    attribution = Attribution(
        causes_by_cpu=causes,
        reason=reason,
        suspects_by_cpu=suspects,
        quota_by_cpu=by_quota,
        long_stops_by_cpu={cpu: stops for cpu, stops in long.items() if stops and cpu not in by_quota},
        others_by_cpu=_others(samples, observations, whole),
        is_live=snapshot is not None and snapshot.is_live,
    )
    return replace(
        attribution,
        culprits_by_cpu={
            cpu: tuple(
                replace(culprit, disturbance=attribution.with_rhythm(culprit.disturbance)) for culprit in measured
            )
            for cpu, measured in culprits.items()
        },
    )


def _is_same(first: Disturbance, second: Disturbance) -> bool:
    """Return whether both are about the same thread or, for other sources, of the same kind and name."""
    if first.kind != second.kind or (first.pid, first.tid) != (second.pid, second.tid):
        return False
    return first.tid is not None or first.name == second.name


def _idleness(
    samples: CalibrationSamples, traced: Mapping[int, CpuPieces], offset_ns: int
) -> Mapping[int, Callable[[int, int], bool]]:
    """Return a function by CPU that tests whether the CPU was mostly idle in a period (from its start and length).

    CPUs whose trace does not include the calibration's loop are omitted.
    """
    return {
        cpu_samples.cpu: partial(was_idle, traced[cpu_samples.cpu], offset_ns)
        for cpu_samples in samples.cpus
        if cpu_samples.cpu in traced and includes_spinner(traced[cpu_samples.cpu], cpu_samples.spinner_tid)
    }


def _quotas(samples: CalibrationSamples, observations: ConcurrentObservations) -> Quotas:
    """Return the quotas whose groups were stopped during the calibration, or shortly before it."""
    interval, snapshot = observations.interval, observations.snapshot
    return Quotas(
        throttles=interval.throttles if interval is not None else (),
        length_ns=samples.length_ns,
        cpu_count=sum(1 for cpu_samples in samples.cpus if cpu_samples.spun_ns) or 1,
        are_hidden=snapshot is not None and snapshot.cgroup.cpu_quota_share is None,
    )


def _others(
    samples: CalibrationSamples, observations: ConcurrentObservations, traced: Iterable[CpuPieces]
) -> Mapping[int, Others]:
    """Return the traced sources on each CPU except noisewatch's own; empty without a trace or a snapshot.

    CPUs whose loop has an unknown thread number (in old recordings) are omitted.
    """
    trace, snapshot = observations.trace, observations.snapshot
    if isinstance(trace, str) or snapshot is None:
        return {}
    tid_by_cpu = {cpu_samples.cpu: cpu_samples.spinner_tid for cpu_samples in samples.cpus}
    return {
        pieces.cpu: others_of(pieces, trace.length_ns, snapshot.irqs, tid, snapshot.own_pids)
        for pieces in traced
        if (tid := tid_by_cpu.get(pieces.cpu)) is not None
    }


def _suspects(interval: Interval, samples: CpuSamples, causes: Sequence[GapCause]) -> tuple[Disturbance, ...]:
    """Return the culprits that were observed on the CPU during the calibration, the costliest first.

    Unattributed time is left out: most of it belongs to the calibration's loops, which ended before the second
    snapshot. If the gaps are far longer than the observed threads explain, ended threads are added as one culprit.
    Ticks and timer interrupts are left out if gaps were already identified as ticks or timers, by phase or rate.
    """
    explained = {Kind.UNATTRIBUTED} | ({Kind.TICK, Kind.TIMER} & {cause.kind for cause in causes})
    culprits = [culprit for culprit in disturbances_of(interval, samples.cpu) if culprit.kind not in explained]
    stolen_ns = sum(cause.length_ns for cause in causes if cause.kind == Kind.THREAD)
    share = stolen_ns / samples.spun_ns if samples.spun_ns else 0.0
    unexplained = share - sum(culprit.share or 0.0 for culprit in culprits if culprit.kind in THREADS)
    if unexplained > max(share / 2, _LEAST_UNEXPLAINED):
        ns = round(unexplained * interval.length_ns)
        culprits.append(
            Disturbance(
                kind=Kind.UNATTRIBUTED,
                name=EXITED,
                cpu=samples.cpu,
                stolen_ns=ns,
                share=unexplained,
                rate_per_s=None,
                is_inferred=True,
            )
        )
    return sort_by_cost(culprits)


def gap_culprits(causes: Sequence[GapCause], cpu: int, spin_ns: int) -> tuple[MeasuredCulprit, ...]:
    """Return the culprits behind one CPU's gaps, the costliest first, with the lengths of their gaps."""
    together: dict[tuple[str, str, int | None, int | None], list[GapCause]] = defaultdict(list)
    for cause in causes:
        tid = cause.thread.tid if cause.thread is not None else None
        together[cause.kind, cause.name, cause.pid, tid].append(cause)
    culprits = [_culprit(group, cpu, spin_ns) for group in together.values()]
    return tuple(sorted(culprits, key=lambda culprit: -(culprit.disturbance.stolen_ns or 0)))


def _culprit(causes: list[GapCause], cpu: int, spin_ns: int) -> MeasuredCulprit:
    first = causes[0]
    stolen_ns = sum(cause.length_ns for cause in causes)
    thread = first.thread
    disturbance = Disturbance(
        kind=first.kind,
        name=first.name,
        cpu=cpu,
        stolen_ns=stolen_ns,
        share=stolen_ns / spin_ns if spin_ns else None,
        rate_per_s=len(causes) * 1e9 / spin_ns if spin_ns else None,
        pid=first.pid,
        tid=thread.tid if thread is not None else None,
        irq=first.parts[0].source.irq if first.parts and first.kind == Kind.IRQ else None,
        is_inferred=first.kernel_ns is None or first.kind == Kind.QUOTA,
    )
    lengths = Counter(round_ns(cause.length_ns) for cause in causes)
    return MeasuredCulprit(disturbance, len(causes), max(cause.length_ns for cause in causes), lengths)
