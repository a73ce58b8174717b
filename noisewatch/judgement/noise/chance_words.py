"""The chance that samples stay within the budget, what else would give a clear answer, and what change they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from noisewatch.judgement.noise.budget import ALONE, Budget, NoiseFloor
from noisewatch.units import describe_ns, share_text

if TYPE_CHECKING:
    from noisewatch.judgement.case import Calibrated

_BUDGETS = (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
_MORE_SAMPLES = 60


class DecisiveFloor(NamedTuple):
    """The noise floor that decides at the budget's length, and the work that it is of, as in `latency work`."""

    floor: NoiseFloor
    work: str


def decisive_floor(calibrated: Calibrated) -> DecisiveFloor | None:
    """Return the floor of the requested kind of work, else that of the kind with the smallest chance."""
    floors = _floors_by_work(calibrated)
    if floors:
        work = min(floors, key=lambda name: (floors[name].chance or 0.0, -floors[name].cv_expected))
        return DecisiveFloor(floors[work], f"{work} work")
    return DecisiveFloor(calibrated.floor, calibrated.floors_of) if calibrated.floor is not None else None


def chance_said(floor: NoiseFloor, budget: Budget, of_what: str) -> str:
    """Return `25 samples of 100 ms stay within 1%: chance 41% (latency work)`."""
    samples = f"{floor.samples} samples of {describe_ns(floor.sample_ns)}"
    return f"{samples} stay within {share_text(budget.max_cv)}: chance {chance_text(floor.chance)} ({of_what})"


def chance_text(chance: float | None) -> str:
    """Return `41%`; no chance reads as certain."""
    if chance is None:
        return "unknown"
    return "<1%" if chance < 0.005 else ">99%" if chance > 0.995 else f"{chance:.0%}"


def change_sentence(calibrated: Calibrated) -> str | None:
    """Return the sentence on the smallest change that the samples show here, or None if no floor is known."""
    decisive = decisive_floor(calibrated)
    if decisive is None:
        return None
    floor = decisive.floor
    change = share_text(float(f"{floor.smallest_change_share:.2g}"))
    samples = f"{floor.samples} samples of {describe_ns(floor.sample_ns)}"
    return f"A change of {change} shows here with {samples} ({decisive.work})."


def options_to_try(calibrated: Calibrated) -> tuple[str, ...]:
    """Return the options of preflight that may give a clear answer, with the chance that the calibration predicts."""
    decisive = decisive_floor(calibrated)
    return () if decisive is None else tuple(_options(calibrated, decisive))


def _options(calibrated: Calibrated, decisive: DecisiveFloor) -> Iterator[str]:
    budget, floor = calibrated.budget, decisive.floor
    is_exceeded = budget.is_exceeded_by(floor)
    if floor.extrapolated or not is_exceeded:
        yield "--calibration auto"
    if not is_exceeded and floor.cv_expected < budget.max_cv and floor.samples < _MORE_SAMPLES:
        yield f"--samples {_MORE_SAMPLES}"
    least = budget.least_chance
    for work, other in _floors_by_work(calibrated).items():
        if other.chance is not None and other.chance >= least:
            yield f"--work {work} ({chance_text(other.chance)})"
            break
    lengths = [each for each in _floors_by_length(calibrated, decisive) if each.sample_ns != budget.at_ns]
    longest = max(lengths, key=lambda each: (each.chance or 0.0, each.sample_ns), default=None)
    if longest is not None and (longest.chance or 0.0) >= least:
        yield f"--at {describe_ns(longest.sample_ns).replace(' ', '')} ({chance_text(longest.chance)})"
    for most in _BUDGETS:
        chance = calibrated.drift.chance_within(most, floor.cv_expected, floor.sample_ns)
        if most > budget.max_cv and chance >= least and not floor.extrapolated:
            yield f"--max-cv {share_text(most)} ({chance_text(chance)})"
            break


def _floors_by_work(calibrated: Calibrated) -> Mapping[str, NoiseFloor]:
    """Return the floors at the budget's length by kind of work, or none if the kind is known."""
    if not calibrated.is_of_any_work:
        return {}
    floors = {name: each.worst for name, each in calibrated.floors_by_work.items() if name != ALONE}
    return {name: floor for name, floor in floors.items() if floor is not None}


def _floors_by_length(calibrated: Calibrated, decisive: DecisiveFloor) -> tuple[NoiseFloor, ...]:
    floors = calibrated.floors_by_work.get(decisive.work.removesuffix(" work"))
    return floors.floors if calibrated.is_of_any_work and floors is not None else calibrated.floors
