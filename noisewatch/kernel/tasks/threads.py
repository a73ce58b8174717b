"""Reads a machine's threads and their CPU time at a bounded cost.

How long tasks ran on a CPU is known without reading threads: /proc/stat counts this time in ticks, /proc/schedstat or
cpuacct in nanoseconds, but only when a task leaves the CPU (noisewatch/kernel/cpus/cpu_time.py). If the threads that
were read explain too little of a target CPU's time, the threads that used the remaining time are searched for.
"""

from __future__ import annotations

import time
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.cpus.cpu_time import TICK_NS, CpuTime, RunTime
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import ThreadStat, parse_schedstat, parse_stat
from noisewatch.kernel.tasks.identity import read_identities
from noisewatch.kernel.tasks.one_thread import FOLDER, ThreadReader, ThreadRecord
from noisewatch.kernel.tasks.task import Task, Tasks

MUCH = 0.04  # share of a CPU: 5%, less a tick (10 ms) per second
_TASKS = 3  # the first states in /proc/stat, in which tasks run: user, nice and system
_FEWEST_TICKS = 2  # error of /proc/stat, in ticks


class TimeOfTasks(Struct, frozen=True):
    """The CPUs' time counters at one moment; None means unknown."""

    at_ns: int
    cpu_time: Mapping[int, CpuTime] | None
    run_time: Mapping[int, RunTime] | None


class MissingTime:
    """The time (ns) that tasks ran on each target CPU since the last reading, less the time of threads read so far."""

    def __init__(self) -> None:
        self._before: TimeOfTasks | None = None
        self._missing_ns: dict[int, int] = {}
        self._length_ns = 0

    def begin(self, now: TimeOfTasks | None, target: CpuSet) -> None:
        """Begin a reading: count all run time since the last reading as missing, or none if that time is unknown."""
        before, self._before, self._missing_ns, self._length_ns = self._before, now, {}, 0
        if before is None or now is None or now.at_ns <= before.at_ns:
            return
        self._length_ns = now.at_ns - before.at_ns
        old_times, new_times = before.cpu_time or {}, now.cpu_time or {}
        old_runs, new_runs = before.run_time or {}, now.run_time or {}
        for cpu in target & old_times.keys() & new_times.keys():
            ran_ns = (sum(new_times[cpu].ticks[:_TASKS]) - sum(old_times[cpu].ticks[:_TASKS])) * TICK_NS
            if cpu in old_runs and cpu in new_runs:
                ran_ns = max(ran_ns, new_runs[cpu].ran_ns - old_runs[cpu].ran_ns)
            self._missing_ns[cpu] = min(ran_ns, self._length_ns)

    def explain(self, cpu: int, ran_ns: int) -> int:
        """Limit a thread's run time to the interval, subtract it from the CPU's missing time, and return it."""
        ran_ns = min(ran_ns, self._length_ns)
        if cpu in self._missing_ns:
            self._missing_ns[cpu] -= ran_ns
        return ran_ns

    @property
    def most_ns(self) -> int:
        """The missing time (ns) of the target CPU that lacks most; 0 if none is known."""
        return max(self._missing_ns.values(), default=0)

    @property
    def much_ns(self) -> int:
        """The least run time (ns) of a single thread that is worth a search."""
        return max(round(self._length_ns * MUCH), _FEWEST_TICKS * TICK_NS)

    @property
    def is_much(self) -> bool:
        """Whether some CPU's missing time could hide a thread that is worth reporting."""
        return self.most_ns >= self.much_ns


STAYS_HOT = 30  # for this number of snapshots, a process that ran on a target CPU is read before others
_YOUNG = 5  # the same for a new process or thread, which may be about to run on a target CPU
_RUNNING = "R"
_AT_ONCE = 128  # threads read in one call (a fraction of a millisecond), unless a single process has more

_LARGE = 500  # threads; in a process with more, a reader with a budget only reads threads that ran for long
_MOST_FOLLOWED = 64  # most threads of a large process that are read
_FOLLOWED_NS = 1_000_000  # least run time of such a thread
_LONGEST_SEARCH = 20  # most budgets that a search may use; by then the processes with most time have been read
_FEWEST_SEARCHED = 8  # least number of processes read in a search, however long that takes

_Changed = Mapping[int, bytes | None]  # the new schedstat by thread; None if it still has to be read


class _Process(Struct):
    """The last readings of a process's threads."""

    record_by_tid: dict[int, ThreadRecord] = {}
    task_by_tid: Mapping[int, Task] = {}
    is_settled: bool = False  # whether all threads are known as long as none of them runs
    thread_count: int = 1
    is_whole: bool = True  # whether all of its threads are in `task_by_tid`
    whole_ns: int | None = None  # `busy_ns` when all threads were read
    followed: Sequence[int] = ()  # threads of a large process that ran for long
    ran_ns_by_tid: Mapping[int, int] = {}  # run times of a large process's threads, when all of them were last read
    looked_ns: int = -1  # `busy_ns` when `ran_ns_by_tid` was read
    looks_from: int = 0  # number of the next snapshot that may read run times without a search
    spent_ns: int = 0  # CPU time between the last two readings, less the time of the threads that were read
    target_ns: int = 0  # CPU time on target CPUs, ended children's included: they may have run there
    read_in: int = -1  # number of the last snapshot that read the process
    is_second_look: bool = False  # read in a second consecutive snapshot, so that its time is of one interval
    busy_ns: int = 0  # CPU time of the whole process when its stat was last read
    schedstat: bytes | None = None  # schedstat of the main thread, if a search has read it since the last reading


_NEW_PROCESS = _Process()


class TaskReader:
    """A reader of the threads of all processes. Each reading determines which threads the next one reads.

    A thread with an unchanged schedstat has not run, so its other files are not read again. If no thread of a process
    has run, the process has no new threads either.

    With a budget, processes are read in this order until the budget is spent:

    1. processes that used much time of a target CPU, longest first;
    2. other processes that ran on a target CPU recently, and new processes;
    3. alternately a process that ran on other CPUs, and one that did not run when it was last read.

    If much time of a target CPU is then still missing, the remaining processes are searched, whatever the budget: the
    run time of each is read, and then the threads of those that ran for long. After a search without a result, the
    next N snapshots do not search, unless more time is missing. N is the search's cost in budgets, at most STAYS_HOT.

    On `tickless` CPUs the tick stops while only one thread runs (nohz_full). The kernel then updates the thread's time
    once a second, and when its stat is read.
    """

    def __init__(
        self,
        budget_ns: int | None = None,
        asks_all_affinities: bool = False,
        used_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._budget_ns = budget_ns
        self._least = 1
        self._used_ns = used_ns  # CPU time: waiting for a CPU does not use the budget
        self._asks_all_affinities = asks_all_affinities
        self._process_by_pid: dict[int, _Process] = {}
        self._hot: dict[int, int] = {}  # in how many more snapshots a process is prioritized, by pid
        self._awake: set[int] = set()  # processes that ran on other CPUs when last read
        self._listed: frozenset[int] | None = None
        self._last: Tasks | None = None
        # The pid read last, among awake processes (True) and among the others (False).
        self._last_in_turn = {True: 0, False: 0}
        self._is_other_turn = False
        self._number = 0  # number of the current snapshot
        self._missing = MissingTime()
        self._looks_at_all = False  # whether the threads of large processes are searched too
        self._futile_ns = 0  # time still missing after the last search; 0 if it had a result
        self._pauses_until = 0  # number of the next snapshot that may repeat a futile search

    def limit(self, budget_ns: int, least: int = 1) -> None:
        """Limit the CPU time of each further snapshot, and read affinity only of threads that ran on target CPUs.

        At least `least` processes that may have run are read: on a slow machine the first one may use up the budget.
        """
        self._budget_ns = budget_ns
        self._least = least
        self._asks_all_affinities = False

    def read(
        self, reader: Reader, target: CpuSet, tickless: CpuSet = frozenset(), had: TimeOfTasks | None = None
    ) -> Tasks | None:
        """Return the threads now, or None if /proc cannot be listed or has no process.

        `had` are the CPUs' time counters now; without them, no threads are searched for.
        """
        self._number += 1
        self._missing.begin(had, target if self._budget_ns is not None else frozenset())
        names = reader.names_or_none(FOLDER)
        pids = sorted(map(int, filter(is_count, names or ())))
        if not pids:
            if names is not None:
                reader.note(f"{FOLDER}/PID", "no process is visible")
            return None
        listed = frozenset(pids)
        for pid in self._process_by_pid.keys() - listed:
            del self._process_by_pid[pid]
        order = self._reading_order(pids, listed)
        tasks: dict[int, Task] = {}
        read_pids: set[int] = set()
        threads = ThreadReader(reader, target, tickless, self._asks_all_affinities)
        for pid, by_tid in chain(self._read_until_spent(threads, order), self._search(threads, order, read_pids)):
            if by_tid is not None:
                if self._process_by_pid[pid].is_whole:
                    read_pids.add(pid)
                tasks.update(by_tid)
        self._listed = listed
        read = Tasks(tasks, listed, frozenset(read_pids))
        self._last = replace(read, identities=read_identities(reader, read, self._last, target))
        return self._last

    def _read_until_spent(
        self, threads: ThreadReader, order: Sequence[int]
    ) -> Iterator[tuple[int, Mapping[int, Task] | None]]:
        """Yield each process with its threads (None if unreadable) until the budget is spent.

        The budget is not checked after each idle process, because a check costs more than the process.
        """
        started_ns, count = self._used_ns(), 0
        for some in self._batches(order):
            changed = self._changed_threads(threads, some)
            for pid in some:
                if pid not in self._hot:
                    self._last_in_turn[pid in self._awake] = pid
                yield pid, self._read_or_reuse(threads, pid, changed.get(pid))
                is_due = pid in changed or pid == some[-1]
                count += is_due
                if is_due and count >= self._least and self._is_spent(started_ns):
                    return

    def _search(
        self, threads: ThreadReader, order: Sequence[int], read_pids: Set[int]
    ) -> Iterator[tuple[int, Mapping[int, Task] | None]]:
        """Yield skipped or partly read processes with their threads, most CPU time first, until little is missing."""
        if self._budget_ns is None or not self._is_worth_a_search():
            return
        started_ns = self._used_ns()
        left_out = [pid for pid in order if pid not in read_pids]
        self._looks_at_all = True
        for count, pid in enumerate(self._long_running_pids(threads, left_out), start=1):
            yield pid, self._read_or_reuse(threads, pid, self._changed_threads(threads, [pid]).get(pid))
            used_ns = self._used_ns() - started_ns
            if not self._missing.is_much or (count >= _FEWEST_SEARCHED and used_ns > _LONGEST_SEARCH * self._budget_ns):
                break
        self._looks_at_all = False
        is_futile = self._missing.is_much
        self._futile_ns = self._missing.most_ns if is_futile else 0
        costs = (self._used_ns() - started_ns) // max(self._budget_ns, 1)
        self._pauses_until = self._number + 1 + min(costs, STAYS_HOT) if is_futile else 0

    def _is_worth_a_search(self) -> bool:
        missing = self._missing
        sure_ns = missing.much_ns - 2 * TICK_NS  # both readings of a CPU's time may be a tick off
        is_more = missing.most_ns >= self._futile_ns + max(sure_ns, missing.much_ns // 2)
        return missing.is_much and (self._number >= self._pauses_until or is_more)

    def _long_running_pids(self, threads: ThreadReader, pids: Iterable[int]) -> list[int]:
        """Return the processes that run on a target CPU now, or ran for long since they were last read, longest first.

        A process whose only thread has an unchanged schedstat is left out: it has not run. Other processes may have
        unknown threads, so the time of the whole process is read.
        """
        changed, single = [], []
        spent_ns: dict[int, int] = {}
        for pid in pids:
            process = self._process_by_pid.get(pid)
            if process is not None and process.read_in == self._number:
                spent_ns[pid] = process.spent_ns
                continue
            record = process.record_by_tid.get(pid) if process is not None and process.is_settled else None
            if record is None or record.thread_count > 1 or record.is_on_tickless(threads.tickless):
                changed.append(pid)
            elif record.task.cpu in threads.target or not record.task.is_confined:
                single.append(pid)
        for at, content in _contents(threads, single, "schedstat"):
            pid = single[at]
            process = self._process_by_pid[pid]
            if content != (process.schedstat or process.record_by_tid[pid].schedstat):
                process.schedstat = content
                changed.append(pid)
        for at, content in _contents(threads, changed, "stat"):
            pid = changed[at]
            with suppress(Malformed):
                stat = parse_stat(content.decode("utf-8", "replace"))
                process = self._process(pid)
                spent_ns[pid] = stat.busy_ns - (process.busy_ns if process.busy_ns <= stat.busy_ns else 0)
                process.busy_ns = stat.busy_ns
                spent_ns[pid] += _children_ns(process.record_by_tid.get(pid), stat)
                if stat.state == _RUNNING and stat.cpu in threads.target:
                    spent_ns[pid] += self._missing.much_ns
        least_ns = self._missing.much_ns - 2 * TICK_NS  # user and system time are both rounded to ticks
        long = [pid for pid, ns in spent_ns.items() if ns and ns >= least_ns]
        return sorted(long, key=lambda pid: (-spent_ns[pid], pid))

    def _is_spent(self, started_ns: int) -> bool:
        return self._budget_ns is not None and self._used_ns() - started_ns > self._budget_ns

    def _batches(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Yield the processes in order, in batches of at most _AT_ONCE threads or of a single process."""
        some: list[int] = []
        threads = 0
        for pid in order:
            count = self._thread_count(pid)
            if some and threads + count > _AT_ONCE:
                yield some
                some, threads = [], 0
            some.append(pid)
            threads += count
        yield some

    def _thread_count(self, pid: int) -> int:
        process = self._process_by_pid.get(pid)
        if process is None:
            return 1
        return 1 + len(process.followed) if self._is_large(process) else max(len(process.record_by_tid), 1)

    def _process(self, pid: int) -> _Process:
        process = self._process_by_pid.get(pid)
        if process is None:
            process = self._process_by_pid[pid] = _Process()
        return process

    def _is_large(self, process: _Process) -> bool:
        return self._budget_ns is not None and process.thread_count > _LARGE

    def _reading_order(self, pids: list[int], listed: frozenset[int]) -> list[int]:
        """Return the processes in the order that the class describes.

        In every other snapshot, new processes follow processes that ran on a target CPU recently. In both groups, the
        process not read for the longest time is next, and is read again in the following snapshot. Processes with many
        threads come last, because a single one with hundreds uses the whole budget.
        """
        self._hot = {pid: left - 1 for pid, left in self._hot.items() if left > 1 and pid in listed}
        if self._listed is not None:
            self._hot |= dict.fromkeys(listed - self._listed, _YOUNG)
        self._awake &= listed
        # The two groups alternate, because the first one may use the whole budget.
        self._is_other_turn = not self._is_other_turn
        first, second = (self._rotate(pids, is_awake) for is_awake in (self._is_other_turn, not self._is_other_turn))
        turns = [pid for pair in zip(first, second, strict=False) for pid in pair]
        shorter = min(len(first), len(second))
        return sorted(self._hot, key=self._urgency) + turns + first[shorter:] + second[shorter:]

    def _urgency(self, pid: int) -> tuple[int, bool, bool, bool, int, int]:
        """Return the sort key of a prioritized process: the smallest is read first."""
        process = self._process_by_pid.get(pid, _NEW_PROCESS)
        is_due_again = process.read_in == self._number - 1 and not process.is_second_look
        return (
            -process.target_ns if process.target_ns >= self._missing.much_ns else 0,
            not self._is_other_turn and self._hot[pid] <= _YOUNG,
            self._thread_count(pid) > _AT_ONCE,
            not is_due_again,
            process.read_in,
            pid,
        )

    def _rotate(self, pids: list[int], is_awake: bool) -> list[int]:
        """Return the awake (or other) processes without the prioritized ones, beginning after the last one read."""
        group = [pid for pid in pids if pid not in self._hot and (pid in self._awake) is is_awake]
        start = bisect(group, self._last_in_turn[is_awake])
        return group[start:] + group[:start]

    def _changed_threads(self, threads: ThreadReader, pids: Iterable[int]) -> Mapping[int, _Changed]:
        """Return the threads that may have run, by process. A process without an entry has not run.

        The entry is empty if the process is to be read for another reason, for example because it is new.
        """
        changed: dict[int, dict[int, bytes | None]] = {}
        files: list[tuple[str, bytes]] = []
        owners: list[tuple[int, int]] = []
        for pid in pids:
            process = self._process_by_pid.get(pid)
            if process is None or self._asks_all_affinities or not process.is_settled or self._is_large(process):
                changed[pid] = {}
            if process is not None and self._is_large(process):
                continue
            for tid, record in process.record_by_tid.items() if process is not None else ():
                if record.schedstat is None or (threads.tickless and record.is_on_tickless(threads.tickless)):
                    changed.setdefault(pid, {})[tid] = None
                else:
                    files.append((f"{record.folder}/schedstat", record.schedstat))
                    owners.append((pid, tid))
        for at, content in threads.reader.machine.reread(files):
            pid, tid = owners[at]
            changed.setdefault(pid, {})[tid] = content
        ran = (self._process_by_pid[pid].record_by_tid[tid] for pid, by_tid in changed.items() for tid in by_tid)
        threads.read_ahead(ran)
        return changed

    def _read_or_reuse(self, threads: ThreadReader, pid: int, changed: _Changed | None) -> Mapping[int, Task] | None:
        """Return the process's threads, the known ones if `changed` is None.

        Return None if they are unreadable; empty if the process has ended.
        """
        self._awake.discard(pid)
        process = self._process(pid)
        process.is_second_look = process.read_in == self._number - 1 and not process.is_second_look
        process.read_in, process.target_ns = self._number, 0
        if changed is None:
            return process.task_by_tid
        try:
            return self._read_process(threads, pid, changed)
        except Absent:
            return {}
        except Unreadable as error:
            threads.reader.note(f"{FOLDER}/{pid}", error.reason)
        except Malformed as error:
            threads.reader.note(error.path, error.reason)
        return None

    def _read_process(self, threads: ThreadReader, pid: int, changed: _Changed) -> Mapping[int, Task]:
        process = self._process_by_pid[pid]
        record, folder = process.record_by_tid.get(pid), f"{FOLDER}/{pid}"
        schedstat = _schedstat_of(threads, folder, pid, record, changed)
        if (
            record is not None
            and len(process.record_by_tid) == record.thread_count == 1
            and _has_not_run(record, schedstat)
        ):
            leader = threads.idle_record(record)
        else:
            leader = threads.read(pid, folder, schedstat, record)
            process.spent_ns = (leader.task.process_ns or 0) - process.busy_ns
            self._note_thread(leader, record, threads.target)
            self._note_children(process, leader.task, record)
        process.thread_count, process.busy_ns = leader.thread_count, leader.task.process_ns or 0
        if self._is_large(process):
            return self._read_large(threads, process, leader)
        if leader.has_exited:
            self._hot.pop(pid, None)
        if leader.thread_count == 1:
            read, process.is_settled = {pid: leader}, True
        else:
            read = self._read_group(threads, process, leader, changed)
            process.is_settled = read.keys() <= process.record_by_tid.keys()
        process.record_by_tid, process.schedstat, process.followed, process.ran_ns_by_tid = read, None, (), {}
        process.is_whole, process.whole_ns = True, process.busy_ns
        process.task_by_tid = {tid: record.task for tid, record in read.items()}
        return process.task_by_tid

    def _read_large(self, threads: ThreadReader, process: _Process, leader: ThreadRecord) -> Mapping[int, Task]:
        """Return the main thread, with the time of the whole process, and the threads that ran for long.

        A search determines which threads these are. Other snapshots do so rarely enough to fit the budget. If the
        process has not run since all its threads were read, return all of them.
        """
        process.is_whole = process.whole_ns == process.busy_ns
        if process.is_whole:
            return process.task_by_tid
        if process.busy_ns != process.looked_ns and (self._looks_at_all or self._number >= process.looks_from):
            self._look_at_all(threads, process, leader.task.pid)
        names = [str(tid) for tid in (leader.task.pid, *process.followed)]
        changed = dict.fromkeys(process.followed)
        read = self._read_group(threads, process, leader, changed, names)
        process.record_by_tid |= read
        return {tid: record.task for tid, record in read.items()}

    def _look_at_all(self, threads: ThreadReader, process: _Process, pid: int) -> None:
        """Choose which threads of a large process to read: threads that ran for long since the last call or reading."""
        started_ns = self._used_ns()
        names = [*filter(is_count, threads.reader.machine.list_names(f"{FOLDER}/{pid}/task"))]
        before = {tid: record.task.ran_ns for tid, record in process.record_by_tid.items()} | dict(
            process.ran_ns_by_tid
        )
        ran_ns: dict[int, int] = {}
        for at, content in _contents(threads, [f"{pid}/task/{name}" for name in names], "schedstat"):
            with suppress(Malformed):
                ran_ns[int(names[at])] = parse_schedstat(content.decode("ascii", "replace"))[0]
        spent_ns = {tid: ns - before.get(tid, 0) for tid, ns in ran_ns.items()}
        long = [tid for tid, ns in spent_ns.items() if ns >= _FOLLOWED_NS and tid != pid]
        process.followed = sorted(long, key=lambda tid: -spent_ns[tid])[:_MOST_FOLLOWED]
        process.ran_ns_by_tid, process.looked_ns = ran_ns, process.busy_ns
        costs = (self._used_ns() - started_ns) // max(self._budget_ns or 0, 1)
        process.looks_from = self._number + 1 + 2 * costs

    def _read_group(
        self,
        threads: ThreadReader,
        process: _Process,
        leader: ThreadRecord,
        changed: _Changed,
        names: Iterable[str] | None = None,
    ) -> dict[int, ThreadRecord]:
        """Return all threads of a process with several threads, or only those with the tids in `names`.

        The schedstat of known threads was read before the process's threads are listed here. So if a known thread
        starts another one too late for the list, its schedstat will have changed in the next snapshot.
        """
        read: dict[int, ThreadRecord] = {}
        pid = leader.task.pid
        if names is None:
            names = filter(is_count, threads.reader.machine.list_names(f"{FOLDER}/{pid}/task"))
        for name in names:
            tid, folder = int(name), f"{FOLDER}/{pid}/task/{name}"
            if tid == pid and leader.task.waited_ns is not None:
                read[tid] = leader  # /proc/PID/schedstat is the main thread's; /proc/PID/stat sums up all threads
                continue
            record = process.record_by_tid.get(tid)
            try:
                schedstat = _schedstat_of(threads, folder, tid, record, changed)
                if record is not None and _has_not_run(record, schedstat):
                    read[tid] = threads.idle_record(record)
                    continue
                thread = self._note_thread(threads.read(pid, folder, schedstat, record), record, threads.target)
            except Absent:
                continue  # the thread has ended since
            of_process = (leader.task.children_ns, leader.task.process_ns) if tid == pid else (0, None)
            thread.task = replace(thread.task, children_ns=of_process[0], process_ns=of_process[1])
            read[tid] = thread
        return read

    def _note_children(self, process: _Process, task: Task, record: ThreadRecord | None) -> None:
        """Prioritize the process if its ended children used much time; if it adopts all orphans, more may follow."""
        children_ns = _children_ns(record, task)
        if children_ns >= self._missing.much_ns:
            process.target_ns += children_ns
            self._hot[task.pid] = STAYS_HOT

    def _note_thread(self, thread: ThreadRecord, record: ThreadRecord | None, target: CpuSet) -> ThreadRecord:
        """Subtract the thread's time from the missing time; prioritize its process if it ran on a target CPU."""
        if thread.runs:
            pid = thread.task.pid
            before = (
                record.task if record is not None and record.task.started_ticks == thread.task.started_ticks else None
            )
            ran_ns = self._missing.explain(
                thread.task.cpu, thread.task.ran_ns - (before.ran_ns if before is not None else 0)
            )
            process = self._process_by_pid[pid]
            process.spent_ns -= ran_ns
            if thread.task.cpu in target:
                process.target_ns += ran_ns
                self._hot[pid] = max(self._hot.get(pid, 0), _YOUNG) if before is None else STAYS_HOT
            elif before is not None:
                self._awake.add(pid)
        return thread


def _children_ns(record: ThreadRecord | None, now: Task | ThreadStat) -> int:
    """Return the time of children that ended since the process was read; 0 if unknown."""
    is_same = record is not None and record.task.started_ticks == now.started_ticks
    return now.children_ns - record.task.children_ns if record is not None and is_same else 0


def _contents(threads: ThreadReader, folders: Sequence[int | str], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the index of each folder of /proc with a readable file `name`, and the content. No file stays open."""
    paths = [f"{FOLDER}/{folder}/{name}" for folder in folders]
    for at, content in threads.reader.machine.reread([(path, None) for path in paths]):
        with suppress(Unreadable):
            yield at, content if content is not None else threads.reader.machine.read_bytes(paths[at])


def _schedstat_of(
    threads: ThreadReader, folder: str, tid: int, record: ThreadRecord | None, changed: _Changed
) -> bytes | None:
    """Return the thread's schedstat: the known one if unchanged, else the one in `changed`, else read it now."""
    if record is not None and tid not in changed:
        return record.schedstat
    content = changed.get(tid)
    return content if content is not None else threads.schedstat(folder, record)


def _has_not_run(record: ThreadRecord, schedstat: bytes | None) -> bool:
    return schedstat is not None and schedstat == record.schedstat
