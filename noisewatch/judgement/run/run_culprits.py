"""Who disturbed a series, ranked by the time that they took from its repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunReason
from noisewatch.kinds import Kind
from noisewatch.records import dataclass

_Key = tuple[ReasonKind, Kind | None, str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCulprit:
    """One name over the whole series, on whichever CPUs. `numbers` are the repetitions that it disturbed.

    `ns` is all that is known to be taken, None where that is of none; `is_estimate` if it is of any of them. `pids` are
    those of processes of that name, of which the one that took most is the first.
    """

    kind: ReasonKind
    noise: Kind | None
    name: str
    irq: int | None
    pids: tuple[int, ...]
    cpus: CpuSet
    ns: int | None
    is_estimate: bool
    numbers: tuple[int, ...]


def rank_culprits(judged: Iterable[tuple[int, RepetitionVerdict]]) -> list[RunCulprit]:
    """The costliest first, then those of which no time is known, by how many repetitions they disturbed.

    Each entry is a repetition's number with its verdict.
    """
    found: dict[_Key, list[tuple[int, RunReason]]] = defaultdict(list)
    for number, verdict in judged:
        for reason in verdict.reasons:
            found[reason.kind, reason.noise, reason.name, reason.irq].append((number, reason))
    culprits = [_culprit(key, each) for key, each in found.items()]
    return sorted(culprits, key=lambda each: (each.ns is None, -(each.ns or 0), -len(each.numbers), each.name))


def _culprit(key: _Key, found: Sequence[tuple[int, RunReason]]) -> RunCulprit:
    kind, noise, name, irq = key
    times_ns = [reason.ns for _, reason in found if reason.ns is not None]
    ns_by_pid: dict[int, int] = {}
    for _, reason in found:
        if reason.pid is not None:
            ns_by_pid[reason.pid] = ns_by_pid.get(reason.pid, 0) + (reason.ns or 0)
    return RunCulprit(
        kind=kind,
        noise=noise,
        name=name,
        irq=irq,
        pids=tuple(sorted(ns_by_pid, key=lambda pid: (-ns_by_pid[pid], pid))),
        cpus=frozenset(reason.cpu for _, reason in found if reason.cpu is not None),
        ns=sum(times_ns) if times_ns else None,
        is_estimate=any(reason.is_estimate for _, reason in found),
        numbers=tuple(dict.fromkeys(number for number, _ in found)),
    )
