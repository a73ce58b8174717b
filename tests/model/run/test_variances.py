"""What the machine explains of the variation between processes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.run.series import Bounds, Explained, SeriesStatistics, parts_of, statistics_of


def _varying(cv: float, runs: int) -> SeriesStatistics:
    """Half of the runs above the mean of 1 s, half below."""
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
def test_what_varies_more_than_the_machine_does_is_the_program(
    cv: float, runs: int, of_machine: Bounds | None, explained: Explained
) -> None:
    found = parts_of(_varying(cv, runs), of_machine)
    assert found.explained == explained
    assert (found.count, found.of_machine) == (runs, of_machine)
    assert found.cv == pytest.approx(cv)
    assert (found.of_program is None) == (of_machine is None)


def test_what_depends_on_the_order_is_not_the_program() -> None:
    drifting = statistics_of([1 + number / 100 for number in range(24)])
    assert parts_of(drifting, Bounds(0.002, 0.004)).explained == Explained.ORDER
    assert parts_of(drifting, Bounds(0.2, 0.4)).explained == Explained.MACHINE


@pytest.mark.parametrize("of_machine", [None, Bounds(0.001, 0.002)])
def test_one_run_does_not_vary(of_machine: Bounds | None) -> None:
    found = parts_of(statistics_of([1.0]), of_machine)
    assert (found.explained, found.cv, found.of_program) == (Explained.UNKNOWN_RUNS, None, None)


def test_the_program_is_what_is_left_of_the_squares() -> None:
    series = _varying(0.016, 24)
    assert series.cv_interval is not None
    low, high = series.cv_interval
    found = parts_of(series, Bounds(0.003, 0.005)).of_program
    assert found == pytest.approx((math.sqrt(low**2 - 0.005**2), math.sqrt(high**2 - 0.003**2)))


@given(st.lists(st.floats(0.5, 2), min_size=2, max_size=40), st.floats(0, 0.5), st.floats(1, 5))
def test_the_program_is_blamed_only_if_something_is_left(times: list[float], low: float, wider: float) -> None:
    found = parts_of(statistics_of(times), Bounds(low, low * wider))
    assert found.of_program is not None
    assert 0 <= found.of_program.low <= found.of_program.high
    assert (found.of_program.low > 0) <= (found.explained in (Explained.PROGRAM, Explained.ORDER))
    assert found.explained not in (Explained.UNKNOWN_MACHINE, Explained.UNKNOWN_RUNS)
