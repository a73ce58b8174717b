"""Which threads ran where during an interval, for how long, and what time no thread accounts for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import ne
from typing import TYPE_CHECKING

from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.tasks.task import Task, Tasks
    from noisewatch.model.interval.cpu_load import CpuLoad

# /proc/stat counts in steps of 10 ms at both ends, and most kernels charge whoever runs when the tick comes: on an idle
# CPU its rest was seen to stray by 20 ms in 3 s.
DOUBT_NS = 30_000_000
_SHARE_OF_DOUBT = 0.01
_MOSTLY = 0.9
_EXACT_SHARE_OF_DOUBT = 0.002  # the snapshot itself takes some milliseconds, file after file


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The time that one thread (or the ended children, or the ended threads, of a process) had on one CPU."""

    cpu: int
    tid: int
    pid: int
    name: str
    is_kernel: bool
    is_bound: bool
    is_own: bool
    ran_ns: int
    allowed: CpuSet | None
    are_children: bool = False
    are_ended_threads: bool = False
    are_unread_threads: bool = False  # they may not have ended: the process has more threads than were read
    is_inferred: bool = False  # it moved, or may have: some of this time it may have had on another CPU
    is_command: bool = False  # what `noisewatch run` measures, on the CPUs that it is to run on


@dataclass(frozen=True, slots=True)
class _Wanderer:
    """A thread that had its time on several CPUs: it was `seen` on those, and may have been on the others `beyond`."""

    run: TaskRun
    seen: CpuSet
    beyond: CpuSet


def own_loops(
    lost_share_by_cpu: Mapping[int, float], load_by_cpu: Mapping[int, CpuLoad], interval_ns: int
) -> list[TaskRun]:
    """Our own loops, which have ended: each had all that tasks had of its CPU, less the noise that it measured."""
    known = {cpu: share for cpu, share in lost_share_by_cpu.items() if cpu in load_by_cpu}
    had_ns = {cpu: load_by_cpu[cpu].ran_ns - round(share * interval_ns) for cpu, share in known.items()}
    return [
        TaskRun(
            *(cpu, 0, 0, "noisewatch"),
            is_kernel=False,
            is_bound=False,
            is_own=True,
            ran_ns=ns,
            allowed=None,
            are_children=True,
        )
        for cpu, ns in had_ns.items()
        if ns > 0
    ]


def run_tasks(
    looks: Sequence[Tasks],
    own_pids: frozenset[int],
    load_by_cpu: Mapping[int, CpuLoad],
    known_runs: Sequence[TaskRun] = (),
) -> list[TaskRun]:
    """The runs between the first look and the last, beside those that are known.

    Time is only counted for threads whose time was known at both ends, or that were born in between. One that has
    ended had what it had when it was seen last.
    """
    before, by_tids = looks[0], [tasks.by_tid for tasks in looks]
    settled: list[TaskRun] = []
    wanderers: list[_Wanderer] = []
    for task in _read_anew(looks):
        known = before.by_tid.get(task.tid)
        if known is not None and known.started_ticks != task.started_ticks:
            known = None
        if known is None and not is_newborn(task, before):
            continue
        ran_ns = task.ran_ns - (known.ran_ns if known is not None else 0)
        if ran_ns <= 0:
            continue
        moves = _moves(task, known)
        run = run_of(task, ran_ns, own_pids, has_stayed=moves == 0)
        path = _path(task, by_tids)
        seen = frozenset(path)
        unseen_moves = moves is not None and moves > 0 and moves > sum(map(ne, path, path[1:]))
        beyond = (task.allowed or frozenset()) - seen if unseen_moves and not run.is_own else frozenset()
        if seen | beyond == {task.cpu}:
            settled.append(run)
        else:
            wanderers.append(_Wanderer(run, seen, beyond))
    shared = _shared_out(wanderers, [*known_runs, *settled], load_by_cpu)
    return _within_load(settled + shared, known_runs, load_by_cpu)


def _read_anew(looks: Sequence[Tasks]) -> list[Task]:
    """As they were seen last; less those that have not run since the first look, of which nothing was read again."""
    seen_last: dict[int, Task] = {}
    for tasks in looks[1:]:
        seen_last.update(tasks.by_tid)
    return [task for tid, task in seen_last.items() if looks[0].by_tid.get(tid) is not task]


def _path(task: Task, looks: Iterable[Mapping[int, Task]]) -> list[int]:
    """The CPUs that it was seen on, look after look."""
    found = [by_tid.get(task.tid) for by_tid in looks]
    return [each.cpu for each in found if each is not None and each.started_ticks == task.started_ticks]


def _moves(task: Task, known: Task | None) -> int | None:
    """How often it has gone to another CPU since it was `known`, or born; None is unknown."""
    if task.migrations is None or (known is not None and known.migrations is None):
        return None
    return task.migrations - (known.migrations or 0 if known is not None else 0)


def is_newborn(task: Task, before: Tasks) -> bool:
    """Whether it was not there before, rather than not read."""
    return task.pid not in before.pids or task.pid in before.read_pids


def run_of(task: Task, ran_ns: int, own_pids: frozenset[int], has_stayed: bool = False) -> TaskRun:
    """The thread, with that time, on the CPU that it was seen on, which it may be known not to have left."""
    return TaskRun(
        cpu=task.cpu,
        tid=task.tid,
        pid=task.pid,
        name=task.name,
        is_kernel=task.is_kernel,
        is_bound=task.is_bound,
        is_own=task.pid in own_pids,
        ran_ns=ran_ns,
        allowed=task.allowed,
        is_inferred=not task.is_confined and not has_stayed,
    )


def explained_ns_by_cpu(runs: Iterable[TaskRun]) -> dict[int, int]:
    """What the runs add up to."""
    explained: dict[int, int] = defaultdict(int)
    for run in runs:
        explained[run.cpu] += run.ran_ns
    return explained


def _shared_out(
    wanderers: Sequence[_Wanderer], settled: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad]
) -> list[TaskRun]:
    """A thread that moved has its time on each CPU in proportion to what is yet unexplained there.

    On a CPU where it was not seen that has to be more than the counters may be off by.
    """
    rooms = rooms_beside(settled, load_by_cpu)
    runs = []
    for each in wanderers:
        shares = {cpu: rooms.get(cpu, 0) for cpu in each.seen | each.beyond}
        shares = {cpu: room for cpu, room in shares.items() if cpu in each.seen or room > DOUBT_NS}
        if not sum(shares.values()):
            shares = dict.fromkeys(each.seen, 1)
        runs += _divided(each.run, each.run.ran_ns, shares)
    return runs


def _divided(run: TaskRun, ran_ns: int, shares: Mapping[int, int]) -> list[TaskRun]:
    """So much of the run on each of the CPUs, in proportion to the shares."""
    whole, left_ns = sum(shares.values()), ran_ns
    found = []
    for cpu, share in sorted(shares.items(), key=lambda item: item[1]):
        part_ns = left_ns * share // whole if whole else 0
        whole, left_ns = whole - share, left_ns - part_ns  # the last one has what is left: nothing is lost by rounding
        if part_ns > 0:
            found.append(replace(run, cpu=cpu, ran_ns=part_ns, is_inferred=True))
    return found


def rooms_beside(runs: Iterable[TaskRun], load_by_cpu: Mapping[int, CpuLoad]) -> dict[int, int]:
    """What none of the runs explains on each CPU."""
    explained = explained_ns_by_cpu(runs)
    return {cpu: max(load.ran_ns - explained.get(cpu, 0), 0) for cpu, load in load_by_cpu.items()}


def _within_load(
    runs: Sequence[TaskRun], known_runs: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad]
) -> list[TaskRun]:
    """The runs, with the time that must have been had elsewhere on the CPUs that it may have been had on.

    A thread is known to be where it was seen last; where the runs of such threads exceed what their CPU did, and other
    CPUs did more than is explained, that is where it was.
    """
    explained = explained_ns_by_cpu([*known_runs, *runs])
    inferred = explained_ns_by_cpu(run for run in runs if run.is_inferred)
    rooms = rooms_beside([*known_runs, *runs], load_by_cpu)
    elsewhere_ns = sum(rooms.values())
    fitted: list[TaskRun] = []
    cut: list[tuple[TaskRun, int]] = []
    for run in runs:
        load = load_by_cpu.get(run.cpu)
        if load is None or not run.is_inferred:
            fitted.append(run)
            continue
        excess_ns = explained[run.cpu] - max(load.tasks_ns, load.exact_tasks_ns or 0)
        if excess_ns <= DOUBT_NS:  # what ticks do not see of short runs
            fitted.append(run)
            continue
        if elsewhere_ns < _MOSTLY * excess_ns - DOUBT_NS:
            excess_ns = elsewhere_ns
        ran_ns = round(run.ran_ns * max(1 - excess_ns / inferred[run.cpu], 0))
        fitted.append(replace(run, ran_ns=ran_ns))
        cut.append((run, run.ran_ns - ran_ns))
    return merged(each for each in [*fitted, *_elsewhere(cut, rooms)] if each.ran_ns)


def _elsewhere(cut: list[tuple[TaskRun, int]], rooms: dict[int, int]) -> list[TaskRun]:
    """What was cut, on the other CPUs that its thread is known to be allowed on, as far as there is room."""
    found = []
    for run, cut_ns in cut:
        allowed = run.allowed if run.allowed is not None and not run.is_own else frozenset()
        shares = {cpu: room for cpu in allowed if (room := rooms.get(cpu, 0)) > DOUBT_NS}
        for part in _divided(run, min(cut_ns, sum(shares.values())), shares):
            rooms[part.cpu] -= part.ran_ns
            found.append(part)
    return found


def merged(runs: Iterable[TaskRun]) -> list[TaskRun]:
    """One run for each thread, or crowd of those that ended, on each CPU."""
    together: dict[tuple[int, int, bool, bool], TaskRun] = {}
    for run in runs:
        key = run.cpu, run.tid, run.are_children, run.are_ended_threads
        known = together.get(key)
        together[key] = run if known is None else replace(known, ran_ns=known.ran_ns + run.ran_ns)
    return list(together.values())


def within_interval(
    runs: Sequence[TaskRun], load_by_cpu: Mapping[int, CpuLoad], length_ns: int, later_ns: int = 0
) -> list[TaskRun]:
    """The runs, cut where those of a CPU had more than the interval is long.

    `later_ns`: threads were looked at for so much longer than the CPUs were, and may have had that much after the
    interval. They keep as much as the CPU's own counters can hold, and never less than an even share.
    """
    had_by_cpu = explained_ns_by_cpu(runs)
    most_by_cpu = {
        cpu: _most_ns(had_ns, load_by_cpu.get(cpu), length_ns, later_ns) for cpu, had_ns in had_by_cpu.items()
    }
    return [_cut(run, had_by_cpu[run.cpu], most_by_cpu[run.cpu]) for run in runs]


def _cut(run: TaskRun, had_ns: int, most_ns: int) -> TaskRun:
    """Its part of the most that all of its CPU may have had."""
    if had_ns <= most_ns:
        return run
    ran_ns = run.ran_ns * most_ns // had_ns
    return replace(run, ran_ns=ran_ns, is_inferred=run.is_inferred or run.ran_ns - ran_ns > DOUBT_NS)


def _most_ns(had_ns: int, load: CpuLoad | None, length_ns: int, later_ns: int) -> int:
    """That the threads of a CPU can have had within the interval."""
    if load is None or later_ns <= 0:
        return length_ns
    even_ns = had_ns * length_ns // (length_ns + later_ns)
    return min(max(load.ran_ns + DOUBT_NS, even_ns), length_ns)


def unexplained_ns(there: Sequence[TaskRun], load: CpuLoad, interval_ns: int, skew_ns: int = 0) -> int:
    """Busy time of the CPU that no run there accounts for; 0 where it is within what the counters may be off by.

    The exact count settles the doubt where there is one, and tells of what runs between two ticks; but it comes late
    for tasks that do not leave the CPU, so that it is never far below the ticks. `skew_ns`: the tasks were looked at
    for so much less time than the CPU was, and those that run there seem to have run less; our own, which do the
    looking, by all of it.
    """
    if not there and load.ran_ns <= interval_ns * _EXACT_SHARE_OF_DOUBT:  # as mostly on a CPU that has nothing to do
        return 0
    explained_ns = sum(run.ran_ns for run in there)
    rest_ns = load.tasks_ns - explained_ns
    missed_ns = skew_ns if any(run.is_own for run in there) else round(skew_ns * min(explained_ns / interval_ns, 1))
    doubt_ns = max(DOUBT_NS, round(interval_ns * _SHARE_OF_DOUBT)) + missed_ns
    if load.exact_tasks_ns is not None:
        exact_rest_ns = load.exact_tasks_ns - load.interrupted_ns - explained_ns
        rest_ns = max(exact_rest_ns, rest_ns - 2 * doubt_ns)
        return rest_ns if rest_ns > interval_ns * _EXACT_SHARE_OF_DOUBT + missed_ns else 0
    return rest_ns if rest_ns > doubt_ns else 0
