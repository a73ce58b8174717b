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


def test_the_headline_says_how_many_times_quieter() -> None:
    said = _text(_contrast(traced(), noisy()))
    assert said.startswith("CPUs 2-3: 26 times quieter than CPUs 0-1; 0.352% noise against 9.19%; longest gap 317 µs")
    assert _text(_contrast(noisy(), traced())).startswith("CPUs 2-3: 26 times noisier than CPUs 0-1; ")


def test_two_that_do_not_differ_are_said_not_to() -> None:
    said = _text(_contrast(recorded(), recorded()))
    assert said.startswith("CPUs 2-3 and CPUs 0-1 do not differ")
    assert "Their noise floors do not differ" in " ".join(said.replace("│", " ").split())


def test_what_was_not_measured_to_the_end_is_not_compared() -> None:
    found = compare(traced(), broken())
    assert (found.difference, found.ratio) == (Difference.UNKNOWN, None)
    assert "cannot be compared" in _text(_contrast(traced(), broken()))


def test_without_a_gap_there_is_no_ratio() -> None:
    found = compare(quiet(), noisy())
    assert (found.difference, found.ratio) == (Difference.NOISIER, None)
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


def _under_load(
    loaded: Calibrated,
    not_isolated: frozenset[int] = frozenset(),
    busy_share: float = 1.0,
    idle: Calibrated | None = None,
    on: frozenset[int] = _OTHERS,
) -> str:
    load = BusyLoad(on, 2, busy_share)
    result = CalibratedTarget(_TARGET, None, idle or traced(), CalibratedUnderLoad(loaded, load, not_isolated))
    contrast = contrast_of(result)
    assert contrast is not None
    return " ".join(_text(contrast).replace("│", " ").split())


@pytest.mark.parametrize(
    ("loaded", "busy_share", "said"),
    [
        (traced(), 1.0, "Isolation holds against this load."),
        (noisy(), 1.0, "Isolation does not hold against this load."),
        (traced(), 0.4, "Whether isolation holds is not known: the load had only 40% of its CPUs."),
        (broken(), 1.0, "Whether isolation holds is not known: too little was measured."),
    ],
    ids=["holds", "does not", "no load", "broken"],
)
def test_under_load_it_says_whether_isolation_holds(loaded: Calibrated, busy_share: float, said: str) -> None:
    told = _under_load(loaded, busy_share=busy_share)
    assert said in told
    assert "CPUs 2-3 idle" in told
    assert f"2 busy processes on CPUs 0-1, each with {busy_share:.0%} of its CPU." in told


def test_as_much_noise_in_longer_gaps_is_no_isolation_that_holds() -> None:
    often = quiet(tuple((at, 5_000, 1, 0) for at in range(0, 10 * 10**9, 2_000_000)))
    seldom = quiet(tuple((at, 500_000, 1, 0) for at in range(0, 10 * 10**9, 410_000_000)))
    told = _under_load(seldom, idle=often)
    assert "Whether isolation holds is not known" in told


@pytest.mark.parametrize(
    ("on", "said"),
    [(_OTHERS, "CPUs 2-3: not isolated. The load: "), (_OTHERS | {2}, "not isolated. The load ran on CPU 2 as well.")],
    ids=["elsewhere", "there as well"],
)
def test_of_target_cpus_that_are_not_isolated_it_is_not_said_whether_isolation_holds(
    on: frozenset[int], said: str
) -> None:
    for loaded in (noisy(), traced()):
        told = _under_load(loaded, not_isolated=_TARGET, on=on)
        assert said in told
        assert "solation" not in told


def test_too_short_a_calibration_is_said_to_be_extrapolated() -> None:
    assert "Extrapolated: calibrate longer" in " ".join(_text(_contrast(short(), short())).replace("│", " ").split())


def test_pieces_of_work_have_another_name_than_the_blocks_below() -> None:
    contrast = _contrast(recorded(), recorded())
    pieces, below = _text(contrast), "\n".join(contrast_detail_lines(contrast, 120))
    assert "interpreted piece p50" in pieces
    assert "interpreted work in blocks of about 1 ms: median" in below
    assert "fixed work" not in pieces + below


def test_what_was_not_quiet_before_the_load_proves_nothing() -> None:
    said = _under_load(noisy(), idle=noisy())
    assert said.startswith("not quiet before the load: CPU 1 lost 9.19% to gaps; this comparison proves nothing")
    assert "before the load under load times as much" in said
    assert "idle" not in said
    assert "solation" not in said
    assert "proves nothing" not in _under_load(noisy(), idle=traced())
