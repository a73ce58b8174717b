"""Programs that are known for what they do to a machine, found by their name."""

from __future__ import annotations

from collections.abc import Set

from noisewatch.judgement.case import Case
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.tasks.threads import Task

_KERNELS_NAME = 15  # bytes: the kernel keeps no more of a name


def running(case: Case, names: Set[str]) -> list[Task]:
    """The processes that are called so, noisewatch's own left out; one task for each."""
    tasks = case.snapshot.tasks
    cut = {name[:_KERNELS_NAME] for name in names}
    found = [] if tasks is None else [task for task in tasks.by_tid.values() if task.tid == task.pid]
    return [
        task
        for task in found
        if (task.name in names or task.name[:_KERNELS_NAME] in cut)
        and not task.is_kernel
        and task.pid not in case.snapshot.own_pids
    ]


def why_unseen(case: Case) -> str | None:
    """Why a process that was not found may run all the same; None where all can be seen."""
    tasks = case.snapshot.tasks
    if tasks is None:
        return case.why_unknown("/proc/PID")
    if not any(task.is_kernel for task in tasks.by_tid.values()):
        if case.snapshot.platform.container in (None, NONE):
            return "no kernel thread can be seen, and so perhaps not all processes"
        return "only this container's processes can be seen"
    return case.snapshot.settings.why_processes_hidden if tasks.is_complete else "not all processes were looked at"


def ancestors(case: Case) -> set[int]:
    """The processes that started this one: the benchmark's script, as a rule, and whatever runs that."""
    tasks = case.snapshot.tasks.by_tid if case.snapshot.tasks is not None else {}
    found: set[int] = set()
    parents = {tasks[pid].parent_pid for pid in case.snapshot.own_pids if pid in tasks}
    while parents - found:
        found |= parents
        parents = {tasks[pid].parent_pid for pid in parents if pid in tasks}
    return found
