"""A trace of a CPU on which a benchmark met noise, in the format of a live machine's answer."""

from __future__ import annotations

from typing import Any

_MS = 1_000_000


def written_trace(**changes: Any) -> dict[str, Any]:
    """Return two seconds of CPU 2: a benchmark, its ticks, a disk, a kernel thread, and calls from CPU 0."""
    sources = [
        ["idle", "idle", 0, None],
        ["thread", "bench", 900, None],
        ["tick", "local_timer", 0, None],
        ["irq", "", 25, None],
        ["softirq", "", 4, None],
        ["thread", "kworker/2:1", 30, None],
        ["ipi", "call_function_single", 456, "flush_tlb_func"],
        ["ipi", "reschedule", 0, None],
    ]
    stats = [
        [0, 0, 0, []],
        [40, 1_900 * _MS, 90 * _MS, [50 * _MS, 40]],
        [500, 5 * _MS, 20_000, [8_192, 400, 16_384, 100]],
        [30, 300_000, 14_000, [8_192, 30]],
        [30, 150_000, 6_000, [4_096, 30]],
        [2, 6 * _MS, 3 * _MS, [2_621_440, 2]],
        [456, 912_000, 4_000, [1_792, 456]],
        [1, 1_000, 1_000, [896, 1]],
    ]
    pieces = [0, 400_000, 1, 400_000, 408_000, 2, 408_000, 900_000, 1, 900_000, 3_900_000, 5]
    threads = {
        "900": {"name": "bench", "pid": 890, "is_kernel": False},
        "30": {"name": "kworker/2:1", "pid": 30, "is_kernel": True},
        "456": {"name": "mapper", "pid": 450, "is_kernel": False},
    }
    cpu = {
        "cpu": 2,
        "lost_events": 0,
        "lost_pieces": 0,
        "unseen_switches": 0,
        "unseen_ns": 0,
        "sources": sources,
        "spells": stats,
        "pieces": pieces,
    }
    answer = {"begin_ns": 5, "length_ns": 2_000 * _MS, "untold": [], "threads": threads, "cpus": [cpu]}
    return {**answer, **changes}


def trace_with_regular_hog(begin_ns: int = 5, seconds: int = 2) -> dict[str, Any]:
    """Return a trace in which thread 901, a hog, has CPU 2 for 5 ms in each 100 ms; a tick interrupts it there."""
    trace = written_trace(begin_ns=begin_ns, length_ns=seconds * 1_000 * _MS)
    trace["threads"]["901"] = {"name": "hog", "pid": 901, "is_kernel": False}
    cpu = trace["cpus"][0]
    bench, tick, hog = 1, 2, len(cpu["sources"])
    cpu["sources"].append(["thread", "hog", 901, None])
    starts = range(30 * _MS, seconds * 1_000 * _MS, 100 * _MS)
    cpu["spells"].append([2 * len(starts), 5 * _MS * len(starts), 3 * _MS, [2_097_152, 2 * len(starts)]])
    ends = (0, *(start + 5 * _MS + 2_000 for start in starts[:-1]))
    cpu["pieces"] = [
        word
        for end, start in zip(ends, starts, strict=True)
        for word in (
            *(end, start, bench),
            *(start, start + 2 * _MS, hog),
            *(start + 2 * _MS, start + 2 * _MS + 2_000, tick),
            *(start + 2 * _MS + 2_000, start + 5 * _MS + 2_000, hog),
        )
    ]
    return trace
