"""Which threads ran where during an interval, for how long, and what time no thread accounts for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from noisewatch.model.cpu_load import CpuLoad
from noisewatch.sources.cpulist import CpuSet
from noisewatch.sources.tasks import Task, Tasks

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
    is_inferred: bool = False  # it may have had some of this time on another CPU


def run_tasks(looks: Sequence[Tasks], own_pids: frozenset[int], load_by_cpu: Mapping[int, CpuLoad]) -> list[TaskRun]:
    """The runs between the first look and the last.

    Time is only counted for threads whose time was known at both ends, or that were born in between. One that has
    ended had what it had when it was seen last.
    """
    before, *later = looks
    seen_last = {tid: task for tasks in later for tid, task in tasks.by_tid.items()}
    settled: list[TaskRun] = []
    moved: list[tuple[TaskRun, int]] = []
    for tid, task in seen_last.items():
        known = before.by_tid.get(tid)
        if known is not None and known.started_ticks != task.started_ticks:
            known = None
        if known is None and not is_newborn(task, before):
            continue
        ran_ns = task.ran_ns - (known.ran_ns if known is not None else 0)
        if ran_ns <= 0:
            continue
        run = run_of(task, ran_ns, own_pids)
        if known is None or known.cpu == task.cpu:
            settled.append(run)
        else:
            moved.append((run, known.cpu))
    return _within_load(settled + _shared_out(moved, settled, load_by_cpu), load_by_cpu)


def is_newborn(task: Task, before: Tasks) -> bool:
    """Whether it was not there before, rather than not read."""
    return task.pid not in before.pids or task.pid in before.read_pids


def run_of(task: Task, ran_ns: int, own_pids: frozenset[int]) -> TaskRun:
    """The thread, with that time, on the CPU that it was seen on."""
    is_confined = task.allowed is not None and len(task.allowed) == 1
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
        is_inferred=not is_confined and not task.is_bound,
    )


def explained_ns_by_cpu(runs: Iterable[TaskRun]) -> dict[int, int]:
    """What the runs add up to."""
    explained: dict[int, int] = defaultdict(int)
    for run in runs:
        explained[run.cpu] += run.ran_ns
    return explained


def _shared_out(
    moved: list[tuple[TaskRun, int]], settled: list[TaskRun], load_by_cpu: Mapping[int, CpuLoad]
) -> list[TaskRun]:
    """A thread seen on two CPUs has its time on them in proportion to what is yet unexplained there."""
    explained = explained_ns_by_cpu(settled)
    runs = []
    for run, earlier_cpu in moved:
        rooms = [
            max(load_by_cpu[cpu].ran_ns - explained.get(cpu, 0), 0) if cpu in load_by_cpu else 0
            for cpu in (earlier_cpu, run.cpu)
        ]
        earlier_share = rooms[0] / sum(rooms) if sum(rooms) else 0.5
        earlier_ns = round(run.ran_ns * earlier_share)
        for cpu, ran_ns in ((earlier_cpu, earlier_ns), (run.cpu, run.ran_ns - earlier_ns)):
            if ran_ns > 0:
                runs.append(replace(run, cpu=cpu, ran_ns=ran_ns, is_inferred=True))
    return runs


def _within_load(runs: list[TaskRun], load_by_cpu: Mapping[int, CpuLoad]) -> list[TaskRun]:
    """The runs, less the time that must have been had elsewhere.

    A thread is known to be where it was seen last; where the runs of such threads exceed what their CPU did, and other
    CPUs did more than is explained, that is where it was.
    """
    explained = explained_ns_by_cpu(runs)
    inferred = explained_ns_by_cpu(run for run in runs if run.is_inferred)
    elsewhere_ns = sum(max(load.ran_ns - explained.get(cpu, 0), 0) for cpu, load in load_by_cpu.items())
    fitted = []
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
        fitted.append(replace(run, ran_ns=round(run.ran_ns * max(1 - excess_ns / inferred[run.cpu], 0))))
    return fitted


def unexplained_ns(there: Sequence[TaskRun], load: CpuLoad, interval_ns: int, skew_ns: int = 0) -> int:
    """Busy time of the CPU that no run there accounts for; 0 where it is within what the counters may be off by.

    The exact count settles the doubt where there is one, and tells of what runs between two ticks; but it comes late
    for tasks that do not leave the CPU, so that it is never far below the ticks. `skew_ns`: the tasks were looked at
    for so much less time than the CPU was, and those that run there seem to have run less; our own, which do the
    looking, by all of it.
    """
    explained_ns = sum(run.ran_ns for run in there)
    rest_ns = load.tasks_ns - explained_ns
    missed_ns = skew_ns if any(run.is_own for run in there) else round(skew_ns * min(explained_ns / interval_ns, 1))
    doubt_ns = max(DOUBT_NS, round(interval_ns * _SHARE_OF_DOUBT)) + missed_ns
    if load.exact_tasks_ns is not None:
        exact_rest_ns = load.exact_tasks_ns - load.interrupted_ns - explained_ns
        rest_ns = max(exact_rest_ns, rest_ns - 2 * doubt_ns)
        return rest_ns if rest_ns > interval_ns * _EXACT_SHARE_OF_DOUBT + missed_ns else 0
    return rest_ns if rest_ns > doubt_ns else 0
