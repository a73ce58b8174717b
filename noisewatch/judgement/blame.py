"""Identify the culprits behind a finding, and decide whether a fix removes all that matter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import LIMIT
from noisewatch.judgement.fixes.actions import Move, Write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Finding
from noisewatch.kernel.interrupts.irqs import FOLDER
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.interval.softirq_causes import brought_by


def who(culprit: Disturbance) -> Hashable:
    """Return a key that is equal for all disturbances by one IRQ, or one process, on any CPU."""
    if culprit.kind == Kind.IRQ and culprit.irq is not None:
        return Kind.IRQ, culprit.irq
    if culprit.pid is not None and culprit.kind in (*THREADS, Kind.SIBLING):
        return Kind.THREAD, culprit.pid
    return culprit.kind, culprit.name


def covers(fix: Fix, culprit: Disturbance) -> bool:
    """Return whether the fix moves the culprit's interrupt or thread."""
    if culprit.kind == Kind.IRQ:
        path = f"{FOLDER}/{culprit.irq}/smp_affinity_list"
        return any(each.path == path for action in fix.actions if isinstance(action, Write) for each in action.settings)
    if culprit.kind not in THREADS:
        return False
    moves = [action for action in fix.actions if isinstance(action, Move)]
    return any(
        (move.process is not None and move.process == culprit.pid) or culprit.tid in {pin.tid for pin in move.pins}
        for move in moves
        if culprit.tid is not None
    )


def culprits_of(finding: Finding, case: Case) -> list[Disturbance]:
    """Return the finding's culprits that disturb target CPUs: what helps against them helps against the finding."""
    return [each for each in finding.answer.culprits if each.cpu in case.target or each.kind == Kind.SIBLING]


def is_settled(finding: Finding, fix: Fix, case: Case) -> bool:
    """Return whether the fix removes all culprits that matter.

    A finding without culprits is settled by its own fix only.
    """
    culprits, own = culprits_of(finding, case), finding.answer.fix
    moved = [each for each in culprits if covers(fix, each)]
    left = [each for each in culprits if each not in moved]
    left = [each for each in left if not brought_on_its_cpu(each, moved, case) or brought_on_its_cpu(each, left, case)]
    if not explain([each for each in culprits if each.kind not in MOVABLE or each not in left], finding):
        return False
    unmoved = [each for each in left if not _is_negligible(each, finding)]
    if own is None:
        return bool(culprits) and not unmoved
    if own.is_partial:
        return False
    if finding.answer.status == Status.FAIL and _is_within_limit(left, finding):
        return True
    return all(each.kind == Kind.SIBLING or (each.kind not in MOVABLE and each is culprits[0]) for each in unmoved)


def brought_on_its_cpu(softirq: Disturbance, culprits: Iterable[Disturbance], case: Case) -> bool:
    """Return whether device interrupts among the culprits, on the softirq's CPU, can have raised all of the softirq.

    If so, moving these interrupts moves the softirq too.
    """
    if softirq.kind != Kind.SOFTIRQ or case.snapshot.irqs is None:
        return False
    known = case.snapshot.irqs.by_number
    there = [each for each in culprits if each.kind == Kind.IRQ and each.cpu == softirq.cpu and each.irq in known]
    irqs = [(known[each.irq], each.rate_per_s or 0.0) for each in there if each.irq is not None]
    return brought_by(softirq.name, softirq.rate_per_s or 0.0, irqs)


def explain(culprits: Iterable[Disturbance], finding: Finding) -> bool:
    """Return whether the measured value would be within the limit without these culprits.

    True if the answer has no numeric limit, or if the culprits' amounts are not in its unit.
    """
    answer = finding.answer
    if answer.limit is None or answer.limit_role != LIMIT or not isinstance(answer.measured, int | float):
        return True
    amounts = {each.kind: _amount(each, finding) for each in answer.culprits}
    if all(amount is None for amount in amounts.values()) or amounts.get(Kind.QUOTA, 0.0) is None:
        return True
    return answer.measured - sum(_amount(each, finding) or 0.0 for each in culprits) <= answer.limit


def _amount(culprit: Disturbance, finding: Finding) -> float | None:
    return {"share": culprit.share, "per second": culprit.rate_per_s}.get(finding.answer.unit or "")


def _is_within_limit(culprits: Sequence[Disturbance], finding: Finding) -> bool:
    """Return whether the culprits' amounts are known, and their sum on each CPU is within the limit."""
    limit, by_cpu = finding.answer.limit, dict.fromkeys((each.cpu for each in culprits), 0.0)
    for each in culprits:
        amount = _amount(each, finding)
        if amount is None:
            return False
        by_cpu[each.cpu] += amount
    return limit is not None and all(amount <= limit for amount in by_cpu.values())


def _is_negligible(culprit: Disturbance, finding: Finding) -> bool:
    """Return whether the culprit alone is far below the check's limit."""
    value = _amount(culprit, finding)
    return value is not None and value <= _NEGLIGIBLE * (finding.answer.limit or 0.0)


_NEGLIGIBLE = 0.1  # of a limit
MOVABLE = frozenset({Kind.IRQ, Kind.THREAD, Kind.KERNEL_THREAD, Kind.UNATTRIBUTED, Kind.OUTSIDE})
