"""Extracts a part of a repetition, between two looks, as a separate repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.model.interval.interval import interval_between
from noisewatch.model.run.books import Books, balance
from noisewatch.model.run.repetition import CommandUse, Repetition
from noisewatch.units import describe_ns

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.tasks.task import Task

_ROUNDED_NS = 2 * TICK_NS  # ended children's user time and system time are both in ticks
NOT_OF_PARTS = "a part of a repetition is judged by the counters"
_NOT_READ = "the command's own CPU time is unknown: not all threads were read"
_NOT_WAITED_FOR = "the command's own CPU time is unknown: a process with {} of CPU time has ended"


def part_of(repetition: Repetition, began_ns: int, end_ns: int) -> Repetition | None:
    """Return the part from `began_ns` to `end_ns`, or None if there are no looks before and after it."""
    windows = [
        window
        for window in repetition.windows
        if window.before.taken_at_ns < end_ns and window.after.taken_at_ns > began_ns
    ]
    if not windows or windows[0].before.taken_at_ns > began_ns or windows[-1].after.taken_at_ns < end_ns:
        return None
    before, after = windows[0].before, windows[-1].after
    return replace(
        repetition,
        began_ns=began_ns,
        ended_ns=end_ns,
        began_wall_ns=repetition.began_wall_ns + began_ns - repetition.began_ns,
        use=_part_of_use(repetition.use, (end_ns - began_ns) / max(repetition.length_ns, 1)),
        span=windows[0] if len(windows) == 1 else interval_between(before, after),
        books=books_between(before, after, repetition.target, repetition.earlier_pids),
        windows=tuple(windows),
        trace=NOT_OF_PARTS,
    )


def books_between(before: Snapshot, after: Snapshot, cpus: CpuSet, earlier_pids: frozenset[int] = frozenset()) -> Books:
    """Return the books of a command that was running at both snapshots, from its threads' time in them.

    The time of processes that ended in between is known only in ticks. This uncertainty is added to foreign time.
    """
    threads, then = _own_tasks(after, earlier_pids), _own_tasks(before, earlier_pids)
    if threads is None or then is None:
        return Books(0, None, None, 0, False, _NOT_READ)
    grown_ns = _children_ns(after) - _children_ns(before)
    lost_ns = sum(task.ran_ns for tid, task in then.items() if tid not in threads)
    if lost_ns > grown_ns + _ROUNDED_NS:
        return Books(0, None, None, 0, False, _NOT_WAITED_FOR.format(describe_ns(lost_ns)))
    own_ns = sum(task.ran_ns for task in threads.values()) - sum(task.ran_ns for task in then.values()) + grown_ns
    rounded_ns = _ROUNDED_NS if grown_ns or lost_ns else 0
    books = balance(before, after, cpus, max(own_ns, 0), rounded_ns)
    if books.foreign_ns is None:
        return books
    return replace(books, foreign_ns=books.foreign_ns + rounded_ns, doubt_ns=books.doubt_ns + rounded_ns)


def _part_of_use(use: CommandUse, share: float) -> CommandUse:
    """Return the part's use: reads, writes and minor faults in proportion to time; the wait for CPUs is unknown."""
    return replace(
        use,
        waited_ns=None,
        ran_alone=False,
        minor_faults=round(use.minor_faults * share),
        blocks_in=round(use.blocks_in * share),
        blocks_out=round(use.blocks_out * share),
    )


def _own_tasks(snapshot: Snapshot, earlier_pids: frozenset[int]) -> dict[int, Task] | None:
    """Return the command's threads, without processes left running by earlier repetitions; None if any is missing."""
    if snapshot.tasks is None or not snapshot.tasks.is_complete:
        return None
    watchers = _watchers(snapshot)
    others = descendants_in(parents_in(snapshot.tasks), earlier_pids) | watchers
    return {
        tid: task
        for tid, task in snapshot.tasks.by_tid.items()
        if task.pid in snapshot.own_pids and task.pid not in others
    }


def _children_ns(snapshot: Snapshot) -> int:
    """Return the CPU time (ns) of all children for which noisewatch or the command has waited."""
    tasks = snapshot.tasks.by_tid if snapshot.tasks is not None else {}
    return sum(tasks[pid].children_ns for pid in snapshot.own_pids if pid in tasks)


def _watchers(snapshot: Snapshot) -> frozenset[int]:
    """Return noisewatch's own processes, from which the command descends."""
    tasks = snapshot.tasks.by_tid if snapshot.tasks is not None else {}
    own = snapshot.own_pids
    return frozenset(pid for pid in own if pid in tasks and tasks[pid].parent_pid not in own)
