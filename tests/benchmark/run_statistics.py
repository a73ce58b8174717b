"""Print how accurate statistics of runs are, for known kinds of noise: `python -m tests.benchmark.run_statistics`.

Figures, no limits. The wall times are made up (tests/model/run/noises.py). An argument is the number of series of each
kind; the standard error of a share of 1000 series is 0.7 % near 5 %.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence

import numpy as np

from noisewatch.model.distributions import detection_factor, t_quantile
from noisewatch.model.run.mean_difference import MeanDifference, RunPair, difference_of, draw_order
from noisewatch.model.run.series import Bounds, statistics_of
from tests.model.run.noises import NOISES, Noise, fixed_order, pairs_of

_SERIES = 1_000
_TRIALS, _MAX_FALSE, _MIN_DETECTED = 50, 0.05, 0.80  # criteria of a proof by trials
_TRUTH_RUNS = 200_000
_OF_THEIR_LENGTH = ("drifting", "warming up", "stepping", "all at once")  # their mean depends on the number of runs


def welch(pairs: Sequence[RunPair]) -> MeanDifference:
    """Return the difference by Welch's test, which ignores the order of runs."""
    a, b = ([pair[of] for pair in pairs] for of in (0, 1))
    mean_a, share = statistics.fmean(a), statistics.fmean(b) / statistics.fmean(a) - 1
    error = math.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / len(pairs)) / mean_a
    half = t_quantile(0.975, 2 * len(pairs) - 2) * error
    return MeanDifference(
        len(pairs), share, Bounds(share - half, share + half), detection_factor(2 * len(pairs) - 2) * error, None
    )


Estimate = Callable[[Sequence[RunPair]], MeanDifference]
Draw = Callable[[int, int], tuple[bool, ...]]
_DESIGNS: dict[str, tuple[Draw, Estimate]] = {
    "drawn order, pairs": (draw_order, difference_of),
    "A B B A …, pairs": (fixed_order, difference_of),
    "A B B A …, Welch": (fixed_order, welch),
}


def _trials(noise: Noise, pairs: int, draw: Draw, estimate: Estimate, count: int) -> tuple[list[bool], ...]:
    """Return whether trials show a difference where there is none, the smallest detectable one, and twice that."""
    rng = np.random.default_rng(1)
    shown_by_factor: tuple[list[bool], ...] = ([], [], [])
    for _ in range(count):
        against_itself = estimate(pairs_of(rng, noise, pairs, 0.0, draw))
        shown_by_factor[0].append(bool(against_itself.is_shown))
        for factor in (1, 2):
            share = factor * (against_itself.smallest_shown or 0.0)
            interval = estimate(pairs_of(rng, noise, pairs, share, draw)).interval
            shown_by_factor[factor].append(interval is not None and interval.low > 0)
    return shown_by_factor


def _smallest(noise: Noise, pairs: int, draw: Draw, estimate: Estimate) -> float:
    rng = np.random.default_rng(2)
    return statistics.median(estimate(pairs_of(rng, noise, pairs, 0.0, draw)).smallest_shown or 0.0 for _ in range(200))


def differences(pairs: int, count: int) -> None:
    """Print a line for each noise, with columns for each design."""
    print(
        f"\n{pairs} pairs: false alarms, MDE (median), found at the MDE that another series stated, found at twice that"
    )
    print(f"{'':>16}" + "".join(f"  {name:^30}" for name in _DESIGNS))
    for name, noise in NOISES.items():
        cells = []
        for draw, estimate in _DESIGNS.values():
            false, once, twice = (statistics.fmean(shown) for shown in _trials(noise, pairs, draw, estimate, count))
            smallest = _smallest(noise, pairs, draw, estimate)
            cells.append(f"{false:7.1%} {smallest:7.2%} {once:7.0%} {twice:6.0%}")
        print(f"{name:>16}" + "".join(f"  {cell}" for cell in cells))


def proofs(pairs: int, count: int) -> None:
    """Print how often fifty trials pass: few false alarms, and most differences of twice the smallest detected."""
    print(f"\n{pairs} pairs, drawn order: {count // _TRIALS} proofs of {_TRIALS} trials each; those that pass")
    for name, noise in NOISES.items():
        false, _, twice = _trials(noise, pairs, draw_order, difference_of, count)
        batches = range(0, count - _TRIALS + 1, _TRIALS)
        calm = statistics.fmean(statistics.fmean(false[at : at + _TRIALS]) <= _MAX_FALSE for at in batches)
        detected = statistics.fmean(statistics.fmean(twice[at : at + _TRIALS]) >= _MIN_DETECTED for at in batches)
        print(f"{name:>16}  false alarms {calm:4.0%}   found {detected:4.0%}")


def intervals(runs: int, count: int) -> None:
    """Print how many intervals contain the mean and the CV, and how many series are doubted for their order."""
    print(f"\n{runs} runs: intervals that hold the mean, and the CV; series whose order is doubted")
    for name, noise in NOISES.items():
        if name in _OF_THEIR_LENGTH:
            continue
        rng = np.random.default_rng(3)
        truth = noise(rng, _TRUTH_RUNS)
        mean, cv = float(np.mean(truth)), float(np.std(truth) / np.mean(truth))
        with_mean = with_cv = doubted = 0
        for _ in range(count):
            result = statistics_of(noise(rng, runs).tolist())
            if result.mean_interval_s is not None and result.cv_interval is not None:
                with_mean += result.mean_interval_s.low <= mean <= result.mean_interval_s.high
                with_cv += result.cv_interval.low <= cv <= result.cv_interval.high
            doubted += result.doubt is not None
        print(f"{name:>16}  mean {with_mean / count:6.1%}   CV {with_cv / count:6.1%}   doubted {doubted / count:6.1%}")


def main() -> None:
    """Print all tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _SERIES
    for runs in (10, 25):
        intervals(runs, count)
    for pairs in (6, 15, 30):
        differences(pairs, count)
    for pairs in (15, 30):
        proofs(pairs, count)


if __name__ == "__main__":
    main()
