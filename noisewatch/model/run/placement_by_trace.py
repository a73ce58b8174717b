"""The exact placement of a command's threads, by the trace of all switches between threads.

It includes threads that lived, or moved and came back, between two looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from noisewatch.kernel.trace.own_places import TracedThread
from noisewatch.kernel.trace.window import TraceWindow
from noisewatch.model.run.cpu_groups import CpuGroups, differ, grouped
from noisewatch.model.run.placement import Placement, ThreadPlacement

_NEARLY_ALL = 0.9  # of the CPU time: on some kernels part of it is always in doubt


def placed_by_trace(looked: Placement, window: TraceWindow, groups: CpuGroups) -> Placement:
    """Return the placement by the trace if that is more certain, otherwise `looked`, the one by the looks.

    The trace is used if it contains nearly all CPU time of the command, or more than the looks. Waits, the origin of
    memory and stops are known from the looks alone.
    """
    share = _sure_share(window, looked.used_ns)
    is_less = share < min(looked.sure_share or 0.0, _NEARLY_ALL)
    if is_less or not share or looked.ns_by_cpu().keys() - window.traced:
        return looked
    seen = {thread.tid: thread for thread in looked.threads}
    threads = [_placed(thread, seen.pop(thread.tid, None), groups) for thread in window.threads]
    stacked = looked.stacking.tids if looked.stacking is not None else frozenset()
    threads += [_without_time(thread) for thread in seen.values() if thread.tid in stacked]
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


def _placed(thread: TracedThread, looked: ThreadPlacement | None, groups: CpuGroups) -> ThreadPlacement:
    return ThreadPlacement(
        tid=thread.tid,
        name=thread.name or (looked.name if looked is not None else "?"),
        ran_ns=thread.ran_ns,
        waited_ns=looked.waited_ns if looked is not None else None,
        ns_by_cpu=thread.ns_by_cpu,
        ns_by_core=grouped(thread.ns_by_cpu, groups.core),
        ns_by_node=grouped(thread.ns_by_cpu, groups.node),
        ns_by_kind=grouped(thread.ns_by_cpu, groups.kind),
        moves=sum(thread.moves.values()),
        node_moves=_between(thread.moves, groups.node),
        kind_moves=_between(thread.moves, groups.kind),
        migrations=None,
    )


def _without_time(thread: ThreadPlacement) -> ThreadPlacement:
    """Return the placement of a thread that was always ready and never got a CPU."""
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


def _between(moves: Mapping[tuple[int, int], int], group: Callable[[int], object]) -> int:
    return sum(count for (one, other), count in moves.items() if differ(group, one, other))
