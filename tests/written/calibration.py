"""Calibrations that a test writes, as `machine/spinning/calibration/run.py` collects them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noisewatch.machine.spinning.calibration.buffer import GAPS, INTERPRETER, OF_WORK, STARTED, Slot, plan_slots

WORK_NS = 200_000
CHAIN_LENGTH = 25_600
CHAIN_NS = 25_600  # at 3 GHz, with three cycles for each multiplication
Length = Callable[[int], int]  # of the sample that begins at this time (ns)


def steady(at_ns: int) -> int:
    """Return the length of work that always takes the same time."""
    return WORK_NS


def written_calibration(
    cpus: tuple[int, ...] = (2, 3),
    seconds: float = 5.0,
    work: Length = steady,
    gaps: tuple[tuple[int, int, int, int], ...] = (),
    chain: Length = lambda at_ns: CHAIN_NS,
    core: str = "native",
    changes: Mapping[int, Mapping[str, Any]] | None = None,
    others: Mapping[str, Length] | None = None,
    slots: list[Slot] | None = None,
) -> dict[str, Any]:
    """Return a calibration of `cpus`, each with its own last-level cache; `changes` replaces fields of single CPUs.

    `others` has the lengths of samples by series, where they differ from `work`; each CPU has the slots `slots`.
    """
    slots_by_cpu = plan_slots(cpus, {}, {}, round(seconds * 1e9)) if slots is None else dict.fromkeys(cpus, slots)
    lengths = {**dict.fromkeys(OF_WORK, work), **(others or {})}
    descriptions = [_cpu(cpu, cpu_slots, lengths, gaps, chain, core) for cpu, cpu_slots in slots_by_cpu.items()]
    return {
        "core": core,
        "begin_ns": 1_000_000_000,
        "length_ns": round(seconds * 1e9),
        "threshold_ns": 1_000,
        "is_realtime": False,
        "command": [],
        "cpus": [{**fields, **(changes or {}).get(fields["cpu"], {})} for fields in descriptions],
    }


def _cpu(
    cpu: int,
    slots: list[tuple[str, int, int]],
    lengths: Mapping[str, Length],
    gaps: tuple[tuple[int, int, int, int], ...],
    chain: Length,
    core: str,
) -> dict[str, Any]:
    spinning = [(begin, end) for kind, begin, end in slots if kind == GAPS]
    kept = [gap for gap in gaps if any(begin <= gap[0] < end for begin, end in spinning)]
    is_native = core == "native"
    return {
        "cpu": cpu,
        "state": "done",
        "error": 0,
        "locked_kb": 14_000,
        "resident_kb": 13_000,
        "multiply_ns": CHAIN_NS if is_native else -1,
        "add_ns": CHAIN_NS // 3 if is_native else -1,
        "chain_length": CHAIN_LENGTH,
        "iterations": sum(end - begin for begin, end in spinning) // 24,
        "spun_ns": sum(end - begin for begin, end in spinning),
        "lost_gaps": 0,
        "lost_gaps_ns": 0,
        "lost_gaps_max_ns": 0,
        "slots": [list(slot) for slot in slots],
        "gaps": [word for gap in kept for word in gap],
        "spins": [word for begin, end in spinning for word in (begin, end - begin)],
        **{series: _samples(slots, series, length) for series, length in lengths.items()},
        "command": [],
        "cycles": _chains(slots, chain) if is_native else [],
    }


def _samples(slots: list[tuple[str, int, int]], series: str, length: Length) -> list[int]:
    words = []
    for kind, begin, end in slots:
        at = begin
        while STARTED.get(kind, kind) == series and at < end:
            words += [at, length(at)]
            at += words[-1]
    return words


def _chains(slots: list[tuple[str, int, int]], chain: Length) -> list[int]:
    return [
        word
        for kind, begin, end in slots
        if STARTED.get(kind, kind) == INTERPRETER
        for at in range(begin, end, 20_000_000)
        for word in (at, chain(at))
    ]
