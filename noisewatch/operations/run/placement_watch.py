"""Watching where a command's threads run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import NODES, CpuPlace, read_memory_nodes
from noisewatch.kernel.memory.node_memory import NodePages, parse_memory_numa_stat, read_node_pages
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.command_look import CommandLook
from noisewatch.kernel.tasks.command_threads import CommandThreadReader
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.machine import Machine
from noisewatch.model.run.memory_nodes import (
    NOWHERE_ELSE,
    MemoryElsewhere,
    elsewhere_by_pages,
    elsewhere_in_group,
)
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.placement_tally import PlacementTally

LOOK_EVERY_NS = 100_000_000
_COUNT_EVERY = 10  # looks, of a command of many threads: to count migrations takes as long as all else of a thread
_FEW_THREADS = 16
_HAS_NODES = "/proc/sys/vm/zone_reclaim_mode"  # only a kernel with memory nodes has it
_NOT_BEGUN = "no command was watched"
_NODE_UNKNOWN = "the memory node of a target CPU is not known"
_NODES_UNKNOWN = f"{NODES}: no memory node is visible"


class PlacementWatch:
    """The placement of one command after the other: `begin`, `sample` each LOOK_EVERY_NS while it runs, `end`.

    Whoever calls it runs on housekeeping CPUs. It reads nothing that stops the command or interrupts its CPUs.
    `cgroup` is a folder of cgroup v2 that has nothing in it but the command.
    """

    def __init__(
        self, machine: Machine, target: CpuSet, topology: Mapping[int, CpuPlace], cgroup: str | None = None
    ) -> None:
        self._machine = machine
        self._target = target
        self._cgroup = cgroup
        reader = Reader(machine)
        self._nodes = read_memory_nodes(reader)
        if self._nodes is None and reader.is_absent(NODES) and reader.is_absent(_HAS_NODES):
            self._nodes = frozenset({0})
            topology = {cpu: replace(place, node=0) for cpu, place in topology.items()}
        self._topology = topology
        home = {topology[cpu].node if cpu in topology else None for cpu in target}
        self._home = frozenset(node for node in home if node is not None) if None not in home else None
        self._tally = PlacementTally(target, topology)
        self._threads: CommandThreadReader | None = None
        self._looks = 0
        self._pages: Mapping[int, NodePages] | str = _NOT_BEGUN
        self._group: MemoryElsewhere | None = None

    def begin(self, pid: int) -> None:
        """The command has just been started; the caller is who its orphans come back to."""
        self._tally = PlacementTally(self._target, self._topology)
        self._threads = CommandThreadReader(self._machine, [pid], reaper=os.getpid())
        self._looks = 0
        self._group = None
        self._pages = self._read_pages()

    def sample(self, tasks: Tasks | None = None) -> CommandLook | None:
        """One look, also for whoever spreads the threads. `tasks` as CommandThreadReader.look has them."""
        if self._threads is None:
            return None
        is_due = self._looks % _COUNT_EVERY == 0
        look = self._threads.look(tasks, counts_migrations=is_due or self._threads.count <= _FEW_THREADS)
        if self._cgroup is not None and is_due:
            self._look_at_group(self._cgroup)
        self._tally.add(look)
        self._looks += 1
        return look

    def end(self, used_ns: int | None = None, idle_share_by_cpu: Mapping[int, float] | None = None) -> Placement:
        """The placement of the command, which has ended after `used_ns` of CPU time.

        `idle_share_by_cpu`: for which part of the repetition nobody ran there.
        """
        self._threads = None
        return self._tally.placement(self._memory(), used_ns, idle_share_by_cpu)

    @property
    def _has_other_nodes(self) -> bool:
        return self._nodes is not None and self._home is not None and bool(self._nodes - self._home)

    def _read_pages(self) -> Mapping[int, NodePages] | str:
        if not self._has_other_nodes or self._nodes is None:
            return {}
        return read_node_pages(Reader(self._machine), self._nodes)

    def _look_at_group(self, folder: str) -> None:
        """Keeps the look that found the most of its memory elsewhere: what it gave back is not counted any more."""
        sizes = Reader(self._machine).parsed(f"{folder}/memory.numa_stat", parse_memory_numa_stat)
        if sizes is None or self._home is None:
            return
        found = elsewhere_in_group(sizes, self._home)
        if self._group is None or (found.size_bytes or 0) > (self._group.size_bytes or 0):
            self._group = found

    def _memory(self) -> MemoryElsewhere:
        if self._nodes is None or self._home is None:
            return MemoryElsewhere(None, None, reason=_NODES_UNKNOWN if self._nodes is None else _NODE_UNKNOWN)
        if not self._has_other_nodes:
            return NOWHERE_ELSE
        if self._group is not None:
            return self._group
        before, after = self._pages, self._read_pages()
        if isinstance(before, str) or isinstance(after, str):
            return MemoryElsewhere(None, None, reason=before if isinstance(before, str) else str(after))
        return elsewhere_by_pages(before, after, self._home, os.sysconf("SC_PAGE_SIZE"))
