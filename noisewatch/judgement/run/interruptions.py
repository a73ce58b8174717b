"""Interrupts and softirqs on the target CPUs within a repetition: the command's own ones apart from all others."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kinds import INTERRUPT_KINDS, Kind
from noisewatch.model.interval.disturbance import Disturbance, counts_of, disturbances_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.repetition import Repetition
from noisewatch.model.vocabulary import DISK, kinds_of_device

_COME_WITH_THE_TICK = frozenset({"TIMER", "SCHED", "RCU", "HRTIMER"})  # softirqs, as many as ticks at the most
_BETWEEN_OWN_THREADS = frozenset({"TLB shootdowns", "Rescheduling interrupts"})
_BLOCKS_PER_IO = 8  # of 512 bytes: nothing smaller than a page goes to disk, as a rule


def interruption_reasons(repetition: Repetition, allowance: Allowance) -> tuple[list[RunReason], list[RunReason]]:
    """Those that disturbed it, and those that it brought about itself; the tick is in neither.

    Own are a disk's interrupts, as many as it has done reads and writes, and calls between its own threads.
    """
    reasons: list[RunReason] = []
    own: list[RunReason] = []
    ios_left = _most_ios(repetition)
    for cpu in sorted(repetition.target):
        foreign: list[RunReason] = []
        for each in disturbances_of(repetition.span, cpu):
            if not _counts(repetition.span, each):
                continue
            reason = _reason(repetition, each)
            if _is_of_disks(repetition.span, each) and (count := _count(repetition.span, each)) <= ios_left:
                ios_left -= count
                own.append(reason)
            elif not repetition.use.ran_alone and each.name in _BETWEEN_OWN_THREADS:
                own.append(reason)
            else:
                foreign.append(reason)
        if sum(reason.ns or 0 for reason in foreign) > allowance.ns(repetition.length_ns):
            reasons += foreign
    return reasons, own


def why_interruptions_unknown(repetition: Repetition) -> str | None:
    """Why nobody can say how often the target CPUs were interrupted; None where that is known."""
    for counts, what in ((repetition.span.interrupts, "interrupts"), (repetition.span.softirqs, "softirqs")):
        uncounted = [cpu for cpu in sorted(repetition.target) if not counts.is_known(cpu)]
        if uncounted:
            return counts.reason or f"{what} of {name_cpus(uncounted)} were not counted"
    return None


def _counts(span: Interval, each: Disturbance) -> bool:
    """Whether it is an interruption that is not always there."""
    if each.kind == Kind.SOFTIRQ:
        ticks = counts_of(span, Kind.TICK).get(each.cpu, 0)
        return each.name not in _COME_WITH_THE_TICK or _count(span, each) > ticks + 1
    return each.kind in INTERRUPT_KINDS and each.kind != Kind.TICK


def _count(span: Interval, each: Disturbance) -> int:
    return round((each.rate_per_s or 0.0) * span.seconds)


def _most_ios(repetition: Repetition) -> int:
    use = repetition.use
    return -(-(use.blocks_in + use.blocks_out) // _BLOCKS_PER_IO)


def _is_of_disks(span: Interval, each: Disturbance) -> bool:
    if each.kind == Kind.SOFTIRQ:
        return each.name == "BLOCK"
    if each.irq is None:
        return False
    irqs = span.after.irqs
    known = irqs.by_number.get(each.irq) if irqs is not None else None
    names: Sequence[str] = (each.name,) if known is None else (*known.actions, each.name)
    return DISK in kinds_of_device(names, known.device if known is not None else None)


def _reason(repetition: Repetition, each: Disturbance) -> RunReason:
    ns = each.stolen_ns or 0
    return RunReason(
        kind=ReasonKind.INTERRUPTIONS,
        name=each.name,
        noise=each.kind,
        cpu=each.cpu,
        irq=each.irq,
        ns=ns,
        share=min(ns / max(repetition.length_ns, 1), 1.0),
        is_estimate=each.is_inferred,
    )
