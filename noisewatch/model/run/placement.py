"""The placement of a command's threads and the nodes of its memory, by looks or by the trace.

Looks are taken some ten times a second. Without a trace, a thread's time between two looks counts for the CPU on which
both found it, or half for each of two CPUs, so shares are estimates. The thread may have moved more often; the kernel
counts moves, but not their CPUs.

CPUs are grouped by core, by memory node, and by kind of core. With `noisewatch run --spread`, each thread was to get
its own CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.memory.nodes import NodePages


class MemoryElsewhere(Struct, frozen=True):
    """The `share` of memory on or from other nodes; None is unknown, with the `reason`.

    `is_bound`: an upper bound, from all memory that the machine allocated at the same time.
    """

    share: float | None
    size_bytes: int | None
    is_bound: bool = False
    reason: str | None = None


NOWHERE_ELSE = MemoryElsewhere(0.0, 0)


def elsewhere_by_pages(
    before: Mapping[int, NodePages], after: Mapping[int, NodePages], home: frozenset[int], page_bytes: int
) -> MemoryElsewhere:
    """Return the memory from other nodes by all nodes' counts; `home` are the target CPUs' nodes.

    Pages that other nodes allocated for CPUs of a different node may have been for the target CPUs.
    """
    if any(after[node].to_others < pages.to_others for node, pages in before.items()):
        return MemoryElsewhere(None, None, reason="the kernel's count of pages by node decreased")
    away = sum(after[node].to_others - pages.to_others for node, pages in before.items() if node not in home)
    at_home = sum(after[node].to_own_cpus - pages.to_own_cpus for node, pages in before.items() if node in home)
    share = away / (away + at_home) if away else 0.0
    return MemoryElsewhere(share, away * page_bytes, is_bound=away > 0)


class SpreadThread(Struct, frozen=True):
    """A thread that was pinned to `cpu`, unpinned (None), or not pinned for the `reason`."""

    tid: int
    name: str
    cpu: int | None
    reason: str | None = None


class SpreadThreads(Struct, frozen=True):
    """The numbers of pinned threads and of threads left unpinned, over a repetition."""

    pinned: int
    left_by_reason: Mapping[str, int]


_Key = TypeVar("_Key")

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot


class ThreadPlacement(Struct, frozen=True, kw_only=True):
    """The placement of one thread. Times are by the looks or the trace, and None is unknown.

    `moves` are changes of CPU from one look to the next; `node_moves` and `kind_moves` those to another memory node or
    kind of core. They are exact by a trace, and lower bounds by looks. `migrations` is the kernel's count at one of the
    last looks. A core is identified by its first CPU.
    """

    tid: int
    name: str
    ran_ns: int
    waited_ns: int | None
    ns_by_cpu: Mapping[int, float]
    ns_by_core: Mapping[int, float]
    ns_by_node: Mapping[int | None, float]
    ns_by_kind: Mapping[str | None, float]
    moves: int
    node_moves: int
    kind_moves: int
    migrations: int | None

    @property
    def least_moves(self) -> int:
        """The lower bound of the number of moves."""
        return max(self.moves, self.migrations or 0)


class Stacking(Struct, frozen=True):
    """Threads that were ready on one CPU while another target CPU had no thread of the command.

    `share` is the share of looks, `most_ready` the largest number of threads on one CPU. `stacked` are the shared CPUs,
    `free` the CPUs that were free at the time.
    """

    share: float
    looks: int
    most_ready: int
    stacked: CpuSet
    free: CpuSet
    tids: frozenset[int]


class Placement(Struct, frozen=True, kw_only=True):
    """The placement of a command's threads in one repetition.

    Threads with the most run time come first; `other_ns` is the sum of short-lived threads. `used_ns` is all CPU time
    of the command, or None if it was not given. `nodes` and `kinds` are those of the target CPUs, with None among them
    if one is unknown. `stopped_ns`: a signal had stopped a thread, by the looks.

    In `hidden_ns` of the run time, threads migrated more often than looks can show; for `uncounted_ns` the kernel did
    not report how often. In that time they may have been on any CPU. Both only count if each look reads migrations.

    `traced_share`: times and moves are from a trace, certain for this share of the CPU time; None if they are from
    looks. `debuggers`: number and name of foreign debuggers that had stopped threads.
    """

    target: CpuSet
    looks: int
    threads: tuple[ThreadPlacement, ...]
    other_ns: float
    used_ns: int | None
    stacking: Stacking | None
    memory: MemoryElsewhere
    nodes: frozenset[int | None]
    kinds: frozenset[str | None]
    stopped_ns: int = 0
    hidden_ns: int = 0
    uncounted_ns: int = 0
    reason: str | None = None  # why threads may be missing
    spread: SpreadThreads | None = None  # None without --spread
    traced_share: float | None = None
    debuggers: frozenset[tuple[int, str]] = frozenset()

    @property
    def is_traced(self) -> bool:
        """Whether the placement is from a trace, which misses no move."""
        return self.traced_share is not None

    @property
    def seen_ns(self) -> float:
        """The run time (ns) that was observed."""
        return sum(thread.ran_ns for thread in self.threads) + self.other_ns

    @property
    def ran_ns(self) -> float:
        """All known run time (ns), observed or not."""
        return max(self.seen_ns, self.used_ns or 0)

    @property
    def seen_share(self) -> float | None:
        """The share of the command's CPU time that was observed; None is unknown."""
        if self.traced_share is not None:
            return self.traced_share
        return min(self.seen_ns / self.used_ns, 1.0) if self.used_ns else None

    @property
    def sure_share(self) -> float | None:
        """The share of the command's CPU time with a known CPU; None is unknown."""
        if self.traced_share is not None:
            return self.traced_share
        sure_ns = self.seen_ns - self.hidden_ns - self.uncounted_ns
        return min(sure_ns / self.used_ns, 1.0) if self.used_ns else None

    def ns_by_node(self) -> Mapping[int | None, float]:
        """Return the run time (ns) of all threads on each memory node."""
        return _sums(pair for thread in self.threads for pair in thread.ns_by_node.items())

    def ns_by_kind(self) -> Mapping[str | None, float]:
        """Return the run time (ns) of all threads on each kind of core."""
        return _sums(pair for thread in self.threads for pair in thread.ns_by_kind.items())

    def ns_by_core(self) -> Mapping[int, float]:
        """Return the run time (ns) of all threads on each core, by its first CPU."""
        return _sums(pair for thread in self.threads for pair in thread.ns_by_core.items())

    def ns_by_cpu(self) -> Mapping[int, float]:
        """Return the run time (ns) of all threads on each CPU."""
        return _sums(pair for thread in self.threads for pair in thread.ns_by_cpu.items())


def _sums(pairs: Iterable[tuple[_Key, float]]) -> Mapping[_Key, float]:
    sums: dict[_Key, float] = {}
    for key, ns in pairs:
        sums[key] = sums.get(key, 0.0) + ns
    return sums


def idle_shares(before: Snapshot, after: Snapshot, cpus: CpuSet) -> Mapping[int, float]:
    """Return the share of the time between the snapshots that each CPU was idle; unknown CPUs are left out.

    Time in which tasks wait for a disk counts as idle: another task could run.
    """
    idle_share_by_cpu: dict[int, float] = {}
    for cpu in cpus:
        first, last = (before.cpu_time or {}).get(cpu), (after.cpu_time or {}).get(cpu)
        if first is None or last is None or last.total_ns <= first.total_ns:
            continue
        idle_ns = last.idle_ns - first.idle_ns + (last.iowait_ns or 0) - (first.iowait_ns or 0)
        idle_share_by_cpu[cpu] = min(max(idle_ns / (last.total_ns - first.total_ns), 0.0), 1.0)
    return idle_share_by_cpu


class CpuGroups:
    """The groups of each CPU; None is unknown."""

    def __init__(self, topology: Mapping[int, CpuPlace]) -> None:
        self._topology = topology

    def core(self, cpu: int) -> int:
        """Return the core, as the number of its first CPU."""
        place = self._topology.get(cpu)
        return min(place.siblings) if place is not None and place.siblings else cpu

    def node(self, cpu: int) -> int | None:
        place = self._topology.get(cpu)
        return place.node if place is not None else None

    def kind(self, cpu: int) -> str | None:
        """Return the kind of core."""
        place = self._topology.get(cpu)
        return place.kind if place is not None else None


def differ(group: Callable[[int], object], one: int, other: int) -> bool:
    """Return whether the groups of both CPUs are known and different."""
    groups = group(one), group(other)
    return None not in groups and groups[0] != groups[1]


def grouped(ns_by_cpu: Mapping[int, float], group: Callable[[int], _Key]) -> Mapping[_Key, float]:
    """Return the sums of the times by group."""
    return _sums((group(cpu), ns) for cpu, ns in ns_by_cpu.items())
