"""Statistics of a series compared with numpy, with tables and with series of known noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.distributions import chi_square_quantile
from noisewatch.model.run.series import (
    Bounds,
    Explained,
    OrderDoubt,
    SeriesStatistics,
    doubt_of_order,
    parts_of,
    sd_interval,
    select_by_cause,
    statistics_of,
)
from tests.model.run.noises import correlated, normal, skewed

_TIMES = st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=60)
_SERIES = st.lists(st.floats(1e-3, 1e5), min_size=2, max_size=60)


@given(_SERIES)
def test_statistics_match_numpy(times: list[float]) -> None:
    stats = statistics_of(times)
    assert (stats.count, stats.min_s, stats.max_s) == (len(times), min(times), max(times))
    assert stats.mean_s == pytest.approx(float(np.mean(times)), rel=1e-9)
    assert stats.median_s == pytest.approx(float(np.median(times)), rel=1e-9)
    assert stats.sd_s == pytest.approx(float(np.std(times, ddof=1)), rel=1e-6, abs=1e-9)
    assert stats.cv == pytest.approx(float(np.std(times, ddof=1) / np.mean(times)), rel=1e-6, abs=1e-9)


def test_statistics_of_five_runs_match_those_by_hand() -> None:
    """Student's t of four degrees of freedom is 2.776; χ² is 0.484 and 11.143."""
    stats = statistics_of([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776 * math.sqrt(2.5 / 5)
    assert stats.mean_interval_s == pytest.approx((3 - half, 3 + half), abs=1e-3)
    assert stats.cv_interval == pytest.approx((math.sqrt(10 / 11.143) / 3, math.sqrt(10 / 0.484) / 3), rel=1e-3)
    assert stats.later_share == pytest.approx(4.5 / 1.5 - 1)


def test_variation_of_one_run_is_unknown() -> None:
    stats = statistics_of([2.5])
    assert (stats.mean_s, stats.median_s, stats.min_s, stats.max_s) == (2.5, 2.5, 2.5, 2.5)
    assert (stats.sd_s, stats.cv, stats.mean_interval_s, stats.cv_interval, stats.later_share) == (None,) * 5
    assert not stats.is_order_tested


def test_no_runs_have_no_statistics() -> None:
    with pytest.raises(ValueError, match="without runs"):
        statistics_of([])


def test_equal_runs_do_not_vary() -> None:
    stats = statistics_of([0.25] * 20)
    assert (stats.sd_s, stats.cv, stats.mean_interval_s, stats.cv_interval) == (0, 0, (0.25, 0.25), (0, 0))
    assert (stats.doubt, stats.later_share, stats.far_runs) == (None, 0, ())


@given(_TIMES)
def test_intervals_contain_their_estimates(times: list[float]) -> None:
    stats = statistics_of(times)
    low, high = stats.mean_interval_s or (stats.mean_s, stats.mean_s)
    assert low <= stats.mean_s <= high
    cv_low, cv_high = stats.cv_interval or (0.0, 0.0)
    assert cv_low <= (stats.cv or 0.0) <= cv_high or stats.cv == pytest.approx(cv_low, abs=1e-12)


@given(_SERIES, st.floats(0.01, 100))
def test_unit_of_time_does_not_change_relative_figures(times: list[float], factor: float) -> None:
    one, other = statistics_of(times), statistics_of([time * factor for time in times])
    assert other.mean_s == pytest.approx(one.mean_s * factor)
    assert other.cv == pytest.approx(one.cv, rel=1e-6, abs=1e-9)
    assert other.cv_interval == pytest.approx(one.cv_interval, rel=1e-5, abs=1e-9)
    assert other.later_share == pytest.approx(one.later_share, rel=1e-6, abs=1e-9)


@given(_SERIES, st.randoms(use_true_random=False))
def test_interval_and_far_runs_do_not_depend_on_the_order(times: list[float], rng: random.Random) -> None:
    shuffled = times.copy()
    rng.shuffle(shuffled)
    one, other = statistics_of(times), statistics_of(shuffled)
    assert other.mean_interval_s == pytest.approx(one.mean_interval_s)
    assert {times[at] for at in one.far_runs} == {shuffled[at] for at in other.far_runs}


def test_interval_of_the_mean_contains_it_in_95_of_100_series() -> None:
    assert 0.93 <= _share_covered(lambda times: statistics_of(times).mean_interval_s, 8, 1.0) <= 0.97


def test_interval_of_the_standard_deviation_contains_it_in_95_of_100_series() -> None:
    assert 0.93 <= _share_covered(sd_interval, 25, 0.01) <= 0.97


def _share_covered(interval: Callable[[list[float]], Bounds | None], runs: int, truth: float) -> float:
    rng, covered, series = np.random.default_rng(1), 0, 1_500
    for _ in range(series):
        bounds = interval(normal(rng, runs).tolist())
        assert bounds is not None
        covered += bounds.low <= truth <= bounds.high
    return covered / series


def test_interval_of_five_runs_with_an_outlier_matches_that_by_hand() -> None:
    """The excess kurtosis of 0, 0, 0, 0, 1 is 5, which leaves 10 / 7.5 of four degrees of freedom."""
    bounds = sd_interval([1.0, 1.0, 1.0, 1.0, 2.0])
    freedom = 10 / 7.5
    high, low = (chi_square_quantile(share, freedom) for share in (0.025, 0.975))
    assert bounds == pytest.approx((math.sqrt(0.2 * freedom / low), math.sqrt(0.2 * freedom / high)))


def test_heavy_tails_widen_the_interval_of_the_standard_deviation() -> None:
    even = [1.0 + number / 100 for number in range(20)]
    tailed = [*[1.0 + number / 1000 for number in range(19)], 1.5]
    narrow, wide = sd_interval(even), sd_interval(tailed)
    assert narrow is not None
    assert wide is not None
    assert narrow.high / narrow.low == pytest.approx(math.sqrt(32.852 / 8.907), rel=1e-3)  # χ² of 19 degrees
    assert wide.high / wide.low > 3 * narrow.high / narrow.low


@pytest.mark.parametrize(
    ("times", "doubt"),
    [
        ([1 + number / 50 for number in range(12)], OrderDoubt.SLOWER),
        ([2 - number / 50 for number in range(12)], OrderDoubt.FASTER),
        ([1 + math.sin(number / 4) ** 2 for number in range(50)], OrderDoubt.SERIAL),
        ([1 + number % 2 for number in range(50)], None),
        ([1 + number / 50 for number in range(9)], None),
        ([1.0] * 6 + [1.1] * 6, OrderDoubt.SLOWER),
    ],
)
def test_trend_or_serial_correlation_makes_the_order_doubtful(times: list[float], doubt: OrderDoubt | None) -> None:
    stats = statistics_of(times)
    assert stats.doubt == doubt
    assert stats.is_order_tested == (len(times) >= 10)


@pytest.mark.parametrize("runs", [10, 15, 40])
def test_independent_series_are_seldom_doubted(runs: int) -> None:
    rng = np.random.default_rng(2)
    doubts = [doubt_of_order(skewed(rng, runs).tolist()) for _ in range(1_000)]
    assert sum(doubt is not None for doubt in doubts) <= 40


def test_correlated_runs_are_mostly_doubted() -> None:
    rng = np.random.default_rng(3)
    doubts = [doubt_of_order(correlated(0.7)(rng, 50).tolist()) for _ in range(200)]
    assert sum(doubt is not None for doubt in doubts) >= 180


def test_far_runs_are_named_by_position() -> None:
    times = [1 + (number * 7 % 10) / 1000 for number in range(20)]
    assert statistics_of(times).far_runs == ()
    times[4], times[17] = 1.3, 0.8
    assert statistics_of(times).far_runs == (4, 17)


def test_mostly_equal_runs_have_no_far_run() -> None:
    for times in ([1.0] * 19 + [9.0], [1.0, 1.0, 9.0], [0.9, 0.9, 0.9, 0.9, 1.0], [1.0, 2.0], [1.0]):
        assert statistics_of(times).far_runs == ()


def test_outlier_of_few_runs_is_found() -> None:
    assert statistics_of([9.0, 1.0, 1.001, 1.002, 1.003]).far_runs == (0,)
    assert statistics_of([1.0, 1.001, 1.002, 0.5, 1.003]).far_runs == (3,)
    assert statistics_of([9.0, 1.0, 3.0]).far_runs == ()


@pytest.mark.parametrize("count", [4, 5, 9])
@pytest.mark.parametrize("is_lognormal", [True, False])
def test_one_in_a_hundred_short_series_has_a_false_outlier(count: int, is_lognormal: bool) -> None:
    rng = np.random.default_rng(count)
    logs = rng.normal(0, 0.5, (4000, count)) if is_lognormal else np.log(rng.normal(1, 0.05, (4000, count)))
    assert 20 <= sum(statistics_of(times).far_runs != () for times in np.exp(logs).tolist()) <= 64


def test_both_statistics_are_kept_and_the_undisturbed_one_is_the_headline() -> None:
    selection = select_by_cause([1.0, 1.1, 5.0, 1.2, 1.3], [True, True, False, True, True], 0.8)
    assert selection.of_all == statistics_of([1.0, 1.1, 5.0, 1.2, 1.3])
    assert selection.of_undisturbed == statistics_of([1.0, 1.1, 1.2, 1.3])
    assert (selection.undisturbed, selection.disturbed, selection.unknown, selection.is_refused) == (4, 1, 0, False)
    assert selection.headline == selection.of_undisturbed


def test_slow_undisturbed_run_is_kept() -> None:
    selection = select_by_cause([1.0, 9.0], [True, True], 1.0)
    assert selection.headline == selection.of_all


def test_too_few_undisturbed_runs_are_refused_but_their_statistics_kept() -> None:
    selection = select_by_cause([1.0, 1.1, 1.2, 1.3], [True, True, True, False], 0.8)
    assert (selection.is_refused, selection.headline) == (True, None)
    assert selection.of_undisturbed == statistics_of([1.0, 1.1, 1.2])


def test_unknown_runs_do_not_count_as_undisturbed() -> None:
    selection = select_by_cause([1.0, 1.1, 1.2, 1.3, 1.4], [True, None, None, True, True], 0.8)
    assert (selection.undisturbed, selection.disturbed, selection.unknown, selection.is_refused) == (3, 0, 2, True)


@pytest.mark.parametrize("min_undisturbed", [0.0, 0.5])
def test_without_an_undisturbed_run_there_is_no_headline(min_undisturbed: float) -> None:
    selection = select_by_cause([1.0, 2.0], [False, None], min_undisturbed)
    assert (selection.of_undisturbed, selection.headline, selection.is_refused) == (None, None, True)


@given(st.integers(1, 100), st.integers(1, 100))
def test_exactly_the_requested_share_is_enough(percent: int, runs: int) -> None:
    kept = -(-percent * runs // 100)
    enough = select_by_cause([1.0] * runs, [at < kept for at in range(runs)], percent / 100)
    assert not enough.is_refused
    assert select_by_cause([1.0] * runs, [at < kept - 1 for at in range(runs)], percent / 100).is_refused


def test_number_of_times_and_verdicts_must_be_equal() -> None:
    with pytest.raises(ValueError, match="zip"):
        select_by_cause([1.0, 2.0], [True], 0.5)


def _varying_series(cv: float, runs: int) -> SeriesStatistics:
    """Return runs of which half are above the mean of 1 s, half below."""
    deviation = cv * math.sqrt((runs - 1) / runs)
    return statistics_of([1 + deviation * (-1) ** number for number in range(runs)])


@pytest.mark.parametrize(
    ("cv", "runs", "of_machine", "explained"),
    [
        (0.016, 24, Bounds(0.002, 0.004), Explained.PROGRAM),
        (0.016, 24, Bounds(0.010, 0.030), Explained.MACHINE),
        (0.016, 24, Bounds(0.010, 0.020), Explained.UNDECIDED),  # the CV is below 0.0224 only
        (0.016, 200, Bounds(0.010, 0.020), Explained.MACHINE),
        (0.016, 4, Bounds(0.002, 0.010), Explained.UNDECIDED),  # above 0.0091 only
        (0.016, 24, Bounds(0.002, 0.010), Explained.PROGRAM),
        (0.016, 24, None, Explained.UNKNOWN_MACHINE),
    ],
)
def test_variation_beyond_that_of_the_machine_is_the_programs(
    cv: float, runs: int, of_machine: Bounds | None, explained: Explained
) -> None:
    parts = parts_of(_varying_series(cv, runs), of_machine)
    assert parts.explained == explained
    assert (parts.count, parts.of_machine) == (runs, of_machine)
    assert parts.cv == pytest.approx(cv)
    assert (parts.of_program is None) == (of_machine is None)


def test_variation_that_depends_on_the_order_is_not_the_programs() -> None:
    drifting = statistics_of([1 + number / 100 for number in range(24)])
    assert parts_of(drifting, Bounds(0.002, 0.004)).explained == Explained.ORDER
    assert parts_of(drifting, Bounds(0.2, 0.4)).explained == Explained.MACHINE


@pytest.mark.parametrize("of_machine", [None, Bounds(0.001, 0.002)])
def test_variation_of_one_run_has_no_parts(of_machine: Bounds | None) -> None:
    parts = parts_of(statistics_of([1.0]), of_machine)
    assert (parts.explained, parts.cv, parts.of_program) == (Explained.UNKNOWN_RUNS, None, None)


def test_variation_of_the_program_is_the_difference_of_squares() -> None:
    series = _varying_series(0.016, 24)
    assert series.cv_interval is not None
    low, high = series.cv_interval
    of_program = parts_of(series, Bounds(0.003, 0.005)).of_program
    assert of_program == pytest.approx((math.sqrt(low**2 - 0.005**2), math.sqrt(high**2 - 0.003**2)))


@given(st.lists(st.floats(0.5, 2), min_size=2, max_size=40), st.floats(0, 0.5), st.floats(1, 5))
def test_program_varies_only_if_the_machine_does_not_explain_all(times: list[float], low: float, wider: float) -> None:
    parts = parts_of(statistics_of(times), Bounds(low, low * wider))
    assert parts.of_program is not None
    assert 0 <= parts.of_program.low <= parts.of_program.high
    assert (parts.of_program.low > 0) <= (parts.explained in (Explained.PROGRAM, Explained.ORDER))
    assert parts.explained not in (Explained.UNKNOWN_MACHINE, Explained.UNKNOWN_RUNS)
