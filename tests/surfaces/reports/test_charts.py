"""A histogram in one row of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisewatch.model.calibration.statistics import Histogram
from noisewatch.surfaces.reports.parts.charts import strip


@given(st.lists(st.integers(0, 10**12), max_size=50), st.integers(1, 60))
def test_a_strip_is_as_wide_as_it_was_asked_to_be(gaps: list[int], width: int) -> None:
    assert len(strip(Histogram.of(gaps), width, " .:#")) == width
