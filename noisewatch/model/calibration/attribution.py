"""Attribution of a calibration's gaps to culprits.

The kernel's trace of the same time decides, if there is one; otherwise the gaps and the kernel's counters do. Without a
trace the culprit is inferred: from the class of the gap, and from what ran on that CPU during the calibration.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from noisewatch.kernel.trace.run_counter import rounded_ns
from noisewatch.kernel.trace.runs import NOT_TRACED, CpuPieces, Trace
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.calibration.gap_causes import (
    GapCause,
    causes_by_gaps,
    causes_by_trace,
    tells_of_spinner,
    was_idle,
)
from noisewatch.model.calibration.quota_gaps import Quotas, long_stops, quota_on, with_quotas
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of, timer_interrupts_per_s
from noisewatch.model.trace.culprits import MeasuredCulprit, Others, others_of, with_kinds
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.kernel.calibration import CalibrationSamples, CpuSamples
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.model.interval.interval import Interval

ENDED = "threads that ended before they could be read"
_LEAST_UNSEEN = 0.005  # of the time


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Other observations from the time of a calibration.

    `trace` is the reason if there is no trace; `interval` is None if no second snapshot was taken.
    """

    trace: Trace | str = NOT_TRACED
    snapshot: Snapshot | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """The culprits behind the gaps of each CPU. `reason` explains why there was no trace, or is None."""

    causes_by_cpu: Mapping[int, Sequence[GapCause]] = field(default_factory=dict)
    culprits_by_cpu: Mapping[int, tuple[MeasuredCulprit, ...]] = field(default_factory=dict)  # the costliest first
    reason: str | None = None
    suspects_by_cpu: Mapping[int, tuple[Disturbance, ...]] = field(default_factory=dict)  # if gaps do not show it
    quota_by_cpu: Mapping[int, Disturbance] = field(default_factory=dict)  # where quotas stopped the loops
    long_stops_by_cpu: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # in ns, as from hidden quotas
    others_by_cpu: Mapping[int, Others] = field(default_factory=dict)  # all the time, by the trace
    is_live: bool = False  # it was measured on this host, now

    def longest(self, cpu: int, most: int) -> Sequence[GapCause]:
        """Return the `most` longest gaps of the CPU, the longest first."""
        return heapq.nlargest(most, self.causes_by_cpu.get(cpu, ()), key=lambda cause: cause.length_ns)


def attribution_of(samples: CalibrationSamples, meanwhile: Meanwhile) -> Attribution:
    """Attribute the gaps to their causes: by the trace if there is one, otherwise by the gaps alone."""
    trace, snapshot = meanwhile.trace, meanwhile.snapshot
    irqs = snapshot.irqs if snapshot is not None else None
    hz = snapshot.platform.tick_hz if snapshot is not None else None
    whole = () if isinstance(trace, str) else [with_kinds(each, irqs, trace.length_ns, hz) for each in trace.cpus]
    traced = {each.cpu: each for each in whole if each.is_whole}
    offset_ns = 0 if isinstance(trace, str) else samples.begin_ns - trace.begin_ns
    is_whole = isinstance(trace, str) or trace.tells_all_interrupts
    causes = {
        said.cpu: causes_by_trace(said, traced[said.cpu], offset_ns, irqs, is_whole)
        if said.cpu in traced
        else causes_by_gaps(said, hz, timer_interrupts_per_s(meanwhile.interval, said.cpu))
        for said in samples.cpus
    }
    quotas = _quotas(samples, meanwhile)
    idle = _idleness(samples, traced, offset_ns)
    found = {said.cpu: quota_on(said, causes[said.cpu], quotas, idle.get(said.cpu)) for said in samples.cpus}
    by_quota = {cpu: quota for cpu, quota in found.items() if quota is not None}
    long = {said.cpu: long_stops(said, causes[said.cpu]) for said in samples.cpus if quotas.are_hidden}
    causes = {said.cpu: with_quotas(said, causes[said.cpu], quotas, idle.get(said.cpu)) for said in samples.cpus}
    culprits = {said.cpu: gap_culprits(causes[said.cpu], said.cpu, said.spun_ns) for said in samples.cpus}
    reason = trace if isinstance(trace, str) else "events were lost" if len(traced) < len(trace.cpus) else None
    suspects = {
        said.cpu: _suspects(meanwhile.interval, said, causes[said.cpu])
        for said in samples.cpus
        if said.cpu not in traced and meanwhile.interval is not None
    }
    for cpu, quota in by_quota.items():
        named = sum(each.disturbance.share or 0.0 for each in culprits[cpu] if each.disturbance.kind == Kind.QUOTA)
        if named * 2 <= (quota.share or 0.0):  # most stops were in other work than looking for gaps
            suspects[cpu] = _costliest_first([quota, *suspects.get(cpu, ())])
    return Attribution(
        causes_by_cpu=causes,
        culprits_by_cpu=culprits,
        reason=reason,
        suspects_by_cpu=suspects,
        quota_by_cpu=by_quota,
        long_stops_by_cpu={cpu: stops for cpu, stops in long.items() if stops and cpu not in by_quota},
        others_by_cpu=_others(samples, meanwhile, whole),
        is_live=snapshot is not None and snapshot.is_live,
    )


def _idleness(
    samples: CalibrationSamples, traced: Mapping[int, CpuPieces], offset_ns: int
) -> Mapping[int, Callable[[int, int], bool]]:
    """Return a function for each CPU whose trace includes the loop: was the CPU idle at a time of the calibration?"""
    return {
        said.cpu: partial(was_idle, traced[said.cpu], offset_ns)
        for said in samples.cpus
        if said.cpu in traced and tells_of_spinner(traced[said.cpu], said.spinner_tid)
    }


def _quotas(samples: CalibrationSamples, meanwhile: Meanwhile) -> Quotas:
    """Return the groups that a quota stopped during the calibration, or shortly before it."""
    interval, snapshot = meanwhile.interval, meanwhile.snapshot
    return Quotas(
        throttles=interval.throttles if interval is not None else (),
        length_ns=samples.length_ns,
        cpu_count=sum(1 for said in samples.cpus if said.spun_ns) or 1,
        are_hidden=snapshot is not None and snapshot.cgroup.cpu_quota_share is None,
    )


def _others(samples: CalibrationSamples, meanwhile: Meanwhile, traced: Iterable[CpuPieces]) -> Mapping[int, Others]:
    """Return what else ran on each CPU next to our loop; empty for old recordings without the loop's thread number."""
    trace, snapshot = meanwhile.trace, meanwhile.snapshot
    if isinstance(trace, str) or snapshot is None:
        return {}
    tid_by_cpu = {said.cpu: said.spinner_tid for said in samples.cpus}
    return {
        each.cpu: others_of(each, trace.length_ns, snapshot.irqs, tid, snapshot.own_pids)
        for each in traced
        if (tid := tid_by_cpu.get(each.cpu)) is not None
    }


def _suspects(interval: Interval, samples: CpuSamples, causes: Sequence[GapCause]) -> tuple[Disturbance, ...]:
    """Return the culprits that were observed on the CPU during the calibration, the costliest first.

    The loops have ended before the second snapshot, so their time is unattributed in the interval and is left out. If
    the gaps are far longer than the observed threads explain, other threads have ended as well, and are added as one
    culprit. Ticks that were identified by their phase are left out, and so are timer interrupts identified by their
    rate.
    """
    known = {Kind.UNATTRIBUTED} | ({Kind.TICK, Kind.TIMER} & {cause.kind for cause in causes})
    culprits = [each for each in disturbances_of(interval, samples.cpu) if each.kind not in known]
    stolen_ns = sum(cause.length_ns for cause in causes if cause.kind == Kind.THREAD)
    share = stolen_ns / samples.spun_ns if samples.spun_ns else 0.0
    unseen = share - sum(each.share or 0.0 for each in culprits if each.kind in THREADS)
    if unseen > max(share / 2, _LEAST_UNSEEN):
        ns = round(unseen * interval.length_ns)
        culprits.append(
            Disturbance(
                kind=Kind.UNATTRIBUTED,
                name=ENDED,
                cpu=samples.cpu,
                stolen_ns=ns,
                share=unseen,
                rate_per_s=None,
                is_inferred=True,
            )
        )
    return _costliest_first(culprits)


def _costliest_first(found: Iterable[Disturbance]) -> tuple[Disturbance, ...]:
    return tuple(sorted(found, key=lambda each: -(each.stolen_ns or 0)))


def gap_culprits(causes: Sequence[GapCause], cpu: int, spun_ns: int) -> tuple[MeasuredCulprit, ...]:
    """Return the culprits behind the gaps of one CPU, the costliest first; lengths are lengths of gaps."""
    together: dict[tuple[str, str, int | None, int | None], list[GapCause]] = defaultdict(list)
    for cause in causes:
        tid = cause.thread.tid if cause.thread is not None else None
        together[cause.kind, cause.name, cause.pid, tid].append(cause)
    culprits = [_culprit(each, cpu, spun_ns) for each in together.values()]
    return tuple(sorted(culprits, key=lambda each: -(each.disturbance.stolen_ns or 0)))


def _culprit(causes: list[GapCause], cpu: int, spun_ns: int) -> MeasuredCulprit:
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
        pid=first.pid,
        tid=thread.tid if thread is not None else None,
        irq=first.parts[0].source.irq if first.parts and first.kind == Kind.IRQ else None,
        is_inferred=first.kernel_ns is None or first.kind == Kind.QUOTA,
    )
    lengths = Counter(rounded_ns(each.length_ns) for each in causes)
    return MeasuredCulprit(disturbance, len(causes), max(each.length_ns for each in causes), lengths)
