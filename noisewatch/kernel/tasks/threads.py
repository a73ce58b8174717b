"""Which threads there are, and how much CPU time each has had, read at a bounded cost."""

from __future__ import annotations

import time
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.one_thread import FOLDER, Known, ThreadReader
from noisewatch.kernel.tasks.task import Task, Tasks
from noisewatch.records import dataclass

STAYS_HOT = 30  # times that a thread that ran on a target CPU is read before the others
_YOUNG = 5  # times that a new one is, as it may be on its way there
_AT_ONCE = 128  # threads that are read in one call, unless one process has more: a fraction of a millisecond

_Changed = Mapping[int, bytes | None]  # by thread, its schedstat; None has to be asked for


@dataclass(slots=True)
class _Process:
    """What was read of its threads the last time."""

    known: dict[int, Known] = field(default_factory=dict)  # by thread
    task_by_tid: Mapping[int, Task] = field(default_factory=dict)
    is_settled: bool = False  # whether there can be no thread that is not known, unless one that is has run since


class TaskReader:
    """Reads the threads of all processes, snapshot after snapshot, and remembers which are worth the time.

    A thread whose schedstat stands still has not run, so the rest of it need not be read again, and where no thread of
    a process has run there is no new one. With a budget, the processes that ran on target CPUs lately come first, then
    those that are new; then those that ran elsewhere and the others, in turn.

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
        self._least = 1
        self._used_ns = used_ns  # CPU time: who has to wait for a CPU has not used it, and would tell of nobody
        self._asks_all_affinities = asks_all_affinities
        self._process_by_pid: dict[int, _Process] = {}
        self._hot: dict[int, int] = {}  # by process, for how many snapshots more
        self._awake: set[int] = set()  # processes that ran elsewhere when they were read last
        self._listed: frozenset[int] | None = None
        self._last_in_turn = {True: 0, False: 0}  # of those that are awake, and of the others
        self._is_other_turn = False

    def limit(self, budget_ns: int, least: int = 1) -> None:
        """From now on a snapshot takes so much CPU time at most, and asks only who ran on target CPUs for affinity.

        So many processes that may have run are read at `least`: on a slow machine the first one takes all of the time.
        """
        self._budget_ns = budget_ns
        self._least = least
        self._asks_all_affinities = False

    def read(self, reader: Reader, target: CpuSet, tickless: CpuSet = frozenset()) -> Tasks | None:
        """The threads now; None where /proc cannot be listed or holds no process."""
        names = reader.names_or_none(FOLDER)
        pids = sorted(map(int, filter(is_count, names or ())))
        if not pids:
            if names is not None:
                reader.note(f"{FOLDER}/PID", "no process is visible")
            return None
        listed = frozenset(pids)
        for pid in self._process_by_pid.keys() - listed:
            del self._process_by_pid[pid]
        order = self._in_order(pids, listed)
        tasks: dict[int, Task] = {}
        read_pids: set[int] = set()
        threads = ThreadReader(reader, target, tickless, self._asks_all_affinities)
        for pid, by_tid in self._read_within_budget(threads, order):
            if by_tid is not None:
                read_pids.add(pid)
                tasks.update(by_tid)
        self._listed = listed
        return Tasks(tasks, listed, frozenset(read_pids))

    def _read_within_budget(
        self, threads: ThreadReader, order: Sequence[int]
    ) -> Iterator[tuple[int, Mapping[int, Task] | None]]:
        """Each process with its threads, until that took too long. To ask takes longer than one that rests."""
        started_ns, count = self._used_ns(), 0
        for some in self._together(order):
            changed = self._changed(threads, some)
            for pid in some:
                yield pid, self._read_or_rest(threads, pid, changed.get(pid))
                is_due = pid in changed or pid == some[-1]
                count += is_due
                if is_due and count >= self._least and self._is_spent(started_ns):
                    return

    def _is_spent(self, started_ns: int) -> bool:
        return self._budget_ns is not None and self._used_ns() - started_ns > self._budget_ns

    def _together(self, order: Sequence[int]) -> Iterator[list[int]]:
        """The processes in their order, as many in one call as keep within the budget; at least one."""
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
        return max(len(process.known), 1) if process is not None else 1

    def _in_order(self, pids: list[int], listed: frozenset[int]) -> list[int]:
        """Who ran on a target CPU lately, and who is new; then by turns one that ran elsewhere, and one of the rest.

        Of the former those with the fewest threads first, as one with hundreds takes all of the time; those that are
        new before it every other time.
        """
        self._hot = {pid: left for pid, left in self._hot.items() if left > 0 and pid in listed}
        if self._listed is not None:
            self._hot |= dict.fromkeys(listed - self._listed, _YOUNG)
        self._awake &= listed
        self._is_other_turn = not self._is_other_turn  # the first one may take all the time that there is
        first, second = (self._in_turn(pids, each) for each in (self._is_other_turn, not self._is_other_turn))
        turns = [pid for pair in zip(first, second, strict=False) for pid in pair]
        shorter = min(len(first), len(second))
        hot = sorted(self._hot, key=lambda pid: (self._thread_count(pid), -self._hot[pid], pid))
        if not self._is_other_turn:
            hot.sort(key=lambda pid: self._hot[pid] <= _YOUNG)
        return hot + turns + first[shorter:] + second[shorter:]

    def _in_turn(self, pids: list[int], is_awake: bool) -> list[int]:
        """Those that are awake, or all others; from behind the one that was the last of them to be read."""
        found = [pid for pid in pids if pid not in self._hot and (pid in self._awake) is is_awake]
        start = bisect(found, self._last_in_turn[is_awake])
        return found[start:] + found[:start]

    def _changed(self, threads: ThreadReader, pids: Iterable[int]) -> Mapping[int, _Changed]:
        """By process, the threads that have run, or may have; of a process that is not in there none has."""
        changed: dict[int, dict[int, bytes | None]] = {}
        files: list[tuple[str, bytes]] = []
        owners: list[tuple[int, int]] = []
        for pid in pids:
            process = self._process_by_pid.get(pid)
            if process is None or self._asks_all_affinities or not process.is_settled:
                changed[pid] = {}
            for tid, known in process.known.items() if process is not None else ():
                if known.schedstat is None or (threads.tickless and known.is_on_tickless(threads.tickless)):
                    changed.setdefault(pid, {})[tid] = None
                else:
                    files.append((f"{known.folder}/schedstat", known.schedstat))
                    owners.append((pid, tid))
        for at, content in threads.reader.machine.reread(files):
            pid, tid = owners[at]
            changed.setdefault(pid, {})[tid] = content
        ran = (self._process_by_pid[pid].known[tid] for pid, by_tid in changed.items() for tid in by_tid)
        threads.read_ahead(ran)
        return changed

    def _read_or_rest(self, threads: ThreadReader, pid: int, changed: _Changed | None) -> Mapping[int, Task] | None:
        """All threads of the process; None where it could not be read, none at all where it has ended."""
        if pid in self._hot:
            self._hot[pid] -= 1
        else:
            self._last_in_turn[pid in self._awake] = pid
        self._awake.discard(pid)
        if changed is None:
            return self._process_by_pid[pid].task_by_tid
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
        process = self._process_by_pid.setdefault(pid, _Process())
        known, folder = process.known.get(pid), f"{FOLDER}/{pid}"
        schedstat = _schedstat_of(threads, folder, pid, known, changed)
        if known is not None and len(process.known) == 1 and _has_not_run(known, schedstat):
            leader = threads.not_run(known)
        else:
            leader = self._noted(threads.read(pid, folder, schedstat, known), known, threads.target)
        if leader.thread_count == 1:
            read, process.is_settled = {pid: leader}, True
        else:
            read = self._read_group(threads, process, leader, changed)
            process.is_settled = read.keys() <= process.known.keys()
        process.known = read
        process.task_by_tid = {tid: each.task for tid, each in read.items()}
        return process.task_by_tid

    def _read_group(
        self, threads: ThreadReader, process: _Process, leader: Known, changed: _Changed
    ) -> dict[int, Known]:
        """The threads of a process that has several.

        They are listed after those that are known were looked at: who starts another one later runs, and is seen to.
        """
        read: dict[int, Known] = {}
        pid = leader.task.pid
        for name in filter(is_count, threads.reader.machine.list_names(f"{FOLDER}/{pid}/task")):
            tid, folder = int(name), f"{FOLDER}/{pid}/task/{name}"
            if tid == pid and leader.task.waited_ns is not None:
                read[tid] = leader  # schedstat is the first thread's own; only stat adds up the whole process
                continue
            known = process.known.get(tid)
            try:
                schedstat = _schedstat_of(threads, folder, tid, known, changed)
                if known is not None and _has_not_run(known, schedstat):
                    read[tid] = threads.not_run(known)
                    continue
                thread = self._noted(threads.read(pid, folder, schedstat, known), known, threads.target)
            except Absent:
                continue  # the thread has ended since
            of_process = (leader.task.children_ns, leader.task.process_ns) if tid == pid else (0, None)
            thread.task = replace(thread.task, children_ns=of_process[0], process_ns=of_process[1])
            read[tid] = thread
        return read

    def _noted(self, thread: Known, known: Known | None, target: CpuSet) -> Known:
        """The thread, whose process is read before others for some time if it ran."""
        if thread.runs:
            pid = thread.task.pid
            is_new = known is None or known.task.started_ticks != thread.task.started_ticks
            if thread.task.cpu in target:
                self._hot[pid] = max(self._hot.get(pid, 0), _YOUNG) if is_new else STAYS_HOT
            elif not is_new:
                self._awake.add(pid)
        return thread


def _schedstat_of(threads: ThreadReader, folder: str, tid: int, known: Known | None, changed: _Changed) -> bytes | None:
    """What is known of it, unless it has changed; read where it is new, or could not be read with the others."""
    if known is not None and tid not in changed:
        return known.schedstat
    content = changed.get(tid)
    return content if content is not None else threads.schedstat(folder, known)


def _has_not_run(known: Known, schedstat: bytes | None) -> bool:
    return schedstat is not None and schedstat == known.schedstat
