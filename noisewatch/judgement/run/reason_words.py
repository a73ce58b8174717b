"""Reasons and verdicts of repetitions, in words."""

from __future__ import annotations

from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.model.run.repetition import Repetition
from noisewatch.text import printable
from noisewatch.units import describe_ns, describe_share, short_duration

_MARKS = {RunOutcome.UNDISTURBED: "•", RunOutcome.DISTURBED: "!", RunOutcome.UNKNOWN: "?"}
_UNDISTURBED_IN_ASCII = "."
_MOST_NAMED = 3
_DEEDS = {
    ReasonKind.NODE_CHANGED: " moved to another memory node",
    ReasonKind.CORES_CHANGED: " moved to another kind of core",
    ReasonKind.STACKED: " had to share, with another target CPU free,",
}


def mark_of(outcome: RunOutcome, in_unicode: bool = True) -> str:
    """One character."""
    return _UNDISTURBED_IN_ASCII if outcome == RunOutcome.UNDISTURBED and not in_unicode else _MARKS[outcome]


def describe_reason(reason: RunReason) -> str:
    """`stress-ng (pid 812) on CPU 3: 12 ms (1.2%), from 0.2 s to 1.1 s`."""
    who = printable(reason.name) + (f" (pid {reason.pid})" if reason.pid is not None else "")
    if reason.noise is not None:
        who = reason.noise.with_name(who)
    who += _DEEDS.get(reason.kind, "")
    where = f" on {_place(reason)}" if reason.cpu is not None and reason.kind != ReasonKind.OFFLINE else ""
    return f"{who}{where}{_cost(reason)}{_when(reason)}"


def _place(reason: RunReason) -> str:
    return f"sibling CPU {reason.cpu}" if reason.kind == ReasonKind.SIBLING else f"CPU {reason.cpu}"


def _cost(reason: RunReason) -> str:
    if reason.ns is None:
        return ""
    share = f" ({describe_share(reason.share)})" if reason.share is not None else ""
    return f": {'~' if reason.is_estimate else ''}{describe_ns(reason.ns)}{share}"


def _when(reason: RunReason) -> str:
    if reason.begin_ns is None or reason.end_ns is None:
        return ""
    return f", between {short_duration(max(reason.begin_ns, 0))} and {short_duration(reason.end_ns)}"


def describe_reasons(verdict: RepetitionVerdict, most: int = _MOST_NAMED) -> str:
    """The first of its reasons, or why it is unknown."""
    if verdict.outcome == RunOutcome.UNKNOWN:
        return "; ".join(verdict.unknowns)
    told = [describe_reason(reason) for reason in verdict.reasons[:most]]
    rest = len(verdict.reasons) - len(told)
    return "; ".join(told) + (f"; and {rest} more" if rest else "")


def unmeasured_words(repetition: Repetition) -> str | None:
    """Why its time counts in no statistics; None where it does."""
    if repetition.is_cut_short:
        return "cut short, so not counted"
    return f"{failure_words(repetition.status)}, so not counted" if repetition.status else None


def failure_words(status: int) -> str:
    """`failed (status 3)`, `failed (signal 9)`; the status is negative for a signal."""
    return f"failed ({f'signal {-status}' if status < 0 else f'status {status}'})"


def describe_run(verdict: RepetitionVerdict, repetition: Repetition, most: int = _MOST_NAMED) -> str:
    """Why it does not count, and what it met."""
    told = (unmeasured_words(repetition), describe_reasons(verdict, most))
    return "; ".join(each for each in told if each)


def left_words(repetition: Repetition) -> str | None:
    """`run 3 left running: sleep (pid 812)`; None where it left nothing that is known of."""
    left = repetition.name_by_left_pid.items()
    if not left:
        return None
    told = [f"{printable(name or 'a process')} (pid {pid})" for pid, name in left]
    rest = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return f"run {repetition.number} left running: {', '.join(told[:_MOST_NAMED])}{rest}"


def conclude_repetition(verdict: RepetitionVerdict, length_ns: int) -> str:
    """`undisturbed, 1.23 s`; `disturbed, 1.23 s: …`."""
    reasons = describe_reasons(verdict)
    return f"{verdict.outcome}, {describe_ns(length_ns)}" + (f": {reasons}" if reasons else "")
