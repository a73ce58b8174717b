"""Whether two culprits are the same, and whether a fix keeps one away."""

from __future__ import annotations

from collections.abc import Hashable

from noisewatch.judgement.fixes.actions import Move, Write
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.kernel.interrupts.irqs import FOLDER
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance


def who(culprit: Disturbance) -> Hashable:
    """The same for all that one IRQ, or one process, does on any CPU."""
    if culprit.kind == Kind.IRQ and culprit.irq is not None:
        return Kind.IRQ, culprit.irq
    if culprit.pid is not None and culprit.kind in (*THREADS, Kind.SIBLING):
        return Kind.THREAD, culprit.pid
    return culprit.kind, culprit.name


def covers(fix: Fix, culprit: Disturbance) -> bool:
    """Whether the fix moves this interrupt, or this thread."""
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
