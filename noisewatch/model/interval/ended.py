"""Who had the time of those that came and went unseen: their parent, or their process, has it in its own books.

The kernel adds the time of a child that ended to the parent that waited for it, and that of a thread to its process.
How long they ran is known by that; where, mostly is not: no CPU is given more of it than nobody else explains there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.model.interval.task_runs import (
    DOUBT_NS,
    TaskRun,
    explained_ns_by_cpu,
    is_newborn,
    merged,
    rooms_beside,
    run_of,
)
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.tasks.task import Task, Tasks
    from noisewatch.model.interval.cpu_load import CpuLoad


_Firsts = Sequence["tuple[Task, Task | None]"]
_PROCESS_DOUBT_NS = 2 * TICK_NS  # user and system time of a process are told in whole ticks each


@dataclass(slots=True)
class _Claim:
    """Time to be placed: a run without a CPU. `cpus` are where its kind was seen, the likeliest first; `reach` is where
    it may have been, as far as is known."""

    run: TaskRun
    cpus: tuple[int, ...]
    reach: CpuSet
    is_certain: bool  # all of it was had within the interval

    @property
    def is_pinned(self) -> bool:
        """Whether it must have been had on the one CPU: what is started inherits the affinity."""
        return len(self.reach) == 1 and not self.run.is_own


def ended_runs(
    looks: Sequence[Tasks],
    own_pids: frozenset[int],
    runs: Sequence[TaskRun],
    load_by_cpu: Mapping[int, CpuLoad],
    length_ns: int,
    cpus_by_watcher: Mapping[int, CpuSet] | None = None,
) -> list[TaskRun]:
    """The runs of ended children and ended threads, beside the `runs` of those that were seen.

    Those that may have been on the fewest CPUs come first: the others find room elsewhere. Children of a process in
    `cpus_by_watcher` were all started on those CPUs, and are not ours even where it is.
    """
    firsts = _first_threads(looks[0], looks[-1])
    claims = [*_children(looks, firsts, own_pids, cpus_by_watcher or {}), *_threads(looks, firsts, own_pids)]
    if not claims:
        return []
    if any(run.is_own and run.are_children for run in runs):  # what our own children had is known
        claims = [claim for claim in claims if not claim.run.is_own]
    claims.sort(key=lambda claim: len(claim.reach) or len(load_by_cpu))
    rooms = rooms_beside(runs, load_by_cpu)
    found = [run for claim in claims for run in _placed(claim, claim.cpus, rooms)]
    own_ns = sum(claim.run.ran_ns for claim in claims if claim.run.is_own)
    for claim in claims if own_ns <= DOUBT_NS else ():  # else what is missing is our own, as after a calibration
        if claim.is_certain:
            found += _spread(claim, claim.reach, rooms)
    for claim in claims if own_ns <= DOUBT_NS else ():
        if claim.is_certain and claim.run.ran_ns > DOUBT_NS and _hides_nothing(claim.reach, load_by_cpu):
            found += _spread(claim, load_by_cpu, rooms)
    hidden_ns = sum(claim.run.ran_ns for claim in claims if claim.is_certain) - sum(rooms.values())
    explained = explained_ns_by_cpu([*runs, *found])
    return merged([*found, *_hidden(claims, hidden_ns, explained, load_by_cpu, length_ns)])


def _hides_nothing(cpus: CpuSet, load_by_cpu: Mapping[int, CpuLoad]) -> bool:
    """Whether all time of the CPUs is counted to the nanosecond: what found no room there was had elsewhere."""
    return bool(cpus) and all(cpu in load_by_cpu and load_by_cpu[cpu].exact_tasks_ns is not None for cpu in cpus)


def _placed(claim: _Claim, cpus: Iterable[int], rooms: dict[int, int]) -> list[TaskRun]:
    """As much of the claim as there is room for on each of the CPUs in turn."""
    placed = []
    for cpu in cpus:
        ran_ns = min(claim.run.ran_ns, rooms.get(cpu, 0))
        if ran_ns > 0:
            rooms[cpu] -= ran_ns
            placed.append(replace(claim.run, cpu=cpu, ran_ns=ran_ns))
            claim.run = replace(claim.run, ran_ns=claim.run.ran_ns - ran_ns)
    return placed


def _spread(claim: _Claim, cpus: Iterable[int], rooms: dict[int, int]) -> list[TaskRun]:
    """The rest of it, by how much is missing on each of the CPUs where more is than the counters may be off by."""
    open_rooms = {cpu: rooms[cpu] for cpu in cpus if rooms.get(cpu, 0) > DOUBT_NS}
    all_ns = sum(open_rooms.values())
    rest_ns = min(claim.run.ran_ns, all_ns)
    placed = []
    for cpu, room in open_rooms.items():
        ran_ns = rest_ns * room // all_ns
        if ran_ns > 0:
            rooms[cpu] -= ran_ns
            placed.append(replace(claim.run, cpu=cpu, ran_ns=ran_ns))
    claim.run = replace(claim.run, ran_ns=claim.run.ran_ns - sum(run.ran_ns for run in placed))
    return placed


def _hidden(
    claims: Sequence[_Claim],
    hidden_ns: int,
    explained: Mapping[int, int],
    load_by_cpu: Mapping[int, CpuLoad],
    length_ns: int,
) -> list[TaskRun]:
    """What is pinned to a CPU whose ticks show too little of it, where nothing counts to the nanosecond.

    `hidden_ns`: so much was had that no CPU's ticks can hold. What they could hold somewhere is left to them.
    """
    found = []
    for claim in claims:
        load = load_by_cpu.get(claim.cpus[0])
        if not (claim.is_certain and claim.is_pinned) or load is None or load.exact_tasks_ns is not None:
            continue
        free_ns = length_ns - max(load.busy_ns, explained.get(claim.cpus[0], 0))
        ran_ns = min(claim.run.ran_ns, hidden_ns, free_ns)
        if ran_ns > DOUBT_NS:
            hidden_ns -= ran_ns
            found.append(replace(claim.run, cpu=claim.cpus[0], ran_ns=ran_ns))
    return found


def _children(
    looks: Sequence[Tasks], firsts: _Firsts, own_pids: frozenset[int], cpus_by_watcher: Mapping[int, CpuSet]
) -> list[_Claim]:
    """Children that came and went, less what they had when they were seen last.

    A child that nobody had looked at before may bring the time of hours.
    """
    before = looks[0]
    waited = [(task, known) for task, known in firsts if known is not None and task.children_ns > known.children_ns]
    if not waited:
        return []
    ended_ns = _seen_of_ended(looks)
    kin = _kin(looks)
    claims = []
    for task, known in waited:
        spent_ns = task.children_ns - known.children_ns - ended_ns[task.pid]
        if spent_ns > 0:
            run = replace(run_of(task, spent_ns, own_pids), are_children=True, is_inferred=True)
            named = replace(run, name=task.name if task.name == known.name else f"{known.name}, now {task.name}")
            moved = [child for child in kin[task.pid] if child.allowed not in (None, task.allowed)]
            cpus = dict.fromkeys([*(child.cpu for child in moved), task.cpu])
            reach = frozenset[int]().union(task.allowed or (), *(child.allowed or () for child in moved))
            if task.pid in cpus_by_watcher:
                named = replace(named, is_own=False)
            if cpus_by_watcher.get(task.pid):  # none are its command's alone where another one is watched on them
                reach = cpus_by_watcher[task.pid]
                cpus = dict.fromkeys([*(child.cpu for child in moved if child.cpu in reach), *sorted(reach)])
            claims.append(_Claim(named, tuple(cpus), reach, before.is_complete))
    return claims


def _kin(looks: Sequence[Tasks]) -> Mapping[int, list[Task]]:
    """By process that goes on: those that came or went, of all that it has started and that those have."""
    lasting = looks[0].pids & looks[-1].pids
    passing = {pid: tasks.by_tid[pid] for tasks in looks for pid in tasks.pids - lasting if pid in tasks.by_tid}
    tasks_by_pid: dict[int, list[Task]] = defaultdict(list)
    for task in passing.values():
        tasks_by_pid[_heir(task, passing)].append(task)
    return tasks_by_pid


def _heir(task: Task, passing: Mapping[int, Task]) -> int:
    """The nearest process above it that is not one of them: it is told their times, one after the other."""
    heir = task.parent_pid
    for _ in passing:
        if heir not in passing:
            break
        heir = passing[heir].parent_pid
    return heir


def _seen_of_ended(looks: Sequence[Tasks]) -> Mapping[int, int]:
    """By process that goes on: what its ended children, and theirs, had when they were seen last."""
    after = looks[-1]
    ended: dict[int, list[Task]] = defaultdict(list)
    fewer = [tasks.by_tid for tasks in looks if not tasks.pids <= after.pids]
    gone = ((tid, task) for by_tid in fewer for tid, task in by_tid.items() if task.pid not in after.pids)
    for task in dict(gone).values():
        ended[task.pid].append(task)
    had_ns: dict[int, int] = defaultdict(int)
    firsts = {pid: threads[0] for pid, threads in ended.items()}
    for threads in ended.values():
        heir = _heir(threads[0], firsts)
        process_ns = max((thread.process_ns or 0 for thread in threads), default=0)
        had_ns[heir] += max(process_ns, sum(thread.ran_ns for thread in threads))
        had_ns[heir] += sum(thread.children_ns for thread in threads)
    return had_ns


def _threads(looks: Sequence[Tasks], firsts: _Firsts, own_pids: frozenset[int]) -> list[_Claim]:
    """Threads that came and went while their process goes on, or were not read: what it had, and none of those seen."""
    before = looks[0]
    spent_ns = {
        task.pid: task.process_ns - (known.process_ns or 0 if known is not None else 0)
        for task, known in firsts
        if task.process_ns is not None and (known is None or known.process_ns is not None)
        if task.waited_ns is not None  # else the threads' own times are in ticks, too
    }
    spent_ns = {pid: ns for pid, ns in spent_ns.items() if ns > _PROCESS_DOUBT_NS}
    seen = ((tid, task) for tasks in looks[1:] for tid, task in tasks.by_tid.items() if task.pid in spent_ns)
    for task in dict(seen if spent_ns else ()).values():
        earlier = before.by_tid.get(task.tid)
        is_same = earlier is not None and earlier.started_ticks == task.started_ticks
        if is_same or is_newborn(task, before):
            spent_ns[task.pid] -= task.ran_ns - (earlier.ran_ns if earlier is not None and is_same else 0)
    claims = []
    for pid, ns in spent_ns.items():
        if ns > _PROCESS_DOUBT_NS:
            task = looks[-1].by_tid[pid]
            are_unread = pid not in before.read_pids & looks[-1].read_pids and pid in before.pids
            run = replace(
                run_of(task, ns, own_pids), are_ended_threads=True, are_unread_threads=are_unread, is_inferred=True
            )
            claims.append(_Claim(run, (task.cpu, *_where(looks, task)), task.allowed or frozenset(), is_certain=True))
    return claims


def _where(looks: Sequence[Tasks], first: Task) -> tuple[int, ...]:
    """The other CPUs that threads of the process were seen on."""
    cpus: CpuSet = frozenset(task.cpu for tasks in looks for task in tasks.by_tid.values() if task.pid == first.pid)
    return tuple(sorted(cpus - {first.cpu}))


def _first_threads(before: Tasks, after: Tasks) -> _Firsts:
    """The first thread of each process that is known now, and as it was before; None where it is younger."""
    known_of = before.by_tid.get
    found: list[tuple[Task, Task | None]] = []
    for tid, task in after.by_tid.items():
        known = known_of(tid)
        if known is task or tid != task.pid:  # of one that has not run since, nothing was read anew
            continue
        if known is not None and known.started_ticks != task.started_ticks:
            known = None
        if known is not None or is_newborn(task, before):
            found.append((task, known))
    return found
