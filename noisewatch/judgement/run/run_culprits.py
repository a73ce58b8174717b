"""The culprits of a series, ranked by the time that they took from its repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunReason
from noisewatch.kinds import THREADS, Kind
from noisewatch.patterns import regex
from noisewatch.records import dataclass

_Key = tuple[ReasonKind, Kind | None, str, int | None]
_OF_ANOTHER = regex(r"(?:children|ended threads) of ")  # named with the number of a process that may still run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCulprit:
    """One culprit over the whole series, on any CPUs. `numbers` are the repetitions that it disturbed.

    `ns` is all time known to be taken, None if none is known; `is_estimate` if one of its times is. `pids` are the
    processes of that name, the costliest first.
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
    """Return the culprits, the costliest first.

    Those without a known time follow, by how many repetitions they disturbed. Each entry of `judged` is a repetition's
    number with its verdict. A process whose threads have several names, or that has changed its own, is one culprit,
    with the name that took most; processes of one name are merged.
    """
    reasons = [(number, reason) for number, verdict in judged for reason in verdict.reasons]
    name_by_pid = _name_by_pid(reason for _, reason in reasons)
    found: dict[_Key, list[tuple[int, RunReason]]] = defaultdict(list)
    for number, reason in reasons:
        pid = _pid_of(reason)
        name = reason.name if pid is None else name_by_pid[pid]
        found[reason.kind, reason.noise, name, reason.irq].append((number, reason))
    culprits = [_culprit(key, each) for key, each in found.items()]
    return sorted(culprits, key=lambda each: (each.ns is None, -(each.ns or 0), -len(each.numbers), each.name))


def _pid_of(reason: RunReason) -> int | None:
    """Return the pid of a reason that is the process itself, else None.

    The sender of an interrupt is not, nor the parent of ended children.
    """
    return None if reason.noise not in THREADS or _OF_ANOTHER.match(reason.name) else reason.pid


def _name_by_pid(reasons: Iterable[RunReason]) -> Mapping[int, str]:
    """Return the name under which each process took most; of equal ones the newest."""
    ns_by_name: dict[int, dict[str, int]] = defaultdict(dict)
    for reason in reasons:
        pid = _pid_of(reason)
        if pid is not None:
            before_ns = ns_by_name[pid].pop(reason.name, 0)  # moves the name to the end
            ns_by_name[pid][reason.name] = before_ns + (reason.ns or 0)
    return {pid: max(reversed(names), key=lambda name: names[name]) for pid, names in ns_by_name.items()}


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
