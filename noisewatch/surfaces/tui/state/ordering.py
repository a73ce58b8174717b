"""In which order CPUs and sources are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noisewatch.operations.frame.frame import OFFLINE, TARGET, CpuLine, CulpritLine
from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS
from noisewatch.surfaces.tui.state.baseline import Baseline

SORTS = ("cost", "rate", "cpu")
BY_CHANGE = "change"  # since the baseline, where there is one


def cpus_in_order(lines: Sequence[CpuLine], sort: str, room: int) -> list[CpuLine]:
    """As they are numbered where all find room; else target CPUs first, the most disturbed on top."""
    if len(lines) <= room or sort == "cpu":
        return list(lines)

    def weight(line: CpuLine) -> float:
        if line.stolen_ns_per_s is None and line.role != OFFLINE:
            return known_or_grave(None)
        return (line.interrupts_per_s if sort == "rate" else line.stolen_ns_per_s) or 0

    return sorted(lines, key=lambda line: (line.role != TARGET, -weight(line), line.cpu))


def weight_of(line: CulpritLine, sort: str, baseline: Baseline | None) -> float:
    """By which sources are sorted, or would be if their CPU did not come first."""
    if sort == BY_CHANGE and baseline is not None:
        return abs(known_or_grave(baseline.change_of_source(line)))
    return (line.rate_per_s or 0) if sort == "rate" else line.stolen_ns_per_s


def culprits_in_order(lines: Iterable[CulpritLine], sort: str, baseline: Baseline | None) -> list[CulpritLine]:
    """As the user wants them sorted."""
    return sorted(lines, key=lambda line: (line.cpu if sort == "cpu" else 0, -weight_of(line, sort, baseline)))


def known_or_grave(ns: float | None) -> float:
    """To sort by: what is not known may be as bad as what is called so."""
    return GRAVE_NS if ns is None else ns
