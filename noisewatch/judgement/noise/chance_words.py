"""The chance that samples stay within the budget, and what else would give a clear answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from noisewatch.judgement.noise.budget import ALONE, Budget, NoiseFloor
from noisewatch.units import describe_chance, describe_ns, share_text, spaced_share

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
    """Return `25 samples of 100 ms stay within 1 %: chance 41 % (latency work)`."""
    return _said(budget, floor.chance, of_what)


def chance_line(calibrated: Calibrated) -> str:
    """Return the same of the requested kind of work, else of the kind with the smallest chance."""
    from noisewatch.judgement.noise.by_work import chance_within_budget

    return _said(calibrated.budget, *chance_within_budget(calibrated))


def _said(budget: Budget, chance: float | None, of_what: str) -> str:
    samples, most = f"{budget.samples} samples of {describe_ns(budget.at_ns)}", spaced_share(budget.max_cv)
    known = "unknown" if chance is None else describe_chance(chance)
    return f"{samples} stay within {most}: chance {known} ({of_what})"


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
            yield f"--work {work} ({describe_chance(other.chance)})"
            break
    lengths = [each for each in _floors_by_length(calibrated, decisive) if each.sample_ns != budget.at_ns]
    longest = max(lengths, key=lambda each: (each.chance or 0.0, each.sample_ns), default=None)
    if longest is not None and longest.chance is not None and longest.chance >= least:
        yield f"--at {describe_ns(longest.sample_ns).replace(' ', '')} ({describe_chance(longest.chance)})"
    for most in _BUDGETS:
        chance = calibrated.drift.chance_within(most, floor.cv_expected, floor.sample_ns)
        if most > budget.max_cv and chance >= least and not floor.extrapolated:
            yield f"--max-cv {share_text(most)} ({describe_chance(chance)})"
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
