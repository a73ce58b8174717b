"""What noise a user can bear, and what is predicted: apart from how, which few runs need."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.kinds import Work
from noisewatch.records import dataclass

LOSES_TOO_MUCH = 0.005  # share of the time that is lost in gaps: half of a change of 1 %
ALONE = "interruptions"  # of work that nothing else slows


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """What samples of `sample_ns` will show on CPU `cpu`. Shares are of the mean.

    The worst sample by the median: `max_expected` is the median prediction, `max_inflation` its 95th percentile.
    `bounded` says whether the calibration was long enough to have met what `samples` samples will meet.
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


@dataclass(frozen=True, slots=True)
class Budget:
    """What the user wants to measure: samples of `at_ns`, `samples` of them; and what noise may be in them.

    `work` is what the time of the benchmark depends on; None where the user did not say.
    """

    at_ns: int = 100_000_000
    samples: int = 25
    max_cv: float = 0.01
    max_inflation: float | None = None
    work: Work | None = None

    def is_exceeded_by(self, floor: NoiseFloor) -> bool:
        """Whether samples will vary more in nine cases of ten, or one of them probably take longer."""
        is_inflated = self.max_inflation is not None and floor.max_expected > self.max_inflation
        return floor.cv_low > self.max_cv or (is_inflated and not floor.extrapolated)

    def is_met_by(self, floor: NoiseFloor) -> bool:
        """Whether samples will vary no more, and none of them take longer, as far as the calibration can tell."""
        is_bounded = self.max_inflation is None or (floor.bounded and floor.max_inflation <= self.max_inflation)
        return floor.cv_high <= self.max_cv and is_bounded and not floor.extrapolated

    def why_unbounded(self, floors: Iterable[NoiseFloor]) -> str:
        """Why nobody can say that no sample takes longer than `max_inflation`, where the floors do not exceed it."""
        if all(floor.bounded for floor in floors):
            return f"the worst sample may take more than {self.max_inflation:.2f}×, though probably less"
        return "the calibration was too short to bound the worst sample"
