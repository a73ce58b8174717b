"""Where the threads of a command ran, in words, and what would have placed them better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from noisewatch.cpus import fitting_cpu_list, name_cpus
from noisewatch.judgement.run.placement_advice import PlacementAdvice, PlacementFault
from noisewatch.judgement.run.placement_reasons import weighty_threads, why_placement_unknown
from noisewatch.model.run.memory_nodes import MemoryElsewhere
from noisewatch.model.run.placement import Placement, Stacking, ThreadPlacement
from noisewatch.model.run.spread import SpreadThreads
from noisewatch.surfaces.reports.run.command_words import words_to_copy
from noisewatch.text import printable
from noisewatch.units import describe_share

_MOST_THREADS = 8
_MOST_PLACES = 4
_LEAST_SHARE = 0.005  # of a thread's time: what would be shown as none
_LIST_WIDTH = 24  # columns for a list of CPUs
_MB = 1_000_000
_Key = TypeVar("_Key")
_WHY = {
    PlacementFault.NODES: "threads moved between memory nodes",
    PlacementFault.CORES: "threads moved between kinds of cores",
    PlacementFault.MEMORY: "memory came from other nodes than that of the target CPUs",
    PlacementFault.STACKED: "threads shared a CPU while another one was free",
    PlacementFault.MOVING: "its one busy thread moved between CPUs",
}


def placement_lines(placement: Placement, most: int = _MOST_THREADS) -> list[str]:
    """One line on all threads, one for each of those that ran most, and what was found of all of them."""
    lines = [_summary(placement), *(_of_thread(thread, placement) for thread in placement.threads[:most])]
    rest = len(placement.threads) - most
    if rest > 0:
        rest_ns = sum(thread.ran_ns for thread in placement.threads[most:]) + placement.other_ns
        share = rest_ns / placement.seen_ns if placement.seen_ns else 0.0
        lines.append(f"{rest} more, with {describe_share(share, 0)} of the run time")
    return lines + list(_remarks(placement))


def advice_parts(advice: PlacementAdvice, argv: Sequence[str], identifies: bool) -> tuple[str, str]:
    """`threads moved between memory nodes`, and `numactl --cpunodebind=1 --membind=1 ./bench`."""
    return _WHY[advice.fault], words_to_copy(advice.before, argv, identifies)


def _summary(placement: Placement) -> str:
    if not placement.looks and not placement.is_traced:
        return "no look at its threads: it was too short"
    count = len(weighty_threads(placement)) or len(placement.threads)
    busy = f"{count} thread{'' if count == 1 else 's'} on {_cpus(placement.ns_by_cpu())}"
    looks = f"{placement.looks} look{'' if placement.looks == 1 else 's'}"
    seen = placement.seen_share
    of = "" if seen is None else f", which saw {describe_share(seen, 0)} of the CPU time"
    return f"{busy}, by {'the trace' if placement.is_traced else looks}{of}"


def _cpus(ns_by_cpu: Mapping[int, float]) -> str:
    return name_cpus(ns_by_cpu, lambda cpus: fitting_cpu_list(cpus, _LIST_WIDTH))


def _of_thread(thread: ThreadPlacement, placement: Placement) -> str:
    """`worker (812): CPU 3 61%, CPU 2 39%; moved at least 12 times, 2 of them to another memory node`."""
    told = [_shares(thread.ns_by_cpu, "CPU {}"), _moves(thread, placement.is_traced)]
    if len(placement.nodes) > 1:
        told.insert(1, _shares(thread.ns_by_node, "node {}"))
    if len(placement.kinds) > 1:
        told.insert(1, _shares(thread.ns_by_kind, "{} cores"))
    return f"{printable(thread.name)} ({thread.tid}): {'; '.join(told)}"


def _shares(ns_by_place: Mapping[_Key, float], form: str) -> str:
    total = sum(ns_by_place.values())
    places = sorted(ns_by_place.items(), key=lambda item: (-item[1], str(item[0])))
    if not total:
        return form.format(_named(places[0][0]))
    known = [(key, ns / total) for key, ns in places if ns >= _LEAST_SHARE * total]
    told = [f"{form.format(_named(key))} {describe_share(share, 0)}" for key, share in known[:_MOST_PLACES]]
    rest = len(known) - len(told)
    return ", ".join(told) + (f" and {rest} more" if rest else "")


def _named(key: object) -> str:
    return "?" if key is None else str(key)


def _moves(thread: ThreadPlacement, is_traced: bool) -> str:
    if not thread.least_moves:
        return "did not move" if is_traced else "not seen to move"
    told = [f"moved {'' if is_traced else 'at least '}{_times(thread.least_moves)}"]
    if thread.node_moves:
        told.append(f"{_times(thread.node_moves)} to another memory node")
    if thread.kind_moves:
        told.append(f"{_times(thread.kind_moves)} to another kind of core")
    return ", ".join(told)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _remarks(placement: Placement) -> Iterator[str]:
    if placement.spread is not None:
        yield _of_spread(placement.spread)
    if placement.stacking is not None:
        yield _of_stacking(placement.stacking)
    outside = [cpu for cpu, ns in placement.ns_by_cpu().items() if cpu not in placement.target and ns > 0]
    if outside:
        yield f"it also ran on {name_cpus(outside)}, which is no target CPU: it chose its CPUs itself"
    memory = _of_memory(placement.memory)
    if memory:
        yield memory
    for reason in (placement.reason, why_placement_unknown(placement)):
        if reason is not None:
            yield f"unknown: {reason}"


def _of_spread(spread: SpreadThreads) -> str:
    """`--spread: pinned a busy thread to a CPU of its own twice, left 1 where it was: it chose its CPUs itself`."""
    did = f"pinned a busy thread to a CPU of its own {_times(spread.pinned)}" if spread.pinned else "pinned no thread"
    left = [f"left {count} alone: {printable(reason)}" for reason, count in spread.left_by_reason.items()]
    return f"--spread {', '.join([did, *left])}"


def _of_stacking(stacking: Stacking) -> str:
    return (
        f"up to {stacking.most_ready} threads shared {name_cpus(stacking.stacked)} while {name_cpus(stacking.free)} "
        f"had none, in {describe_share(stacking.share, 0)} of the looks"
    )


def _of_memory(memory: MemoryElsewhere) -> str | None:
    """None where there is none elsewhere."""
    if memory.share is None or memory.size_bytes is None:
        return f"memory of other nodes: unknown: {memory.reason}"
    if not memory.size_bytes:
        return None
    most = "at most " if memory.is_bound else ""
    size = memory.size_bytes / _MB
    return f"memory of other nodes: {most}{size:,.1f} MB ({describe_share(memory.share, 1)})"
