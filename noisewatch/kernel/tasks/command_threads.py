"""Reads the threads of a command and its descendants; `run` requests this about ten times a second.

A thread with an unchanged schedstat has not run, so it has started no other thread, and its other files need not be
read. If a thread was ready to run, its stat is read before its schedstat: this updates the run time, which the kernel
itself updates only once a second on a CPU without a tick.
"""

from __future__ import annotations

import time
from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.numbers import is_count
from noisewatch.kernel.tasks.files import parse_stat, parse_tracer, read_migrations, read_schedstat, thread_times
from noisewatch.kernel.tasks.task import Tasks, descendants_in, parents_in, parse_children
from noisewatch.machine import Machine
from noisewatch.text import clean

_READY = "R"
_TRACED = "t"
_STOPPED = "T"  # stopped by a signal; `t` is stopped by a debugger


class ThreadLook(Struct, frozen=True):
    """One thread at one moment. Times are since its start; `waited_ns` is the time it was ready without a CPU.

    `migrations` is how often it had moved between CPUs when this count was last read; None if not read or not reported.
    """

    tid: int
    pid: int
    name: str
    state: str
    cpu: int  # the current or last CPU
    ran_ns: int
    waited_ns: int | None
    started_ticks: int  # since boot: detects a reused tid
    thread_count: int  # number of threads of its process
    migrations: int | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the thread is running or ready to run."""
        return self.state == _READY

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped the thread."""
        return self.state == _STOPPED

    @property
    def is_held(self) -> bool:
        """Whether a debugger has stopped the thread."""
        return self.state == _TRACED


class CommandLook(Struct, frozen=True):
    """A command's known threads by tid. Threads in `without_turn` are from an earlier look: they were not read again.

    `reason` is why threads may be missing; None if all were listed. `debuggers` (tid and name) are threads outside the
    command that trace some of its threads.
    """

    taken_at_ns: int
    threads: Mapping[int, ThreadLook]
    without_turn: frozenset[int] = frozenset()
    reason: str | None = None
    debuggers: frozenset[tuple[int, str]] = frozenset()


def look_from(pid: int, stat: bytes, schedstat: bytes | None, folder: str, migrations: int | None = None) -> ThreadLook:
    """Return a thread of process `pid` from the content of its files. Raise Unreadable if they are malformed."""
    try:
        parsed = parse_stat(stat.decode("utf-8", "replace"))
        ran_ns, waited_ns = thread_times(schedstat, parsed, folder)
    except Malformed as error:
        raise Unreadable(folder, error.reason) from error
    return ThreadLook(
        tid=parsed.pid,
        pid=pid,
        name=parsed.name,
        state=parsed.state,
        cpu=parsed.cpu,
        ran_ns=ran_ns,
        waited_ns=waited_ns,
        started_ticks=parsed.started_ticks,
        thread_count=parsed.thread_count,
        migrations=migrations,
    )


BUDGET_NS = 2_000_000  # CPU time of a look: 2% of a housekeeping CPU with ten looks a second
_MOST_ASKED = 8  # most threads whose debugger is read in a look
_AT_ONCE = 64  # threads read between two checks of the budget
_NO_CHILDREN = (
    "this kernel does not list child processes (CONFIG_PROC_CHILDREN), so children newer than the last snapshot are "
    "missing"
)


class _Thread(Struct):
    folder: str
    stat: bytes
    schedstat: bytes | None  # None if the kernel has no schedstat
    look: ThreadLook
    ran: bool = True  # whether it ran between the last two looks

    @property
    def is_first(self) -> bool:
        """Whether the thread is its process's main thread."""
        return self.look.tid == self.look.pid

    @property
    def is_asked_for_stat(self) -> bool:
        return self.look.is_ready or self.schedstat is None


class _Process(Struct):
    tids: set[int] = set()  # the process's threads when they were last listed
    has_lost_some: bool = False


class CommandThreadReader:
    """A reader of the threads of the processes `pids` and their descendants.

    `reaper` is the process that adopts orphans, so its new children belong to the command too. A look ends after
    `budget_ns` of CPU time; the next looks begin with the threads that it did not read.
    """

    def __init__(
        self,
        machine: Machine,
        pids: Iterable[int],
        reaper: int | None = None,
        budget_ns: int = BUDGET_NS,
        used_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._machine = machine
        self._budget_ns = budget_ns
        self._used_ns = used_ns
        self._threads: dict[int, _Thread] = {}
        self._processes: dict[int, _Process] = {}
        self._roots = tuple(pids)
        self._pending: dict[int, None] = {}  # pids of new processes whose threads are still to be listed, in order
        self._listed: deque[tuple[int, int]] = deque()  # pid and tid of threads that are still to be read
        self._reason: str | None = None
        self._reaper = f"/proc/{reaper}/task/{reaper}" if reaper is not None else None
        of_reaper = self._children(self._reaper) if self._reaper is not None else ()
        self._others = {*machine.own_pids, *of_reaper} - {*self._roots}
        # The tid read last, among threads that ran (True) and among the others (False).
        self._last_in_turn = {True: 0, False: 0}
        self._begins_with_ran = False
        self._counts_migrations = False

    @property
    def count(self) -> int:
        """The number of threads at the last look."""
        return len(self._threads)

    def look(
        self, tasks: Tasks | None = None, counts_migrations: bool = False, finds_debuggers: bool = True
    ) -> CommandLook:
        """Return the threads now. `tasks` are from the last full snapshot, for kernels that do not list children."""
        self._counts_migrations = counts_migrations
        taken_at_ns, until_ns = self._machine.now_ns(), self._used_ns() + self._budget_ns
        order = self._reading_order()
        self._pending |= dict.fromkeys(self._roots)
        if self._reaper is not None:
            self._add_children(self._reaper)
        if tasks is not None and self._reason is not None:
            self._pending |= dict.fromkeys(descendants_in(parents_in(tasks), self._processes))
        self._add_pending(until_ns)
        done = 0
        while done < len(order) and (not done or self._used_ns() <= until_ns):
            self._reread(order[done : done + _AT_ONCE])
            done += _AT_ONCE
            self._add_pending(until_ns)
        looks = {tid: thread.look for tid, thread in self._threads.items()}
        without_turn = frozenset(order[done:]).intersection(looks)
        debuggers = self._debuggers() if finds_debuggers else frozenset()
        return CommandLook(taken_at_ns, looks, without_turn, self._reason, debuggers)

    def _debuggers(self) -> frozenset[tuple[int, str]]:
        """Return tid and name of each foreign thread that traces a thread of the command.

        Only threads stopped by a debugger and main threads that ran are checked. Empty if not all threads are known.
        """
        if self._pending or self._listed or self._reason is not None:
            return frozenset()
        asked = (thread for thread in self._threads.values() if thread.look.is_held or (thread.ran and thread.is_first))
        tracers = {self._tracer(thread.folder) for thread in islice(asked, _MOST_ASKED)}
        return frozenset((tid, self._name(tid)) for tid in tracers - {0} - self._threads.keys())

    def _tracer(self, folder: str) -> int:
        try:
            return parse_tracer(self._machine.read_bytes(f"{folder}/status").decode("utf-8", "replace"))
        except (Unreadable, Malformed):
            return 0

    def _name(self, tid: int) -> str:
        try:
            return clean(self._machine.read_bytes(f"/proc/{tid}/comm").decode("utf-8", "replace").rstrip("\n"))
        except Unreadable:
            return "?"

    def _reading_order(self) -> list[int]:
        """Return the threads in reading order: threads that ran come first and last in alternate looks."""
        self._begins_with_ran = not self._begins_with_ran
        return self._rotate(self._begins_with_ran) + self._rotate(not self._begins_with_ran)

    def _rotate(self, ran: bool) -> list[int]:
        """Return the threads that ran (or the others), beginning after the thread of this kind that was read last."""
        tids = sorted(tid for tid, thread in self._threads.items() if thread.ran is ran)
        start = bisect(tids, self._last_in_turn[ran])
        return tids[start:] + tids[:start]

    def _reread(self, tids: Iterable[int]) -> None:
        """Read known threads again, and look for new threads and children of those that ran or ended."""
        listed = [tid for tid in tids if tid in self._threads]
        ran: dict[int, list[_Thread]] = {}
        for tid, stat, schedstat in self._read_changed(listed):
            thread = self._threads[tid]
            self._last_in_turn[thread.ran] = tid
            try:
                self._update(thread, stat, schedstat)
            except Unreadable:
                self._forget(tid)
                ran.setdefault(thread.look.pid, [])
            else:
                if thread.ran:
                    ran.setdefault(thread.look.pid, []).append(thread)
        for pid, threads in ran.items():
            self._look_for_new(pid, threads)

    def _read_changed(self, tids: Sequence[int]) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Yield each thread with its current stat and schedstat; a file that still has to be read is None."""
        files: list[tuple[str, bytes]] = []
        for thread in map(self._threads.__getitem__, tids):
            if thread.is_asked_for_stat:
                files.append((f"{thread.folder}/stat", thread.stat))
            if thread.schedstat is not None:
                files.append((f"{thread.folder}/schedstat", thread.schedstat))
        changed = {files[at][0]: content for at, content in self._machine.reread(files)}
        for tid in tids:
            thread = self._threads[tid]
            stat = changed.get(f"{thread.folder}/stat", thread.stat)
            yield tid, stat, changed.get(f"{thread.folder}/schedstat", thread.schedstat)

    def _update(self, thread: _Thread, stat: bytes | None, schedstat: bytes | None) -> None:
        """Update the thread from its files. Raise Unreadable if it has ended."""
        folder = thread.folder
        if stat is None:
            stat = self._machine.read_bytes(f"{folder}/stat")
        if schedstat is None and thread.schedstat is not None:
            schedstat = self._machine.read_bytes(f"{folder}/schedstat")
        thread.ran = (stat, schedstat) != (thread.stat, thread.schedstat)
        if not thread.ran:
            return
        if not thread.is_asked_for_stat:
            stat = self._machine.read_bytes(f"{folder}/stat")
        thread.look = look_from(thread.look.pid, stat, schedstat, folder, self._migrations(folder, thread.look))
        thread.stat, thread.schedstat = stat, schedstat

    def _migrations(self, folder: str, before: ThreadLook | None = None) -> int | None:
        count = read_migrations(self._machine.read_bytes, folder) if self._counts_migrations else None
        return before.migrations if count is None and before is not None else count

    def _forget(self, tid: int) -> None:
        pid = self._threads.pop(tid).look.pid
        process = self._processes[pid]
        process.tids.discard(tid)
        process.has_lost_some = True

    def _look_for_new(self, pid: int, ran: Sequence[_Thread]) -> None:
        """Look for threads and children that the threads in `ran`, all of process `pid`, have started."""
        process = self._processes[pid]
        if process.has_lost_some or any(thread.look.thread_count != len(process.tids) for thread in ran):
            self._list_threads(pid, process)
        for thread in ran:
            self._add_children(thread.folder)

    def _add_pending(self, until_ns: int) -> None:
        """Add pending threads and processes, as long as the budget lasts."""
        while (self._listed or self._pending) and self._used_ns() <= until_ns:
            if self._listed:
                self._add_thread(*self._listed.popleft())
                continue
            pid = next(iter(self._pending))
            del self._pending[pid]
            if pid not in self._processes and pid not in self._others:
                process = self._processes[pid] = _Process()
                self._list_threads(pid, process)

    def _list_threads(self, pid: int, process: _Process) -> None:
        """List the process's threads, and queue the new ones for reading. Forget the process if it has ended."""
        process.has_lost_some = False
        names: Sequence[str] = ()
        try:
            names = self._machine.list_names(f"/proc/{pid}/task")
        except Absent:
            pass
        except Unreadable as error:
            self._reason = str(error)
        tids = {int(name) for name in names if is_count(name)}
        self._listed += ((pid, tid) for tid in sorted(tids - process.tids))
        process.tids |= tids
        if not process.tids:
            del self._processes[pid]

    def _add_thread(self, pid: int, tid: int) -> None:
        thread = self._make_thread(pid, tid)
        if thread is not None:
            self._threads[tid] = thread
            self._add_children(thread.folder)
        elif (process := self._processes.get(pid)) is not None:
            process.tids.discard(tid)
            if not process.tids:
                del self._processes[pid]

    def _make_thread(self, pid: int, tid: int) -> _Thread | None:
        """Return a new thread, or None if it has ended since."""
        folder = f"/proc/{pid}/task/{tid}"
        try:
            stat = self._machine.read_bytes(f"{folder}/stat")
            schedstat = read_schedstat(self._machine, folder)
            return _Thread(folder, stat, schedstat, look_from(pid, stat, schedstat, folder, self._migrations(folder)))
        except Unreadable:
            return None

    def _add_children(self, folder: str) -> None:
        self._pending |= dict.fromkeys(self._children(folder))

    def _children(self, folder: str) -> tuple[int, ...]:
        try:
            return parse_children(self._machine.read_bytes(f"{folder}/children").decode("ascii", "replace"))
        except Absent:
            if read_schedstat(self._machine, folder) is not None:  # the thread itself is still there
                self._reason = _NO_CHILDREN
        except (Unreadable, Malformed) as error:
            self._reason = str(error)
        return ()
