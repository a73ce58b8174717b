"""Quantiles compared with the tables of NIST/SEMATECH, "e-Handbook of Statistical Methods", section 1.3.6.7."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.distributions import (
    chi_square_quantile,
    detection_factor,
    f_outside,
    f_quantile,
    t_outside,
    t_quantile,
)


@pytest.mark.parametrize(
    ("share", "freedom", "value"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 10, 2.228),
        (0.975, 24, 2.064),
        (0.975, 48, 2.011),
        (0.995, 8, 3.355),
        (0.995, 23, 2.807),
        (0.80, 48, 0.849),
        (0.95, 5, 2.015),
        (0.975, 1_000, 1.962),
        (0.999, 1, 318.309),
        (0.9995, 1, 636.619),
        (0.9995, 2, 31.599),
    ],
)
def test_quantiles_of_students_t_match_the_tables(share: float, freedom: int, value: float) -> None:
    assert t_quantile(share, freedom) == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize(
    ("share", "freedom", "value"),
    [
        (0.025, 1, 0.001),
        (0.025, 4, 0.484),
        (0.025, 24, 12.401),
        (0.025, 100, 74.222),
        (0.975, 1, 5.024),
        (0.975, 4, 11.143),
        (0.975, 24, 39.364),
        (0.975, 100, 129.561),
        (0.95, 10, 18.307),
    ],
)
def test_quantiles_of_chi_square_match_the_tables(share: float, freedom: int, value: float) -> None:
    assert chi_square_quantile(share, freedom) == pytest.approx(value, abs=6e-4)


@given(st.floats(0.01, 0.99))
def test_chi_square_of_two_degrees_of_freedom_is_exponential(share: float) -> None:
    assert chi_square_quantile(share, 2) == pytest.approx(-2 * math.log(1 - share), rel=1e-5)


@given(st.floats(0.001, 0.999))
def test_chi_square_of_one_degree_of_freedom_is_a_squared_normal(share: float) -> None:
    expected = statistics.NormalDist().inv_cdf((1 + share) / 2) ** 2
    assert chi_square_quantile(share, 1) == pytest.approx(expected, rel=1e-5)


@given(st.floats(0.02, 9_999), st.floats(0.02, 0.98))
def test_a_larger_share_has_a_larger_quantile(freedom: float, share: float) -> None:
    assert 0 < chi_square_quantile(share - 0.01, freedom) < chi_square_quantile(share + 0.01, freedom)


def test_chi_square_of_many_degrees_of_freedom_is_almost_normal() -> None:
    """The expected quantile is the approximation of Wilson and Hilferty, 1931, doi 10.1073/pnas.17.12.684."""
    freedom = 10_000
    expected = freedom * (1 - 2 / (9 * freedom) + 1.959964 * math.sqrt(2 / (9 * freedom))) ** 3
    assert chi_square_quantile(0.975, freedom) == pytest.approx(expected, rel=1e-5)


def test_detection_factor_of_many_runs_is_that_of_normal_quantiles() -> None:
    assert detection_factor(100_000) == pytest.approx(1.95996 + 0.84162, abs=1e-4)


@pytest.mark.parametrize(
    ("share", "above", "below", "value"),
    [
        (0.95, 1, 2, 18.513),
        (0.95, 2, 3, 9.552),
        (0.95, 5, 10, 3.326),
        (0.95, 10, 100, 1.927),
        (0.95, 20, 20, 2.124),
        (0.99, 10, 10, 4.849),
    ],
)
def test_quantiles_of_f_match_the_tables(share: float, above: int, below: int, value: float) -> None:
    assert f_quantile(share, above, below) == pytest.approx(value, abs=6e-4)


@given(st.floats(0.01, 30), st.integers(1, 500))
def test_f_of_one_degree_is_the_square_of_students_t(value: float, freedom: int) -> None:
    assert f_outside(value**2, 1, freedom) == pytest.approx(t_outside(value, freedom), abs=1e-10)


@given(st.floats(1e-3, 1e3), st.integers(1, 2000), st.integers(1, 2000))
def test_f_and_its_inverse_have_exchanged_degrees(value: float, above: int, below: int) -> None:
    assert f_outside(value, above, below) == pytest.approx(1 - f_outside(1 / value, below, above), abs=1e-10)


def test_f_has_ends() -> None:
    assert (f_outside(0.0, 3, 4), f_outside(math.inf, 3, 4)) == (1, 0)
    assert f_outside(1.0, 999_999, 1_000_000) == pytest.approx(0.5, abs=1e-3)
