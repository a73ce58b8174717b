"""The verdict of one repetition, by cause: what it met, and never how long it took."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.clock_speed import clock_reasons, why_clock_unwatched
from noisewatch.judgement.run.foreign_time import ForeignTime, find_foreign_time
from noisewatch.judgement.run.hard_events import hard_reasons, why_end_unknown, why_events_unknown
from noisewatch.judgement.run.interruptions import interruption_reasons, why_interruptions_unknown
from noisewatch.judgement.run.own_work import OwnWork
from noisewatch.judgement.run.placement_reasons import placement_reasons, why_placement_unknown
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome, RunReason, loud
from noisewatch.judgement.run.siblings import sibling_reasons, why_siblings_unknown
from noisewatch.judgement.run.steal import steal_reasons, why_steal_unknown
from noisewatch.judgement.run.unexplained import why_time_unexplained
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition

_TRIFLE = 0.02


def judge_repetition(
    repetition: Repetition, siblings: CpuSet, allowance: Allowance, khz_by_cpu: Mapping[int, float] | None = None
) -> RepetitionVerdict:
    """Disturbed by what is known; else unknown where something could not be watched; else undisturbed.

    `khz_by_cpu` are the clocks of the opening calibration.
    """
    own_work = OwnWork.of(repetition)
    foreign_time = find_foreign_time(repetition, allowance, own_work)
    interruptions, own = interruption_reasons(repetition, own_work.beside(foreign_time.own))
    slow, slow_by_itself = clock_reasons(repetition, khz_by_cpu or {})
    unwatched = why_clock_unwatched(repetition, khz_by_cpu or {})
    reasons = [
        *hard_reasons(repetition),
        *slow,
        *foreign_time.reasons,
        *sibling_reasons(repetition, siblings, allowance),
        *_together(repetition, allowance, foreign_time, [*interruptions, *steal_reasons(repetition)]),
    ]
    questions = (
        foreign_time.unknown,
        why_siblings_unknown(repetition, siblings, allowance),
        why_interruptions_unknown(repetition),
        why_steal_unknown(repetition, allowance),
        why_events_unknown(repetition),
        why_end_unknown(repetition, allowance),
        why_time_unexplained(repetition, allowance),
    )
    unknowns = tuple(reason for reason in questions if reason is not None)
    return RepetitionVerdict(
        _outcome(reasons, unknowns),
        tuple(_without_trifles(reasons)),
        (*foreign_time.own, *own, *slow_by_itself),
        unknowns,
        () if unwatched is None else (unwatched,),
    )


def with_placement(verdict: RepetitionVerdict, placement: Placement, length_ns: int) -> RepetitionVerdict:
    """The verdict, with where the threads of the command ran: what moved it disturbed it, or is not known."""
    moved, own = placement_reasons(placement, length_ns)
    unknown = why_placement_unknown(placement)
    unknowns = verdict.unknowns if unknown is None else (*verdict.unknowns, unknown)
    reasons = (*verdict.reasons, *moved)
    outcome = _outcome(reasons, unknowns)
    return replace(verdict, outcome=outcome, reasons=reasons, own=(*verdict.own, *own), unknowns=unknowns)


def _together(
    repetition: Repetition, allowance: Allowance, foreign_time: ForeignTime, others: Sequence[RunReason]
) -> list[RunReason]:
    """What else disturbed it on CPUs where tasks, interruptions and the hypervisor together took more than is allowed:
    little of each may be much in all."""
    met = [*foreign_time.reasons, *foreign_time.slight, *others]
    return [each for each in loud(met, allowance.ns(repetition.length_ns)) if each not in foreign_time.reasons]


def _outcome(reasons: Collection[RunReason], unknowns: Collection[str]) -> RunOutcome:
    """A known disturbance outranks what is not known."""
    return RunOutcome.DISTURBED if reasons else RunOutcome.UNKNOWN if unknowns else RunOutcome.UNDISTURBED


def _without_trifles(reasons: Sequence[RunReason]) -> list[RunReason]:
    """The costliest first; those that cost a small part of it add nothing to it."""
    ordered = sorted(reasons, key=lambda reason: -(reason.ns or 0))
    least_ns = _TRIFLE * max((reason.ns or 0 for reason in ordered), default=0)
    return [reason for reason in ordered if reason.ns is None or reason.ns >= least_ns]
