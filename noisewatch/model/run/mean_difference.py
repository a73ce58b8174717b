"""How much longer one command takes than another: the difference between the means of alternating runs.

Runs form pairs of neighbours, one of each command. Which command runs first is drawn at random, but each command is
first in half of the pairs (A once more often if their number is odd). So a linear drift cancels, as in A B B A, and
periodic noise affects both commands alike, whatever its period. For example, a disturbance in every fourth run makes 8
of 10 fixed series (A B B A A B B A …) show a false difference, but only 1 of 20 drawn series.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from noisewatch.model.distributions import SIGNIFICANCE, chi_square_quantile, detection_factor, t_quantile
from noisewatch.model.run.series import Bounds

FEWEST_PAIRS = 3
_NOISE_CONFIDENCE = 0.90


class RunPair(NamedTuple):
    """The wall times (or energies) of two neighbouring runs, one of each command, and whether A's ran first."""

    a_s: float
    b_s: float
    is_a_first: bool


class MeanDifference(Struct, frozen=True):
    """The difference between the means of two commands.

    `share` is how much longer B takes than A, as a share of A's mean (0.02: B takes 2% more). `interval` contains the
    true share in 95 of 100 series. `smallest_shown` is the smallest difference that the same number of pairs detects
    with 80% power in a two-sided t-test at 5%, if the noise is at its one-sided 90% upper bound. The test compares
    neighbours, in drawn order, and removes the effect of the order. A further series of 15 pairs detects a difference
    of this size in 94 of 100 cases, and one of twice the size in all. If a few runs take much longer, it detects the
    first in only 77 to 82 cases, and the second in 91 to 96 (tests.benchmark.run_statistics). `interval` and
    `smallest_shown` are None for fewer than three pairs, or if one command always ran first.

    `second_share` is how much longer a pair's second run takes, because of drift or an effect of the first run.
    """

    pairs: int
    share: float
    interval: Bounds | None
    smallest_shown: float | None
    second_share: float | None

    @property
    def is_shown(self) -> bool | None:
        """Whether the series shows a difference, at a false-alarm rate of 5%; None without an interval."""
        return None if self.interval is None else not self.interval.low <= 0 <= self.interval.high


def draw_order(pairs: int, seed: int) -> tuple[bool, ...]:
    """Draw for each pair whether A runs first, reproducibly by the seed: in half of the pairs, rounded up."""
    order = [number % 2 == 0 for number in range(pairs)]
    random.Random(seed).shuffle(order)
    return tuple(order)


def difference_of(pairs: Sequence[RunPair], significance: float = SIGNIFICANCE) -> MeanDifference:
    """Return the mean difference of paired times (s, all > 0). Raise ValueError if there is no pair.

    The interval misses the true share in a share `significance` (0 to 1) of series.

    In this two-period crossover design, pairs with A first and pairs with B first are averaged separately, then
    together. So the effect of the order cancels and does not widen the interval: Hills and Armitage, 1979, doi
    10.1111/j.1365-2125.1979.tb05903.x. The ratio's error is the error of b - ratio · a, divided by A's mean:
    Cochran, "Sampling Techniques", 1977, ch. 6. The method cannot detect whether one command slows the next run more
    than the other does.
    """
    if not pairs:
        raise ValueError("a series without pairs has no difference")
    groups = [group for order in (True, False) if (group := [pair for pair in pairs if pair.is_a_first == order])]
    mean_a = statistics.fmean(statistics.fmean(pair.a_s for pair in group) for group in groups)
    mean_b = statistics.fmean(statistics.fmean(pair.b_s for pair in group) for group in groups)
    ratio = mean_b / mean_a
    if len(groups) < 2 or len(pairs) < FEWEST_PAIRS:
        return MeanDifference(len(pairs), ratio - 1, None, None, None)
    residuals = [[pair.b_s - ratio * pair.a_s for pair in group] for group in groups]
    middles = [statistics.fmean(group) for group in residuals]
    squares = math.fsum(
        (residual - middle) ** 2 for group, middle in zip(residuals, middles, strict=True) for residual in group
    )
    freedom = len(pairs) - 2
    error = math.sqrt(squares / freedom * sum(1 / len(group) for group in groups)) / 2 / mean_a
    half = t_quantile(1 - significance / 2, freedom) * error
    return MeanDifference(
        pairs=len(pairs),
        share=ratio - 1,
        interval=Bounds(ratio - 1 - half, ratio - 1 + half),
        smallest_shown=detection_factor(freedom) * error * _most_noise(freedom),
        second_share=_second_share(groups),
    )


def _most_noise(freedom: int) -> float:
    """Return the upper bound of a standard deviation, as a multiple of the estimate.

    Without this bound, half of all series would be noisier than assumed for the smallest detectable difference.
    NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.3.1.
    """
    return math.sqrt(freedom / chi_square_quantile(1 - _NOISE_CONFIDENCE, freedom))


def _second_share(groups: Sequence[Sequence[RunPair]]) -> float:
    """Return how much longer runs take when they are second in their pair, as the geometric mean of both commands.

    `groups` are the pairs with A first, and those with B first.
    """
    a_first, b_first = groups
    a, b = (
        statistics.fmean(pair[of] for pair in later) / statistics.fmean(pair[of] for pair in earlier)
        for of, earlier, later in ((0, a_first, b_first), (1, b_first, a_first))
    )
    return math.sqrt(a * b) - 1
