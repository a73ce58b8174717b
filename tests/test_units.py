"""Figures in words."""

from __future__ import annotations

import pytest

from noisewatch.units import describe_rate, describe_value


@pytest.mark.parametrize(
    ("per_s", "words"),
    [(None, "?"), (0.0, "0/s"), (0.444, "0.444/s"), (13.04, "13/s"), (999.6, "1 000/s"), (41_234.5, "41 200/s")],
)
def test_a_rate_has_three_figures(per_s: float | None, words: str) -> None:
    assert describe_rate(per_s) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.05, "share", "5.0%"),
        (10.0, "per second", "10/s"),
        (300.0, "seconds", "300 s"),
        (4_194_304, "kB", "4,194,304 kB"),
    ],
)
def test_a_value_has_its_unit(value: float, unit: str, words: str) -> None:
    assert describe_value(value, unit) == words
