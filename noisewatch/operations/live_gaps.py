"""The gaps of a calibration that is running: what its spinners have written so far, as histograms that grow."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from noisewatch.machine.spinning.calibration.buffer import SharedBuffer
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.machine.spinning.loops.python_loops import COUNT, GAP_WORDS, SPUN_NS
from noisewatch.model.calibration.statistics import Histogram, bucket_of


@dataclass(slots=True)
class LiveCpu:
    """One CPU so far."""

    cpu: int
    counts: dict[int, int] = field(default_factory=dict)
    gap_count: int = 0
    stolen_ns: int = 0
    spun_ns: int = 0
    longest_ns: int = 0

    @property
    def histogram(self) -> Histogram:
        return Histogram(self.counts)

    @property
    def stolen_share(self) -> float | None:
        return min(self.stolen_ns / self.spun_ns, 1.0) if self.spun_ns else None

    def take(self, sheet: SharedBuffer, together: dict[int, int]) -> None:
        """Takes in the gaps that are new, and counts them in `together` as well."""
        count = sheet.totals[COUNT]
        lengths = sheet.gaps[self.gap_count * GAP_WORDS + 1 : count * GAP_WORDS : GAP_WORDS]
        for length_ns in lengths:
            bucket = bucket_of(max(length_ns, 0))
            self.counts[bucket] = self.counts.get(bucket, 0) + 1
            together[bucket] = together.get(bucket, 0) + 1
            self.stolen_ns += length_ns
            self.longest_ns = max(self.longest_ns, length_ns)
        self.gap_count = count
        self.spun_ns = sheet.totals[SPUN_NS]


@dataclass(slots=True)
class LiveGaps:
    """All CPUs so far. It is drawn several times a second: what all have together is counted as it comes."""

    done_s: float = 0.0
    total_s: float = 0.0
    by_cpu: dict[int, LiveCpu] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def take(self, progress: Progress) -> None:
        """Takes in what is new."""
        self.done_s, self.total_s = progress.done_s, progress.total_s
        for cpu, sheet in progress.sheets.items():
            self.by_cpu.setdefault(cpu, LiveCpu(cpu)).take(sheet, self.counts)

    @property
    def together(self) -> Histogram:
        return Histogram(self.counts)

    def worst(self, most: int) -> list[LiveCpu]:
        """So many CPUs at most, those that lost the most time first."""
        return heapq.nlargest(most, self.by_cpu.values(), key=lambda each: each.stolen_ns)
