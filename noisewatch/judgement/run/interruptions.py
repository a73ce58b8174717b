"""Interrupts and softirqs on the target CPUs within a repetition: those that the command caused, and all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.allowance import OwnWork
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kinds import INTERRUPT_KINDS, Kind
from noisewatch.model.interval.disturbance import LARGEST_HZ, Disturbance, counts_of, disturbances_of
from noisewatch.model.interval.interrupt_counts import InterruptCounts, unchanged_reason
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.trace.culprits import TracedCulprit, interruptions_in
from noisewatch.model.vocabulary import DISK, kinds_of_device

_COME_WITH_THE_TICK = frozenset({"TIMER", "SCHED", "RCU", "HRTIMER"})  # these softirqs run at most once per tick
_OF_MEMORY = "TLB shootdowns"
_RESCHEDULING = "Rescheduling interrupts"
_OF_WAKING = frozenset({_RESCHEDULING, "Function call interrupts"})
_FREES = "RCU"  # RCU callbacks run where they were queued, by the command or by others
_LONG_NS = 50_000  # ten times as long as a softirq that comes with the tick usually runs
_DOUBT_NS = TICK_NS  # the resolution of /proc/stat
_AT_RANDOM = 2  # in a short time, timer interrupts may exceed the ticks by this many by chance
_STOOD_STILL = {"interrupts": unchanged_reason(INTERRUPTS), "softirqs": unchanged_reason(SOFTIRQS)}


class MetInterruption(Struct, frozen=True):
    """Interruptions of one name on one CPU within a repetition.

    `own` is the largest number that the command may have caused: True is all, False is none, and a kind stands for the
    budget of that kind. If `frees`, the interruptions may free the command's memory, and the command's part is limited
    by time, not by number.
    """

    kind: Kind
    name: str
    cpu: int
    irq: int | None
    count: int
    ns: int
    own: Kind | bool
    is_estimate: bool
    pid: int | None = None  # the process that sent the interrupt
    frees: bool = False


def interruption_reasons(repetition: Repetition, own_work: OwnWork) -> tuple[list[RunReason], list[RunReason]]:
    """Return the interruptions that others caused, however few, and those that the command caused.

    The tick and its softirqs are in neither list. The command can have caused interrupts of disks, up to the number of
    its reads and writes; calls between its own threads; wakeups, up to the number of its sleeps; and, in a trace,
    timers up to that number and RCU callbacks that can have freed its memory.
    """
    reasons: list[RunReason] = []
    own: list[RunReason] = []
    sleeps = repetition.use.switches
    freeing_ns = own_work.freeing_ns
    budget = {Kind.IRQ: own_work.ios, Kind.SOFTIRQ: own_work.ios, Kind.IPI: sleeps, Kind.TIMER: sleeps}
    for cpu in sorted(repetition.target):
        for interruption in _interruptions_on(repetition, cpu):
            own_count = (
                min(interruption.count, budget[interruption.own])
                if isinstance(interruption.own, Kind)
                else interruption.count * interruption.own
            )
            if isinstance(interruption.own, Kind):
                budget[interruption.own] -= own_count
            own_ns = (
                min(interruption.ns, freeing_ns)
                if interruption.frees
                else interruption.ns * own_count // max(interruption.count, 1)
            )
            freeing_ns -= own_ns * interruption.frees
            own += _reasons(repetition, interruption, own_ns)
            reasons += _reasons(repetition, interruption, interruption.ns - own_ns)
    return reasons, own


def _interruptions_on(repetition: Repetition, cpu: int) -> Iterable[MetInterruption]:
    """Return the interruptions on the CPU by the trace, or else by the counters."""
    window = repetition.trace
    return (
        _counted_interruptions(repetition, cpu)
        if isinstance(window, str) or not window.covers_all_interrupts
        else _traced_interruptions(repetition, window, cpu)
    )


def _counted_interruptions(repetition: Repetition, cpu: int) -> Iterator[MetInterruption]:
    factors = _excess_factors(repetition, cpu)
    part = repetition.length_ns / max(repetition.span.length_ns, 1)  # as if they were spread evenly over the span
    for disturbance in disturbances_of(repetition.span, cpu):
        if _is_irregular(repetition.span, disturbance):
            yield MetInterruption(
                kind=disturbance.kind,
                name=disturbance.name,
                cpu=cpu,
                irq=disturbance.irq,
                count=_count(repetition.span, disturbance),
                ns=round((disturbance.stolen_ns or 0) * factors[disturbance.kind == Kind.SOFTIRQ] * part),
                own=_may_be_own(repetition, disturbance),
                is_estimate=disturbance.is_inferred,
            )


def _traced_interruptions(repetition: Repetition, window: TraceWindow, cpu: int) -> Iterator[MetInterruption]:
    met = interruptions_in(window, cpu, repetition.span.after.irqs)
    ticks = sum(interruption.count for interruption in met if interruption.kind == Kind.TICK)
    for interruption in met:
        is_long = interruption.ns > _LONG_NS * interruption.count
        comes_with_tick = interruption.kind == Kind.SOFTIRQ and interruption.name in _COME_WITH_THE_TICK
        if interruption.kind == Kind.TICK or (comes_with_tick and interruption.count <= ticks + 1 and not is_long):
            continue
        yield MetInterruption(
            kind=interruption.kind,
            name=interruption.name,
            cpu=cpu,
            irq=interruption.irq,
            count=interruption.count,
            ns=interruption.ns,
            own=_may_be_own_traced(repetition, interruption),
            is_estimate=False,
            pid=interruption.pid,
            frees=interruption.kind == Kind.SOFTIRQ and interruption.name == _FREES,
        )


def unknown_interruptions_reason(repetition: Repetition) -> str | None:
    """Return why the number of interruptions of the target CPUs is unknown, or None if it is known.

    Within a millisecond, possibly no CPU is interrupted; the surrounding windows then show that the tables advance.
    """
    if not isinstance(repetition.trace, str) and repetition.trace.covers_all_interrupts:
        return None
    for what in ("interrupts", "softirqs"):
        counts: InterruptCounts = getattr(repetition.span, what)
        around: list[InterruptCounts] = [getattr(window, what) for window in repetition.windows]
        if counts.reason == _STOOD_STILL[what] and around and all(table.rows is not None for table in around):
            continue
        uncounted = [cpu for cpu in sorted(repetition.target) if not counts.is_known(cpu)]
        if uncounted:
            return counts.reason or f"{what} of {name_cpus(uncounted)} were not counted"
    return None


def _excess_factors(repetition: Repetition, cpu: int) -> tuple[float, float]:
    """Return the factors by which interrupts, and softirqs, certainly took more time than typical ones.

    The kernel measures in steps of 10 ms, and on most kernels charges a whole tick to whatever it interrupts.
    """
    load = repetition.span.load_by_cpu.get(cpu)
    disturbances = disturbances_of(repetition.span, cpu)
    estimates_ns = (
        sum(disturbance.stolen_ns or 0 for disturbance in disturbances if disturbance.kind in INTERRUPT_KINDS),
        sum(disturbance.stolen_ns or 0 for disturbance in disturbances if disturbance.kind == Kind.SOFTIRQ),
    )
    measured_ns = (load.irq_ns or 0, load.softirq_ns or 0) if load is not None else (0, 0)
    irq, softirq = (
        max((measured - _DOUBT_NS) / max(estimate, 1), 1.0)
        for measured, estimate in zip(measured_ns, estimates_ns, strict=True)
    )
    return irq, softirq


def _is_irregular(span: Interval, disturbance: Disturbance) -> bool:
    """Return whether the disturbance is an interruption that does not come with every tick."""
    if disturbance.kind == Kind.SOFTIRQ:
        ticks = counts_of(span, Kind.TICK).get(disturbance.cpu, 0)
        return disturbance.name not in _COME_WITH_THE_TICK or _count(span, disturbance) > ticks + 1
    if disturbance.kind == Kind.TIMER:
        return _count(span, disturbance) > (span.after.platform.tick_hz or LARGEST_HZ) * span.seconds + _AT_RANDOM
    return disturbance.kind in INTERRUPT_KINDS and disturbance.kind != Kind.TICK


def _count(span: Interval, disturbance: Disturbance) -> int:
    return round((disturbance.rate_per_s or 0.0) * span.seconds)


def _may_be_own(repetition: Repetition, disturbance: Disturbance) -> Kind | bool:
    """Return how many of the interruptions the command may have caused, as in `MetInterruption.own`."""
    if _is_of_disks(repetition.span, disturbance.kind, disturbance.name, disturbance.irq):
        return disturbance.kind
    if disturbance.name == _OF_MEMORY:
        return not repetition.use.ran_alone
    if disturbance.name in _OF_WAKING:
        is_between_threads = disturbance.name == _RESCHEDULING and not repetition.use.ran_alone
        return True if is_between_threads else Kind.IPI
    return False


def _may_be_own_traced(repetition: Repetition, culprit: TracedCulprit) -> Kind | bool:
    if culprit.is_own:
        return True
    if _is_of_disks(repetition.span, culprit.kind, culprit.name, culprit.irq):
        return culprit.kind
    return culprit.kind if culprit.wakes or culprit.kind == Kind.TIMER else False


def _is_of_disks(span: Interval, kind: Kind, name: str, irq: int | None) -> bool:
    if kind == Kind.SOFTIRQ:
        return name == "BLOCK"
    if irq is None:
        return False
    irqs = span.after.irqs
    record = irqs.by_number.get(irq) if irqs is not None else None
    names: Sequence[str] = (name,) if record is None else (*record.actions, name)
    return DISK in kinds_of_device(names, record.device if record is not None else None)


def _reasons(repetition: Repetition, interruption: MetInterruption, ns: int) -> list[RunReason]:
    if ns <= 0:
        return []
    reason = RunReason(
        kind=ReasonKind.INTERRUPTIONS,
        name=interruption.name,
        noise=interruption.kind,
        cpu=interruption.cpu,
        pid=interruption.pid,
        irq=interruption.irq,
        ns=ns,
        share=repetition.share_of(ns),
        is_estimate=interruption.is_estimate,
    )
    return [reason]
