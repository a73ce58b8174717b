"""Listeners to a series, which get each repetition when it is judged."""

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
    """The CPU time of noisewatch itself until the first repetition, and its CPUs from then on.

    The processes that calibrate are not included.
    """

    cpu_s: float
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBeginning:
    """The state before the first repetition; `opening` is None if no calibration was requested or none worked."""

    options: RunOptions
    seed: int
    machine: Snapshot
    opening: Calibrated | None
    level: TraceLevel
    own_cost: WatchingCost


class RunListener(ProgressListener, Protocol):
    """A progress listener of a series."""

    def on_begin(self, beginning: RunBeginning) -> None:
        """Show that the first repetition is about to begin."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        """Show one more repetition, with its verdict."""
