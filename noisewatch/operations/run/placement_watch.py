"""A watch of where a command's threads run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import NODES, CpuPlace, read_memory_nodes
from noisewatch.kernel.memory.node_memory import NodePages, read_node_pages
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.command_look import CommandLook
from noisewatch.kernel.tasks.command_threads import CommandThreadReader
from noisewatch.kernel.tasks.files import read_migrations
from noisewatch.kernel.tasks.task import Tasks
from noisewatch.kernel.trace.window import TraceWindow
from noisewatch.machine import Machine
from noisewatch.model.run.cpu_groups import CpuGroups
from noisewatch.model.run.memory_nodes import NOWHERE_ELSE, MemoryElsewhere, elsewhere_by_pages
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.placement_by_trace import placed_by_trace
from noisewatch.model.run.placement_tally import PlacementTally
from noisewatch.operations.run.spreading import ThreadSpreader

LOOK_EVERY_NS = 100_000_000
_COUNT_EVERY = 10  # looks, of many threads: reading migrations takes as long as the rest of a look
_FEW_THREADS = 16
_HAS_NODES = "/proc/sys/vm/zone_reclaim_mode"  # only a kernel with memory nodes has it
_NOT_BEGUN = "no command was watched"
_NODE_UNKNOWN = "the memory node of a target CPU is not known"
_NODES_UNKNOWN = f"{NODES}: no memory node is visible"


class PlacementWatch:
    """A watch of the placement of commands, one after the other.

    Call `begin`, `sample` each LOOK_EVERY_NS while the command runs, and `end`, from housekeeping CPUs. The watch reads
    nothing that stops the command or interrupts its CPUs.
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
        """Begin with a command that has just been started; orphans have to be reparented to the caller.

        If it `spreads`, each look gives busy threads CPUs of their own.
        """
        folder = f"/proc/{pid}/task/{pid}"
        begun = {pid: read_migrations(self._machine.read_bytes, folder)} if self._counts_all else None
        self._spreader = ThreadSpreader(self._target, self._topology) if spreads else None
        self._tally = PlacementTally(self._target, self._topology, begun)
        self._threads = CommandThreadReader(self._machine, [pid], reaper=os.getpid())
        self._looks = 0
        self._pages = self._read_pages()

    def sample(self, tasks: Tasks | None = None) -> CommandLook | None:
        """Take one look. `tasks` are as in CommandThreadReader.look."""
        if self._threads is None:
            return None
        is_due = self._looks % _COUNT_EVERY == 0 or self._threads.count <= _FEW_THREADS
        look = self._threads.look(tasks, counts_migrations=is_due or self._counts_all)
        self._tally.add(look)
        self._looks += 1
        if self._spreader is not None:
            self._spreader.spread(look)
        return look

    def end(
        self,
        used_ns: int | None = None,
        idle_share_by_cpu: Mapping[int, float] | None = None,
    ) -> Placement:
        """Return the placement of the command by the looks; it has ended after `used_ns` of CPU time.

        `idle_share_by_cpu` is the share of the repetition in which the CPU was idle.
        """
        self._threads = None
        found = self._tally.placement(self._memory(), used_ns, idle_share_by_cpu)
        return found if self._spreader is None else replace(found, spread=self._spreader.outcome)

    def by_trace(self, looked: Placement, trace: TraceWindow | str) -> Placement:
        """Return the placement by the trace, if there is one with more information."""
        return looked if isinstance(trace, str) else placed_by_trace(looked, trace, CpuGroups(self._topology))

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
