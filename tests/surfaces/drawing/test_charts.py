"""Small charts of text: a histogram in one row, and work over time by plotext."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import Histogram
from noisewatch.surfaces.drawing.charts import strip, work_chart


@given(st.lists(st.integers(0, 10**12), max_size=50), st.integers(1, 60))
def test_a_strip_has_the_requested_width(gaps: list[int], width: int) -> None:
    assert len(strip(Histogram.of(gaps), width, " .:#")) == width


_STARTS = range(0, 3 * 10**9, 10**7)


@pytest.mark.parametrize(("width", "height"), [(40, 12), (100, 12), (120, 20)])
def test_work_over_time_fits_its_size_and_names_its_lines(width: int, height: int) -> None:
    lines = work_chart(_STARTS, [200_000 + at // 10_000 for at in _STARTS], width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert all(word in "\n".join(lines) for word in ("median", "longest"))


def test_little_work_or_no_plotext_gives_no_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [200_000 for _ in _STARTS]
    assert work_chart(_STARTS[:5], lengths[:5], 100, 12) == []
    assert work_chart(_STARTS, lengths, 20, 12) == []
    monkeypatch.setitem(sys.modules, "plotext", None)
    assert work_chart(_STARTS, lengths, 100, 12) == []


def test_the_axis_of_work_has_a_few_round_durations_below_the_names_of_the_lines() -> None:
    names, *chart = work_chart(_STARTS, [190_000 if at % 3 else 12_000_000 for at in range(len(_STARTS))], 100, 12)
    assert names.split() == ["▚", "median", "⢕", "longest"]
    assert [line.split("┤")[0].strip() for line in chart if "┤" in line] == ["15 ms", "10 ms", "5 ms", "0"]
    assert not any("median" in line or "longest" in line for line in chart)


def test_the_axis_of_steady_work_has_no_figure_twice() -> None:
    chart = work_chart(_STARTS, [200_100 for _ in _STARTS], 100, 12)
    assert [line.split("┤")[0] for line in chart if "┤" in line] == ["201 µs", "200 µs"]
