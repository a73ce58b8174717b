"""Interrupts and softirqs on the target CPUs within a repetition: the command's own ones apart from all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.own_io import OwnIo
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS
from noisewatch.kinds import INTERRUPT_KINDS, Kind
from noisewatch.model.interval.disturbance import LARGEST_HZ, Disturbance, counts_of, disturbances_of
from noisewatch.model.interval.interrupt_counts import InterruptCounts, stood_still
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.vocabulary import DISK, kinds_of_device

_COME_WITH_THE_TICK = frozenset({"TIMER", "SCHED", "RCU", "HRTIMER"})  # softirqs, as many as ticks at the most
_OF_MEMORY = "TLB shootdowns"
_RESCHEDULING = "Rescheduling interrupts"
_OF_WAKING = frozenset({_RESCHEDULING, "Function call interrupts"})
_DOUBT_NS = TICK_NS  # of /proc/stat
_AT_RANDOM = 2  # timer interrupts: by so many more than there are ticks in a time, a short one may have
_STOOD_STILL = {"interrupts": stood_still(INTERRUPTS), "softirqs": stood_still(SOFTIRQS)}


def interruption_reasons(
    repetition: Repetition, allowance: Allowance, io: OwnIo
) -> tuple[list[RunReason], list[RunReason]]:
    """Those that disturbed it, and those that it brought about itself; the tick is in neither.

    Own are the interrupts of disks, as many as it has done reads and writes, calls between its own threads, and those
    that woke it up, as often as it slept.
    """
    reasons: list[RunReason] = []
    own: list[RunReason] = []
    budget = {Kind.IRQ: io.ios, Kind.SOFTIRQ: io.ios, Kind.IPI: repetition.use.switches}
    for cpu in sorted(repetition.target):
        foreign: list[RunReason] = []
        measured = _measured(repetition, cpu)
        for each in disturbances_of(repetition.span, cpu):
            if not _counts(repetition.span, each):
                continue
            count = _count(repetition.span, each)
            own_count = min(count, _most_own(repetition, each, budget))
            if each.kind in budget and each.name != _OF_MEMORY:
                budget[each.kind] -= own_count
            ns = round((each.stolen_ns or 0) * measured[each.kind == Kind.SOFTIRQ])
            own_ns = ns * own_count // max(count, 1)
            own += _reasons(repetition, each, own_ns)
            foreign += _reasons(repetition, each, ns - own_ns)
        if sum(reason.ns or 0 for reason in foreign) > allowance.ns(repetition.length_ns):
            reasons += foreign
    return reasons, own


def why_interruptions_unknown(repetition: Repetition) -> str | None:
    """Why nobody can say how often the target CPUs were interrupted; None where that is known.

    In a millisecond no CPU at all may be; that the tables are alive, the windows around it show.
    """
    for what in ("interrupts", "softirqs"):
        counts: InterruptCounts = getattr(repetition.span, what)
        around: list[InterruptCounts] = [getattr(window, what) for window in repetition.windows]
        if counts.reason == _STOOD_STILL[what] and around and all(each.rows is not None for each in around):
            continue
        uncounted = [cpu for cpu in sorted(repetition.target) if not counts.is_known(cpu)]
        if uncounted:
            return counts.reason or f"{what} of {name_cpus(uncounted)} were not counted"
    return None


def _measured(repetition: Repetition, cpu: int) -> tuple[float, float]:
    """By how much interrupts, and softirqs, took more than typical ones: what the kernel measured for sure.

    It counts in steps of 10 ms, and on most kernels charges a whole tick to whoever it meets.
    """
    load = repetition.span.load_by_cpu.get(cpu)
    there = disturbances_of(repetition.span, cpu)
    estimates_ns = (
        sum(each.stolen_ns or 0 for each in there if each.kind in INTERRUPT_KINDS),
        sum(each.stolen_ns or 0 for each in there if each.kind == Kind.SOFTIRQ),
    )
    measured_ns = (load.irq_ns or 0, load.softirq_ns or 0) if load is not None else (0, 0)
    irq, softirq = (
        max((measured - _DOUBT_NS) / max(estimate, 1), 1.0)
        for measured, estimate in zip(measured_ns, estimates_ns, strict=True)
    )
    return irq, softirq


def _counts(span: Interval, each: Disturbance) -> bool:
    """Whether it is an interruption that is not always there."""
    if each.kind == Kind.SOFTIRQ:
        ticks = counts_of(span, Kind.TICK).get(each.cpu, 0)
        return each.name not in _COME_WITH_THE_TICK or _count(span, each) > ticks + 1
    if each.kind == Kind.TIMER:
        return _count(span, each) > (span.after.platform.tick_hz or LARGEST_HZ) * span.seconds + _AT_RANDOM
    return each.kind in INTERRUPT_KINDS and each.kind != Kind.TICK


def _count(span: Interval, each: Disturbance) -> int:
    return round((each.rate_per_s or 0.0) * span.seconds)


def _most_own(repetition: Repetition, each: Disturbance, budget: Mapping[Kind, int]) -> int:
    """How many of them the command may have brought about."""
    count = _count(repetition.span, each)
    if _is_of_disks(repetition.span, each):
        return budget[Kind.SOFTIRQ if each.kind == Kind.SOFTIRQ else Kind.IRQ]
    if each.name == _OF_MEMORY:
        return 0 if repetition.use.ran_alone else count
    if each.name in _OF_WAKING:
        is_between_threads = each.name == _RESCHEDULING and not repetition.use.ran_alone
        return count if is_between_threads else budget[Kind.IPI]
    return 0


def _is_of_disks(span: Interval, each: Disturbance) -> bool:
    if each.kind == Kind.SOFTIRQ:
        return each.name == "BLOCK"
    if each.irq is None:
        return False
    irqs = span.after.irqs
    known = irqs.by_number.get(each.irq) if irqs is not None else None
    names: Sequence[str] = (each.name,) if known is None else (*known.actions, each.name)
    return DISK in kinds_of_device(names, known.device if known is not None else None)


def _reasons(repetition: Repetition, each: Disturbance, ns: int) -> list[RunReason]:
    if ns <= 0:
        return []
    reason = RunReason(
        kind=ReasonKind.INTERRUPTIONS,
        name=each.name,
        noise=each.kind,
        cpu=each.cpu,
        irq=each.irq,
        ns=ns,
        share=repetition.share_of(ns),
        is_estimate=each.is_inferred,
    )
    return [reason]
