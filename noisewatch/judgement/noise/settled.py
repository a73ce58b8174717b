"""Whether a calibration was long enough for its budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from noisewatch.judgement.noise.by_work import KINDS
from noisewatch.judgement.noise.floor import floors_by_cpu, floors_by_work, worst_floors

if TYPE_CHECKING:
    from noisewatch.judgement.noise.budget import Budget, NoiseFloor
    from noisewatch.judgement.noise.drift import Drift
    from noisewatch.kernel.calibration import CalibrationSamples

_NARROW = 1.25  # a narrow interval is at most this factor wider than drift and the number of samples alone make it
_ENDS = 1.645  # standard deviations: nine of ten values lie within this distance of the mean


def is_settled(calibration: CalibrationSamples, budget: Budget, drift: Drift) -> bool:
    """Return whether no judged floor needs a longer calibration. If a judged floor is missing, return False.

    A floor needs none once it is clearly within or above the budget, or its interval would hardly become narrower.
    """
    floors = _judged_floors(calibration, budget, drift)
    return bool(floors) and all(_is_precise(floor, budget, drift) for floor in floors)


def _judged_floors(calibration: CalibrationSamples, budget: Budget, drift: Drift) -> list[NoiseFloor]:
    """Return the floors at the budget's length that a verdict will judge; empty if any of them is missing."""
    if budget.work is not None:
        by_cpu = floors_by_cpu([calibration], budget, drift)
        judged = worst_floors(by_cpu) if all(by_cpu.values()) else []
    else:
        cpus = {samples.cpu for samples in calibration.cpus if samples.trouble is None}
        by_work = floors_by_work(calibration, budget, drift)
        kinds = [by_work[work] for work in KINDS if work in by_work]
        is_complete = all(cpus == floors.at_budget_by_cpu.keys() for floors in kinds)
        judged = [floors.worst for floors in kinds if floors.worst is not None] if is_complete else []
    return [floor for floor in judged if floor.sample_ns == budget.at_ns]


def _is_precise(floor: NoiseFloor, budget: Budget, drift: Drift) -> bool:
    """Return whether the floor is clearly within or above the budget, or a longer calibration would hardly narrow it.

    The interval cannot become narrower than drift and the number of samples make it.
    """
    if budget.is_exceeded_by(floor) or budget.is_met_by(floor):
        return True
    is_open = floor.extrapolated or (budget.max_inflation is not None and not floor.bounded)
    widest = _NARROW * _interval_ratio(floor.samples) * drift.margin_at(floor.sample_ns) ** 2
    return not is_open and floor.cv_high <= widest * floor.cv_low


def _interval_ratio(samples: int) -> float:
    """Return the ratio of the ends of the 90% interval for the CV of `samples` samples if the machine's noise is known.

    The relative standard error of the standard deviation of n samples is 1 / √(2(n - 1)): Ahn and Fessler,
    "Standard Errors of Mean, Variance, and Standard Deviation Estimators", 2003.
    """
    return math.exp(2 * _ENDS / math.sqrt(2 * (samples - 1)))
