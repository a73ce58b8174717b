"""The time that other tasks had on the target CPUs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from noisewatch.cpus import name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.own_work import OwnWork
from noisewatch.judgement.run.reasons import ReasonKind, RunReason, loud
from noisewatch.judgement.run.threads_seen import (
    Sighting,
    foreign_threads,
    reasons_of,
    share_out,
    time_elsewhere_ns,
    within_books,
)
from noisewatch.judgement.run.traced_time import find_traced
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kinds import Kind
from noisewatch.model.run.books import ran_between
from noisewatch.model.run.repetition import Repetition
from noisewatch.records import dataclass
from noisewatch.units import describe_ns

UNSEEN = "a task that no look at the threads has seen"
_WAITED = "another task: the command waited for its CPU"
_TOO_COARSE = "the kernel counts the time of CPUs in ticks here: what runs between two of them is not in it"
_UNSETTLED = (
    "{} on the target CPUs were not the command's, but the counts may be off by {}: the repetition is too short for "
    "them (the kernel's trace would tell)"
)
_WAS_ELSEWHERE = "the command was seen on CPUs that are no target CPUs for {}"
_MAY_HAVE_LEFT = "the command set its affinity to {}: how long it ran on CPUs that are no target CPUs is not known"
_NO_AFFINITY = "whether the command changed its affinity, to run on CPUs that are no target CPUs, is not known"
_LATE_NS = 2 * TICK_NS  # of a CPU: a task that has it at the end may be counted when it leaves
_ALL_ALONG = 0.5  # of the repetition: a thread that is likely to have had more of a CPU where none left it has stayed


@dataclass(frozen=True, slots=True)
class ForeignTime:
    """The foreign time of a repetition.

    `slight`: culprits within the allowance. `own`: kernel threads that worked for the command. `unknown`: why other
    tasks may have run, or None if that is known.
    """

    reasons: list[RunReason]
    slight: list[RunReason]
    own: list[RunReason]
    unknown: str | None


def find_foreign_time(repetition: Repetition, allowance: Allowance, own_work: OwnWork) -> ForeignTime:
    """Return by CPU who ran there next to the command, and the time that no observed thread explains.

    The kernel's trace settles it. Without one, looks identify the threads, the books give the sum, and a
    single-threaded command's own waiting time is known.
    """
    allowed_ns = allowance.ns(repetition.length_ns)
    traced = find_traced(repetition, allowance, own_work)
    if traced is not None:
        is_elsewhere = traced.elsewhere_ns > allowed_ns
        unknown = _WAS_ELSEWHERE.format(describe_ns(traced.elsewhere_ns)) if is_elsewhere else None
        return ForeignTime(traced.reasons, traced.slight, traced.own, unknown)
    seen = _seen(repetition)
    certain_ns = sum(each.certain_ns for each in seen)
    missing_ns = _least_foreign_ns(repetition) - certain_ns
    known_foreign_ns = _sum(own_work.split(reasons_of(seen, repetition))[0])
    if missing_ns > allowed_ns:
        seen = share_out(seen, missing_ns)
    foreign, own = own_work.split(reasons_of(seen, repetition))
    own_ns, named_ns = _sum(own), _sum(foreign) + _sum(own)
    reasons = loud(foreign, allowed_ns)
    if _sum(foreign) - known_foreign_ns > allowed_ns:  # on which CPU is not known
        reasons = reasons or foreign
    unseen_ns = certain_ns + missing_ns - named_ns
    if unseen_ns > allowed_ns:
        reasons.append(_anonymous(repetition, UNSEEN, unseen_ns))
        named_ns += unseen_ns
    unknown = _why_unknown(repetition, allowed_ns, named_ns)
    waited_ns = (waited_ns_of(repetition) or 0) - own_ns - repetition.quota.ns
    if waited_ns > allowed_ns and not reasons and waited_for_none_ns(repetition) <= allowed_ns:
        reasons = _waited_for(repetition, waited_ns, foreign)
    return ForeignTime(reasons, [each for each in foreign if each not in reasons], own, unknown)


def _sum(reasons: Iterable[RunReason]) -> int:
    return sum(reason.ns or 0 for reason in reasons)


def _waited_for(repetition: Repetition, waited_ns: int, foreign: list[RunReason]) -> list[RunReason]:
    """Return who was, or may have been, running while the command waited."""
    likely = foreign_threads(repetition, repetition.target, ReasonKind.FOREIGN)
    named = reasons_of(share_out((replace(each, certain_ns=0) for each in likely), waited_ns), repetition)
    rest_ns = waited_ns - _sum(named)
    return (foreign or named) + ([_anonymous(repetition, _WAITED, rest_ns)] if rest_ns > 0 else [])


def late_ns(repetition: Repetition, cpu: int, seen: Iterable[Sighting]) -> int:
    """Return the time that ran on a CPU whose time is only counted when a task leaves it, if none has left.

    It was idle, or one task had all of it: the looks show which.
    """
    ran = ran_between(repetition.span.before, repetition.span.after, cpu)
    if ran is None or not ran.is_late:
        return 0
    likely_ns = max((each.likely_ns for each in seen if each.reason.cpu == cpu), default=0)
    return likely_ns if likely_ns > _ALL_ALONG * repetition.length_ns else 0


def waited_ns_of(repetition: Repetition) -> int | None:
    """Return how long the command waited for a CPU, or None if its own threads may have had the CPU meanwhile."""
    return repetition.use.waited_ns if repetition.use.ran_alone else None


def waited_for_none_ns(repetition: Repetition) -> int:
    """Return how much longer a thread waited for a CPU than all others can have had one; 0 if unknown.

    Threads other than the first are known by looks, the last of which may be long before the end.
    """
    books = repetition.books
    if books.tasks_ns is None or not books.is_exact:
        return 0
    most_ns = books.tasks_ns + books.doubt_ns + _LATE_NS * len(repetition.target)
    waits = [*repetition.thread_waits, (repetition.use.cpu_ns, waited_ns_of(repetition) or 0)]
    return max([0, *(waited_ns - (most_ns - ran_ns) for ran_ns, waited_ns in waits if ran_ns <= most_ns)])


def _seen(repetition: Repetition) -> list[Sighting]:
    books = repetition.books
    seen = foreign_threads(repetition, repetition.target, ReasonKind.FOREIGN)
    late = {cpu for cpu in repetition.target if late_ns(repetition, cpu, seen)}
    if books.is_exact and books.foreign_ns is not None:
        seen = within_books(seen, books.foreign_ns + books.doubt_ns)
    return [
        replace(each, certain_ns=max(each.certain_ns, each.likely_ns)) if each.reason.cpu in late else each
        for each in seen
    ]


def _least_foreign_ns(repetition: Repetition) -> int:
    """Return the least foreign time by the books: less their error, and less that of others just before and after."""
    books = repetition.books
    return max((books.foreign_ns or 0) - books.doubt_ns - _slack_ns(repetition), 0)


def _slack_ns(repetition: Repetition) -> int:
    return repetition.slack_ns * len(repetition.target)


def _why_unknown(repetition: Repetition, allowed_ns: float, known_ns: int) -> str | None:
    """Return why the foreign time is unknown, or None. A single-threaded command's waiting time settles the books."""
    books = repetition.books
    if books.foreign_ns is None:
        return books.reason
    elsewhere_ns = time_elsewhere_ns(repetition)
    if elsewhere_ns > allowed_ns:
        return _WAS_ELSEWHERE.format(describe_ns(elsewhere_ns))
    if repetition.allowed is None:
        return _NO_AFFINITY
    if not repetition.allowed <= repetition.target:  # its time on other CPUs would hide as much foreign time here
        return _MAY_HAVE_LEFT.format(name_cpus(repetition.allowed))
    if not books.is_exact:
        return _TOO_COARSE
    if waited_ns_of(repetition) is not None or books.foreign_ns - known_ns <= allowed_ns:
        return None
    doubt_ns = books.doubt_ns + _slack_ns(repetition)
    return _UNSETTLED.format(describe_ns(books.foreign_ns), describe_ns(doubt_ns))


def _anonymous(repetition: Repetition, name: str, ns: int) -> RunReason:
    on = f" ({name_cpus(repetition.target)})" if len(repetition.target) > 1 else ""
    return RunReason(
        kind=ReasonKind.FOREIGN,
        name=name + on,
        noise=Kind.UNATTRIBUTED,
        cpu=min(repetition.target) if len(repetition.target) == 1 else None,
        ns=ns,
        share=repetition.share_of(ns),
    )
