"""The noise floor of each kind of work, and of work that only interruptions slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from noisewatch.judgement.noise.budget import ALONE, Budget, NoiseFloor
from noisewatch.judgement.noise.drift import USUAL_DRIFT, Drift
from noisewatch.judgement.noise.floor import (
    FEWEST_DRAWS,
    MOST_DRAWS,
    floors_by_length,
    replays_by_cpu,
    worst_floors,
    worst_of,
)
from noisewatch.kinds import Work
from noisewatch.model.calibration.timeline import INTERRUPTIONS, SERIES_OF, Replay, Timelines
from noisewatch.records import dataclass

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.kernel.calibration import CalibrationSamples


class WorkFloors:
    """The floors of one kind of work, computed on demand: not every verdict shows all of them."""

    def __init__(self, made: _Made, series: Sequence[str]) -> None:
        self._made = made
        self._series = series

    @cached_property
    def at_budget_by_cpu(self) -> Mapping[int, NoiseFloor]:
        """The floors at the budget's length by CPU; a CPU on which too little was measured has none."""
        made = self._made
        found = {
            cpu: floors_by_length(each, cpu, made.budget, made.drift, made.draws, is_all=False)
            for cpu, each in self._timelines.items()
        }
        return {cpu: floors[-1] for cpu, floors in found.items() if floors}

    @cached_property
    def worst(self) -> NoiseFloor | None:
        """The worst of every figure of all CPUs at the budget's length, or None."""
        return worst_of([*self.at_budget_by_cpu.values()]) if self.at_budget_by_cpu else None

    @cached_property
    def floors(self) -> tuple[NoiseFloor, ...]:
        """The floors by length: `worst` at the budget's length, else of the CPU whose interval ends highest there."""
        made, worst, by_cpu = self._made, self.worst, self.at_budget_by_cpu
        if worst is None:
            return ()
        cpu = max(by_cpu, key=lambda cpu: by_cpu[cpu].cv_high)
        floors = floors_by_length(self._timelines[cpu], cpu, made.budget, made.drift, made.draws)
        return tuple(worst if each.sample_ns == made.budget.at_ns else each for each in floors)

    @cached_property
    def worst_by_length(self) -> tuple[NoiseFloor, ...]:
        """The worst of every figure of all CPUs by length, without CPUs on which too little was measured."""
        made = self._made
        by_cpu = {
            cpu: floors_by_length(timelines, cpu, made.budget, made.drift, made.draws)
            for cpu, timelines in self._timelines.items()
        }
        return tuple(worst_floors(by_cpu))

    def part_of(self, cpus: CpuSet) -> WorkFloors:
        """Return the floors of these CPUs alone."""
        replays = {cpu: replay for cpu, replay in self._made.replays.items() if cpu in cpus}
        return WorkFloors(replace(self._made, replays=replays), self._series)

    @cached_property
    def _timelines(self) -> Mapping[int, Timelines]:
        return {cpu: replay.timelines(self._series) for cpu, replay in self._made.replays.items()}


@dataclass(frozen=True, slots=True)
class _Made:
    """The inputs of the floors of all kinds."""

    replays: Mapping[int, Replay]
    budget: Budget
    drift: Drift

    @property
    def draws(self) -> int:
        """The number of draws per CPU: fewer if there are many CPUs, as the worst counts."""
        return max(MOST_DRAWS // max(len(self.replays), 1), FEWEST_DRAWS)


def floors_by_work(
    calibration: CalibrationSamples,
    budget: Budget,
    drift: Drift = USUAL_DRIFT,
    replays: Mapping[int, Replay] | None = None,
) -> dict[str, WorkFloors]:
    """Return the floors of each kind of work but the mixed one, and of `ALONE`; empty for the user's command.

    `replays` are those of the calibration if they exist already: computing them takes long.
    """
    if calibration.command:
        return {}
    made = _Made(replays if replays is not None else replays_by_cpu([calibration]), budget, drift)
    kinds = {str(work): WorkFloors(made, series) for work, series in SERIES_OF.items() if work != Work.MIXED}
    return {ALONE: WorkFloors(made, INTERRUPTIONS), **kinds}
