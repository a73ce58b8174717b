"""Where the threads of a command ran, as a part of a repetition's line in the receipt.

Small where little is known, as of a repetition of a millisecond; bounded where there are many threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from noisewatch.judgement.run.placement_advice import PlacementAdvice
from noisewatch.judgement.run.placement_reasons import weighty_threads, why_placement_unknown
from noisewatch.model.run.memory_nodes import MemoryElsewhere
from noisewatch.model.run.placement import Placement, Stacking, ThreadPlacement
from noisewatch.model.run.spread import SpreadThreads
from noisewatch.text import printable

MOST_THREADS = 8
_DIGITS = 4  # of a share: it is an estimate
_NO_LOOK = "no look at its threads: it was too short"
_NOT_SEEN = "the looks at its threads saw none of their run time"
_Key = TypeVar("_Key", bound=int | str | None)


def describe_placement(placement: Placement) -> dict[str, Any]:
    """Shares are of the run time that was seen. What nobody saw is null, and `reason` says why."""
    if not placement.looks and not placement.is_traced:
        why = placement.reason or _NO_LOOK
        unseen = dict.fromkeys(("seen_share", "cpus", "cores", "nodes", "threads", "stacking"))
        told = {"memory_elsewhere": _memory(placement.memory), "spread": _spread(placement.spread)}
        return {"source": "looks", "looks": 0, **unseen, **told, "reason": printable(why)}
    weighty = weighty_threads(placement)
    reason = placement.reason or (why_placement_unknown(placement) if placement.seen_ns else _NOT_SEEN)
    kinds = placement.ns_by_kind()
    has_kinds = len(placement.kinds | kinds.keys()) > 1
    return {
        "source": "trace" if placement.is_traced else "looks",
        "looks": placement.looks,
        "seen_share": _rounded(placement.seen_share),
        "cpus": _shares(placement.ns_by_cpu()),
        "cores": _shares(placement.ns_by_core()),
        "nodes": _shares(placement.ns_by_node()),
        **({"kinds": _shares(kinds)} if has_kinds else {}),
        "threads": [_thread(each, has_kinds) for each in weighty[:MOST_THREADS]],
        "threads_left_out": len(placement.threads) - len(weighty[:MOST_THREADS]),
        "stacking": "none" if placement.stacking is None else _stacking(placement.stacking),
        "spread": _spread(placement.spread),
        "memory_elsewhere": _memory(placement.memory),
        "reason": None if reason is None else printable(reason),
    }


def _thread(thread: ThreadPlacement, has_kinds: bool) -> dict[str, Any]:
    """`migrations` is the kernel's count, null where a trace tells; `moves` are those that two looks, or it, saw."""
    return {
        "tid": thread.tid,
        "name": printable(thread.name),
        "ran_ns": thread.ran_ns,
        "waited_ns": thread.waited_ns,
        "cpus": _shares(thread.ns_by_cpu),
        "cores": _shares(thread.ns_by_core),
        "nodes": _shares(thread.ns_by_node),
        **({"kinds": _shares(thread.ns_by_kind)} if has_kinds else {}),
        "migrations": thread.migrations,
        "moves": thread.moves,
        "node_moves": thread.node_moves,
        "kind_moves": thread.kind_moves,
    }


def _shares(ns_by_place: Mapping[_Key, float]) -> list[tuple[_Key, float]] | None:
    """Place and share, the largest first; null is a place that is not known. None where no look saw it run."""
    total = sum(ns_by_place.values())
    ordered = sorted(ns_by_place.items(), key=lambda item: (-item[1], str(item[0])))
    return [(place, round(ns / total, _DIGITS)) for place, ns in ordered if ns] if total else None


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)


def _stacking(stacking: Stacking) -> dict[str, Any]:
    return {
        "share": round(stacking.share, _DIGITS),
        "most_threads": stacking.most_ready,
        "cpus": sorted(stacking.stacked),
        "free_cpus": sorted(stacking.free),
    }


def _spread(spread: SpreadThreads | None) -> str | dict[str, Any]:
    if spread is None:
        return "none"
    left = [{"reason": printable(reason), "threads": count} for reason, count in spread.left_by_reason.items()]
    return {"pinned": spread.pinned, "left": left}


def _memory(memory: MemoryElsewhere) -> dict[str, Any]:
    """Null with the reason where it is not known."""
    told = {"share": _rounded(memory.share), "bytes": memory.size_bytes}
    if memory.reason is not None:
        return {**told, "reason": printable(memory.reason)}
    return {**told, "is_bound": True} if memory.is_bound else told


def describe_advice(advice: PlacementAdvice) -> dict[str, Any]:
    """The fault, and what to put before the command."""
    return {"fault": advice.fault, "before": list(advice.before)}
