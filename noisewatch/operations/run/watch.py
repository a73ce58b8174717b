"""A watch of the machine while a command runs: looks at it now and then, marks of counters at each repetition."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from noisewatch.kernel.snapshot.counters import Counters, read_counters
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.system.clock import ClockOffsets, clock_offsets_now
from noisewatch.kernel.tasks.task import descendants_in, parents_in
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Json, Machine
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.operations.sampling import TASK_BUDGET_SHARE
from noisewatch.records import dataclass
from noisewatch.units import NS_PER_S

_SOONEST_NS = NS_PER_S // 5  # between looks, which cost some milliseconds; short-lived tasks in between are missed
_LONG_NS = NS_PER_S // 20
_LATEST_NS = NS_PER_S
_PATIENCE = 20  # looks at a repetition before they become fewer
_LEAST_READ = 8  # processes in a look: the command and its culprits, however slow the machine is


@dataclass(frozen=True, slots=True)
class Mark:
    """The counters at one instant, the offsets of the clocks, and the CPU time that noisewatch has used."""

    snapshot: Snapshot
    clocks: ClockOffsets
    own_cpu_ns: int


class RunWatch:
    """The looks and marks of one machine, in order. Tasks that the command starts are separated from all others."""

    def __init__(self, machine: Machine, options: SnapshotOptions, counting: Machine | None = None) -> None:
        """Take looks from the machine, and marks from `counting`: a recording is to contain looks alone."""
        self._machine = machine
        self.counting = counting or machine
        self._options = replace(options, is_discreet=True)
        self._task_reader = TaskReader()
        self._bystanders: Mapping[int, int] = {}  # processes below us that no command has started, and since when
        self._snapshot = self._read(None)
        self._counters: Counters | None = None

    @property
    def last(self) -> Snapshot:
        """The last look."""
        return self._snapshot

    def begin(self) -> None:
        """Read all threads; later looks within a repetition read at most the number in the budget.

        No command has been started yet: our present descendants are helpers, or belong to the shell that this process
        replaced.
        """
        snapshot = self._read(self._snapshot)
        tasks = snapshot.tasks.by_tid if snapshot.tasks is not None else {}
        self._bystanders = {pid: tasks[pid].started_ticks for pid in snapshot.own_pids - {os.getpid()} if pid in tasks}
        self._snapshot = self._with_own_pids(snapshot)
        self._counters = read_counters(self.counting)
        self._task_reader.limit(round(TASK_BUDGET_SHARE * NS_PER_S), _LEAST_READ)

    def tell(self, runs: Callable[[], Json]) -> None:
        """Record the status of this run with each look from now on, for replays; our own snapshots leave it out."""
        self._options = replace(self._options, asks_runs=runs)

    def mark(self) -> Mark:
        """Return the counters now: right before a repetition, and right after it."""
        self._counters = read_counters(self.counting, self._counters)
        return Mark(self._counters.within(self._snapshot), clock_offsets_now(), time.process_time_ns())

    def look(self) -> Interval:
        """Return the window from the last look until now."""
        before, self._snapshot = self._snapshot, self._read(self._snapshot)
        return interval_between(before, self._snapshot)

    def is_due(self, length_ns: int) -> bool:
        """Return whether a look may follow a repetition of this length: it is cheap in comparison, or rare.

        So the noise of a repetition that is not short is not attributed to the one before.
        """
        return length_ns >= _LONG_NS or time.monotonic_ns() - self._snapshot.taken_at_ns >= _SOONEST_NS

    def next_look_ns(self, began_ns: int, is_often: bool = False) -> int:
        """Return the time of the next look at a running repetition: the longer it lasts, the rarer.

        Looks are at most a second apart.
        """
        elapsed_ns = time.monotonic_ns() - began_ns
        last_ns = max(self._snapshot.taken_at_ns, began_ns)
        return last_ns + min(max(elapsed_ns // _PATIENCE, _SOONEST_NS), _SOONEST_NS if is_often else _LATEST_NS)

    def _read(self, previous: Snapshot | None) -> Snapshot:
        snapshot = read_snapshot(self._machine, self._options, self._task_reader, previous)
        snapshot = replace(snapshot, runs=(), commands={}) if snapshot.runs else snapshot
        return self._with_own_pids(snapshot)

    def _with_own_pids(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the command's processes, which are our descendants.

        Orphans are reparented to us.
        """
        if snapshot.tasks is None:
            return snapshot
        tasks = snapshot.tasks.by_tid
        others = {pid for pid, since in self._bystanders.items() if pid in tasks and tasks[pid].started_ticks == since}
        parents = {pid: parent for pid, parent in parents_in(snapshot.tasks).items() if pid not in others}
        return replace(snapshot, own_pids=self._machine.own_pids | descendants_in(parents, [os.getpid()]))
