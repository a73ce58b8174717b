"""How much longer one command takes than another, of runs that took turns: the difference of their means.

The runs come in pairs of neighbours, one of each command. Which of the two goes first is drawn at random for each pair,
as often the one as the other. So a linear drift cancels, as in A B B A, and what comes and goes meets both alike,
whatever its period: a disturbance every fourth run makes 8 of 10 fixed series A B B A A B B A … show a difference that
is not there, and 1 of 20 drawn ones.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from noisewatch.model.distributions import SIGNIFICANCE, chi_square_quantile, detection_factor, t_quantile
from noisewatch.model.run.series import Bounds
from noisewatch.records import dataclass

TEST_OF_PAIRS = (
    "pairs of neighbours in drawn order, t-test without the effect of the order, two-sided 5 %, power 0.8, "
    "for the most noise that is likely (one-sided 90 %)"
)
FEWEST_PAIRS = 3
_NOISE_CONFIDENCE = 0.90


class RunPair(NamedTuple):
    """The wall times of two neighbouring runs, one of each command, and which ran first."""

    a_s: float
    b_s: float
    is_a_first: bool


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """`share` is how much longer B takes than A, as a share of A's mean. 0.02: B takes 2 % more.

    `interval` holds it in 95 of 100 series. `smallest_shown` is the smallest difference that a series of so many pairs
    shows in 4 of 5 cases even with the most noise that this one lets expect (`TEST_OF_PAIRS`). So the next series of 15
    pairs shows it in 94 of 100 cases, where few runs take much longer in 77 to 82; and twice as much in 100, and in 91
    to 96 (tests.benchmark.run_statistics). Both are None of fewer than three pairs, or where one command always ran
    first.

    `second_share` is how much longer a run takes as the second of its pair: drift, or what the first leaves behind.
    """

    pairs: int
    share: float
    interval: Bounds | None
    smallest_shown: float | None
    second_share: float | None

    @property
    def is_shown(self) -> bool | None:
        """Whether there is a difference, at 5 % false alarms; None where nothing can be said."""
        return None if self.interval is None else not self.interval.low <= 0 <= self.interval.high


def drawn_order(pairs: int, seed: int) -> tuple[bool, ...]:
    """For each pair whether A goes first: in half of them, if odd in one more, in an order that the seed gives."""
    order = [number % 2 == 0 for number in range(pairs)]
    random.Random(seed).shuffle(order)
    return tuple(order)


def paired(order: Sequence[bool], times_s: Sequence[float | None]) -> list[RunPair]:
    """The pairs of a series as it ran, two times to each entry of the order; None for a run that is left out.

    A pair that lacks a run is left out as a whole, and so is what an aborted series lacks.
    """
    pairs = []
    for is_a_first, first, second in zip(order, times_s[::2], times_s[1::2], strict=False):
        if first is not None and second is not None:
            a_s, b_s = (first, second) if is_a_first else (second, first)
            pairs.append(RunPair(a_s, b_s, is_a_first))
    return pairs


def difference_of(pairs: Sequence[RunPair]) -> MeanDifference:
    """Of one pair or more, of times longer than 0 seconds. None at all: ValueError.

    The two-period crossover design: the pairs with A first and those with B first are averaged apart, then together, so
    that what the order does to a run cancels and does not widen the interval: Hills and Armitage, 1979, doi
    10.1111/j.1365-2125.1979.tb05903.x. The error of the ratio is that of b - ratio · a, over A's mean: Cochran,
    "Sampling Techniques", 1977, ch. 6. A command that slows the next run more than the other does is not seen.
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
        (each - middle) ** 2 for group, middle in zip(residuals, middles, strict=True) for each in group
    )
    freedom = len(pairs) - 2
    error = math.sqrt(squares / freedom * sum(1 / len(group) for group in groups)) / 2 / mean_a
    half = t_quantile(1 - SIGNIFICANCE / 2, freedom) * error
    return MeanDifference(
        pairs=len(pairs),
        share=ratio - 1,
        interval=Bounds(ratio - 1 - half, ratio - 1 + half),
        smallest_shown=detection_factor(freedom) * error * _most_noise(freedom),
        second_share=_second_share(groups),
    )


def _most_noise(freedom: int) -> float:
    """The upper bound of a standard deviation, as a multiple of what was estimated.

    Without it every other series of pairs would be noisier than the one that states the smallest difference.
    NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.3.1.
    """
    return math.sqrt(freedom / chi_square_quantile(1 - _NOISE_CONFIDENCE, freedom))


def _second_share(groups: Sequence[Sequence[RunPair]]) -> float:
    """Of groups in both orders: the same command as the second of its pair and as the first, for both commands."""
    a_first, b_first = groups
    a, b = (
        statistics.fmean(pair[of] for pair in later) / statistics.fmean(pair[of] for pair in earlier)
        for of, earlier, later in ((0, a_first, b_first), (1, b_first, a_first))
    )
    return math.sqrt(a * b) - 1
