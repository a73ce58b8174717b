"""Reads single threads repeatedly; unchanged files are not read again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import Unreadable
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.files import (
    read_allowed,
    read_migrations,
    read_program,
    read_schedstat,
    read_stat,
    slice_count,
    thread_times,
)
from noisewatch.kernel.tasks.task import Task, is_confined_by, is_cut_from, may_be_cut
from noisewatch.text import clean

FOLDER = "/proc"
_LONG_NS = 1_000_000  # least run time of a thread whose migrations are read, because it may have moved


class ThreadRecord(Struct):
    """The last readings of a thread."""

    folder: str
    schedstat: bytes | None
    task: Task
    thread_count: int = 1  # number of threads of its process
    has_exited: bool = False  # a zombie without other threads
    runs: bool = True  # whether it has run since the previous reading
    named: str | None = None  # the kernel's name for the thread when its whole name was read; None if it was not read

    def is_on_tickless(self, tickless: CpuSet) -> bool:
        """Return whether the thread was last on a tickless CPU, so that only reading its stat may update its time.

        Bound kernel threads do not run for long, so their stat need not be read for this.
        """
        return self.task.cpu in tickless and not self.task.is_bound


class ThreadReader(Struct, frozen=True):
    """A reader of single threads. On `tickless` CPUs, the kernel may update a thread's time only when stat is read."""

    reader: Reader
    target: CpuSet
    tickless: CpuSet
    asks_all_affinities: bool
    ahead: dict[str, bytes] = {}  # content by path, read ahead and not used yet

    def read_ahead(self, ran: Iterable[ThreadRecord]) -> None:
        """Read in one call all files needed for the threads that `ran`, assuming that they stayed on their CPUs."""
        paths = [f"{record.folder}/{name}" for record in ran for name in self._files_to_read(record)]
        for at, content in self.reader.machine.reread([(path, b"") for path in paths]):
            if content is not None:
                self.ahead[paths[at]] = content

    def _files_to_read(self, record: ThreadRecord) -> Iterator[str]:
        yield "stat"
        if record.task.cpu in self.target:
            yield "status"
        if record.task.migrations is not None:
            yield "sched"

    def _read(self, path: str) -> bytes:
        ahead = self.ahead.pop(path, None)
        content = ahead if ahead is not None else self.reader.machine.read_bytes(path)
        self.reader.use(path, content)
        return content

    def schedstat(self, folder: str, record: ThreadRecord | None) -> bytes | None:
        """Read schedstat (None if unreadable), after making the kernel update the thread's time on a tickless CPU."""
        if record is not None and record.is_on_tickless(self.tickless):
            self._update_time(record.task.pid, record.task.tid)
        return read_schedstat(self.reader.machine, folder)

    def idle_record(self, record: ThreadRecord) -> ThreadRecord:
        """Return the record of a thread that has not run. With `asks_all_affinities`, read the affinity again.

        Another process may have changed it while the thread slept, and an undo has to restore the current affinity.
        """
        record.runs = False
        if record.task.allowed is not None and self.asks_all_affinities:
            record.task = replace(record.task, allowed=self._allowed(record.folder))
        return record

    def read(self, pid: int, folder: str, schedstat: bytes | None, record: ThreadRecord | None) -> ThreadRecord:
        """Return the new record of the thread whose files are in `folder`; `record` is the last one, None if it is new.

        Raise Absent if the thread has ended, else Unreadable or Malformed.
        """
        stat = read_stat(self._read, folder)
        before = record.task if record is not None and record.task.started_ticks == stat.started_ticks else None
        if before is None and stat.cpu in self.tickless and not stat.is_bound:
            self._update_time(pid, stat.pid)
            schedstat = read_schedstat(self.reader.machine, folder)
        ran_ns, waited_ns = thread_times(schedstat, stat, folder)
        runs = ran_ns != before.ran_ns if before is not None else not stat.is_bound  # a new thread may have run
        runs_on_target = runs and stat.cpu in self.target
        is_named = before is not None and record is not None and record.named == stat.name
        is_asked = runs_on_target or (self.asks_all_affinities and not stat.is_bound)
        idle = before if not runs else None  # what is known of a thread that has not run is still true
        allowed = self._allowed(folder) if is_asked else idle.allowed if idle is not None else None
        ran_long = ran_ns - (before.ran_ns if before is not None else 0) >= _LONG_NS
        may_move = ran_long and not is_confined_by(allowed, stat.is_bound, stat.name)
        task = Task(
            tid=stat.pid,
            pid=pid,
            name=before.name if before is not None and is_cut_from(before.name, stat.name) else stat.name,
            is_kernel=stat.is_kernel,
            is_bound=stat.is_bound,
            cpu=stat.cpu,
            ran_ns=ran_ns,
            waited_ns=waited_ns,
            parent_pid=stat.parent_pid,
            children_ns=stat.children_ns,
            started_ticks=stat.started_ticks,
            allowed=allowed,
            has_deadline=stat.has_deadline,
            process_ns=stat.busy_ns if folder == f"{FOLDER}/{pid}" else None,
            migrations=read_migrations(self._read, folder)
            if may_move
            else idle.migrations
            if idle is not None
            else None,
            slices=slice_count(schedstat),
        )
        if runs_on_target and not is_named and may_be_cut(task.name) and not task.is_kernel:
            task = replace(task, name=_whole_name(self.reader, task))
        if task.allowed is None and before is not None and _may_have_been_elsewhere(before, task, stat.thread_count):
            task = replace(task, allowed=self._allowed(folder))
        is_named = is_named or runs_on_target
        return ThreadRecord(
            *(folder, schedstat, task, stat.thread_count, stat.has_exited, runs), stat.name if is_named else None
        )

    def _allowed(self, folder: str) -> CpuSet | None:
        return read_allowed(self._read, folder)

    def _update_time(self, pid: int, tid: int) -> None:
        with contextlib.suppress(Unreadable):
            self.reader.machine.read_bytes(f"{FOLDER}/{pid}/task/{tid}/stat")


def _may_have_been_elsewhere(before: Task, task: Task, thread_count: int) -> bool:
    """Return whether the thread, its ended children or its process's other threads may have run on other CPUs."""
    if task.children_ns > before.children_ns or task.migrations not in (None, before.migrations):
        return True
    if thread_count > 1 or task.process_ns is None or before.process_ns is None:
        return False
    return task.process_ns - before.process_ns > task.ran_ns - before.ran_ns + TICK_NS


def _whole_name(reader: Reader, task: Task) -> str:
    """Return the program's file name if the kernel's name is the beginning of it; else the kernel's name.

    A thread inherits the name of its process.
    """
    name = reader.ask(f"name of process {task.pid}", lambda: read_program(task.pid))
    return clean(name) if isinstance(name, str) and name.startswith(task.name) else task.name
