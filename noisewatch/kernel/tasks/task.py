"""The threads read at one moment, and their processes' parents, children and descendants.

    /proc/4711/task/4711/children   4712 4720        Linux 3.5, with CONFIG_PROC_CHILDREN

https://man7.org/linux/man-pages/man5/proc_tid_children.5.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import are_counts

if TYPE_CHECKING:
    from noisewatch.kernel.tasks.identity import ProcessIdentity

_WORKER_OF_ANY_CPU = "kworker/u"
_LONGEST_KERNEL_NAME = 15  # bytes: TASK_COMM_LEN less the NUL; longer names are cut


def may_be_cut(name: str) -> bool:
    """Return whether the kernel may have cut the name of a thread."""
    return len(name.encode(errors="replace")) >= _LONGEST_KERNEL_NAME


def is_cut_from(whole: str, name: str) -> bool:
    """Return whether the name of a thread is the part of the whole name that the kernel keeps."""
    return may_be_cut(name) and whole.startswith(name)


class Task(Struct, frozen=True):
    """One thread."""

    tid: int
    pid: int
    name: str
    is_kernel: bool
    is_bound: bool  # whether its affinity cannot be changed
    cpu: int  # the current or last CPU
    ran_ns: int
    waited_ns: int | None
    parent_pid: int
    children_ns: int  # main thread: CPU time of the process's reaped children; other threads: 0
    started_ticks: int  # since boot: detects a reused tid
    allowed: CpuSet | None = None  # None if not read, or unknown
    process_ns: int | None = None  # main thread: time of the whole process with ended threads, in steps of 10 ms
    has_deadline: bool = False  # SCHED_DEADLINE: the kernel refuses to pin it
    migrations: int | None = None  # moves between CPUs; None if not read, or unknown
    slices: int | None = None  # how often it was put on a CPU; None if unknown

    @property
    def is_confined(self) -> bool:
        """Whether the thread cannot run on another CPU."""
        return is_confined_by(self.allowed, self.is_bound, self.name)


def is_confined_by(allowed: CpuSet | None, is_bound: bool, name: str) -> bool:
    """Return whether a thread can only run on one CPU: by `allowed`, or if that is None, because it is bound to one."""
    if allowed is not None:
        return len(allowed) == 1
    return is_bound and not name.startswith(_WORKER_OF_ANY_CPU)


class Tasks(Struct, frozen=True):
    """The threads that were read. Of processes in `pids` but not in `read_pids`, not all threads were read."""

    by_tid: Mapping[int, Task]
    pids: frozenset[int]
    read_pids: frozenset[int]
    identities: Mapping[int, ProcessIdentity] = {}  # by PID, of processes that ran between the last readings

    @property
    def is_complete(self) -> bool:
        return self.read_pids >= self.pids


def parse_children(text: str) -> tuple[int, ...]:
    """Return the children's pids; empty for an empty file. Raise Malformed."""
    words = text.split()
    if words and not are_counts(words):
        raise Malformed("numbers of processes", text.strip())
    return tuple(map(int, words))


def parents_in(tasks: Tasks) -> Mapping[int, int]:
    """Return the parent of each process that was read, by pid."""
    return {task.pid: task.parent_pid for task in tasks.by_tid.values() if task.tid == task.pid}


def descendants_in(parent_by_pid: Mapping[int, int], roots: Iterable[int]) -> frozenset[int]:
    """Return the roots and all their descendants."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_by_pid.items():
        children.setdefault(parent, []).append(pid)
    descendants: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in descendants:
            descendants.add(pid)
            pending += children.get(pid, ())
    return frozenset(descendants)
