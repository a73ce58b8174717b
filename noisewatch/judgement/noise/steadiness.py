"""Whether the machine was the same after a series as before it, from the calibrations at both ends."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.records import dataclass

MOST_CHANGE = 0.01


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """How much longer the same work took on a CPU after the series, as a share; negative where it was faster."""

    cpu: int
    share: float

    @property
    def is_too_much(self) -> bool:
        return abs(self.share) > MOST_CHANGE


def speed_changes(opening: Calibrated, closing: Calibrated) -> list[SpeedChange]:
    """Of each CPU that was measured to the end both times, that which changed most first.

    By the chain of dependent steps, which nothing but the clock and interruptions slow; its median forgets the latter.
    """
    before = {figures.cpu: figures for figures in opening.complete}
    pairs = ((before[figures.cpu], figures) for figures in closing.complete if figures.cpu in before)
    return sorted(_changes(pairs), key=lambda change: -abs(change.share))


def why_change_unknown(opening: Calibrated, closing: Calibrated, cpus: CpuSet) -> str | None:
    """Why nobody can say of one of the CPUs whether it was as fast after the series; None where all are known."""
    missing = sorted(cpus - {change.cpu for change in speed_changes(opening, closing)})
    if not missing:
        return None
    troubles = opening.troubles | closing.troubles
    return f"CPU {missing[0]}: {troubles.get(missing[0], 'its work was not measured')}"


def _changes(pairs: Iterator[tuple[CpuFigures, CpuFigures]]) -> Iterator[SpeedChange]:
    for first, last in pairs:
        if first.latency_work is not None and last.latency_work is not None and first.latency_work.piece_ns > 0:
            yield SpeedChange(first.cpu, last.latency_work.piece_ns / first.latency_work.piece_ns - 1)
