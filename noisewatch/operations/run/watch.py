"""Watches the machine, the command's cgroups, and noisewatch itself while a command runs.

`RunWatch` takes looks at the machine now and then, and reads its counters around each repetition. `FreezeWatch` detects
that the cgroup of a command is frozen or has used up its CPU quota. `WakeUps` measures how late, and why, noisewatch
itself was woken while it waited for a command.

    /proc/PID/schedstat    177645329 16002335 366      ns on a CPU, ns ready and waiting for one, …
                           0 0 0                       nothing is counted (CONFIG_SCHED_INFO, delayacct)

The kernel counts how long a thread waits for a CPU. Any further delay has another cause: the whole machine was paused
(by a hypervisor or the firmware), or only noisewatch was stopped.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import Malformed, NoisewatchError, Unreadable
from noisewatch.kernel.cgroup.freezing import (
    FindGroups,
    FreezeLook,
    Freezer,
    FreezeReader,
    GroupFreeze,
    entry_files,
)
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.counters import Counters, read_counters
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.system.clock import ClockOffsets, clock_offsets_now
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json, Machine
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.running import StartedCommand, scheduling_of
from noisewatch.machine.file_changes import FileChanges
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.model.run.freezing import FreezeTally, Freezing
from noisewatch.operations.sampling import TASK_BUDGET_SHARE
from noisewatch.units import NS_PER_S


class FreezeWatch:
    """A context manager that watches the cgroups of commands, one command after the other.

    Call `prepare` before a command is started, `sample` while it runs, then `end`. Each of them looks at the command's
    groups. On this host the kernel also reports writes that may freeze or thaw them.
    """

    def __init__(self, machine: Machine, find: FindGroups | None = None) -> None:
        """Begin without a command; `find` is as in FreezeReader."""
        self._machine = machine
        self._reader = FreezeReader(machine, find)
        self._tally = FreezeTally(FreezeLook(0))
        self._changes = FileChanges(self.note) if machine.is_live else None
        self._freezer_by_notice: dict[str, Freezer] = {}
        self._entrances: frozenset[str] = frozenset()
        # filled by another thread; a group of None: a process may have moved between cgroups
        self._noted: deque[tuple[int, GroupFreeze | None, bool]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._changes is not None:
            self._changes.close()

    def prepare(self, cgroup: str | None = None) -> None:
        """Watch the next command's groups: this process's groups, and the cgroup v2 that the command is moved to."""
        self._noted.clear()
        look = self._reader.look() or FreezeLook(self._machine.now_ns())
        if cgroup is not None:
            try:
                self._reader.enter(cgroup)
                look = self._reader.look_again()
            except Unreadable as error:
                look = FreezeLook(look.taken_at_ns, reason=str(error))
        self._watch_groups()
        if self._changes is not None:
            # A command that is moved to `cgroup` is not in this process's v2 group.
            entrances = entry_files(Reader(self._machine), with_v2=cgroup is None)
            self._entrances = frozenset(filter(self._changes.watch, entrances))
        self._tally = FreezeTally(look)

    def sample(self, pid: int) -> None:
        """Look at the groups of the command's first process."""
        look = self._reader.look(f"/proc/{pid}/cgroup")
        if look is not None:
            self._count_noted(look.taken_at_ns)
            self._tally.add(look)
            self._watch_groups()

    def end(self, length_ns: int) -> Freezing:
        """Return how long the groups of the command, which ran for `length_ns`, were frozen."""
        look = self._reader.look_again()
        self._count_noted(look.taken_at_ns)
        self._tally.add(look)
        return self._tally.freezing(length_ns)

    def note(self, path: str) -> None:
        """Note what a write to the file may have changed: a group's state, or its members. Any thread may call this."""
        if path in self._entrances:
            self._noted.append((self._machine.now_ns(), None, False))
        freezer = self._freezer_by_notice.get(path)
        if freezer is None:
            return
        at_ns = self._machine.now_ns()
        try:
            group = freezer.read(self._machine)
        except NoisewatchError:
            return  # the group is gone
        self._noted.append((at_ns, group, freezer.is_written_to_freeze))

    def _count_noted(self, until_ns: int) -> None:
        while self._noted and self._noted[0][0] <= until_ns:
            at_ns, group, is_certain = self._noted.popleft()
            if group is None:
                self._tally.move(at_ns)
            else:
                self._tally.change(group, at_ns, is_certain)

    def _watch_groups(self) -> None:
        for freezer in self._reader.freezers:
            for path in freezer.notices:
                if self._changes is not None and self._changes.watch(path):
                    self._freezer_by_notice[path] = freezer


_PROMPT_NS = 10_000_000  # normal delay of a wait: timeouts are in ms, and timers may depend on ticks


def read_own_wait_ns() -> int | None:
    """Return how long (ns) our main thread has waited for a CPU so far, or None if the kernel does not count it."""
    return own_wait_ns(scheduling_of(os.getpid()))


def own_wait_ns(schedstat: str) -> int | None:
    """Return how long (ns) a thread has waited for a CPU, by its schedstat, or None if the kernel does not count it."""
    try:
        ran_ns, waited_ns = parse_schedstat(schedstat)
    except Malformed:
        return None
    return waited_ns if ran_ns else None


class WakeUps:
    """The wake-ups of noisewatch in one repetition; create it before the command is started.

    `held_up_ns`: delays other than waits for a CPU. `seen_late_ns`: the maximum delay in noticing the end. A pause is
    measured from the time when the wake-up was due, so pauses shorter than the waits (100 ms) may be missed.
    Without schedstat, `seen_late_ns` is None, and `held_up_ns` includes waits for a CPU.
    """

    def __init__(
        self, wait_ns: Callable[[], int | None] = read_own_wait_ns, now_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.held_up_ns = 0
        self.seen_late_ns: int | None = 0
        self._read_wait_ns, self._now_ns = wait_ns, now_ns
        self._alive_at_ns = wait_ns()  # our total wait for a CPU when the command was last known to run
        self._unrun_ns = 0  # how long (ns) no thread of ours has run since then

    @contextmanager
    def working(self, started: StartedCommand) -> Iterator[None]:
        """Return a context for work between waits; it includes the command's `noticing_end`.

        Our file-reading threads wait for a CPU as well, and so delay the main thread in noticing the end.
        """
        began_ns, used_ns = time.monotonic_ns(), time.process_time_ns()
        with started.noticing_end():
            yield
        self._unrun_ns = max(time.monotonic_ns() - began_ns - (time.process_time_ns() - used_ns), 0)

    def wait(self, started: StartedCommand, until_ns: int | None) -> EndedCommand | None:
        """Wait as the command's own `wait` does, and measure the delay."""
        before_ns = self._read_wait_ns()
        started.poll()
        if not started.has_ended:
            self._alive_at_ns, self._unrun_ns = before_ns, 0
        end = started.wait(until_ns)
        now_ns, after_ns = self._now_ns(), self._read_wait_ns()
        late_ns = 0 if until_ns is None else now_ns - until_ns - (_increase(before_ns, after_ns) or 0)
        held_up_ns = late_ns if late_ns > _PROMPT_NS else 0
        self.held_up_ns += held_up_ns
        if end is not None:
            waited_ns = _increase(self._alive_at_ns, after_ns)
            self.seen_late_ns = None if waited_ns is None else max(waited_ns, self._unrun_ns) + held_up_ns
        return end


def _increase(before_ns: int | None, after_ns: int | None) -> int | None:
    return None if before_ns is None or after_ns is None else after_ns - before_ns


_SOONEST_NS = NS_PER_S // 5  # between snapshots, which cost some milliseconds; short-lived tasks in between are missed
_LONG_NS = NS_PER_S // 20
_LATEST_NS = NS_PER_S
_PATIENCE = 20  # snapshots of a repetition before they become rarer
_LEAST_READ = 8  # processes in a snapshot, however slow the machine is: the command and its culprits


class RepetitionEdge(Struct, frozen=True):
    """The counters at the start or the end of a repetition, with clock offsets, and noisewatch's CPU time so far."""

    snapshot: Snapshot
    clocks: ClockOffsets
    own_cpu_ns: int


class RunWatch:
    """Takes snapshots of the machine, and reads its counters. The command's tasks are separated from all others."""

    def __init__(self, machine: Machine, options: SnapshotOptions, counting: Machine | None = None) -> None:
        """Read snapshots from `machine`, and counters from `counting`, so that a recording only has snapshots."""
        self._machine = machine
        self.counting = counting or machine
        self._options = replace(options, is_discreet=True)
        self._task_reader = TaskReader()
        self._bystanders: Mapping[int, int] = {}  # start ticks by pid: our descendants before any command
        self._snapshot = self._read(None)
        self._counters: Counters | None = None

    @property
    def last_snapshot(self) -> Snapshot:
        return self._snapshot

    def begin(self) -> None:
        """Read all threads; from the next snapshot on, the time for reading them is limited.

        No command has been started yet: current descendants are helpers, or belong to the shell that this process
        replaced.
        """
        snapshot = self._read(self._snapshot)
        tasks = snapshot.tasks.by_tid if snapshot.tasks is not None else {}
        self._bystanders = {pid: tasks[pid].started_ticks for pid in snapshot.own_pids - {os.getpid()} if pid in tasks}
        self._snapshot = self._with_own_pids(snapshot)
        self._counters = read_counters(self.counting)
        self._task_reader.limit(round(TASK_BUDGET_SHARE * NS_PER_S), _LEAST_READ)

    def record_status(self, runs: Callable[[], Json]) -> None:
        """Record this run's status with each snapshot from now on, for replays; the snapshots themselves omit it."""
        self._options = replace(self._options, asks_runs=runs)

    def read_edge(self) -> RepetitionEdge:
        """Return the current counters; call it right before and right after a repetition."""
        self._counters = read_counters(self.counting, self._counters)
        return RepetitionEdge(self._counters.merge_into(self._snapshot), clock_offsets_now(), time.process_time_ns())

    def take_snapshot(self) -> Interval:
        """Take a snapshot and return the window since the last one."""
        before, self._snapshot = self._snapshot, self._read(self._snapshot)
        return interval_between(before, self._snapshot)

    def is_due(self, length_ns: int) -> bool:
        """Return whether a snapshot after a repetition of this length is cheap in comparison, or overdue.

        Otherwise the noise of one long repetition could be attributed to the next one.
        """
        return length_ns >= _LONG_NS or time.monotonic_ns() - self._snapshot.taken_at_ns >= _SOONEST_NS

    def next_snapshot_ns(self, began_ns: int, is_often: bool = False) -> int:
        """Return when to take the next snapshot of a running repetition.

        Snapshots become rarer the longer the repetition lasts, but are at most a second apart.
        """
        elapsed_ns = time.monotonic_ns() - began_ns
        last_ns = max(self._snapshot.taken_at_ns, began_ns)
        return last_ns + min(max(elapsed_ns // _PATIENCE, _SOONEST_NS), _SOONEST_NS if is_often else _LATEST_NS)

    def set_apart(self, pids: Iterable[int]) -> dict[int, str | None]:
        """Take a snapshot in which these processes, and what they start, are not the command's; return their names.

        The next window begins with it. A name is None if the snapshot does not contain the process.
        """
        snapshot = self._read(self._snapshot)
        tasks = snapshot.tasks.by_tid if snapshot.tasks is not None else {}
        self._bystanders = {**self._bystanders, **{pid: tasks[pid].started_ticks for pid in pids if pid in tasks}}
        self._snapshot = self._with_own_pids(snapshot)
        return {pid: tasks[pid].name if pid in tasks else None for pid in sorted(pids)}

    def _read(self, previous: Snapshot | None) -> Snapshot:
        snapshot = read_snapshot(self._machine, self._options, self._task_reader, previous)
        snapshot = replace(snapshot, runs=(), commands={}) if snapshot.runs else snapshot
        return self._with_own_pids(snapshot)

    def _with_own_pids(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the command's processes as our own: they are our descendants, orphans included."""
        if snapshot.tasks is None:
            return snapshot
        tasks = snapshot.tasks.by_tid
        others = {pid for pid, since in self._bystanders.items() if pid in tasks and tasks[pid].started_ticks == since}
        parents = {pid: parent for pid, parent in parents_in(snapshot.tasks).items() if pid not in others}
        return replace(snapshot, own_pids=self._machine.own_pids | descendants_in(parents, [os.getpid()]))
