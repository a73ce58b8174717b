"""The children of a thread, and the descendants among all processes.

    /proc/4711/task/4711/children   4712 4720        Linux 3.5, with CONFIG_PROC_CHILDREN

https://man7.org/linux/man-pages/man5/proc_tid_children.5.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import are_counts
from noisewatch.kernel.tasks.task import Tasks


def parse_children(text: str) -> tuple[int, ...]:
    """Return the pids of the children; none in an empty file. Raise Malformed."""
    words = text.split()
    if words and not are_counts(words):
        raise Malformed("numbers of processes", text.strip())
    return tuple(map(int, words))


def parents_in(tasks: Tasks) -> Mapping[int, int]:
    """Return the parent of each process that was read."""
    return {task.pid: task.parent_pid for task in tasks.by_tid.values() if task.tid == task.pid}


def descendants_in(parent_by_pid: Mapping[int, int], roots: Iterable[int]) -> frozenset[int]:
    """Return the roots, and the processes below them."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_by_pid.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += children.get(pid, ())
    return frozenset(found)
