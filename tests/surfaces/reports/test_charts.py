"""Histograms as text: by plotext, and without it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import Histogram
from noisewatch.surfaces.reports.parts.charts import comparison_chart, gap_chart, strip

_GAPS = Histogram.of([2_000] * 100 + [50_000] * 10 + [3_000_000])


@pytest.mark.parametrize("in_unicode", [True, False])
@pytest.mark.parametrize(("width", "height"), [(30, 6), (80, 14), (200, 40)])
def test_a_chart_keeps_to_its_size(width: int, height: int, in_unicode: bool) -> None:
    lines = gap_chart(_GAPS, width, height, in_unicode)
    assert 0 < len(lines) <= height
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize(("width", "height"), [(29, 20), (80, 5), (0, 0)])
def test_where_no_chart_fits_there_is_none(width: int, height: int) -> None:
    assert gap_chart(_GAPS, width, height, in_unicode=True) == []
    assert comparison_chart({"CPU 1": [1.0, 2.0]}, width, height, in_unicode=True) == []


def test_of_no_gaps_there_is_no_chart() -> None:
    assert gap_chart(Histogram(), 80, 14, in_unicode=True) == []
    assert comparison_chart({"CPU 1": []}, 80, 14, in_unicode=True) == []


def test_the_axis_tells_the_decades() -> None:
    drawn = "\n".join(gap_chart(_GAPS, 80, 14, in_unicode=True))
    assert all(label in drawn for label in ("10 µs", "100 µs", "1 ms"))


def test_without_unicode_each_bar_tells_its_count() -> None:
    drawn = gap_chart(_GAPS, 80, 20, in_unicode=False)
    assert "\n".join(drawn).isascii() or "µs" in "\n".join(drawn)
    assert [int(line.split()[-1]) for line in drawn if "#" in line] == [100, 10, 1]


def test_without_plotext_there_are_plain_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    assert gap_chart(_GAPS, 80, 14, in_unicode=True) == gap_chart(_GAPS, 80, 14, in_unicode=False)


def test_two_distributions_share_an_axis_and_have_names() -> None:
    drawn = "\n".join(comparison_chart({"CPU 1": [100.0] * 50, "CPU 2": [200.0] * 50}, 80, 14, in_unicode=True))
    assert "CPU 1" in drawn
    assert "CPU 2" in drawn


@given(st.lists(st.integers(0, 10**12), max_size=50), st.integers(1, 60))
def test_a_strip_is_as_wide_as_it_was_asked_to_be(gaps: list[int], width: int) -> None:
    assert len(strip(Histogram.of(gaps), width, " .:#")) == width


@given(st.lists(st.integers(0, 10**13), max_size=50), st.booleans())
def test_no_gaps_are_a_traceback(gaps: list[int], in_unicode: bool) -> None:
    assert len(gap_chart(Histogram.of(gaps), 60, 12, in_unicode)) <= 12
