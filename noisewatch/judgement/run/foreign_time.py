"""Time that tasks of others had on the target CPUs, or on the other threads of their cores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.run.allowance import Allowance
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance, threads_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.books import ran_ns_of
from noisewatch.model.run.repetition import Repetition

_UNSEEN = "a task that no look at the threads has seen"
_WAITED = "another task: the command waited for its CPU"
_TOO_COARSE = "the kernel counts the time of CPUs in steps of 10 ms here: too coarse for a repetition this short"
_Key = tuple[int, str, int | None]


def foreign_reasons(repetition: Repetition, allowance: Allowance) -> list[RunReason]:
    """By CPU who ran there beside the command, and what nobody who was seen explains.

    The threads are known by looks, the sum by the books, and what a single-threaded command had to wait by itself.
    """
    allowed_ns = allowance.ns(repetition.length_ns)
    inner = _named(repetition, repetition.target, repetition.inner_windows())
    named_ns = sum(reason.ns or 0 for reason in inner)
    loud = _loud_cpus(inner, allowed_ns)
    reasons = [reason for reason in inner if reason.cpu in loud]
    excess_ns = _foreign_ns(repetition)
    if excess_ns - named_ns > allowed_ns:
        outer = [] if inner else _outer(repetition, excess_ns)
        reasons += outer or [_anonymous(repetition, _UNSEEN, excess_ns - named_ns)]
    waited_ns = _waited_ns(repetition)
    if waited_ns is not None and waited_ns > allowed_ns and not reasons:
        reasons = inner or _outer(repetition, waited_ns) or [_anonymous(repetition, _WAITED, waited_ns)]
    return reasons


def why_foreign_unknown(repetition: Repetition, allowance: Allowance) -> str | None:
    """Why nobody can say that no other task ran; None where that is known.

    A command of one thread knows by itself how long it has waited for a CPU.
    """
    books = repetition.books
    if _waited_ns(repetition) is not None:
        return None
    if books.foreign_ns is None:
        return books.reason
    is_coarse = not books.is_exact and books.doubt_ns > allowance.ns(repetition.length_ns)
    return _TOO_COARSE if is_coarse else None


def sibling_reasons(repetition: Repetition, siblings: CpuSet, allowance: Allowance) -> list[RunReason]:
    """Who was busy on the other hardware threads of the target's cores, for more than is allowed of either."""
    allowed_ns = allowance.ns(repetition.length_ns)
    ran = ran_ns_of(repetition.span.before, repetition.span.after, siblings)
    busy = {cpu: ns for cpu, ns in ran.items() if ns is not None and ns > allowed_ns}
    named = _named(repetition, frozenset(busy), repetition.inner_windows(), ReasonKind.SIBLING)
    named = [reason for reason in named if reason.cpu in _loud_cpus(named, allowed_ns)]
    known = {reason.cpu for reason in named}
    rest = [
        RunReason(
            kind=ReasonKind.SIBLING,
            name=_UNSEEN,
            cpu=cpu,
            ns=ns,
            share=_share(ns, repetition),
        )
        for cpu, ns in busy.items()
        if cpu not in known
    ]
    return named + rest


def _foreign_ns(repetition: Repetition) -> int:
    """By the books, less what they may be off by."""
    books = repetition.books
    return max((books.foreign_ns or 0) - books.doubt_ns, 0)


def _waited_ns(repetition: Repetition) -> int | None:
    """How long the command waited for a CPU, where nobody but others can have had that meanwhile."""
    return repetition.use.waited_ns if repetition.use.ran_alone else None


def _loud_cpus(reasons: Iterable[RunReason], allowed_ns: float) -> CpuSet:
    ns_by_cpu: Mapping[int | None, int] = _sums((reason.cpu, reason.ns or 0) for reason in reasons)
    return frozenset(cpu for cpu, ns in ns_by_cpu.items() if cpu is not None and ns > allowed_ns)


def _sums(pairs: Iterable[tuple[int | None, int]]) -> Mapping[int | None, int]:
    sums: dict[int | None, int] = defaultdict(int)
    for key, ns in pairs:
        sums[key] += ns
    return sums


def _named(
    repetition: Repetition, cpus: CpuSet, windows: Iterable[Interval], kind: ReasonKind = ReasonKind.FOREIGN
) -> list[RunReason]:
    """The threads seen on the CPUs, each with its time in all of the windows, the longest first."""
    found: dict[_Key, list[tuple[Interval, Disturbance]]] = defaultdict(list)
    for window in windows:
        for cpu in cpus:
            for each in threads_of(window, cpu):
                if each.kind in THREADS:
                    found[cpu, each.name, each.pid].append((window, each))
    reasons = [_reason(repetition, sightings, kind) for sightings in found.values()]
    return sorted(reasons, key=lambda reason: -(reason.ns or 0))


def _reason(repetition: Repetition, sightings: list[tuple[Interval, Disturbance]], kind: ReasonKind) -> RunReason:
    first, last = sightings[0][0], sightings[-1][0]
    culprit = sightings[0][1]
    ns = min(sum(each.stolen_ns or 0 for _, each in sightings), repetition.length_ns)
    return RunReason(
        kind=kind,
        name=culprit.name,
        noise=culprit.kind,
        cpu=culprit.cpu,
        pid=culprit.pid,
        ns=ns,
        share=_share(ns, repetition),
        begin_ns=max(first.before.taken_at_ns - repetition.began_ns, 0),
        end_ns=min(last.after.taken_at_ns, repetition.ended_ns) - repetition.began_ns,
        is_estimate=any(each.is_inferred for _, each in sightings),
    )


def _outer(repetition: Repetition, ns: int) -> list[RunReason]:
    """Of a window around many repetitions: those who ran in it, and may have in this one; no more than the `ns`."""
    named = _named(repetition, repetition.target, repetition.windows)
    whole_ns = sum(reason.ns or 0 for reason in named)
    return [
        RunReason(
            kind=reason.kind,
            name=reason.name,
            noise=reason.noise,
            cpu=reason.cpu,
            pid=reason.pid,
            ns=(part_ns := ns * (reason.ns or 0) // whole_ns),
            share=_share(part_ns, repetition),
            is_estimate=True,
        )
        for reason in named
        if whole_ns
    ]


def _anonymous(repetition: Repetition, name: str, ns: int) -> RunReason:
    on = f" ({name_cpus(repetition.target)})" if len(repetition.target) > 1 else ""
    cpu = min(repetition.target) if len(repetition.target) == 1 else None
    return RunReason(
        kind=ReasonKind.FOREIGN,
        name=name + on,
        noise=Kind.UNATTRIBUTED,
        cpu=cpu,
        ns=ns,
        share=_share(ns, repetition),
    )


def _share(ns: int, repetition: Repetition) -> float:
    return min(ns / max(repetition.length_ns, 1), 1.0)
