"""The culprits of a series, ranked by the time that they took from its repetitions, and remedies with commands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.checks.cpus.isolation import INIT
from noisewatch.judgement.fixes.actions import Move, MoveProcesses
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.remedies import Remedy, common_remedy, keep_away, to_housekeeping
from noisewatch.judgement.run.foreign_time import LEFT_RUNNING
from noisewatch.judgement.run.reasons import ReasonKind, RepetitionVerdict, RunReason, left_target_advice
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.patterns import regex

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity

_Key = tuple[ReasonKind, Kind | None, str, int | None]
_OF_ANOTHER = regex(r"(?:children|ended threads) of ")  # such culprits have the pid of a process that may still run


class RunCulprit(Struct, frozen=True, kw_only=True):
    """One culprit over the whole series, on any CPUs. `numbers` are the repetitions that it disturbed.

    `ns` is the sum of its known times, or None without any; `is_estimate` if one of them is an estimate. `pids` are the
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
    program: str | None = None  # as in RunReason, of the first of `pids`
    identity_by_pid: Mapping[int, ProcessIdentity] = {}  # of processes that were read, in the order of `pids`


def rank_culprits(judged: Iterable[tuple[int, RepetitionVerdict]]) -> list[RunCulprit]:
    """Return the culprits, the costliest first.

    Culprits without a known time follow, by how many repetitions they disturbed. Each entry of `judged` is a
    repetition's number with its verdict. A process whose threads have several names, or that has changed its name, is
    one culprit, with the costliest name; processes of one name are merged.
    """
    reasons = [(number, reason) for number, verdict in judged for reason in verdict.reasons]
    name_by_pid = _name_by_pid(reason for _, reason in reasons)
    reasons_by_key: dict[_Key, list[tuple[int, RunReason]]] = defaultdict(list)
    for number, reason in reasons:
        pid = _pid_of(reason)
        name = reason.name if pid is None else name_by_pid[pid]
        reasons_by_key[reason.kind, reason.noise, name, reason.irq].append((number, reason))
    culprits = [_culprit(key, numbered) for key, numbered in reasons_by_key.items()]
    return sorted(
        culprits, key=lambda culprit: (culprit.ns is None, -(culprit.ns or 0), -len(culprit.numbers), culprit.name)
    )


def _pid_of(reason: RunReason) -> int | None:
    """Return the pid if the reason is the process itself, not the sender of an interrupt or a parent; else None."""
    return None if reason.noise not in THREADS or _OF_ANOTHER.match(reason.name) else reason.pid


def _name_by_pid(reasons: Iterable[RunReason]) -> Mapping[int, str]:
    """Return the costliest name of each process; of equally costly names the newest."""
    ns_by_name: dict[int, dict[str, int]] = defaultdict(dict)
    for reason in reasons:
        pid = _pid_of(reason)
        if pid is not None:
            before_ns = ns_by_name[pid].pop(reason.name, 0)  # moves the name to the end
            ns_by_name[pid][reason.name] = before_ns + (reason.ns or 0)
    return {pid: max(reversed(names), key=lambda name: names[name]) for pid, names in ns_by_name.items()}


def _culprit(key: _Key, numbered: Sequence[tuple[int, RunReason]]) -> RunCulprit:
    kind, noise, name, irq = key
    times_ns = [reason.ns for _, reason in numbered if reason.ns is not None]
    ns_by_pid: dict[int, int] = {}
    for _, reason in numbered:
        if reason.pid is not None:
            ns_by_pid[reason.pid] = ns_by_pid.get(reason.pid, 0) + (reason.ns or 0)
    pids = tuple(sorted(ns_by_pid, key=lambda pid: (-ns_by_pid[pid], pid)))
    identities = {reason.pid: reason.identity for _, reason in numbered if reason.identity is not None}
    return RunCulprit(
        kind=kind,
        noise=noise,
        name=name,
        irq=irq,
        pids=pids,
        program=next(
            (reason.program for _, reason in numbered if reason.name == name and reason.pid in pids[:1]), None
        ),
        identity_by_pid={pid: identity for pid in pids if (identity := identities.get(pid)) is not None},
        cpus=frozenset().union(*(_cpus_of(reason) for _, reason in numbered)),
        ns=sum(times_ns) if times_ns else None,
        is_estimate=any(reason.is_estimate for _, reason in numbered),
        numbers=tuple(dict.fromkeys(number for number, _ in numbered)),
    )


def _cpus_of(reason: RunReason) -> CpuSet:
    return reason.cpus or (frozenset() if reason.cpu is None else frozenset({reason.cpu}))


_MAX_MOVED = 4  # the most processes that one command moves, because users should read it before they run it
_LEFT_RUNNING = (
    "The command left this process running: let the command wait for the processes that it starts, or end them."
)
_WORKER = "kworker/"  # kernel workers, which the kernel starts and ends as needed
_OF_EVENTS: Mapping[ReasonKind, str] = {
    ReasonKind.THROTTLED: "Cool the processor, or set a lower clock that the processor can sustain.",
    ReasonKind.SWAPPED: "Free memory before the series, or switch swap off.",
    ReasonKind.OFFLINE: "Keep the target CPUs online for the whole series.",
    ReasonKind.CLOCK_LOWERED: "Set a clock that the processor sustains under load (governor, turbo, power limits).",
    ReasonKind.CLOCK_STEPPED: (
        "Stop the program that sets the clock. A daemon that only slews the clock (chrony) is harmless."
    ),
    ReasonKind.SUSPENDED: "Keep the machine awake: systemd-inhibit --what=sleep noisewatch run …",
    ReasonKind.PAUSED: "Ask the owner of the host what pauses the virtual machine: snapshots, backups, live migration.",
    ReasonKind.STOPPED: "Let the series run in the foreground, without Ctrl-Z.",
    ReasonKind.FROZEN: "Do not freeze the command's control group during the series (cgroup.freeze, docker pause).",
    ReasonKind.DEBUGGED: "Do not attach a debugger or a tracer of system calls during the series.",
    ReasonKind.NODE_CHANGED: "Keep the command on one memory node (--cpus, or numactl).",
    ReasonKind.CORES_CHANGED: "Keep the command on one kind of core (--cpus).",
}


def remedy_of_run(culprit: RunCulprit, then: Tasks | None, case: Case) -> Remedy | None:
    """Return the remedy for a culprit, or None.

    `then` are the tasks at the end of a repetition that it disturbed. The case is from the end of the series. A process
    is moved only if it is the same process as then, because its pid may have been reused.
    """
    if culprit.kind == ReasonKind.LEFT_TARGET:
        return Remedy(f"The command sets its own affinity; {left_target_advice(culprit.cpus)}")
    if culprit.kind in _OF_EVENTS:
        return Remedy(_OF_EVENTS[culprit.kind])
    noise = Kind.QUOTA if culprit.kind == ReasonKind.QUOTA else culprit.noise
    if noise is None:
        return None
    if culprit.name.endswith(LEFT_RUNNING):
        return Remedy(_LEFT_RUNNING)
    if noise in THREADS and culprit.pids and case.snapshot.own_pids.issuperset(culprit.pids):
        return _own_remedy(case)
    looks = {pid: _living_threads(pid, then, case.snapshot.tasks) for pid in culprit.pids}
    living = {pid: threads for pid, threads in looks.items() if threads}
    if living and (noise in THREADS or noise == Kind.IPI):
        return _processes_remedy(culprit, noise, living, case)
    if noise not in THREADS or culprit.name.startswith(_WORKER):
        cpus = sorted(culprit.cpus or case.target)
        return common_remedy([_cpu_disturbance(culprit, noise, cpu) for cpu in cpus], case) if cpus else None
    return _next_time_remedy(culprit, case, any(threads is None for threads in looks.values()))


def _living_threads(pid: int, then: Tasks | None, now: Tasks | None) -> list[Task] | None:
    """Return the threads of the process, the main one first; empty if it has ended, None if unknown."""
    if now is None:
        return None
    first = now.by_tid.get(pid)
    if first is None:
        return None if pid in now.pids - now.read_pids else []
    record = then.by_tid.get(pid) if then is not None else None
    if record is None:
        return None
    if first.started_ticks != record.started_ticks:
        return []
    return [first, *(task for task in now.by_tid.values() if task.pid == pid and task.tid != pid)]


def _processes_remedy(culprit: RunCulprit, noise: Kind, living: Mapping[int, list[Task]], case: Case) -> Remedy:
    """Return the remedy that moves the costliest movable processes, at most `_MAX_MOVED`, in one command."""
    fixes = {pid: keep_away(case, pid) for pid, threads in living.items() if not all(task.is_bound for task in threads)}
    moves = {
        pid: action
        for pid, fix in fixes.items()
        for action in (fix.actions if fix is not None else ())
        if isinstance(action, Move)
    }
    first = next(iter(moves or living))
    remedy = common_remedy([_task_disturbance(culprit, noise, task) for task in living[first]], case)
    if len(moves) < 2 or remedy.fix is None:
        return remedy
    text = to_housekeeping(case, "them") if noise == Kind.THREAD else remedy.said
    left = len(moves) - _MAX_MOVED
    fixed = [_pinned_reason(threads) for pid, threads in living.items() if pid not in moves]
    text += f" {left} more of them still run{'s' * (left == 1)}: the command moves the costliest." if left > 0 else ""
    text += f" {len(fixed)} of them cannot be moved ({', '.join(dict.fromkeys(fixed))})." if fixed else ""
    return Remedy(text, Fix((MoveProcesses(tuple(moves.values())[:_MAX_MOVED]),), remedy.fix.lasting))


def _pinned_reason(threads: Sequence[Task]) -> str:
    """Return why `keep_away` moves none of the process's threads."""
    if all(task.is_bound for task in threads):
        return "bound by the kernel"
    if any(task.is_kernel for task in threads):
        return "of the kernel"
    if any(task.has_deadline for task in threads):
        return "scheduled by deadline"
    return "all other processes inherit the affinity" if threads[0].pid in INIT else "of noisewatch"


def _own_remedy(case: Case) -> Remedy:
    if not case.housekeeping:
        return Remedy("It is noisewatch itself, which needs a CPU: choose fewer target CPUs.")
    return Remedy(f"It is noisewatch itself, which keeps to {name_cpus(case.housekeeping)} once the series has begun.")


def _next_time_remedy(culprit: RunCulprit, case: Case, may_run: bool) -> Remedy:
    are_many = len(culprit.pids) > 1
    text = "They have ended." if are_many else "It has ended."
    if may_run:
        text = "They may have ended." if are_many else "It may have ended."
    if culprit.noise != Kind.THREAD:
        return Remedy(text)
    if not case.housekeeping:
        return Remedy(f"{text} No CPU is left for other work: choose fewer target CPUs.")
    them = "them" if are_many else "it"
    return Remedy(
        f"{text} Next time, start {them} elsewhere: taskset -c {cpu_list_argument(case.housekeeping)} COMMAND"
    )


def _cpu_disturbance(culprit: RunCulprit, noise: Kind, cpu: int) -> Disturbance:
    return Disturbance(
        noise,
        culprit.name,
        cpu,
        culprit.ns,
        share=None,
        rate_per_s=None,
        irq=culprit.irq,
        is_inferred=culprit.is_estimate,
    )


def _task_disturbance(culprit: RunCulprit, noise: Kind, task: Task) -> Disturbance:
    return Disturbance(
        noise, culprit.name, task.cpu, culprit.ns, share=None, rate_per_s=None, pid=task.pid, tid=task.tid
    )
