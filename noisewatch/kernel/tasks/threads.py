"""Which threads there are, and how much CPU time each has had, read at a bounded cost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import (
    read_allowed,
    read_migrations,
    read_program,
    read_schedstat,
    read_stat,
    thread_times,
)
from noisewatch.records import dataclass
from noisewatch.text import clean

FOLDER = "/proc"
_LONGEST_KERNEL_NAME = 15  # TASK_COMM_LEN less the NUL; what is longer was cut
STAYS_HOT = 30  # times that a thread that ran on a target CPU is read before the others
_YOUNG = 5  # times that a new one is, as it may be on its way there
_WORKER_OF_ANY_CPU = "kworker/u"
_LONG_NS = 1_000_000  # who has run for longer since the last look is asked whether it went to other CPUs meanwhile


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
    process_ns: int | None = None  # of the whole process, ended threads too, in steps of 10 ms; on its first thread
    has_deadline: bool = False  # SCHED_DEADLINE: the kernel refuses to pin it
    migrations: int | None = None  # times that it went from one CPU to another; None is not asked, or unknown

    @property
    def is_confined(self) -> bool:
        """Whether it cannot run on another CPU: nobody can move the kernel's workers, not those of any CPU either."""
        if self.allowed is not None:
            return len(self.allowed) == 1
        return self.is_bound and not self.name.startswith(_WORKER_OF_ANY_CPU)


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
class _Known:
    """What was read of a thread the last time."""

    schedstat: bytes | None
    task: Task
    named: str | None = None  # what the kernel called it when its whole name was asked for


class TaskReader:
    """Reads the threads of all processes, snapshot after snapshot, and remembers which are worth the time.

    A thread whose schedstat stands still has not run, so the rest of it need not be read again. With a budget, the
    processes that ran on target CPUs lately come first, then those that are new, and the others take turns.

    `tickless` are the CPUs that have no tick while one thread runs (nohz_full): there the kernel brings its time up to
    date once a second, and when somebody reads its stat.
    """

    def __init__(
        self,
        budget_ns: int | None = None,
        asks_all_affinities: bool = False,
        used_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._budget_ns = budget_ns
        self._used_ns = used_ns  # CPU time: who has to wait for a CPU has not used it, and would tell of nobody
        self._asks_all_affinities = asks_all_affinities
        self._known: dict[int, _Known] = {}  # by thread
        self._threads_by_pid: dict[int, list[int]] = {}
        self._hot: dict[int, int] = {}
        self._tickless: CpuSet = frozenset()
        self._listed: frozenset[int] | None = None
        self._turn = 0

    def limit(self, budget_ns: int) -> None:
        """From now on a snapshot takes so much CPU time at most, and asks only who ran on target CPUs for affinity."""
        self._budget_ns = budget_ns
        self._asks_all_affinities = False

    def read(self, reader: Reader, target: CpuSet, tickless: CpuSet = frozenset()) -> Tasks | None:
        """The threads now; None where /proc cannot be listed or holds no process."""
        self._tickless = tickless
        names = reader.names_or_none(FOLDER)
        pids = [int(name) for name in names or () if is_count(name)]
        if not pids:
            if names is not None:
                reader.note(f"{FOLDER}/PID", "no process is visible")
            return None
        self._forget_all_but(pids)
        tasks: dict[int, Task] = {}
        read_pids: set[int] = set()
        started_ns = self._used_ns()
        for pid in self._in_order(pids):
            if pid in self._hot:
                self._hot[pid] -= 1
            threads = self._read_process(reader, pid, target)
            if threads is not None:
                read_pids.add(pid)
                tasks.update((task.tid, task) for task in threads)
            if self._budget_ns is not None and self._used_ns() - started_ns > self._budget_ns:
                break
        self._turn += len(read_pids)
        self._listed = frozenset(pids)
        return Tasks(tasks, self._listed, frozenset(read_pids))

    def _in_order(self, pids: list[int]) -> list[int]:
        """Who ran on a target CPU lately, who is new, and the others by turns."""
        listed = frozenset(pids)
        self._hot = {pid: left for pid, left in self._hot.items() if left > 0 and pid in listed}
        start = self._turn % len(pids)
        if self._listed is not None:
            self._hot |= {pid: _YOUNG for pid in pids if pid not in self._listed}
        hot = sorted((pid for pid in pids if pid in self._hot), key=lambda pid: -self._hot[pid])
        others = [pid for pid in pids[start:] + pids[:start] if pid not in self._hot]
        return hot + others

    def _forget_all_but(self, pids: Iterable[int]) -> None:
        for pid in self._threads_by_pid.keys() - set(pids):
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
        self._bring_up_to_date(reader, pid, known)
        schedstat = read_schedstat(reader.machine, f"{FOLDER}/{pid}")
        has_one_thread = len(self._threads_by_pid.get(pid, ())) == 1
        if known is not None and has_one_thread and known.schedstat == schedstat and schedstat is not None:
            return [self._not_run(reader, known, f"{FOLDER}/{pid}")]
        leader, thread_count = self._read_task(reader, pid, f"{FOLDER}/{pid}", schedstat, target)
        threads = [leader] if thread_count == 1 else self._read_group(reader, leader, target)
        tids = [thread.tid for thread in threads]
        for tid in set(self._threads_by_pid.get(pid, ())).difference(tids):
            self._known.pop(tid, None)
        self._threads_by_pid[pid] = tids
        return threads

    def _bring_up_to_date(self, reader: Reader, pid: int, known: _Known | None) -> None:
        """Has the kernel add up the time of a thread on a tickless CPU; its own bound threads do not run for long."""
        if known is not None and known.task.cpu in self._tickless and not known.task.is_bound:
            self._add_up(reader, pid, known.task.tid)

    def _add_up(self, reader: Reader, pid: int, tid: int) -> None:
        with contextlib.suppress(Unreadable):
            reader.machine.read_bytes(f"{FOLDER}/{pid}/task/{tid}/stat")

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
                self._bring_up_to_date(reader, leader.pid, known)
                schedstat = read_schedstat(reader.machine, folder)
                if known is not None and known.schedstat == schedstat and schedstat is not None:
                    threads.append(self._not_run(reader, known, folder))
                    continue
                thread, _ = self._read_task(reader, leader.pid, folder, schedstat, target)
            except Absent:
                continue  # the thread has ended since
            children_ns, process_ns = (leader.children_ns, leader.process_ns) if tid == leader.pid else (0, None)
            threads.append(replace(thread, children_ns=children_ns, process_ns=process_ns))
        return threads

    def _not_run(self, reader: Reader, known: _Known, folder: str) -> Task:
        """As it was; but others may have given it other CPUs while it slept, which a fix has to give back."""
        task = known.task
        if task.allowed is not None and self._asks_all_affinities:
            task = replace(task, allowed=read_allowed(reader.machine, folder))
            self._known[task.tid] = replace(known, task=task)
        return task

    def _read_task(
        self, reader: Reader, pid: int, folder: str, schedstat: bytes | None, target: CpuSet
    ) -> tuple[Task, int]:
        """The thread, and how many its process has."""
        stat = read_stat(reader.machine, folder)
        known = self._known.get(stat.pid)
        before = known.task if known is not None and known.task.started_ticks == stat.started_ticks else None
        if before is None and stat.cpu in self._tickless and not stat.is_bound:
            self._add_up(reader, pid, stat.pid)
            schedstat = read_schedstat(reader.machine, folder)
        ran_ns, waited_ns = thread_times(schedstat, stat, folder)
        task = Task(
            tid=stat.pid,
            pid=pid,
            name=before.name if before is not None and _is_cut_from(before.name, stat.name) else stat.name,
            is_kernel=stat.is_kernel,
            is_bound=stat.is_bound,
            cpu=stat.cpu,
            ran_ns=ran_ns,
            waited_ns=waited_ns,
            parent_pid=stat.parent_pid,
            children_ns=stat.children_ns,
            started_ticks=stat.started_ticks,
            has_deadline=stat.has_deadline,
            process_ns=stat.busy_ns if folder == f"{FOLDER}/{pid}" else None,
        )
        is_named = before is not None and known is not None and known.named == stat.name
        runs = ran_ns != before.ran_ns if before is not None else not stat.is_bound  # at first sight, it may
        if runs and stat.cpu in target:
            self._hot[pid] = STAYS_HOT if before is not None else max(self._hot.get(pid, 0), _YOUNG)
        task = self._with_detail(reader, task, folder, runs and stat.cpu in target, is_named)
        task = self._with_migrations(reader, task, before, folder)
        if task.allowed is None and before is not None and _may_have_been_elsewhere(before, task, stat.thread_count):
            task = replace(task, allowed=read_allowed(reader.machine, folder))
        is_named = is_named or (runs and stat.cpu in target)
        self._known[task.tid] = _Known(schedstat, task, stat.name if is_named else None)
        return task, stat.thread_count

    def _with_detail(self, reader: Reader, task: Task, folder: str, runs_on_target: bool, is_named: bool) -> Task:
        """The affinity, and once the whole name, of those that matter."""
        if runs_on_target and not is_named and _may_be_cut(task.name) and not task.is_kernel:
            task = replace(task, name=_whole_name(reader, task))
        if runs_on_target or (self._asks_all_affinities and not task.is_bound):
            task = replace(task, allowed=read_allowed(reader.machine, folder))
        return task

    def _with_migrations(self, reader: Reader, task: Task, before: Task | None, folder: str) -> Task:
        ran_ns = task.ran_ns - (before.ran_ns if before is not None else 0)
        if task.is_confined or ran_ns < _LONG_NS:
            return task
        return replace(task, migrations=read_migrations(reader.machine, folder))


def _may_have_been_elsewhere(before: Task, task: Task, thread_count: int) -> bool:
    """Whether it went to other CPUs, or children of it have ended, or other threads: they may be where it may be."""
    if task.children_ns > before.children_ns or task.migrations not in (None, before.migrations):
        return True
    if thread_count > 1 or task.process_ns is None or before.process_ns is None:
        return False
    return task.process_ns - before.process_ns > task.ran_ns - before.ran_ns + TICK_NS


def _may_be_cut(name: str) -> bool:
    return len(name.encode()) >= _LONGEST_KERNEL_NAME


def _is_cut_from(whole: str, name: str) -> bool:
    return _may_be_cut(name) and whole.startswith(name)


def _whole_name(reader: Reader, task: Task) -> str:
    """The program's file name where the kernel's was cut; it must begin with the kernel's."""
    if task.tid != task.pid:
        return task.name
    name = reader.ask(f"name of process {task.pid}", lambda: read_program(task.pid))
    return clean(name) if isinstance(name, str) and name.startswith(task.name) else task.name
