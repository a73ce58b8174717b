"""What noise a user can bear, and what is predicted: apart from how, which few runs need."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.kinds import Work
from noisewatch.records import dataclass

DEFAULT_MAX_CV = 0.01
CONFIDENCE = 0.90
LOSES_TOO_MUCH = 0.005  # share of the time that is lost in gaps: half of a change of 1 %
ALONE = "interruptions"  # of work that nothing else slows


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What samples of `sample_ns` will show on CPU `cpu`. Shares are of the mean.

    The worst sample by the median: `max_expected` is the median prediction, `max_inflation` its 95th percentile.
    `bounded` says whether the calibration was long enough to have met what `samples` samples will meet. `chance` (0 to
    1) is that such samples stay within the budget; None where the floor is extrapolated.
    """

    sample_ns: int
    cpu: int
    cv_low: float
    cv_expected: float
    cv_high: float
    max_expected: float
    max_inflation: float
    smallest_change_share: float
    samples: int
    bounded: bool
    extrapolated: bool
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What the user wants to measure: samples of `at_ns`, `samples` of them; and what noise may be in them.

    `work` is what the time of the benchmark depends on; None where the user did not say. `confidence` is the chance of
    staying within the budget that is asked for; None where the profile decides. `detect` is the change (share of the
    mean) that the benchmark is to show; None where the user did not say.
    """

    at_ns: int = 100_000_000
    samples: int = 25
    max_cv: float = DEFAULT_MAX_CV
    max_inflation: float | None = None
    work: Work | None = None
    confidence: float | None = None
    detect: float | None = None

    @property
    def least_chance(self) -> float:
        """The chance from which on a noise floor passes."""
        return CONFIDENCE if self.confidence is None else self.confidence

    def is_unlikely(self, chance: float | None) -> bool:
        """Return whether the chance of staying within the budget is low enough to fail."""
        return chance is not None and chance <= 1 - self.least_chance

    def is_exceeded_by(self, floor: NoiseFloor) -> bool:
        """Return whether samples will hardly stay within the budget, or one of them will probably take longer."""
        is_inflated = self.max_inflation is not None and floor.max_expected > self.max_inflation
        if floor.chance is None:
            return floor.cv_low > self.max_cv
        return self.is_unlikely(floor.chance) or is_inflated

    def is_met_by(self, floor: NoiseFloor) -> bool:
        """Return whether samples will vary no more, and none of them take longer, as far as the calibration tells."""
        is_bounded = self.max_inflation is None or (floor.bounded and floor.max_inflation <= self.max_inflation)
        return floor.chance is not None and floor.chance >= self.least_chance and is_bounded and not floor.extrapolated

    def why_unbounded(self, floors: Iterable[NoiseFloor]) -> str:
        """Why nobody can say that no sample takes longer than `max_inflation`, where the floors do not exceed it."""
        if all(floor.bounded for floor in floors):
            return f"the worst sample may take more than {self.max_inflation:.2f}×, though probably less"
        return "the calibration was too short to bound the worst sample"
