"""The noise budget and the type of a noise floor. Floors are predicted in another module, which few commands need."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from noisewatch.kinds import Work

DEFAULT_MAX_CV = 0.01
CONFIDENCE = 0.90
LOSES_TOO_MUCH = 0.005  # the largest tolerable share of time lost in gaps: half of a 1% change
ALONE = "interruptions"  # the key of noise floors for interruptions alone


class NoiseFloor(Struct, frozen=True):
    """The predicted noise of samples of `sample_ns` on CPU `cpu`. Shares are of the mean.

    The worst sample is relative to the median: `max_expected` is the median of the predictions, `max_inflation` their
    95th percentile. `bounded`: the calibration was long enough to include the events that `samples` samples will meet.
    `chance` (0 to 1) is the probability that such samples stay within the budget; None if the floor is extrapolated.
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

    @property
    def detectable_share(self) -> float | None:
        """The smallest change that the samples can show, or infinity; None if the floor is extrapolated."""
        return None if self.extrapolated else self.smallest_change_share


class Budget(Struct, frozen=True):
    """The planned measurement, `samples` samples of `at_ns`, and its acceptable noise.

    `work` is what the time of the benchmark depends on; None if not given. `confidence` is the requested chance of
    staying within the budget; None if the profile decides. `detect` is the change (share of the mean) that the
    benchmark has to detect; None if not given.
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
        """The smallest chance with which a noise floor passes."""
        return CONFIDENCE if self.confidence is None else self.confidence

    def is_unlikely(self, chance: float | None) -> bool:
        """Return whether the chance of staying within the budget is low enough to fail."""
        return chance is not None and chance <= 1 - self.least_chance

    def is_exceeded_by(self, floor: NoiseFloor) -> bool:
        """Return whether samples are unlikely to stay within the budget, or one sample probably takes too long."""
        is_inflated = self.max_inflation is not None and floor.max_expected > self.max_inflation
        if floor.chance is None:
            return floor.cv_low > self.max_cv
        return self.is_unlikely(floor.chance) or is_inflated

    def is_met_by(self, floor: NoiseFloor) -> bool:
        """Return whether samples will stay within the budget, as far as the calibration can predict."""
        is_bounded = self.max_inflation is None or (floor.bounded and floor.max_inflation <= self.max_inflation)
        return floor.chance is not None and floor.chance >= self.least_chance and is_bounded and not floor.extrapolated

    def unbounded_reason(self, floors: Iterable[NoiseFloor]) -> str:
        """Return why a sample may take longer than `max_inflation`, though the floors do not exceed it."""
        if all(floor.bounded for floor in floors):
            return f"the worst sample may take more than {self.max_inflation:.2f}×, though probably less"
        return "the calibration was too short to bound the worst sample"
