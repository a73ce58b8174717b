"""Watches where a command's threads run, and on request pins busy threads, one per CPU.

Pinning is for isolated CPUs: the scheduler does not spread threads across CPUs of isolcpus. A *look* reads all of the
command's threads, which costs much less than a snapshot of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import NODES, CpuPlace, read_memory_nodes
from noisewatch.kernel.memory.nodes import NodePages, read_node_pages
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.command_threads import CommandLook, CommandThreadReader, ThreadLook
from noisewatch.kernel.tasks.files import read_migrations
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.machine import Machine
from noisewatch.machine.live import reason_of
from noisewatch.model.run.placement import (
    NOWHERE_ELSE,
    CpuGroups,
    MemoryElsewhere,
    Placement,
    SpreadThread,
    SpreadThreads,
    elsewhere_by_pages,
)
from noisewatch.model.run.placement_tally import PlacementTally, placement_by_trace

_Affinity = Callable[[int], Collection[int]]
_SetAffinity = Callable[[int, Iterable[int]], None]


class ThreadSpreader:
    """Pins busy threads as they appear, one per CPU.

    CPUs of free cores are preferred, then a thread's current CPU. A thread that has set its own affinity is left alone.
    An idle pinned thread is unpinned if another thread needs its CPU. If there are more busy threads than CPUs, some
    threads are not pinned. A thread that ends before the next look keeps the affinity that it inherited.
    """

    def __init__(
        self,
        target: CpuSet,
        topology: Mapping[int, CpuPlace],
        affinity: _Affinity = os.sched_getaffinity,
        set_affinity: _SetAffinity = os.sched_setaffinity,
    ) -> None:
        self._target = target
        self._topology = topology
        self._affinity, self._set_affinity = affinity, set_affinity
        self._cpu_by_tid: dict[int, int] = {}
        self._given: set[int] = set()  # CPUs of pinned threads; threads that they start inherit the affinity
        self._left: set[int] = set()
        self._last: Mapping[int, ThreadLook] = {}
        self._pinned_count = 0
        self._left_by_reason: dict[str, int] = {}

    @property
    def outcome(self) -> SpreadThreads:
        """The counts of threads pinned and left alone so far."""
        return SpreadThreads(self._pinned_count, dict(self._left_by_reason))

    def spread(self, look: CommandLook) -> list[SpreadThread]:
        """Pin busy threads without a CPU of their own, as far as CPUs are free, and return the changes."""
        last, self._last = self._last, look.threads
        for tid in self._cpu_by_tid.keys() - look.threads.keys():
            del self._cpu_by_tid[tid]
        self._left &= look.threads.keys()
        read = sorted(self._cpu_by_tid.keys() - look.without_turn)
        resting = [tid for tid in read if look.threads[tid] is last.get(tid) and not look.threads[tid].is_ready]
        done: list[SpreadThread] = []
        for tid, thread in sorted(look.threads.items()):
            if not thread.is_ready or tid in self._cpu_by_tid or tid in self._left:
                continue
            if not self._free and resting:
                done.append(self._let_go(look.threads[resting.pop(0)]))
            if self._free:
                done.append(self._pin(thread))
        return done

    @property
    def _free(self) -> CpuSet:
        return self._target - frozenset(self._cpu_by_tid.values())

    def _pin(self, thread: ThreadLook) -> SpreadThread:
        cpu = self._best(thread.cpu)
        reason = self._try_to_pin(thread.tid, cpu)
        if reason is not None:
            self._left.add(thread.tid)
            self._left_by_reason[reason] = self._left_by_reason.get(reason, 0) + 1
            return SpreadThread(thread.tid, thread.name, None, reason)
        self._cpu_by_tid[thread.tid] = cpu
        self._pinned_count += 1
        self._given.add(cpu)
        return SpreadThread(thread.tid, thread.name, cpu)

    def _let_go(self, thread: ThreadLook) -> SpreadThread:
        del self._cpu_by_tid[thread.tid]
        reason: str | None = None
        try:
            self._set_affinity(thread.tid, self._target)
        except OSError as error:
            reason = reason_of(error)
        return SpreadThread(thread.tid, thread.name, None, reason)

    def _best(self, now: int) -> int:
        """Return the best free CPU: on a free core if possible, then the current one, then the first."""
        used = frozenset(self._cpu_by_tid.values())
        return min(self._free, key=lambda cpu: (bool(self._siblings(cpu) & used), cpu != now, cpu))

    def _siblings(self, cpu: int) -> CpuSet:
        place = self._topology.get(cpu)
        return place.siblings if place is not None and place.siblings is not None else frozenset({cpu})

    def _try_to_pin(self, tid: int, cpu: int) -> str | None:
        """Pin the thread to the CPU and return None, or return why it is left alone."""
        try:
            allowed = frozenset(self._affinity(tid))
            is_inherited = len(allowed) == 1 and allowed <= self._given
            if allowed != self._target and not is_inherited:
                return "it set its own affinity"
            self._set_affinity(tid, {cpu})
        except OSError as error:
            return reason_of(error)
        return None


LOOK_EVERY_NS = 100_000_000
_COUNT_EVERY = 10  # looks, if there are many threads: reading migrations doubles the time of a look
_FEW_THREADS = 16
_HAS_NODES = "/proc/sys/vm/zone_reclaim_mode"  # only on kernels with memory nodes
_NOT_BEGUN = "no command was watched"
_NODE_UNKNOWN = "the memory node of a target CPU is unknown"
_NODES_UNKNOWN = f"{NODES}: no memory node is visible"


class PlacementWatch:
    """Watches the placement of commands, one after the other.

    On a housekeeping CPU, call `begin`, then `sample` every LOOK_EVERY_NS while the command runs, then `end`. No
    reading stops the command or interrupts its CPUs.
    """

    def __init__(self, machine: Machine, target: CpuSet, topology: Mapping[int, CpuPlace]) -> None:
        self._machine = machine
        self._target = target
        reader = Reader(machine)
        self._nodes = read_memory_nodes(reader)
        if self._nodes is None and reader.is_absent(NODES) and reader.is_absent(_HAS_NODES):
            self._nodes = frozenset({0})
            topology = {cpu: replace(place, node=0) for cpu, place in topology.items()}
        self._topology = topology
        home = {topology[cpu].node if cpu in topology else None for cpu in target}
        self._home = frozenset(node for node in home if node is not None) if None not in home else None
        self._tally = PlacementTally(target, topology)
        self._counts_all = self._tally.spans_places
        self._threads: CommandThreadReader | None = None
        self._looks = 0
        self._pages: Mapping[int, NodePages] | str = _NOT_BEGUN
        self._spreader: ThreadSpreader | None = None

    def begin(self, pid: int, spreads: bool = False) -> None:
        """Begin to watch a command that has just been started; its orphans must be reparented to the caller.

        With `spreads`, each look pins busy threads to their own CPUs.
        """
        folder = f"/proc/{pid}/task/{pid}"
        begun = {pid: read_migrations(self._machine.read_bytes, folder)} if self._counts_all else None
        self._spreader = ThreadSpreader(self._target, self._topology) if spreads else None
        self._tally = PlacementTally(self._target, self._topology, begun)
        self._threads = CommandThreadReader(self._machine, [pid], reaper=os.getpid())
        self._looks = 0
        self._pages = self._read_pages()

    def sample(self, tasks: Tasks | None = None) -> CommandLook | None:
        """Look at the command's threads, or return None before `begin`. For `tasks` see CommandThreadReader.look."""
        if self._threads is None:
            return None
        is_due = self._looks % _COUNT_EVERY == 0 or self._threads.count <= _FEW_THREADS
        look = self._threads.look(tasks, counts_migrations=is_due or self._counts_all)
        self._tally.add(look)
        self._looks += 1
        if self._spreader is not None:
            self._spreader.spread(look)
        return look

    def sample_early(self) -> None:
        """Look where the threads run, before the regular looks begin, which also show stops and shared CPUs."""
        if self._threads is not None:
            self._tally.add_places(self._threads.look(counts_migrations=True, finds_debuggers=False))

    def end(
        self,
        used_ns: int | None = None,
        idle_share_by_cpu: Mapping[int, float] | None = None,
    ) -> Placement:
        """Return the placement that the looks show; the command has ended after `used_ns` of CPU time.

        `idle_share_by_cpu` is the share of the repetition during which each CPU was idle.
        """
        self._threads = None
        placement = self._tally.placement(self._memory(), used_ns, idle_share_by_cpu)
        return placement if self._spreader is None else replace(placement, spread=self._spreader.outcome)

    def by_trace(self, looked: Placement, trace: TraceWindow | str) -> Placement:
        """Return the placement from the trace if it contains more than the one from the looks, otherwise `looked`."""
        return looked if isinstance(trace, str) else placement_by_trace(looked, trace, CpuGroups(self._topology))

    @property
    def _has_other_nodes(self) -> bool:
        return self._nodes is not None and self._home is not None and bool(self._nodes - self._home)

    def _read_pages(self) -> Mapping[int, NodePages] | str:
        if not self._has_other_nodes or self._nodes is None:
            return {}
        return read_node_pages(Reader(self._machine), self._nodes)

    def _memory(self) -> MemoryElsewhere:
        if self._nodes is None or self._home is None:
            return MemoryElsewhere(None, None, reason=_NODES_UNKNOWN if self._nodes is None else _NODE_UNKNOWN)
        if not self._has_other_nodes:
            return NOWHERE_ELSE
        before, after = self._pages, self._read_pages()
        if isinstance(before, str) or isinstance(after, str):
            return MemoryElsewhere(None, None, reason=before if isinstance(before, str) else str(after))
        return elsewhere_by_pages(before, after, self._home, os.sysconf("SC_PAGE_SIZE"))
