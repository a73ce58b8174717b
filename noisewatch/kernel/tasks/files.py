"""The files of one thread and of its process in /proc, and the CPU time of a whole process.

A thread's files are /proc/PID/task/TID/{stat,schedstat,status,sched}; its process also has /proc/PID/cmdline:

    stat       4711 (python3) R 1 … utime stime … processor …
    schedstat  177645329 16002335 366        ns on a CPU, ns waiting for a CPU, number of time slices
    status     Cpus_allowed_list:       0-1
    sched      se.nr_migrations  :  36       moves between CPUs; needs CONFIG_SCHED_DEBUG up to Linux 6.14

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, https://docs.kernel.org/scheduler/sched-stats.html. Without
schedstat (CONFIG_SCHED_INFO), time has a resolution of 10 ms (ticks).

The CPU time of a whole process is the sum of its threads' times and of the times of children that it has waited for:

    /proc/PID/task/TID/schedstat    in ns, of each living thread
    /proc/PID/stat                  in ticks, with exited threads; children separately
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from noisewatch.cpus import CpuSet, parse_nonempty_cpu_list
from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.numbers import are_counts, is_count, require_match
from noisewatch.machine import Machine
from noisewatch.patterns import regex
from noisewatch.text import clean

Read = Callable[[str], bytes]  # such as Machine.read_bytes
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD in linux/sched.h
_BOUND = 0x0400_0000  # PF_NO_SETAFFINITY
_SCHED_DEADLINE = 6  # in linux/sched.h
_LONGEST_COMMAND = 4096  # bytes; a path is never longer
_EXITED_STATES = ("Z", "X")  # a zombie; a thread that is just being removed
# These patterns begin with a line end, because a search for a pattern with a literal beginning is ten times faster.
_TRACER = regex(r"\nTracerPid:\t(\d{1,10})$", re.MULTILINE | re.ASCII)
_ALLOWED = regex(r"\nCpus_allowed_list:[ \t]*(\S*)$", re.MULTILINE)
_MIGRATIONS = regex(r"\nse\.nr_migrations[ \t]*:[ \t]*([0-9]{1,20})[ \t]*\n")


class ThreadStat(Struct, frozen=True):
    """The relevant fields of stat. In /proc/PID/stat, `busy_ns` is the time of the whole process."""

    pid: int
    parent_pid: int
    name: str
    flags: int
    busy_ns: int
    children_ns: int
    thread_count: int
    started_ticks: int
    cpu: int
    state: str = "R"
    policy: int | None = None  # None: not reported

    @property
    def has_exited(self) -> bool:
        """Whether the thread is a zombie whose process has no other thread left."""
        return self.state in _EXITED_STATES and self.thread_count <= 1

    @property
    def is_kernel(self) -> bool:
        return bool(self.flags & _KERNEL_THREAD)

    @property
    def is_bound(self) -> bool:
        """Whether the thread's affinity cannot be changed."""
        return bool(self.flags & _BOUND)

    @property
    def has_deadline(self) -> bool:
        """Whether the policy is SCHED_DEADLINE: the affinity must then include all CPUs that are scheduled together."""
        return self.policy == _SCHED_DEADLINE


def parse_stat(text: str) -> ThreadStat:
    """Return the relevant fields of stat. The name may contain blanks, brackets and line ends. Raise Malformed."""
    head, bracket, tail = text.rpartition(")")
    pid, opening, name = head.partition(" (")
    fields = tail.split()
    if not bracket or not opening or len(fields) < 37 or not is_count(pid):
        raise Malformed("`pid (name) state …`", text.strip())
    try:
        utime, stime, cutime, cstime = (int(field) for field in fields[11:15])
        return ThreadStat(
            pid=int(pid),
            parent_pid=int(fields[1]),
            name=clean(name),
            flags=int(fields[6]),
            busy_ns=(utime + stime) * TICK_NS,
            children_ns=(cutime + cstime) * TICK_NS,
            thread_count=int(fields[17]),
            started_ticks=int(fields[19]),
            cpu=int(fields[36]),
            state=fields[0],
            policy=int(fields[38]) if len(fields) > 38 else None,
        )
    except ValueError as error:
        raise Malformed("`pid (name) state …`", text.strip()) from error


def parse_schedstat(text: str) -> tuple[int, int]:
    """Return a thread's time (ns) on a CPU, and its time waiting for a CPU. Raise Malformed."""
    fields = text.split()
    if len(fields) != 3 or not are_counts(fields):
        raise Malformed("three counts", text.strip())
    return int(fields[0]), int(fields[1])


def parse_allowed(status: str) -> CpuSet:
    """Return the CPUs that the thread may use. Raise Malformed."""
    match = require_match(_ALLOWED.search(f"\n{status}"), "a line `Cpus_allowed_list: 0-1`", status[-20:])
    return parse_nonempty_cpu_list(match[1])


def parse_tracer(status: str) -> int:
    """Return the tid of the debugger that traces this thread, 0 if there is none. Raise Malformed."""
    return int(require_match(_TRACER.search(f"\n{status}"), "`TracerPid: 0`", status[:40])[1])


def parse_migrations(sched: str) -> int:
    """Return how many times the thread has moved to another CPU. Raise Malformed."""
    return int(require_match(_MIGRATIONS.search(f"\n{sched}"), "a line `se.nr_migrations : 36`", sched[-20:])[1])


def read_stat(read: Read, folder: str) -> ThreadStat:
    """Return the stat in a thread's folder. Raise Absent if the thread has ended, else Unreadable or Malformed."""
    path = f"{folder}/stat"
    try:
        return parse_stat(read(path).decode("utf-8", "replace"))
    except Malformed as error:
        raise error.at(path) from error


def read_schedstat(machine: Machine, folder: str) -> bytes | None:
    """Return the raw schedstat, or None if the thread has ended or the kernel has no schedstat."""
    try:
        return machine.read_bytes(f"{folder}/schedstat")
    except Unreadable:
        return None


def thread_times(schedstat: bytes | None, stat: ThreadStat, folder: str) -> tuple[int, int | None]:
    """Return the thread's time (ns) on a CPU, and waiting for one (None without schedstat). Raise Malformed."""
    if schedstat is None:
        return stat.busy_ns, None
    try:
        ran_ns, waited_ns = parse_schedstat(schedstat.decode("ascii", "replace"))
    except Malformed as error:
        raise error.at(f"{folder}/schedstat") from error
    return ran_ns, waited_ns


def slice_count(schedstat: bytes | None) -> int | None:
    """Return how often the thread was put on a CPU, or None without a valid schedstat."""
    fields = (schedstat or b"").split()
    return int(fields[2]) if len(fields) == 3 and are_counts([fields[2].decode("ascii", "replace")]) else None


def read_allowed(read: Read, folder: str) -> CpuSet | None:
    """Return the thread's affinity, or None if it cannot be read."""
    try:
        return parse_allowed(read(f"{folder}/status").decode("utf-8", "replace"))
    except (Unreadable, Malformed):
        return None


def read_migrations(read: Read, folder: str) -> int | None:
    """Return how often the thread moved between CPUs, or None if this kernel does not report it."""
    try:
        return parse_migrations(read(f"{folder}/sched").decode("utf-8", "replace"))
    except (Unreadable, Malformed):
        return None


def read_program(pid: int) -> str | None:
    """Return the file name of the program that a process on this host runs, or None if unreadable."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return program_in(file.read(_LONGEST_COMMAND))
    except OSError:
        return None


def program_in(command: bytes) -> str:
    """Return the base name of the program at the beginning of a cmdline.

    A process may have replaced its arguments with a title, such as `sshd: root@pts/0`. Then the first word counts.
    https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html
    """
    first = command.split(b"\0")[0]
    if not first.startswith(b"/") or b"\0" not in command:  # a path may contain spaces
        first = first.split(b" ")[0].rstrip(b":")
    return os.path.basename(first.decode("utf-8", "replace"))


def read_processes_ns(machine: Machine, pids: Iterable[int]) -> int:
    """Return a lower bound of the processes' total CPU time (ns). Processes that have ended add nothing."""
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
