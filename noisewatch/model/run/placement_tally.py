"""Computes a command's placement: from running sums over the looks at its threads, or exactly from the trace.

Looks need not be kept. A trace of thread switches also includes threads that lived only between two looks, or moved and
returned between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_threads import CommandLook, ThreadLook
from noisewatch.kernel.trace.own_threads import TracedThread
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.model.run.placement import (
    CpuGroups,
    MemoryElsewhere,
    Placement,
    Stacking,
    ThreadPlacement,
    differ,
    sum_by_group,
)

MOST_EXITED = 1024  # ended threads that are kept in detail; the others, which ran least, are only summed
_BEFORE_FIRST_NS = 50_000_000  # assumed time of a stop before the first look: half of the time between two looks


class _Thread(Struct):
    last: ThreadLook
    migrations_before: int | None  # the kernel's count at the repetition's start; 0 for a newer thread, None: unknown
    ns_by_cpu: dict[int, float] = {}
    moves: int = 0
    node_moves: int = 0
    kind_moves: int = 0

    def add(self, cpu: int, ns: float) -> None:
        self.ns_by_cpu[cpu] = self.ns_by_cpu.get(cpu, 0.0) + ns


class _Stacks(Struct):
    looks: int = 0
    most_ready: int = 0
    stacked: dict[int, int] = {}  # number of looks by CPU
    free: dict[int, int] = {}
    tids: set[int] = set()


class PlacementTally:
    """Sums over all looks of one repetition so far."""

    def __init__(
        self, target: CpuSet, topology: Mapping[int, CpuPlace], begun: Mapping[int, int | None] | None = None
    ) -> None:
        """Begin a repetition.

        `begun` has the earlier migrations of each thread that existed when the command began, by tid. It is only needed
        if each look reads migrations.
        """
        self._target = target
        self._groups = CpuGroups(topology)
        self._begun = begun or {}
        self._hidden_ns = self._uncounted_ns = 0
        self._outside_ns_by_cpu: dict[int, float] = {}
        self._max_outside_ns = 0
        self._looks = 0
        self._threads: dict[int, _Thread] = {}
        self._ended: list[_Thread] = []
        self._other_ns = 0.0
        self._stacks = _Stacks()
        self._reason: str | None = None
        self._stopped_ns = 0
        self._debuggers: frozenset[tuple[int, str]] = frozenset()
        self._last: tuple[int, bool] | None = None  # time of the previous look, and whether a thread was stopped

    @property
    def spans_places(self) -> bool:
        """Whether the target CPUs are on several memory nodes or kinds of core, so each migration matters."""
        return any(len(set(map(place, self._target))) > 1 for place in (self._groups.node, self._groups.kind))

    def add(self, look: CommandLook) -> None:
        """Add another look, in order of time."""
        self.add_places(look)
        self._add_stacks(look)
        self._add_stop(look)
        self._debuggers |= look.debuggers
        self._looks += 1
        self._reason = self._reason or look.reason

    def add_places(self, look: CommandLook) -> None:
        """Add only the CPUs on which threads ran until this look; stops and shared CPUs are from regular looks."""
        for tid in self._threads.keys() - look.threads.keys():
            self._end(self._threads.pop(tid))
        for tid, now in look.threads.items():
            if tid not in look.without_turn:
                self._add_thread(now)

    def _add_thread(self, now: ThreadLook) -> None:
        thread = self._threads.get(now.tid)
        if thread is not None and thread.last.started_ticks != now.started_ticks:
            self._end(thread)
            thread = None
        if thread is None:
            before = self._begun.get(now.tid, 0) if self._begun or self._looks else now.migrations
            thread = self._threads[now.tid] = _Thread(now, before)
            thread.add(now.cpu, now.ran_ns)
            self._max_outside_ns += now.ran_ns * (now.cpu not in self._target)
            self._add_unsure(now.ran_ns, before, now.migrations)
        elif now is not thread.last:
            self._add_time(thread, now)

    def _add_time(self, thread: _Thread, now: ThreadLook) -> None:
        last, thread.last = thread.last, now
        ns = max(now.ran_ns - last.ran_ns, 0)
        for cpu in (last.cpu, now.cpu):
            thread.add(cpu, ns / 2)
            if not {last.cpu, now.cpu} & self._target:
                self._outside_ns_by_cpu[cpu] = self._outside_ns_by_cpu.get(cpu, 0.0) + ns / 2
        self._max_outside_ns += ns * (not {last.cpu, now.cpu} <= self._target)
        self._add_unsure(ns, last.migrations, now.migrations, observed_moves=1)
        if last.cpu != now.cpu:
            thread.moves += 1
            thread.node_moves += differ(self._groups.node, last.cpu, now.cpu)
            thread.kind_moves += differ(self._groups.kind, last.cpu, now.cpu)

    def _add_unsure(self, ns: int, before: int | None, after: int | None, observed_moves: int = 0) -> None:
        """Add run time that may have been on any CPU, if there were more migrations than looks can show."""
        if before is None or after is None:
            self._uncounted_ns += ns
        elif after - before > observed_moves:
            self._hidden_ns += ns

    def _add_stacks(self, look: CommandLook) -> None:
        """Count the look if threads shared a CPU while another target CPU was free.

        A CPU is not free if a thread that had no turn yet was there last, because the thread may need it.
        """
        ready: dict[int, list[int]] = defaultdict(list)
        for tid, now in look.threads.items():
            if now.is_ready and tid not in look.without_turn:
                ready[now.cpu].append(tid)
        stacked = {cpu: tids for cpu, tids in ready.items() if len(tids) > 1 and cpu in self._target}
        free = self._target - ready.keys() - {look.threads[tid].cpu for tid in look.without_turn}
        if not stacked or not free:
            return
        self._stacks.looks += 1
        self._stacks.most_ready = max(self._stacks.most_ready, *map(len, stacked.values()))
        for counts, cpus in ((self._stacks.stacked, stacked), (self._stacks.free, free)):
            for cpu in cpus:
                counts[cpu] = counts.get(cpu, 0) + 1
        self._stacks.tids.update(*stacked.values())

    def _add_stop(self, look: CommandLook) -> None:
        """Add the time since the last look if both looks show a stopped thread, half of it if only one does."""
        is_stopped = any(now.is_stopped for tid, now in look.threads.items() if tid not in look.without_turn)
        if self._last is None:
            self._stopped_ns += _BEFORE_FIRST_NS * is_stopped
        else:
            last_ns, was_stopped = self._last
            self._stopped_ns += (look.taken_at_ns - last_ns) * (is_stopped + was_stopped) // 2
        self._last = look.taken_at_ns, is_stopped

    def _end(self, thread: _Thread) -> None:
        self._ended.append(thread)
        if len(self._ended) > 2 * MOST_EXITED:
            self._ended.sort(key=lambda exited: -exited.last.ran_ns)
            self._other_ns += sum(sum(exited.ns_by_cpu.values()) for exited in self._ended[MOST_EXITED:])
            del self._ended[MOST_EXITED:]

    def placement(
        self,
        memory: MemoryElsewhere,
        used_ns: int | None = None,
        idle_share_by_cpu: Mapping[int, float] | None = None,
    ) -> Placement:
        """Return the placement by all looks. `used_ns` is all CPU time of the command.

        `idle_share_by_cpu` is each CPU's idle share in the repetition: a CPU that other tasks used was not free.
        """
        placements = [self._thread_placement(thread) for thread in (*self._threads.values(), *self._ended)]
        return Placement(
            target=self._target,
            looks=self._looks,
            threads=tuple(sorted(placements, key=lambda thread: (-thread.ran_ns, thread.tid))),
            other_ns=self._other_ns,
            used_ns=used_ns,
            stacking=self._stacking(idle_share_by_cpu or {}),
            memory=memory,
            nodes=frozenset(map(self._groups.node, self._target)),
            kinds=frozenset(map(self._groups.kind, self._target)),
            stopped_ns=self._stopped_ns,
            hidden_ns=self._hidden_ns,
            uncounted_ns=self._uncounted_ns,
            reason=self._reason,
            debuggers=self._debuggers,
            outside_ns_by_cpu=dict(self._outside_ns_by_cpu),
            max_outside_ns=self._max_outside_ns,
        )

    def _thread_placement(self, thread: _Thread) -> ThreadPlacement:
        last, ns_by_cpu = thread.last, thread.ns_by_cpu
        before, migrations = thread.migrations_before, last.migrations
        return ThreadPlacement(
            tid=last.tid,
            name=last.name,
            ran_ns=round(sum(ns_by_cpu.values())),
            waited_ns=last.waited_ns,
            ns_by_cpu=ns_by_cpu,
            ns_by_core=sum_by_group(ns_by_cpu, self._groups.core),
            ns_by_node=sum_by_group(ns_by_cpu, self._groups.node),
            ns_by_kind=sum_by_group(ns_by_cpu, self._groups.kind),
            moves=thread.moves,
            node_moves=thread.node_moves,
            kind_moves=thread.kind_moves,
            migrations=migrations - before if migrations is not None and before is not None else None,
        )

    def _stacking(self, idle_share_by_cpu: Mapping[int, float]) -> Stacking | None:
        stacks = self._stacks
        idle = {cpu: looks / self._looks for cpu, looks in stacks.free.items()}
        idle = {cpu: min(share, idle_share_by_cpu.get(cpu, 1.0)) for cpu, share in idle.items()}
        share = min(stacks.looks / self._looks, sum(idle.values())) if idle else 0.0
        if not share:
            return None
        return Stacking(
            share=share,
            looks=stacks.looks,
            most_ready=stacks.most_ready,
            stacked=frozenset(stacks.stacked),
            free=frozenset(cpu for cpu in idle if idle[cpu] > 0),
            tids=frozenset(stacks.tids),
        )


_NEARLY_ALL = 0.9  # share of the CPU time; on some kernels, a part of it is always uncertain


def placement_by_trace(looked: Placement, window: TraceWindow, groups: CpuGroups) -> Placement:
    """Return the placement by the trace if that is more certain, otherwise `looked`, the placement by looks.

    The trace is used if it contains nearly all CPU time of the command, or at least as much of it as the looks, and if
    the looks show no thread on an untraced CPU. Waits, stops and the origin of memory are always from looks.
    """
    share = _sure_share(window, looked.used_ns)
    is_less = share < min(looked.sure_share or 0.0, _NEARLY_ALL)
    if is_less or not share or looked.ns_by_cpu().keys() - window.traced:
        return looked
    thread_by_tid = {thread.tid: thread for thread in looked.threads}
    threads = [_thread_placement(thread, thread_by_tid.pop(thread.tid, None), groups) for thread in window.threads]
    stacked = looked.stacking.tids if looked.stacking is not None else frozenset()
    threads += [_placement_without_time(thread) for thread in thread_by_tid.values() if thread.tid in stacked]
    return replace(
        looked,
        threads=tuple(sorted(threads, key=lambda thread: (-thread.ran_ns, thread.tid))),
        other_ns=window.other_threads_ns,
        hidden_ns=0,
        uncounted_ns=0,
        reason=None,
        traced_share=share,
    )


def _sure_share(window: TraceWindow, used_ns: int | None) -> float:
    """Return the share of the command's CPU time that was certainly on the traced CPUs."""
    if not used_ns:
        return 0.0
    unsure_ns = window.elsewhere_ns(used_ns, window.traced) + window.doubt_ns
    return max(1 - unsure_ns / used_ns, 0.0)


def _thread_placement(thread: TracedThread, looked: ThreadPlacement | None, groups: CpuGroups) -> ThreadPlacement:
    return ThreadPlacement(
        tid=thread.tid,
        name=thread.name or (looked.name if looked is not None else "?"),
        ran_ns=thread.ran_ns,
        waited_ns=looked.waited_ns if looked is not None else None,
        ns_by_cpu=thread.ns_by_cpu,
        ns_by_core=sum_by_group(thread.ns_by_cpu, groups.core),
        ns_by_node=sum_by_group(thread.ns_by_cpu, groups.node),
        ns_by_kind=sum_by_group(thread.ns_by_cpu, groups.kind),
        moves=sum(thread.moves.values()),
        node_moves=_count_moves(thread.moves, groups.node),
        kind_moves=_count_moves(thread.moves, groups.kind),
        migrations=None,
    )


def _placement_without_time(thread: ThreadPlacement) -> ThreadPlacement:
    """Return the placement of a stacked thread that, according to the trace, never got a CPU."""
    none = dict.fromkeys(thread.ns_by_cpu, 0.0)
    return replace(
        thread,
        ran_ns=0,
        ns_by_cpu=none,
        ns_by_core={},
        ns_by_node={},
        ns_by_kind={},
        moves=0,
        node_moves=0,
        kind_moves=0,
    )


def _count_moves(moves: Mapping[tuple[int, int], int], group: Callable[[int], object]) -> int:
    return sum(count for (one, other), count in moves.items() if differ(group, one, other))
