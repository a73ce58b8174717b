"""Which threads there are, and how much CPU time each has had: /proc/PID/task/TID/{stat,schedstat,status}.

    stat       4711 (python3) R 1 … utime stime … processor …
    schedstat  177645329 16002335 366        ns on a CPU, ns waiting for one, times it was put on one
    status     Cpus_allowed_list:	0-1

https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, https://docs.kernel.org/scheduler/sched-stats.html.
Without schedstat (CONFIG_SCHED_INFO), time is known in ticks of 10 ms only. The only user of psutil for processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.machine import Machine
from noisewatch.sources.cpu_time import TICK_NS
from noisewatch.sources.cpulist import CpuSet, parse_cpu_list
from noisewatch.sources.names import clean
from noisewatch.sources.numbers import are_counts, is_count
from noisewatch.sources.reader import Reader

FOLDER = "/proc"
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD in linux/sched.h
_BOUND = 0x0400_0000  # PF_NO_SETAFFINITY
_LONGEST_KERNEL_NAME = 15  # TASK_COMM_LEN less the NUL; what is longer was cut
_ALLOWED = re.compile(r"^Cpus_allowed_list:\s*(\S*)$", re.MULTILINE)
STAYS_HOT = 30  # snapshots for which a thread that ran on a target CPU is read every time


@dataclass(frozen=True, slots=True)
class Task:
    """One thread."""

    tid: int
    pid: int
    name: str
    is_kernel: bool
    is_bound: bool  # its affinity cannot be changed
    cpu: int  # the one that it runs on, or ran on last
    ran_ns: int
    waited_ns: int | None
    parent_pid: int
    children_ns: int  # of children that ended and were waited for; of the whole process, on its first thread
    started_ticks: int  # since boot: tells a recycled number
    allowed: CpuSet | None = None  # None is not asked, or unknown


@dataclass(frozen=True, slots=True)
class Tasks:
    """The threads that were read. A process of `pids` that is not in `read_pids` was left out for lack of time."""

    by_tid: Mapping[int, Task]
    pids: frozenset[int]
    read_pids: frozenset[int]

    @property
    def is_complete(self) -> bool:
        return self.read_pids >= self.pids


@dataclass(frozen=True, slots=True)
class _Stat:
    pid: int
    parent_pid: int
    name: str
    flags: int
    busy_ns: int
    children_ns: int
    thread_count: int
    started_ticks: int
    cpu: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read of a thread the last time."""

    schedstat: bytes | None
    task: Task


def parse_stat(text: str) -> _Stat:
    """The fields that matter. The name may hold blanks, brackets and line ends. Raises Malformed."""
    head, bracket, tail = text.rpartition(")")
    pid, opening, name = head.partition(" (")
    fields = tail.split()
    if not bracket or not opening or len(fields) < 37 or not is_count(pid):
        raise Malformed("`pid (name) state …`", text.strip())
    try:
        utime, stime, cutime, cstime = (int(field) for field in fields[11:15])
        return _Stat(
            pid=int(pid),
            parent_pid=int(fields[1]),
            name=clean(name),
            flags=int(fields[6]),
            busy_ns=(utime + stime) * TICK_NS,
            children_ns=(cutime + cstime) * TICK_NS,
            thread_count=int(fields[17]),
            started_ticks=int(fields[19]),
            cpu=int(fields[36]),
        )
    except ValueError as error:
        raise Malformed("`pid (name) state …`", text.strip()) from error


def parse_schedstat(text: str) -> tuple[int, int]:
    """Nanoseconds on a CPU and waiting for one. Raises Malformed."""
    fields = text.split()
    if len(fields) != 3 or not are_counts(fields):
        raise Malformed("three counts", text.strip())
    return int(fields[0]), int(fields[1])


def parse_allowed(status: str) -> CpuSet:
    """The CPUs that the thread may use. Raises Malformed."""
    match = _ALLOWED.search(status)
    if match is None:
        raise Malformed("a line `Cpus_allowed_list: 0-1`", status[-20:])
    return parse_cpu_list(match[1])


class TaskReader:
    """Reads the threads of all processes, snapshot after snapshot, and remembers which are worth the time.

    A thread whose schedstat stands still has not run, so the rest of it need not be read again. With a budget, the
    processes that ran on target CPUs lately come first, and the others take turns.
    """

    def __init__(self, budget_ns: int | None = None, asks_all_affinities: bool = False) -> None:
        self._budget_ns = budget_ns
        self._asks_all_affinities = asks_all_affinities
        self._known: dict[int, _Known] = {}  # by thread
        self._threads_by_pid: dict[int, list[int]] = {}
        self._hot: dict[int, int] = {}
        self._turn = 0

    def limit(self, budget_ns: int) -> None:
        """From now on a snapshot takes so much time at most, and asks only who ran on target CPUs for its affinity."""
        self._budget_ns = budget_ns
        self._asks_all_affinities = False

    def read(self, reader: Reader, target: CpuSet) -> Tasks | None:
        """The threads now; None where /proc cannot be listed or holds no process."""
        names = reader.names_or_none(FOLDER)
        pids = [int(name) for name in names or () if is_count(name)]
        if not pids:
            if names is not None:
                reader.note(f"{FOLDER}/PID", "no process can be seen")
            return None
        self._forget_all_but(pids)
        machine = reader.machine
        tasks: dict[int, Task] = {}
        read_pids: set[int] = set()
        started_ns = machine.now_ns()
        for pid in self._in_order(pids):
            threads = self._read_process(reader, pid, target)
            if threads is not None:
                read_pids.add(pid)
                tasks.update((task.tid, task) for task in threads)
            if self._budget_ns is not None and machine.now_ns() - started_ns > self._budget_ns:
                break
        self._turn += len(read_pids)
        return Tasks(tasks, frozenset(pids), frozenset(read_pids))

    def _in_order(self, pids: list[int]) -> list[int]:
        self._hot = {pid: left - 1 for pid, left in self._hot.items() if left > 0}
        start = self._turn % len(pids)
        others = [pid for pid in pids[start:] + pids[:start] if pid not in self._hot]
        return [pid for pid in pids if pid in self._hot] + others

    def _forget_all_but(self, pids: Iterable[int]) -> None:
        gone = self._threads_by_pid.keys() - set(pids)
        for pid in gone:
            for tid in self._threads_by_pid.pop(pid):
                self._known.pop(tid, None)

    def _read_process(self, reader: Reader, pid: int, target: CpuSet) -> list[Task] | None:
        """All threads of the process; None where it could not be read, the empty list where it has ended."""
        try:
            return self._read_threads(reader, pid, target)
        except Absent:
            return []
        except Unreadable as error:
            reader.note(f"{FOLDER}/{pid}", error.reason)
        except Malformed as error:
            reader.note(error.path, error.reason)
        return None

    def _read_threads(self, reader: Reader, pid: int, target: CpuSet) -> list[Task]:
        known = self._known.get(pid)
        schedstat = _read_schedstat(reader.machine, f"{FOLDER}/{pid}")
        has_one_thread = len(self._threads_by_pid.get(pid, ())) == 1
        if known is not None and has_one_thread and known.schedstat == schedstat and schedstat is not None:
            return [known.task]
        leader, thread_count = self._read_task(reader, pid, f"{FOLDER}/{pid}", schedstat, target)
        threads = [leader] if thread_count == 1 else self._read_group(reader, leader, target)
        tids = [thread.tid for thread in threads]
        for tid in set(self._threads_by_pid.get(pid, ())).difference(tids):
            self._known.pop(tid, None)
        self._threads_by_pid[pid] = tids
        return threads

    def _read_group(self, reader: Reader, leader: Task, target: CpuSet) -> list[Task]:
        """The threads of a process that has several."""
        threads = []
        for name in filter(is_count, reader.machine.list_names(f"{FOLDER}/{leader.pid}/task")):
            tid, folder = int(name), f"{FOLDER}/{leader.pid}/task/{name}"
            if tid == leader.pid and leader.waited_ns is not None:
                threads.append(leader)  # schedstat is the first thread's own; only stat adds up the whole process
                continue
            known = self._known.get(tid)
            try:
                schedstat = _read_schedstat(reader.machine, folder)
                if known is not None and known.schedstat == schedstat and schedstat is not None:
                    threads.append(known.task)
                    continue
                thread, _ = self._read_task(reader, leader.pid, folder, schedstat, target)
            except Absent:
                continue  # the thread has ended since
            threads.append(replace(thread, children_ns=leader.children_ns if tid == leader.pid else 0))
        return threads

    def _read_task(
        self, reader: Reader, pid: int, folder: str, schedstat: bytes | None, target: CpuSet
    ) -> tuple[Task, int]:
        """The thread, and how many its process has."""
        stat = _read_stat(reader.machine, folder)
        known = self._known.get(stat.pid)
        before = known.task if known is not None and known.task.started_ticks == stat.started_ticks else None
        ran_ns, waited_ns = _times(schedstat, stat, folder)
        task = Task(
            tid=stat.pid,
            pid=pid,
            name=before.name if before is not None and _is_cut_from(before.name, stat.name) else stat.name,
            is_kernel=bool(stat.flags & _KERNEL_THREAD),
            is_bound=bool(stat.flags & _BOUND),
            cpu=stat.cpu,
            ran_ns=ran_ns,
            waited_ns=waited_ns,
            parent_pid=stat.parent_pid,
            children_ns=stat.children_ns,
            started_ticks=stat.started_ticks,
        )
        has_run = before is not None and ran_ns != before.ran_ns
        task = self._with_detail(reader, task, folder, has_run and stat.cpu in target)
        self._known[task.tid] = _Known(schedstat, task)
        return task, stat.thread_count

    def _with_detail(self, reader: Reader, task: Task, folder: str, ran_on_target: bool) -> Task:
        """The affinity and the whole name of those that matter."""
        if ran_on_target:
            self._hot[task.pid] = STAYS_HOT
        if ran_on_target and _may_be_cut(task.name) and not task.is_kernel:
            task = replace(task, name=_whole_name(reader, task))
        if ran_on_target or (self._asks_all_affinities and not task.is_bound):
            task = replace(task, allowed=_read_allowed(reader.machine, folder))
        return task


def _read_schedstat(machine: Machine, folder: str) -> bytes | None:
    """The file as it is; None where it cannot be read: stat then tells why."""
    try:
        return machine.read_bytes(f"{folder}/schedstat")
    except Unreadable:
        return None


def _read_stat(machine: Machine, folder: str) -> _Stat:
    path = f"{folder}/stat"
    try:
        return parse_stat(machine.read_bytes(path).decode("utf-8", "replace"))
    except Malformed as error:
        raise error.at(path) from error


def _may_be_cut(name: str) -> bool:
    return len(name.encode()) >= _LONGEST_KERNEL_NAME


def _is_cut_from(whole: str, name: str) -> bool:
    return _may_be_cut(name) and whole.startswith(name)


def _times(schedstat: bytes | None, stat: _Stat, folder: str) -> tuple[int, int | None]:
    """Time on a CPU and time waiting."""
    if schedstat is None:
        return stat.busy_ns, None
    try:
        ran_ns, waited_ns = parse_schedstat(schedstat.decode("ascii", "replace"))
    except Malformed as error:
        raise error.at(f"{folder}/schedstat") from error
    return ran_ns, waited_ns


def _read_allowed(machine: Machine, folder: str) -> CpuSet | None:
    try:
        return parse_allowed(machine.read_bytes(f"{folder}/status").decode("utf-8", "replace"))
    except (Unreadable, Malformed):
        return None


def _whole_name(reader: Reader, task: Task) -> str:
    """psutil looks at the program's file name where the kernel's was cut; it must begin with the kernel's."""

    def ask() -> str | None:
        import psutil

        try:
            return str(psutil.Process(task.pid).name())
        except psutil.Error:
            return None

    name = reader.ask(f"name of process {task.pid}", ask) if task.tid == task.pid else None
    return clean(name) if isinstance(name, str) and name.startswith(task.name) else task.name
