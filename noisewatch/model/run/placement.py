"""Where the threads of a command ran: what looks at them, some ten times a second, come to, or the trace tells.

Without a trace, a thread's time between two looks is counted for the CPU on which both found it, or half for each of
two: shares are estimates. It may have moved more often than the looks saw; the kernel counts that, but not whence and
where to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from noisewatch.model.run.memory_nodes import MemoryElsewhere
from noisewatch.model.run.spread import SpreadThreads
from noisewatch.records import dataclass

_Key = TypeVar("_Key")

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPlacement:
    """One thread. Times are those that the looks or the trace saw, and None is unknown.

    `moves` are changes of CPU from one look to the next, and `node_moves` and `kind_moves` those of them that led to
    another memory node or kind of core: at least so many, and by a trace just as many. `migrations` is the kernel's
    count, up to one of the last looks. A core is known by its first CPU.
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
        """How often it moved at least."""
        return max(self.moves, self.migrations or 0)


@dataclass(frozen=True, slots=True)
class Stacking:
    """Threads that were ready on one CPU while another target CPU had none of the command.

    `share` is the part of the looks, `most_ready` how many shared one CPU at the most. `stacked` are the CPUs that were
    shared, `free` those that were free meanwhile.
    """

    share: float
    looks: int
    most_ready: int
    stacked: CpuSet
    free: CpuSet
    tids: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Of one repetition. Threads have the most run time first; `other_ns` is that of short-lived ones, added up.

    `used_ns` is all the CPU time that the command has had, None where nobody said. `nodes` and `kinds` are those of the
    target CPUs, with None among them where one is not known. `stopped_ns`: a signal had stopped a thread, by the looks.

    In `hidden_ns` of the run time threads migrated more often than the looks can have seen, and in `uncounted_ns` the
    kernel did not tell how often: there they may have been on any CPU. Both only count where each look asks for that.

    `traced_share`: the threads' times and moves are those of a trace, which is sure of that part of the CPU time; None
    where they are those of the looks. `debuggers` that it has not started had stopped threads: number and name.
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
    spread: SpreadThreads | None = None  # None where they were not to be
    traced_share: float | None = None
    debuggers: frozenset[tuple[int, str]] = frozenset()

    @property
    def is_traced(self) -> bool:
        """Whether a trace tells, which misses no move."""
        return self.traced_share is not None

    @property
    def seen_ns(self) -> float:
        """The run time that was seen."""
        return sum(thread.ran_ns for thread in self.threads) + self.other_ns

    @property
    def ran_ns(self) -> float:
        """All run time that is known of."""
        return max(self.seen_ns, self.used_ns or 0)

    @property
    def seen_share(self) -> float | None:
        """The part of the command's CPU time that was seen; None is unknown."""
        if self.traced_share is not None:
            return self.traced_share
        return min(self.seen_ns / self.used_ns, 1.0) if self.used_ns else None

    @property
    def sure_share(self) -> float | None:
        """The part of it in which it is also known where it was; None is unknown."""
        if self.traced_share is not None:
            return self.traced_share
        sure_ns = self.seen_ns - self.hidden_ns - self.uncounted_ns
        return min(sure_ns / self.used_ns, 1.0) if self.used_ns else None

    def ns_by_node(self) -> Mapping[int | None, float]:
        """The run time of all threads on each memory node."""
        return _added(thread.ns_by_node for thread in self.threads)

    def ns_by_kind(self) -> Mapping[str | None, float]:
        """The run time of all threads on each kind of core."""
        return _added(thread.ns_by_kind for thread in self.threads)

    def ns_by_core(self) -> Mapping[int, float]:
        """The run time of all threads on each core, by its first CPU."""
        return _added(thread.ns_by_core for thread in self.threads)

    def ns_by_cpu(self) -> Mapping[int, float]:
        """The run time of all threads on each CPU."""
        return _added(thread.ns_by_cpu for thread in self.threads)


def _added(maps: Iterable[Mapping[_Key, float]]) -> Mapping[_Key, float]:
    sums: dict[_Key, float] = {}
    for each in maps:
        for key, ns in each.items():
            sums[key] = sums.get(key, 0.0) + ns
    return sums


def idle_shares(before: Snapshot, after: Snapshot, cpus: CpuSet) -> Mapping[int, float]:
    """For which part of the time between them nobody ran on each of the CPUs; those of which nobody knows are left out.

    Time in which tasks wait for a disk is idle too: another one could run.
    """
    found: dict[int, float] = {}
    for cpu in cpus:
        first, last = (before.cpu_time or {}).get(cpu), (after.cpu_time or {}).get(cpu)
        if first is None or last is None or last.total_ns <= first.total_ns:
            continue
        idle_ns = last.idle_ns - first.idle_ns + (last.iowait_ns or 0) - (first.iowait_ns or 0)
        found[cpu] = min(max(idle_ns / (last.total_ns - first.total_ns), 0.0), 1.0)
    return found
