"""Two calibrations side by side: the size of the picture, its ratios, and its sentence about the difference."""

from __future__ import annotations

import pytest

from noisewatch.judgement.case import Calibrated
from noisewatch.judgement.noise.comparison import Difference, compare, part_of
from noisewatch.kernel.calibration import BusyLoad
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.reports.calibration.report import contrast_detail_lines, contrast_of
from noisewatch.surfaces.reports.calibration.side_by_side import Contrast, Side, contrast_rows
from tests.surfaces.reports.calibration.calibrations import ALL, broken, noisy, quiet, recorded, short, traced
from tests.surfaces.tui.framing import text_of

_TARGET = frozenset({2, 3})
_OTHERS = frozenset({0, 1})


def _contrast(first: Calibrated, second: Calibrated) -> Contrast:
    return Contrast.of(Side.of("CPUs 2-3", first), Side.of("CPUs 0-1", second))


def _text(contrast: Contrast, width: int = 120, height: int = 40) -> str:
    return "\n".join(map(text_of, contrast_rows(contrast, width, height, UNICODE)))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", ALL)
def test_the_picture_keeps_to_any_size(name: str, glyphs: Glyphs) -> None:
    for one, other in ((traced(), ALL[name]()), (ALL[name](), traced())):
        contrast = _contrast(one, other)
        for width, height in ((20, 3), (40, 10), (60, 18), (80, 22), (120, 40), (300, 80)):
            rows = contrast_rows(contrast, width, height, glyphs)
            assert 0 < len(rows) <= height
            assert max(map(length, rows)) <= width, (width, height)
            assert glyphs is UNICODE or all(text_of(row).isascii() for row in rows)


def test_headline_has_the_ratio_of_the_noise() -> None:
    text = _text(_contrast(traced(), noisy()))
    assert text.startswith("CPUs 2-3: 26 times quieter than CPUs 0-1; 0.352% noise against 9.19%; longest gap 317 µs")
    assert _text(_contrast(noisy(), traced())).startswith("CPUs 2-3: 26 times noisier than CPUs 0-1; ")


def test_equal_calibrations_do_not_differ() -> None:
    text = _text(_contrast(recorded(), recorded()))
    assert text.startswith("CPUs 2-3 and CPUs 0-1 do not differ")
    assert "Their noise floors do not differ" in " ".join(text.replace("│", " ").split())


def test_incomplete_calibration_is_not_compared() -> None:
    result = compare(traced(), broken())
    assert (result.difference, result.ratio) == (Difference.UNKNOWN, None)
    assert "cannot be compared" in _text(_contrast(traced(), broken()))


def test_without_a_gap_there_is_no_ratio() -> None:
    result = compare(quiet(), noisy())
    assert (result.difference, result.ratio) == (Difference.NOISIER, None)
    assert "CPUs 2-3: no gap at all" in _text(_contrast(quiet(), noisy()))
    assert compare(quiet(), quiet()).difference == Difference.SAME


def test_bars_grow_away_from_the_axis_at_the_length_of_their_gaps() -> None:
    rows = _text(_contrast(traced(), noisy())).splitlines()
    (few,) = [row for row in rows if "┤   5    ├ █" in row]
    (often,) = [row for row in rows if "1 054" in row]
    assert few.split("├")[1].split() == ["████████████", "10", "│"]
    assert few.split("┤")[0].strip("│ ") == ""
    assert often.split("┤")[0].endswith("▓▓▓ ")
    assert often.split("├")[1].strip("│ ") == ""


def test_both_sides_of_a_row_are_in_one_unit() -> None:
    (row,) = [line for line in _text(_contrast(traced(), noisy())).splitlines() if "gap p99" in line]
    assert row.split()[3:8] == ["81.0", "µs", "5223.1", "µs", "×"]


def test_each_side_has_a_noise_floor_of_its_own() -> None:
    parts = [part_of(recorded(), frozenset({cpu})) for cpu in (1, 2)]
    assert parts[0].floors == recorded().floors
    assert (parts[1].floors, parts[1].complete) == ((), [])


def _text_under_load(
    loaded: Calibrated,
    not_isolated: frozenset[int] = frozenset(),
    busy_share: float = 1.0,
    idle: Calibrated | None = None,
    load_cpus: frozenset[int] = _OTHERS,
) -> str:
    load = BusyLoad(load_cpus, 2, busy_share)
    result = CalibratedTarget(_TARGET, None, idle or traced(), CalibratedUnderLoad(loaded, load, not_isolated))
    contrast = contrast_of(result)
    assert contrast is not None
    return " ".join(_text(contrast).replace("│", " ").split())


@pytest.mark.parametrize(
    ("loaded", "busy_share", "sentence"),
    [
        (traced(), 1.0, "Isolation holds against this load."),
        (noisy(), 1.0, "Isolation does not hold against this load."),
        (traced(), 0.4, "Cannot tell whether isolation holds: the load got only 40% of the time of its CPUs."),
        (broken(), 1.0, "Cannot tell whether isolation holds: too little was measured."),
    ],
    ids=["holds", "does not", "no load", "broken"],
)
def test_text_under_load_states_whether_isolation_holds(loaded: Calibrated, busy_share: float, sentence: str) -> None:
    text = _text_under_load(loaded, busy_share=busy_share)
    assert sentence in text
    assert "CPUs 2-3 idle" in text
    assert f"2 busy processes on CPUs 0-1, each with {busy_share:.0%} of its CPU." in text


def test_longer_gaps_with_the_same_noise_leave_isolation_unknown() -> None:
    often = quiet(tuple((at, 5_000, 1, 0) for at in range(0, 10 * 10**9, 2_000_000)))
    seldom = quiet(tuple((at, 500_000, 1, 0) for at in range(0, 10 * 10**9, 410_000_000)))
    text = _text_under_load(seldom, idle=often)
    assert "Cannot tell whether isolation holds" in text


@pytest.mark.parametrize(
    ("load_cpus", "sentence"),
    [(_OTHERS, "CPUs 2-3: not isolated. The load: "), (_OTHERS | {2}, "not isolated. The load ran on CPU 2 as well.")],
    ids=["elsewhere", "there as well"],
)
def test_text_on_target_cpus_without_isolation_omits_whether_it_holds(load_cpus: frozenset[int], sentence: str) -> None:
    for loaded in (noisy(), traced()):
        text = _text_under_load(loaded, not_isolated=_TARGET, load_cpus=load_cpus)
        assert sentence in text
        assert "solation" not in text


def test_short_calibration_is_marked_as_extrapolated() -> None:
    text = " ".join(_text(_contrast(short(), short())).replace("│", " ").split())
    assert "Smallest detectable change: unknown on CPUs 2-3, unknown on CPUs 0-1" in text
    assert "Too little was measured for samples of this length: calibrate longer" in text


def test_pieces_and_blocks_of_work_have_different_names() -> None:
    contrast = _contrast(recorded(), recorded())
    pieces, below = _text(contrast), "\n".join(contrast_detail_lines(contrast, 120))
    assert "interpreted piece p50" in pieces
    assert "interpreted work in blocks of about 1 ms: median" in below
    assert "fixed work" not in pieces + below


def test_target_that_was_noisy_before_the_load_proves_nothing() -> None:
    text = _text_under_load(noisy(), idle=noisy())
    assert text.startswith("not quiet before the load: CPU 1 lost 9.19% to gaps; this comparison proves nothing")
    assert "before the load under load times as much" in text
    assert "idle" not in text
    assert "solation" not in text
    assert "proves nothing" not in _text_under_load(noisy(), idle=traced())
