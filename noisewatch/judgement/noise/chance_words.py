"""Text on the chance that samples stay within the budget, and on options that would give a clear answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from noisewatch.judgement.noise.by_work import chance_within_budget, floors_by_work_of
from noisewatch.units import describe_chance, describe_ns, share_text, spaced_share

if TYPE_CHECKING:
    from noisewatch.judgement.case import Calibrated
    from noisewatch.judgement.noise.budget import NoiseFloor
    from noisewatch.kinds import Work

_BUDGETS = (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
_LONGER, _MORE_SAMPLES = "--calibration auto", 60


def chance_line(calibrated: Calibrated) -> str:
    """Return `25 samples of 100 ms stay within 1 %: chance 41 % (latency work)`.

    The chance is that of the requested kind of work, else the smallest of all kinds.
    """
    budget = calibrated.budget
    samples, most = f"{budget.samples} samples of {describe_ns(budget.at_ns)}", spaced_share(budget.max_cv)
    chance, of_what = chance_within_budget(calibrated)
    known = "unknown" if chance is None else describe_chance(chance)
    return f"{samples} stay within {most}: chance {known} ({of_what})"


def options_to_try(calibrated: Calibrated) -> tuple[str, ...]:
    """Return the options of preflight that may give a clear answer, with the chance that the calibration predicts."""
    if chance_within_budget(calibrated).value is None:
        return (_LONGER,)
    by_work = floors_by_work_of(calibrated) if calibrated.is_of_any_work else None
    if by_work is not None:
        work = by_work.least_likely
        floors = calibrated.floors_by_work[work].floors
        return tuple(_options(calibrated, by_work.floor_by_work[work], floors, by_work.floor_by_work))
    return () if calibrated.floor is None else tuple(_options(calibrated, calibrated.floor, calibrated.floors, {}))


def _options(
    calibrated: Calibrated, floor: NoiseFloor, by_length: Sequence[NoiseFloor], by_work: Mapping[Work, NoiseFloor]
) -> Iterator[str]:
    """Yield the options for the floor that decides, which is one of `by_length` and one of `by_work`."""
    budget = calibrated.budget
    is_exceeded = budget.is_exceeded_by(floor)
    if floor.extrapolated or not is_exceeded:
        yield _LONGER
    if not is_exceeded and floor.cv_expected < budget.max_cv and floor.samples < _MORE_SAMPLES:
        yield f"--samples {_MORE_SAMPLES}"
    least = budget.least_chance
    for work, other in by_work.items():
        if other.chance is not None and other.chance >= least:
            yield f"--work {work} ({describe_chance(other.chance)})"
            break
    lengths = [each for each in by_length if each.sample_ns != budget.at_ns]
    longest = max(lengths, key=lambda each: (each.chance or 0.0, each.sample_ns), default=None)
    if longest is not None and longest.chance is not None and longest.chance >= least:
        yield f"--at {describe_ns(longest.sample_ns).replace(' ', '')} ({describe_chance(longest.chance)})"
    for most in _BUDGETS:
        chance = calibrated.drift.chance_within(most, floor.cv_expected, floor.sample_ns)
        if most > budget.max_cv and chance >= least and not floor.extrapolated:
            yield f"--max-cv {share_text(most)} ({describe_chance(chance)})"
            break
