"""Who is told of each repetition as it is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from noisewatch.operations.progress import ProgressListener
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.judgement.case import Calibrated
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.operations.run.judging import JudgedRepetition
    from noisewatch.operations.run.options import RunOptions
    from noisewatch.operations.run.tracing import TraceLevel


@dataclass(frozen=True, slots=True)
class WatchingCost:
    """What noisewatch itself used until the first repetition, without the processes that calibrate; and where it stays
    from then on."""

    cpu_s: float
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBeginning:
    """What is known before the first repetition; `opening` is None where no calibration was wanted, or none worked."""

    options: RunOptions
    seed: int
    machine: Snapshot
    opening: Calibrated | None
    level: TraceLevel
    own_cost: WatchingCost


class RunListener(ProgressListener, Protocol):
    """A progress listener of a series."""

    def on_begin(self, beginning: RunBeginning) -> None:
        """The first repetition is about to begin."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        """One more repetition is over, and known for what it was."""
