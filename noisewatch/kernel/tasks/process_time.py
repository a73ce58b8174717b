"""The CPU time of a whole process: of its threads, and of the children that it has waited for.

/proc/PID/task/TID/schedstat    in ns, of each living thread
/proc/PID/stat                  in ticks, exited threads included
"""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.tasks.files import parse_schedstat, read_schedstat, read_stat
from noisewatch.machine import Machine


def read_processes_ns(machine: Machine, pids: Iterable[int]) -> int:
    """Return the least CPU time of all processes together; a process that has ended meanwhile adds nothing."""
    return sum(_process_ns(machine, f"/proc/{pid}") for pid in pids)


def _process_ns(machine: Machine, folder: str) -> int:
    try:
        stat = read_stat(machine.read_bytes, folder)
        tids = [name for name in machine.list_names(f"{folder}/task") if is_count(name)]
    except (Unreadable, Malformed):
        return 0
    threads_ns = sum(_thread_ns(machine, f"{folder}/task/{tid}") for tid in tids)
    return max(threads_ns, stat.busy_ns - TICK_NS) + stat.children_ns


def _thread_ns(machine: Machine, folder: str) -> int:
    try:
        return parse_schedstat((read_schedstat(machine, folder) or b"").decode("ascii", "replace"))[0]
    except Malformed:
        return 0
