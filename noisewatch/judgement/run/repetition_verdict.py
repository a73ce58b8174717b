"""The verdict of one repetition, by cause: what it met, and never how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.foreign_time import foreign_reasons, sibling_reasons, why_foreign_unknown
from noisewatch.judgement.run.hard_events import hard_reasons
from noisewatch.judgement.run.interruptions import interruption_reasons, why_interruptions_unknown
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome, RunReason
from noisewatch.judgement.run.steal import steal_reasons
from noisewatch.model.run.repetition import Repetition

_TRIFLE = 0.02


def judge_repetition(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> RepetitionVerdict:
    """Disturbed by what is known; else unknown where something could not be watched; else undisturbed."""
    interruptions, own = interruption_reasons(repetition, allowance)
    reasons = [
        *hard_reasons(repetition),
        *foreign_reasons(repetition, allowance),
        *sibling_reasons(repetition, siblings, allowance),
        *interruptions,
        *steal_reasons(repetition, allowance),
    ]
    unknowns = tuple(_unknowns(repetition, siblings, allowance))
    outcome = RunOutcome.DISTURBED if reasons else RunOutcome.UNKNOWN if unknowns else RunOutcome.UNDISTURBED
    return RepetitionVerdict(outcome, tuple(_without_trifles(reasons)), tuple(own), unknowns)


def _without_trifles(reasons: Sequence[RunReason]) -> list[RunReason]:
    """The costliest first; those that cost a small part of it add nothing to it."""
    ordered = sorted(reasons, key=lambda reason: -(reason.ns or 0))
    least_ns = _TRIFLE * max((reason.ns or 0 for reason in ordered), default=0)
    return [reason for reason in ordered if reason.ns is None or reason.ns >= least_ns]


def _unknowns(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> Iterator[str]:
    for reason in (
        why_foreign_unknown(repetition, allowance),
        why_interruptions_unknown(repetition),
    ):
        if reason is not None:
            yield reason
