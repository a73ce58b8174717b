"""Statistics of one command's wall times, and the shares of machine and program in their variation.

Runs are selected by disturbance, never by their times: there are statistics of all runs, and of undisturbed runs. The
variation between processes is divided between the machine and the program.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from itertools import compress, pairwise
from typing import NamedTuple

from msgspec import Struct

from noisewatch.model.calibration.statistics import mad
from noisewatch.model.distributions import chi_square_quantile, t_quantile

CONFIDENCE = 0.95
FEWEST_FOR_ORDER = 10  # runs; for fewer, the tests of the order are poor approximations
_DOUBT_ALPHA = 0.01  # one in a hundred series without drift is reported as drifting
_FEWEST_FOR_OUTLIER = 3
_SAME = 1e-12  # a relative deviation of equal values, by rounding
_FAR_MADS = 7.0  # scaled MADs; 1% of normal series of ten runs contain a run beyond this, longer series less often
_MAD_OF_NORMAL = 1.4826  # a normal distribution's standard deviation, in multiples of its MAD


class Bounds(NamedTuple):
    """The lower and the upper end of an interval."""

    low: float
    high: float


class OrderDoubt(StrEnum):
    """How runs depend on their order. The interval of their mean assumes independent runs, so it may be too narrow."""

    SLOWER = "slower"  # later runs took longer
    FASTER = "faster"
    SERIAL = "serial"  # a run resembles the previous one


class SeriesStatistics(Struct, frozen=True):
    """Statistics of `count` wall times. Values that a single run does not have are None.

    `mean_interval_s` contains the mean in 95 of 100 series of independent runs, by Student's t; in fewer series if a
    few runs take much longer (88 of 100 series of 25, lognormal with σ = 1), or if runs resemble their neighbours (86
    for a correlation of 0.3, 76 for 0.5). `cv_interval` is the interval of the CV; 25 runs do not bound the effect of
    an event in one of twenty runs. tests.benchmark.run_statistics prints these numbers. The minimum and the maximum are
    observations, not estimates.

    `doubt` is how runs depended on their order; None if the tests show no dependence, or if `is_order_tested` is false.
    `later_share` is how much longer the second half took than the first, as a share of the first; None for one run.
    `far_runs` are the positions (from 0) of runs more than seven scaled MADs from the median; for three to nine runs,
    the position of the run that Grubbs' test shows to be an outlier, if any.
    """

    count: int
    mean_s: float
    mean_interval_s: Bounds | None
    sd_s: float | None
    cv: float | None
    cv_interval: Bounds | None
    median_s: float
    min_s: float
    max_s: float
    is_order_tested: bool
    doubt: OrderDoubt | None
    later_share: float | None
    far_runs: tuple[int, ...]


def statistics_of(times_s: Sequence[float], layouts: Sequence[int] = ()) -> SeriesStatistics:
    """Return the statistics of one or more times (s, > 0), in the order of the runs. Raise ValueError if empty.

    `layouts` has the number of each run's layout if several runs share one. Such runs resemble each other, so the
    intervals only count layouts.
    """
    if not times_s:
        raise ValueError("a series without runs has no statistics")
    count, mean_s = len(times_s), statistics.fmean(times_s)
    sd_s = math.sqrt(math.fsum((time - mean_s) ** 2 for time in times_s) / (count - 1)) if count > 1 else None
    independent = len(set(layouts)) if layouts else count
    sd_bounds = sd_interval(times_s, independent)
    return SeriesStatistics(
        count=count,
        mean_s=mean_s,
        mean_interval_s=_mean_interval(times_s, mean_s, layouts or range(count)),
        sd_s=sd_s,
        cv=None if sd_s is None else sd_s / mean_s,
        cv_interval=None if sd_bounds is None else Bounds(sd_bounds.low / mean_s, sd_bounds.high / mean_s),
        median_s=statistics.median(times_s),
        min_s=min(times_s),
        max_s=max(times_s),
        is_order_tested=count >= FEWEST_FOR_ORDER,
        doubt=doubt_of_order(times_s),
        later_share=_later_share(times_s),
        far_runs=_far_runs(times_s),
    )


def _mean_interval(times_s: Sequence[float], mean: float, layouts: Sequence[int]) -> Bounds | None:
    """Return the confidence interval of the mean by Student's t, or None for a single layout.

    https://www.itl.nist.gov/div898/handbook/eda/section3/eda352.htm, for the sums of layouts: Cochran, "Sampling
    Techniques", 1977, ch. 9A.
    """
    sums: dict[int, float] = defaultdict(float)
    for layout, time in zip(layouts, times_s, strict=True):
        sums[layout] += time - mean
    count = len(sums)
    if count < 2:
        return None
    error = math.sqrt(math.fsum(total**2 for total in sums.values()) * count / (count - 1)) / len(times_s)
    half = t_quantile((1 + CONFIDENCE) / 2, count - 1) * error
    return Bounds(mean - half, mean + half)


def sd_interval(values: Sequence[float], independent: int | None = None) -> Bounds | None:
    """Return the confidence interval of the standard deviation, or None for fewer than two independent values.

    `independent` is the number of independent values; by default all are.

    The interval is from the χ² distribution, with fewer degrees of freedom for values with excess kurtosis: Hummel,
    Banga and Hettmansperger, "Better Confidence Intervals for the Variance in a Random Sample", 2005. For 25
    exponential times, the plain χ² interval contains the standard deviation in 73 of 100 series, this interval in 85;
    for normal times both do in 95.
    """
    count = len(values)
    if count < 2 or independent == 1:
        return None
    mean = statistics.fmean(values)
    squares = [(value - mean) ** 2 for value in values]
    total = math.fsum(squares)
    freedom = 2 * count / (max(_excess_kurtosis(squares, total), 0.0) + 2 * count / (count - 1))
    freedom *= 1 if independent is None else (independent - 1) / (count - 1)
    variance = total / (count - 1)
    low, high = (chi_square_quantile((1 + turn * CONFIDENCE) / 2, freedom) for turn in (1, -1))
    return Bounds(math.sqrt(variance * freedom / low), math.sqrt(variance * freedom / high))


def _excess_kurtosis(squares: Sequence[float], total: float) -> float:
    """Return G2, the sample excess kurtosis, or 0 for fewer than four values or if all are equal.

    Joanes and Gill, "Comparing Measures of Sample Skewness and Kurtosis", 1998, doi 10.1111/1467-9884.00122.
    """
    count = len(squares)
    if count < 4 or not total:
        return 0.0
    biased = count * math.fsum((square / total) ** 2 for square in squares) - 3
    return (count - 1) / ((count - 2) * (count - 3)) * ((count + 1) * biased + 6)


def doubt_of_order(values: Sequence[float]) -> OrderDoubt | None:
    """Test whether later values are larger or smaller, then whether neighbours resemble each other.

    Return None if neither test shows a dependence, for fewer than ten values, or if all are equal. Each test has a
    false-alarm rate of 1%. Both use ranks, so no distribution is assumed. The first is Spearman's correlation with the
    order, by Student's t: Kendall, "Rank Correlation Methods", 1970, ch. 4. The second is von Neumann's ratio of the
    ranks: Bartels, 1982, doi 10.1080/01621459.1982.10477764.
    """
    count = len(values)
    if count < FEWEST_FOR_ORDER or min(values) == max(values):
        return None
    ranks = _ranks(values)
    middle = (count + 1) / 2
    spread = math.fsum((rank - middle) ** 2 for rank in ranks)
    correlation = math.fsum((rank - middle) * (at + 1 - middle) for at, rank in enumerate(ranks))
    correlation /= math.sqrt(spread * count * (count**2 - 1) / 12)
    least_t = t_quantile(1 - _DOUBT_ALPHA / 2, count - 2)
    if correlation**2 * (count - 2) > least_t**2 * (1 - correlation**2):
        return OrderDoubt.SLOWER if correlation > 0 else OrderDoubt.FASTER
    ratio = math.fsum((after - before) ** 2 for before, after in pairwise(ranks)) / spread
    variance = 4 * (count - 2) * (5 * count**2 - 2 * count - 9) / (5 * count * (count + 1) * (count - 1) ** 2)
    least_ratio = 2 - statistics.NormalDist().inv_cdf(1 - _DOUBT_ALPHA) * math.sqrt(variance)
    return OrderDoubt.SERIAL if ratio < least_ratio else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    places: dict[float, list[int]] = defaultdict(list)
    for place, value in enumerate(sorted(values), start=1):
        places[value].append(place)
    rank_of = {value: (value_places[0] + value_places[-1]) / 2 for value, value_places in places.items()}
    return [rank_of[value] for value in values]


def _later_share(values: Sequence[float]) -> float | None:
    """Return by what share the second half's mean exceeds the first half's, or None for one value.

    The middle value of an odd number of values is in neither half.
    """
    half = len(values) // 2
    return statistics.fmean(values[-half:]) / statistics.fmean(values[:half]) - 1 if half else None


def _far_runs(values: Sequence[float]) -> tuple[int, ...]:
    """Return the positions of values far from the median; none for too few values, or if more than half are equal."""
    if len(values) < FEWEST_FOR_ORDER:
        return _outlier_of_few(values)
    spread = mad(values)
    if not spread:
        return ()
    middle, limit = statistics.median(values), _FAR_MADS * _MAD_OF_NORMAL * spread
    return tuple(at for at, value in enumerate(values) if abs(value - middle) > limit)


def _outlier_of_few(values: Sequence[float]) -> tuple[int, ...]:
    """Return the position of the outlier among three or more times, if Grubbs' test shows one, at 1% false alarms.

    It tests the logarithms, because times are skewed. The farthest time is compared with the mean and the standard
    deviation of the others, by Student's t: https://www.itl.nist.gov/div898/handbook/eda/section3/eda35h1.htm
    """
    if len(values) < _FEWEST_FOR_OUTLIER:
        return ()
    logs = [math.log(value) for value in values]
    mean = statistics.fmean(logs)
    far = max(range(len(logs)), key=lambda at: abs(logs[at] - mean))
    others = logs[:far] + logs[far + 1 :]
    deviation = statistics.stdev(others) * math.sqrt(1 + 1 / len(others))
    least_t = t_quantile(1 - _DOUBT_ALPHA / (2 * len(logs)), len(others) - 1)
    is_far = deviation > _SAME * abs(mean) and abs(logs[far] - statistics.fmean(others)) > least_t * deviation
    return (far,) if is_far else ()


class SelectedByCause(Struct, frozen=True):
    """The statistics of all runs, and of undisturbed runs (None if there are no undisturbed runs).

    A run whose disturbance is unknown counts as neither disturbed nor undisturbed. Runs that failed or were cut short
    are not measurements, so the statistics leave them out; `of_all` is None if there are no other runs. If
    `is_refused`, no run was undisturbed or their share is below `min_undisturbed`, so no figure represents the command
    alone.
    """

    of_all: SeriesStatistics | None
    of_undisturbed: SeriesStatistics | None
    disturbed: int
    unknown: int
    min_undisturbed: float
    is_refused: bool
    failed_statuses: tuple[int, ...] = ()  # negative for the signal that ended a run
    cut_short: int = 0

    @property
    def count(self) -> int:
        """The number of all runs, whether or not they are measurements."""
        return self.undisturbed + self.disturbed + self.unknown + len(self.failed_statuses) + self.cut_short

    @property
    def undisturbed(self) -> int:
        return 0 if self.of_undisturbed is None else self.of_undisturbed.count

    @property
    def headline(self) -> SeriesStatistics | None:
        """The statistics of undisturbed runs, to be reported first; None if they are refused."""
        return None if self.is_refused else self.of_undisturbed


def select_by_cause(
    times_s: Sequence[float],
    are_undisturbed: Sequence[bool | None],
    min_undisturbed: float,
    failed_statuses: Sequence[int] = (),
    cut_short: int = 0,
    layouts: Sequence[int] = (),
) -> SelectedByCause:
    """Return the statistics of the runs, selected by cause. Raise ValueError if there are no runs at all.

    `are_undisturbed` has an entry for each time, in order; None means unknown. `times_s` contains only measurements:
    runs that neither failed nor were cut short. `layouts` are as in `statistics_of`.
    """
    kept = [time for time, is_undisturbed in zip(times_s, are_undisturbed, strict=True) if is_undisturbed]
    total = len(times_s) + len(failed_statuses) + cut_short
    if not total:
        raise ValueError("a series without runs has no statistics")
    return SelectedByCause(
        of_all=statistics_of(times_s, layouts) if times_s else None,
        of_undisturbed=statistics_of(kept, tuple(compress(layouts, are_undisturbed))) if kept else None,
        disturbed=sum(is_undisturbed is False for is_undisturbed in are_undisturbed),
        unknown=sum(is_undisturbed is None for is_undisturbed in are_undisturbed),
        min_undisturbed=min_undisturbed,
        is_refused=not kept or len(kept) / total < min_undisturbed,
        failed_statuses=tuple(failed_statuses),
        cut_short=cut_short,
    )


class Explained(StrEnum):
    """The explanation of the variation between a command's processes."""

    PROGRAM = "program"  # more than the machine explains: layout, hash seeds, allocation
    ORDER = "order"  # more than the machine explains, but related to the order: warming up, heat, a neighbour
    MACHINE = "machine"  # no more than the machine explains
    UNDECIDED = "undecided"  # too few runs to separate the two
    UNKNOWN_MACHINE = "unknown-machine"  # the machine's noise was not measured
    UNKNOWN_RUNS = "unknown-runs"  # no run counts, or a single one, which does not vary


class VarianceParts(Struct, frozen=True):
    """The CV between processes, and its two parts, whose squares add up.

    `of_machine` is the predicted part. `of_program` is the remaining part, as an interval, or None if the CV or
    `of_machine` is unknown. `of_program` starts at 0 unless the CV's interval is above the machine's.
    """

    explained: Explained
    count: int
    cv: float | None
    cv_interval: Bounds | None
    of_machine: Bounds | None
    of_program: Bounds | None


def parts_of(series: SeriesStatistics | None, of_machine: Bounds | None) -> VarianceParts:
    """Divide the variation of the series between the machine and the program.

    `of_machine` is the CV that the machine alone causes in runs of this length, by a noise floor; None means unknown. A
    `series` of None means that no run counts. Machine and program are assumed to be independent, so their variances add
    up.
    """
    if series is None:
        return VarianceParts(Explained.UNKNOWN_RUNS, 0, None, None, of_machine, None)
    between = series.cv_interval
    of_program = None
    if between is not None and of_machine is not None:
        of_program = Bounds(_rest(between.low, of_machine.high), _rest(between.high, of_machine.low))
    return VarianceParts(
        explained=_explained(series, of_machine),
        count=series.count,
        cv=series.cv,
        cv_interval=between,
        of_machine=of_machine,
        of_program=of_program,
    )


def _explained(series: SeriesStatistics, of_machine: Bounds | None) -> Explained:
    between = series.cv_interval
    if between is None:
        return Explained.UNKNOWN_RUNS
    if of_machine is None:
        return Explained.UNKNOWN_MACHINE
    if between.low > of_machine.high:
        return Explained.PROGRAM if series.doubt is None else Explained.ORDER
    return Explained.MACHINE if between.high <= of_machine.high else Explained.UNDECIDED


def _rest(whole: float, part: float) -> float:
    return math.sqrt(max(whole**2 - part**2, 0.0))
