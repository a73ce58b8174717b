"""Whether the machine was unchanged after a series, from the calibrations before and after it."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.cpus import CpuSet
from noisewatch.judgement.case import Calibrated
from noisewatch.model.calibration.figures import CpuFigures
from noisewatch.records import dataclass

MOST_CHANGE = 0.01


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """How much longer the same work took on a CPU after the series, as a share; negative if it was faster."""

    cpu: int
    share: float

    @property
    def is_too_much(self) -> bool:
        return abs(self.share) > MOST_CHANGE


def speed_changes(opening: Calibrated, closing: Calibrated) -> list[SpeedChange]:
    """Return the change of each CPU that was measured to the end both times, the largest first.

    It is measured by the chain of dependent steps, which only the clock and interruptions slow; the median excludes
    interruptions.
    """
    before = {figures.cpu: figures for figures in opening.complete}
    pairs = ((before[figures.cpu], figures) for figures in closing.complete if figures.cpu in before)
    return sorted(_changes(pairs), key=lambda change: -abs(change.share))


def why_change_unknown(opening: Calibrated, closing: Calibrated, cpus: CpuSet) -> str | None:
    """Return why the speed change of one of the CPUs is unknown, or None if all are known."""
    missing = sorted(cpus - {change.cpu for change in speed_changes(opening, closing)})
    if not missing:
        return None
    troubles = opening.troubles | closing.troubles
    return f"CPU {missing[0]}: {troubles.get(missing[0], 'its work was not measured')}"


def _changes(pairs: Iterator[tuple[CpuFigures, CpuFigures]]) -> Iterator[SpeedChange]:
    for first, last in pairs:
        if first.latency_work is not None and last.latency_work is not None and first.latency_work.piece_ns > 0:
            yield SpeedChange(first.cpu, last.latency_work.piece_ns / first.latency_work.piece_ns - 1)
