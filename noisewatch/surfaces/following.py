"""Some CPUs that were followed for a while, by the kernel's trace or by its counters alone."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.judgement.case import Case
from noisewatch.model.culprits import TracedCpu
from noisewatch.model.interval import Interval
from noisewatch.sources.trace import Trace


@dataclass(frozen=True, slots=True)
class Followed:
    """`trace` is None where there is none, and `reason` says why; the interval's counters have to do then."""

    interval: Interval
    trace: Trace | None
    cpus: tuple[TracedCpu, ...]
    reason: str | None

    @property
    def case(self) -> Case:
        """For the remedies."""
        return Case(self.interval.after, self.interval)

    @property
    def target(self) -> list[int]:
        return sorted(self.interval.after.target.cpus)

    @property
    def seconds(self) -> float:
        return self.trace.length_ns / 1e9 if self.trace is not None else self.interval.seconds
