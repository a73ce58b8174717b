"""The statistics of a series in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from noisewatch.model.distributions import POWER, SIGNIFICANCE
from noisewatch.model.run.mean_difference import FEWEST_PAIRS, MeanDifference
from noisewatch.model.run.series import (
    CONFIDENCE,
    FEWEST_FOR_ORDER,
    Bounds,
    Explained,
    OrderDoubt,
    SelectedByCause,
    SeriesStatistics,
    VarianceParts,
)
from noisewatch.units import describe_count, share_text

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_MOST_DECIMALS = 6
_TOO_NARROW = "the interval of the mean is too narrow"
_OF_PROGRAM = "the program (layout, hash seeds, allocation)"
SAME_LAYOUT = (
    "A command against itself does not see the layout floor: both run the same file, and what linking it again, "
    "another path or a larger environment would change is in neither."
)
_BOUNDLESS = 1e9  # a share: the runs vary so much that the interval includes a time of zero


def mean_words(series: SeriesStatistics, is_result: bool = True) -> str:
    """Return `1.234 s ± 0.012 s (25 runs, CV 0.97%, 95% interval of the mean 1.229 to 1.239 s)`.

    If the series has no result, the interval is left out: noise may have shifted all of it.
    """
    if series.sd_s is None or series.cv is None or series.mean_interval_s is None:
        return f"{times_text([series.mean_s], None)} (1 run: how much it varies is unknown)"
    mean, sd = times_text([series.mean_s], series.sd_s), times_text([series.sd_s], series.sd_s, series.mean_s)
    spread = f"{mean} ± {sd} ({describe_count(series.count, 'run')}, CV {share_text(series.cv)}"
    if not is_result:
        return f"{spread})"
    bounds = [max(each, 0.0) for each in series.mean_interval_s]  # Student's t may go below zero, times cannot
    within = times_text(bounds, series.sd_s, series.mean_s)
    return f"{spread}, {CONFIDENCE:.0%} interval of the mean {within})"


def range_words(series: SeriesStatistics) -> str:
    """Return `median 1.231 s, runs from 1.214 to 1.290 s`."""
    median = times_text([series.median_s], series.sd_s, series.mean_s)
    return f"median {median}, runs from {times_text([series.min_s, series.max_s], series.sd_s, series.mean_s)}"


def doubt_words(series: SeriesStatistics, numbers: Sequence[int] | None = None) -> list[str]:
    """Return clauses on why the interval may be wrong; `numbers` are the runs' numbers, 1, 2, … by default."""
    said = []
    if series.doubt == OrderDoubt.SERIAL:
        said.append(f"runs resemble the one before: {_TOO_NARROW}")
    elif series.doubt is not None and series.later_share is not None:
        took = "longer" if series.doubt == OrderDoubt.SLOWER else "less"
        later = _more_or_less(series.later_share)
        said.append(f"later runs took {took} (the second half {later} than the first): {_TOO_NARROW}")
    elif not series.is_order_tested:
        said.append(f"fewer than {FEWEST_FOR_ORDER} runs: whether later ones take longer is unknown")
    if series.far_runs:
        names = [str(at + 1 if numbers is None else numbers[at]) for at in series.far_runs]
        said.append(f"far from the others: run{'s' * (len(names) > 1)} {', '.join(names)}")
    return said


def difference_words(found: MeanDifference, a: str = "A", b: str = "B") -> str:
    """Return how much more time `b` takes than `a`, with the interval.

    If no difference is shown, the sentence has the smallest one that could have been.
    """
    if found.interval is None or found.smallest_shown is None:
        return (
            f"{b} took {_more_or_less(found.share)} time than {a} in {_pairs(found)}: too few to tell "
            f"({FEWEST_PAIRS} pairs at least, and each command first in one)"
        )
    at = f"{CONFIDENCE:.0%} interval, {_pairs(found)}"
    if found.is_shown:
        return f"{b} takes {_more_or_less(found.share)} time than {a} ({_from_to(found.interval)}: {at})"
    return (
        f"no difference shown: {b} takes between {_from_to(found.interval, ' and ')} time than {a} ({at}); "
        f"one of less than {share_text(found.smallest_shown)} may be missed"
    )


def seen_from_the_second(found: MeanDifference) -> MeanDifference:
    """Return the difference as the first command's extra time in shares of the second's, which is the reference."""

    def turned(share: float) -> float:
        return 1 / (1 + share) - 1 if share > -1 else _BOUNDLESS

    interval, smallest = found.interval, found.smallest_shown
    return replace(
        found,
        share=turned(found.share),
        interval=None if interval is None else Bounds(turned(interval.high), turned(interval.low)),
        smallest_shown=None if smallest is None else smallest / (1 + found.share),
    )


def against_itself_words(found: MeanDifference) -> str:
    """Return the smallest difference that can be shown, from a command that ran against itself."""
    if found.interval is None or found.smallest_shown is None:
        return f"what difference can be shown here is unknown: {_pairs(found)}, {FEWEST_PAIRS} at least are needed"
    shown = (
        f"differences from {share_text(found.smallest_shown)} on can be shown here with {_pairs(found)} "
        f"({SIGNIFICANCE:.0%} false alarms, {POWER:.0%} power)"
    )
    if not found.is_shown:
        return shown
    return (
        f"{shown}; but the command differs from itself by {_from_to(found.interval)}: "
        "by chance in one series of twenty, so measure again"
    )


def variance_words(parts: VarianceParts) -> str:
    """Return how much processes vary, and how much of that the machine or the program explains."""
    if parts.cv is None or parts.cv_interval is None:
        return "one run: how much processes vary is unknown"
    varies = f"varies {share_text(parts.cv)} between processes"
    if parts.of_machine is None or parts.of_program is None:
        return (
            f"{varies}; what the machine explains of it is unknown: no noise floor was measured for runs of this length"
        )
    machine = _range(parts.of_machine)
    if parts.explained == Explained.PROGRAM:
        rest = _range(parts.of_program)
        return f"{varies}; the machine explains {machine}: the rest, {rest}, is {_OF_PROGRAM}, or was not watched"
    if parts.explained == Explained.ORDER:
        return f"{varies}; the machine explains {machine}: the rest depends on when a run ran, so not on {_OF_PROGRAM}"
    if parts.explained == Explained.MACHINE:
        return f"{varies}, no more than the machine alone may cause ({machine}): nothing points to the program"
    return (
        f"{varies} ({_range(parts.cv_interval)} by {describe_count(parts.count, 'run')}); "
        f"the machine explains {machine}: too few runs to tell whether the program varies"
    )


def selection_words(selected: SelectedByCause) -> str:
    """Return `18 of 25 runs undisturbed, 5 disturbed, 2 unknown`, and the refusal if too few are undisturbed."""
    said = count_words([selected])
    if not selected.is_refused:
        return said
    if selected.of_all is None:
        ends = " or ".join(["failed"] * bool(selected.failed_statuses) + ["was cut short"] * bool(selected.cut_short))
        return f"{said}: no result, as {'each' if selected.count > 1 else 'the'} run {ends}"
    share = selected.undisturbed / selected.count
    return f"{said}: no result, as {share_text(share)} is too few (minimum {share_text(selected.min_undisturbed)})"


def count_words(selected: Sequence[SelectedByCause]) -> str:
    """Return counts of one or two commands.

    They read `18 of 25 runs undisturbed, 2 disturbed, 1 unknown, 3 failed (status 3), 1 cut short`.
    """
    statuses = [status for each in selected for status in each.failed_statuses]
    kinds = "/".join(f"signal {-each}" if each < 0 else f"status {each}" for each in sorted(set(statuses)))
    rest = [
        (sum(each.disturbed for each in selected), "disturbed"),
        (sum(each.unknown for each in selected), "unknown"),
        (len(statuses), f"failed ({kinds})"),
        (sum(each.cut_short for each in selected), "cut short"),
    ]
    undisturbed, count = sum(each.undisturbed for each in selected), sum(each.count for each in selected)
    return ", ".join([undisturbed_words(undisturbed, count), *(f"{n} {which}" for n, which in rest if n)])


def undisturbed_words(undisturbed: int, count: int) -> str:
    """Return `18 of 25 runs undisturbed`, or `0 of 1 run undisturbed`."""
    return f"{undisturbed} of {describe_count(count, 'run')} undisturbed"


def selection_rows(selected: SelectedByCause) -> list[tuple[str, str]]:
    """Return named rows of both statistics; undisturbed runs come first."""
    kept, is_result = selected.of_undisturbed, not selected.is_refused
    rows = [] if kept is None else [("undisturbed runs", mean_words(kept, is_result))]
    if selected.of_all is not None:
        rows.append((_all_name(selected), mean_words(selected.of_all, is_result)))
    return rows


def _all_name(selected: SelectedByCause) -> str:
    return "all measured" if selected.failed_statuses or selected.cut_short else "all runs"


def _pairs(found: MeanDifference) -> str:
    return describe_count(found.pairs, "pair")


def _more_or_less(share: float) -> str:
    return f"{share_text(abs(share))} {'less' if share < 0 else 'more'}"


def _from_to(bounds: Bounds, between: str = " to ") -> str:
    """Return `1.1% to 3.5% more` or `0.8% less to 1.5% more`; with two decreases the larger one is last."""
    low, high = bounds if bounds.high > 0 else (bounds.high, bounds.low)
    if low * high > 0:
        return f"{share_text(abs(low))}{between}{_more_or_less(high)}"
    return f"{_more_or_less(low)}{between}{_more_or_less(high)}"


def _range(bounds: Bounds) -> str:
    return " to ".join(dict.fromkeys(map(share_text, bounds)))


def times_text(values_s: Sequence[float], spread_s: float | None, like_s: float | None = None) -> str:
    """Format times in the unit that suits `like_s`, with two digits of the spread.

    Without a spread they have four digits of `like_s`, which is the first value by default.
    """
    like_s = values_s[0] if like_s is None else like_s
    unit, size = next((each for each in _UNITS if like_s >= each[1]), _UNITS[-1])
    least = spread_s / 10 if spread_s else like_s / 1000
    decimals = min(max(-math.floor(math.log10(least / size)), 0), _MOST_DECIMALS)
    return f"{' to '.join(f'{value / size:.{decimals}f}' for value in values_s)} {unit}"
