"""The report of a calibration keeps to the given width, tables and chart included."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.drift import Drift, Learned
from noisewatch.kinds import Kind
from noisewatch.model.calibration.gap_causes import GapCause
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.trace.culprits import MeasuredCulprit
from noisewatch.operations.calibrate import CalibratedTarget
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.reports.calibration.conclusion import conclusion_of
from noisewatch.surfaces.reports.calibration.gaps import gaps_of
from noisewatch.surfaces.reports.calibration.json import describe_noise
from noisewatch.surfaces.reports.calibration.report import brief_sections_of, contrast_detail_lines, detail_lines
from noisewatch.surfaces.reports.calibration.side_by_side import Contrast, Side
from noisewatch.surfaces.reports.calibration.text import doubt_lines
from noisewatch.surfaces.reports.parts.sections import text_of_sections
from tests.surfaces.reports.calibration.calibrations import ALL, recorded

_NAME = "a kernel interrupt of a device with a long name, or outside the kernel"


def _with_long_names() -> Calibrated:
    calibrated = recorded()
    source = Disturbance(Kind.OUTSIDE, _NAME, 2, 1_000_000, 0.1, None)
    culprit = MeasuredCulprit(source, 4, 8_000_000, {1_000: 3, 8_000_000: 1})
    cause = GapCause(Kind.OUTSIDE, _NAME, 1_000, 20_000, 5_000)
    attribution = replace(
        calibrated.attribution, culprits_by_cpu={2: (culprit,)}, causes_by_cpu={2: (cause,)}, suspects_by_cpu={}
    )
    return replace(calibrated, attribution=attribution)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("name", [*ALL, "long names"])
def test_no_line_is_longer_than_the_width(name: str, width: int) -> None:
    calibrated = _with_long_names() if name == "long names" else ALL[name]()
    side = Side.of("CPU 2", calibrated)
    for lines in (detail_lines(calibrated, width), contrast_detail_lines(Contrast.of(side, side), width)):
        assert max(map(len, lines)) <= width, max(lines, key=len)


def test_narrow_table_drops_columns_before_the_name_of_a_culprit() -> None:
    table = [line for line in detail_lines(_with_long_names(), 100) if "kernel interrupt" in line]
    assert table[0].startswith("  outside")
    assert table[0].endswith("8 ms")
    assert all("a kernel interrupt of a dev" in line for line in table)
    whole = "\n".join(detail_lines(_with_long_names(), 200))
    assert _NAME in whole
    assert "0.5 µs … 16 ms" in whole


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("rows", [24, 34, 60, None])
@pytest.mark.parametrize("name", ALL)
def test_the_brief_report_has_the_conclusion_and_all_doubts_at_any_size(
    name: str, rows: int | None, width: int
) -> None:
    calibrated = ALL[name]()
    result = CalibratedTarget(frozenset(figures.cpu for figures in calibrated.calibration.cpus), None, calibrated)
    text = text_of_sections(brief_sections_of(result, width, UNICODE, rows), width)
    words = " ".join(text.split())
    assert conclusion_of(calibrated, gaps_of(calibrated)).sentence in words
    for line in doubt_lines(calibrated):
        assert line in words
    assert max(map(len, text.splitlines())) <= width
    assert rows is None or len(text.splitlines()) < rows


def test_cpus_that_are_left_out_are_counted() -> None:
    assert doubt_lines(ALL["broken"]())[0].startswith("Unknown: 1 of 2 CPUs left out: CPU ")
    assert doubt_lines(ALL["quiet"]()) == []


_MS = 1_000_000


@pytest.mark.parametrize(
    ("changes", "origin"),
    [
        (0, "(default; --history learns it here)"),
        (1, "(learned from 1 change between calibrations here)"),
        (7, "(learned from 7 changes between calibrations here)"),
    ],
)
def test_drift_margin_is_shown_with_its_origin(changes: int, origin: str) -> None:
    """The origin counts changes of samples of the requested length, and ignores all other lengths."""
    learned = {_MS: Learned(9, 0.0)} | ({100 * _MS: Learned(changes, 0.0)} if changes else {})
    calibrated = replace(recorded(), drift=Drift(learned))
    expected = f"Intervals widened ×{calibrated.drift.margin_at(100 * _MS):.2f} for drift {origin}."
    assert expected in " ".join(" ".join(detail_lines(calibrated, 100)).split())
    assert describe_noise(calibrated)["noise_floor_drift"].changes_seen == 9
