"""The placement of a command's threads and the nodes of its memory, by looks or by the trace.

A look is one reading of the command's threads, some ten times a second. Without a trace, a thread's time between two
looks counts for its CPU in both, or half for each of two different CPUs, so shares are estimates. The thread may have
moved more often: the kernel counts moves, but not their CPUs.

CPUs are grouped by core, by memory node, and by kind of core. `noisewatch run --spread` gives each thread its own CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.memory.nodes import NodePages


class MemoryElsewhere(Struct, frozen=True):
    """The `share` of memory on or from other nodes. None means unknown; `reason` explains why.

    If `is_bound`, it is an upper bound, from all memory that the machine allocated in the same time.
    """

    share: float | None
    size_bytes: int | None
    is_bound: bool = False
    reason: str | None = None


NOWHERE_ELSE = MemoryElsewhere(0.0, 0)


def elsewhere_by_pages(
    before: Mapping[int, NodePages], after: Mapping[int, NodePages], home: frozenset[int], page_bytes: int
) -> MemoryElsewhere:
    """Return the memory from other nodes, by the counts of all nodes. `home` are the target CPUs' nodes.

    Any page that another node allocated for CPUs of a different node may have been for the target CPUs.
    """
    if any(after[node].to_others < pages.to_others for node, pages in before.items()):
        return MemoryElsewhere(None, None, reason="the kernel's count of pages by node decreased")
    away = sum(after[node].to_others - pages.to_others for node, pages in before.items() if node not in home)
    at_home = sum(after[node].to_own_cpus - pages.to_own_cpus for node, pages in before.items() if node in home)
    share = away / (away + at_home) if away else 0.0
    return MemoryElsewhere(share, away * page_bytes, is_bound=away > 0)


class SpreadThread(Struct, frozen=True):
    """A thread that was pinned to `cpu`.

    If `cpu` is None, the thread was unpinned, or could not be pinned; `reason` explains why.
    """

    tid: int
    name: str
    cpu: int | None
    reason: str | None = None


class SpreadThreads(Struct, frozen=True):
    """The number of pinned threads in a repetition, and the numbers of unpinned threads by reason."""

    pinned: int
    left_by_reason: Mapping[str, int]


_Key = TypeVar("_Key")

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot


class ThreadPlacement(Struct, frozen=True, kw_only=True):
    """The placement of one thread. Times are from the looks or the trace; None means unknown.

    `moves` counts the changes of CPU from one look to the next, `node_moves` and `kind_moves` the changes to another
    memory node or kind of core. Counts from a trace are exact, counts from looks are lower bounds. `migrations` is the
    kernel's count of moves in the repetition, as last read. A core is identified by its first CPU.
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
        """A lower bound of the number of moves."""
        return max(self.moves, self.migrations or 0)


class Stacking(Struct, frozen=True):
    """Threads of the command that were ready on one CPU while another target CPU had none.

    `share` is the share of looks with such threads, at most the idle share of the free CPUs, `looks` their number,
    `most_ready` the largest number of threads on one CPU. `stacked` are the shared CPUs, `free` the CPUs that were free
    at the same time.
    """

    share: float
    looks: int
    most_ready: int
    stacked: CpuSet
    free: CpuSet
    tids: frozenset[int]


class Placement(Struct, frozen=True, kw_only=True):
    """The placement of a command's threads in one repetition.

    Threads with the most run time come first; `other_ns` is the run time of unlisted threads. `used_ns` is all CPU time
    of the command, or None if it was not given. `nodes` and `kinds` are the target CPUs' nodes and kinds of core; they
    contain None if one is unknown. `stopped_ns` is the time for which a signal had stopped a thread, by the looks.

    In `hidden_ns` of the run time, threads migrated more often than looks can show. For `uncounted_ns`, the kernel did
    not report how often. During both times, threads may have been on any CPU. The two times are meaningful only if each
    look reads migrations, as it does if the target CPUs are on several memory nodes or kinds of core.

    If `traced_share` is set, times and moves are from a trace, which is certain for this share of the CPU time. If it
    is None, they are from looks. `debuggers` are the ids and names of other processes' threads that trace the command.
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
    outside_ns_by_cpu: Mapping[int, float] = {}  # time between two looks that both show a thread outside the target
    max_outside_ns: int = 0  # time before and after looks that show a thread outside, up to the next looks

    @property
    def is_traced(self) -> bool:
        """Whether the placement is from a trace, which contains every move."""
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
        """The observed share of the command's CPU time; None means unknown."""
        if self.traced_share is not None:
            return self.traced_share
        return min(self.seen_ns / self.used_ns, 1.0) if self.used_ns else None

    @property
    def sure_share(self) -> float | None:
        """The share of the command's CPU time whose CPU is known; None means unknown."""
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
    """Return each CPU's idle share of the time between the snapshots; unknown CPUs are left out.

    Time in which tasks wait for a disk counts as idle, because another task could run.
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
    """The core, the memory node and the kind of core of each CPU; None means unknown."""

    def __init__(self, topology: Mapping[int, CpuPlace]) -> None:
        self._topology = topology

    def core(self, cpu: int) -> int:
        """Return the number of the core's first CPU, or `cpu` itself if the siblings are unknown."""
        place = self._topology.get(cpu)
        return min(place.siblings) if place is not None and place.siblings else cpu

    def node(self, cpu: int) -> int | None:
        place = self._topology.get(cpu)
        return place.node if place is not None else None

    def kind(self, cpu: int) -> str | None:
        """Return the kind of the CPU's core."""
        place = self._topology.get(cpu)
        return place.kind if place is not None else None


def differ(group: Callable[[int], object], one: int, other: int) -> bool:
    """Return whether the CPUs' groups are both known and differ."""
    groups = group(one), group(other)
    return None not in groups and groups[0] != groups[1]


def sum_by_group(ns_by_cpu: Mapping[int, float], group: Callable[[int], _Key]) -> Mapping[_Key, float]:
    """Return the sums of the CPUs' times by group."""
    return _sums((group(cpu), ns) for cpu, ns in ns_by_cpu.items())
