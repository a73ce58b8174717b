"""The picture of a calibration: its size, axis, causes and conclusion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.judgement.terms import Status
from noisewatch.kernel.calibration import parse_calibration
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import Row, length
from noisewatch.surfaces.reports.calibration.conclusion import conclusion_of
from noisewatch.surfaces.reports.calibration.detection import opening_sentence
from noisewatch.surfaces.reports.calibration.gaps import (
    CAUSES,
    CauseTotal,
    GapsShown,
    gaps_of,
    histogram_rows,
    share_of_axis,
)
from noisewatch.surfaces.reports.calibration.picture import CalibrationPicture, ladder_rows, legend_rows, picture_rows
from noisewatch.surfaces.reports.calibration.side_by_side import mirrored_rows
from noisewatch.surfaces.reports.calibration.text import cpu_lines
from tests.surfaces.reports.calibration.calibrations import ALL, broken, noisy, quiet, recorded, short, traced
from tests.surfaces.tui.framing import text_of
from tests.written.calibration import written_calibration

_SIZES = ((20, 3), (20, 5), (40, 10), (60, 18), (69, 40), (70, 22), (80, 22), (120, 32), (140, 38), (300, 78))


def _picture_lines(calibrated: Calibrated, width: int, height: int, glyphs: Glyphs = UNICODE) -> list[str]:
    return [text_of(row) for row in picture_rows(CalibrationPicture.of(calibrated), width, height, glyphs)]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", ALL)
def test_the_picture_keeps_to_any_size(name: str, glyphs: Glyphs) -> None:
    picture = CalibrationPicture.of(ALL[name]())
    for width, height in _SIZES:
        rows = picture_rows(picture, width, height, glyphs)
        assert 0 < len(rows) <= height
        assert max(map(length, rows)) <= width, (width, height)
        assert glyphs is UNICODE or all(text_of(row).isascii() for row in rows)


@pytest.mark.parametrize(("width", "height"), [size for size in _SIZES if size >= (60, 18)])
def test_the_picture_fills_its_screen(width: int, height: int) -> None:
    rows = _picture_lines(recorded(), width, height)
    assert len(rows) == height
    assert all(row.strip() for row in rows)


@pytest.mark.parametrize(("width", "height"), [size for size in _SIZES if size >= (60, 18)])
def test_axis_is_complete_and_independent_of_the_gaps(width: int, height: int) -> None:
    axes = [
        line.replace("│", " ").split()
        for calibrated in (recorded(), noisy(), quiet())
        for line in _picture_lines(calibrated, width, height)
        if "1 µs" in line and "100 ms" in line
    ]
    assert len(axes) == 3
    assert axes[0][:2] == axes[1][:2] == axes[2][:2] == ["1", "µs"]


@given(
    counts=st.dictionaries(
        st.tuples(st.integers(0, 10**13), st.sampled_from(CAUSES)), st.integers(1, 10**9), max_size=30
    ),
    percentiles=st.dictionaries(st.sampled_from(["p50", "p99"]), st.floats(1, 1e13), max_size=2),
    longest_ns=st.none() | st.floats(1, 1e13),
    width=st.integers(0, 310),
    height=st.integers(0, 90),
    glyphs=st.sampled_from([UNICODE, ASCII]),
)
@settings(deadline=None)
def test_no_gaps_make_a_row_too_long(
    counts: dict[tuple[int, object], int],
    percentiles: dict[str, float],
    longest_ns: float | None,
    width: int,
    height: int,
    glyphs: Glyphs,
) -> None:
    totals = [CauseTotal(cause, 10**9, 0.5) for cause in CAUSES]
    gaps = GapsShown(counts=counts, looked_s=1.0, totals=totals, percentiles=percentiles, longest_ns=longest_ns)  # type: ignore[arg-type]
    _assert_fits(histogram_rows(gaps, width, height, glyphs), width, height)
    _assert_fits(mirrored_rows(("CPUs 0-511", "under load"), (gaps, gaps), width, height, glyphs), width, height)
    if width:
        _assert_fits(legend_rows(gaps, width, glyphs), width, len(CAUSES) + 2)


def _assert_fits(rows: list[Row], width: int, height: int) -> None:
    assert len(rows) <= height
    assert all(length(row) <= width for row in rows)


_SHARES = st.floats(0, 1e6)


@given(
    floors=st.lists(
        st.builds(
            NoiseFloor,
            sample_ns=st.sampled_from([10**6, 10**8, 10**9, 10**11]),
            cpu=st.integers(0, 1000),
            cv_low=_SHARES,
            cv_expected=_SHARES,
            cv_high=_SHARES,
            max_inflation=st.floats(1, 1e6),
            smallest_change_share=_SHARES | st.just(float("inf")),
            samples=st.integers(2, 10**4),
            bounded=st.booleans(),
            extrapolated=st.booleans(),
        ),
        max_size=6,
    ),
    max_cv=st.floats(1e-9, 10),
    width=st.integers(0, 310),
    glyphs=st.sampled_from([UNICODE, ASCII]),
)
@settings(deadline=None)
def test_no_noise_floor_makes_a_row_too_long(
    floors: list[NoiseFloor], max_cv: float, width: int, glyphs: Glyphs
) -> None:
    rows = ladder_rows(floors, Budget(max_cv=max_cv), width, glyphs)
    _assert_fits(rows, width, len(floors) + 1)
    assert glyphs is UNICODE or all(text_of(row).isascii() for row in rows)


def test_no_table_has_a_detectable_change_that_the_opening_sentence_calls_unknown() -> None:
    assert "is unknown: too little was measured for samples of this length" in opening_sentence(short())
    rows = [line.strip("│ ") for line in _picture_lines(short(), 120, 40) if "100 ms*" in line or "latency*" in line]
    assert len(rows) == 2
    assert all(row.endswith(" ?") for row in rows)


@pytest.mark.parametrize(("ns", "share"), [(10, 0.0), (1_000, 0.0), (10_000, 0.2), (100_000_000, 1.0), (10**12, 1.0)])
def test_a_length_has_its_place_on_the_axis(ns: int, share: float) -> None:
    assert share_of_axis(ns) == pytest.approx(share)


def test_each_cause_has_its_glyph_its_count_and_its_share() -> None:
    text = "\n".join(_picture_lines(traced(), 120, 32))
    for glyph, name in (("▓", "tick"), ("▒", "irq+softirq"), ("█", "threads"), ("░", "outside")):
        assert f"│ {glyph} {name}" in text
    gaps = gaps_of(traced())
    assert sum(total.count for total in gaps.totals) == gaps.count == len(_gap_lengths(traced()))
    assert sum(total.share or 0.0 for total in gaps.totals) == pytest.approx(gaps.share)
    assert "nferred" not in text


def _gap_lengths(calibrated: Calibrated) -> list[int]:
    return [gap_ns for samples in calibrated.calibration.samples.cpus for gap_ns in samples.gaps.length_ns]


@pytest.mark.parametrize(("width", "height"), [(60, 18), (80, 22), (120, 32)])
def test_causes_without_a_trace_are_marked_as_inferred(width: int, height: int) -> None:
    text = "\n".join(_picture_lines(recorded(), width, height))
    assert "▪ unknown" in text
    assert "nferred" in text


def test_a_single_gap_shows_its_cause_without_colour() -> None:
    rows = _picture_lines(quiet(((10_000_000, 5_000, 1, 0),)), 120, 32)
    foot = next(line for line in rows if line.startswith("│    1 ┤"))
    assert "█" in foot


def test_gaps_that_were_not_kept_are_counted_without_a_share() -> None:
    written = written_calibration((2, 3), seconds=5.0, changes={3: {"lost_gaps": 7, "lost_gaps_ns": 70_000}})
    gaps = gaps_of(calibrated_with(parse_calibration(written), Budget()))
    assert (gaps.count, gaps.unplaced) == (7, 7)
    assert "not kept 7" in text_of(legend_rows(gaps, 80, UNICODE)[0])


def test_full_buffer_is_explained() -> None:
    written = written_calibration((2, 3), seconds=5.0, changes={3: {"lost_gaps": 7, "lost_gaps_ns": 70_000}})
    text = "\n".join(cpu_lines(calibrated_with(parse_calibration(written), Budget()).calibration, 80))
    assert (
        "CPU 3: 7 gaps counted without details, so the noise floor is unknown (buffer full: calibrate for a s" in text
    )


@pytest.mark.parametrize(
    ("calibrated", "status", "expected"),
    [
        (traced(), Status.PASS, "within the budget of 1%"),
        (recorded(), Status.FAIL, "over the budget of 1%, CV: throughput"),
        (short(), Status.UNKNOWN, "too little was measured for samples of 100 ms"),
        (broken(), Status.UNKNOWN, "CPU 3: it went offline"),
        (
            replace(traced(), floors=(), floors_by_cpu={2: (), 3: ()}, floors_by_work={}),
            Status.UNKNOWN,
            "too little was measured",
        ),
    ],
    ids=["quiet", "noisy", "short", "broken", "none"],
)
def test_conclusion_agrees_with_the_noise_floor_check(calibrated: Calibrated, status: Status, expected: str) -> None:
    conclusion = conclusion_of(calibrated, gaps_of(calibrated))
    assert (conclusion.status, expected in conclusion.sentence) == (status, True), conclusion.sentence
