"""The threads observed on CPUs during a repetition, with the time that they certainly had within it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import name_of_run
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.task_runs import TaskRun
from noisewatch.model.run.repetition import Repetition
from noisewatch.records import dataclass

LEFT_RUNNING = " (left running by an earlier repetition)"
_Key = tuple[int, str, int, Kind]


@dataclass(frozen=True, slots=True)
class Sighting:
    """One thread, or crowd of ended ones, on one CPU. Times are ns within the repetition.

    `certain_ns` is a lower bound, `likely_ns` the time if it ran evenly over the windows, `possible_ns` an upper bound.
    """

    reason: RunReason
    certain_ns: int
    likely_ns: int
    possible_ns: int


def foreign_threads(repetition: Repetition, cpus: CpuSet, kind: ReasonKind) -> list[Sighting]:
    """Return all threads that belong neither to the command nor to its children, noisewatch among them."""
    found: dict[_Key, list[tuple[Interval, TaskRun]]] = defaultdict(list)
    for window in repetition.windows:
        for run in _foreign_runs(repetition, window, cpus):
            found[run.cpu, name_of_run(run), run.pid, _kind(run)].append((window, run))
    return [_sighting(repetition, key, runs, kind) for key, runs in found.items()]


def time_elsewhere_ns(repetition: Repetition) -> int:
    """Return how long the command was observed on CPUs that are not target CPUs."""
    return sum(
        min(run.ran_ns, repetition.within(window))
        for window in repetition.windows
        for run in _runs(repetition, window)
        if run.is_own and not run.are_children and run.cpu not in repetition.target and run.pid not in _watchers(window)
    )


def within_books(sightings: Iterable[Sighting], most_ns: int) -> list[Sighting]:
    """Return the sightings with estimates cut so that all together fit in the books."""
    found = list(sightings)
    measured_ns = sum(each.certain_ns for each in found if not each.reason.is_estimate)
    estimated_ns = sum(each.certain_ns for each in found) - measured_ns
    left_ns = max(most_ns - measured_ns, 0)
    if estimated_ns <= left_ns:
        return found
    return [
        replace(each, certain_ns=each.certain_ns * left_ns // estimated_ns) if each.reason.is_estimate else each
        for each in found
    ]


def share_out(sightings: Iterable[Sighting], missing_ns: int) -> list[Sighting]:
    """Return the sightings with the missing time distributed among them, each within its `possible_ns`."""
    found = list(sightings)
    spare_ns = sum(each.possible_ns - each.certain_ns for each in found)
    given_ns = min(missing_ns, spare_ns)
    if given_ns <= 0:
        return found
    return [
        replace(each, certain_ns=each.certain_ns + given_ns * (each.possible_ns - each.certain_ns) // spare_ns)
        for each in found
    ]


def reasons_of(sightings: Iterable[Sighting], repetition: Repetition) -> list[RunReason]:
    """Return the sightings with a certain time as reasons, the longest first."""
    reasons = [
        replace(each.reason, ns=each.certain_ns, share=repetition.share_of(each.certain_ns))
        for each in sightings
        if each.certain_ns > 0
    ]
    return sorted(reasons, key=lambda reason: -(reason.ns or 0))


def _runs(repetition: Repetition, window: Interval) -> Iterator[TaskRun]:
    """Return the runs in the window; processes left running by earlier repetitions count as foreign."""
    tasks = window.after.tasks
    if not repetition.earlier_pids or tasks is None:
        return iter(window.runs)
    earlier = descendants_in(parents_in(tasks), repetition.earlier_pids)
    return (
        replace(run, is_own=False, name=f"{run.name}{LEFT_RUNNING}") if run.is_own and run.pid in earlier else run
        for run in window.runs
    )


def _foreign_runs(repetition: Repetition, window: Interval, cpus: CpuSet) -> Iterator[TaskRun]:
    """Yield the foreign runs on these CPUs. noisewatch itself is noise as well; its ended children were the command."""
    watchers = _watchers(window)
    part = _part_of_crowds(repetition, window)
    for run in _runs(repetition, window):
        if run.cpu not in cpus or (run.is_own and (run.pid not in watchers or run.are_children)):
            continue
        is_cut = _is_crowd(run) and run.cpu in repetition.target
        ran_ns = round(run.ran_ns * part) if is_cut else run.ran_ns
        if ran_ns > 0:
            yield replace(run, ran_ns=ran_ns)


def _is_crowd(run: TaskRun) -> bool:
    return run.are_children or run.are_ended_threads


def _part_of_crowds(repetition: Repetition, window: Interval) -> float:
    """Return the share of the time attributed to ended tasks that fits on the target CPUs.

    Ended tasks are attributed all unexplained time, and so also that of a command that has ended.
    """
    there = [run for run in _runs(repetition, window) if run.cpu in repetition.target]
    crowds_ns = sum(run.ran_ns for run in there if _is_crowd(run) and not run.is_own)
    others_ns = _ended_commands_ns(window) + sum(run.ran_ns for run in there if not _is_crowd(run))
    loads = [window.load_by_cpu.get(cpu) for cpu in repetition.target]
    if not crowds_ns or None in loads:
        return 1.0
    ran_ns = sum(load.ran_ns for load in loads if load is not None)
    return min(max((ran_ns - others_ns) / crowds_ns, 0.0), 1.0)


def _ended_commands_ns(window: Interval) -> int:
    """Return the time of the commands that noisewatch has reaped in the window."""
    before, after = window.before.tasks, window.after.tasks
    if before is None or after is None:
        return 0
    pairs = [(before.by_tid.get(pid), after.by_tid[pid]) for pid in _watchers(window)]
    return sum(last.children_ns - first.children_ns for first, last in pairs if first is not None)


def _watchers(window: Interval) -> frozenset[int]:
    """Return the pids of noisewatch itself; the command is one of its descendants."""
    own = window.after.own_pids
    tasks = window.after.tasks
    if tasks is None:
        return frozenset()
    known = {pid: tasks.by_tid[pid] for pid in own if pid in tasks.by_tid}
    return frozenset(pid for pid, task in known.items() if task.parent_pid not in own)


def _kind(run: TaskRun) -> Kind:
    return Kind.KERNEL_THREAD if run.is_kernel else Kind.THREAD


def _sighting(
    repetition: Repetition, key: _Key, runs: Sequence[tuple[Interval, TaskRun]], kind: ReasonKind
) -> Sighting:
    cpu, name, pid, noise = key
    first, last = runs[0][0], runs[-1][0]
    is_estimate = any(run.is_inferred or repetition.outside(window) for window, run in runs)
    return Sighting(
        RunReason(
            kind=kind,
            name=name,
            noise=noise,
            cpu=cpu,
            pid=pid,
            begin_ns=max(first.before.taken_at_ns - repetition.began_ns, 0),
            end_ns=min(last.after.taken_at_ns, repetition.ended_ns) - repetition.began_ns,
            is_estimate=is_estimate,
        ),
        certain_ns=sum(_certain_ns(repetition, window, run) for window, run in runs),
        likely_ns=sum(run.ran_ns * repetition.within(window) // max(window.length_ns, 1) for window, run in runs),
        possible_ns=sum(min(run.ran_ns, repetition.within(window)) for window, run in runs),
    )


def _certain_ns(repetition: Repetition, window: Interval, run: TaskRun) -> int:
    """Return the time (ns) that the thread cannot have had before or after the repetition."""
    return min(max(run.ran_ns - repetition.outside(window), 0), repetition.within(window))
