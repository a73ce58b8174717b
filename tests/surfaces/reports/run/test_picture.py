"""The picture of a series: each run in its place, at any width, with or without colour and Unicode."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.operations.run.conclusion import conclude
from noisewatch.surfaces.reports.parts.colours import plain_row
from noisewatch.surfaces.reports.run.picture import TimeScale, picture_rows
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.draw.text_row import length
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, timed, written_series
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_HOG = disturbed_by("hog")
_VERDICTS = st.sampled_from([UNDISTURBED, UNKNOWN, _HOG, *map(disturbed_by, HOSTILE_NAMES)])
_RUNS = st.lists(st.tuples(_VERDICTS, st.floats(1e-6, 1e3)), min_size=2, max_size=60)


def _drawn(
    runs: list[tuple[RepetitionVerdict, float]], width: int, glyphs: Glyphs = UNICODE, has_two: bool = False
) -> list[str]:
    series = timed(written_series(*(verdict for verdict, _ in runs), has_two=has_two), [time for _, time in runs])
    return [plain_row(row) for row in picture_rows(series, conclude(series).culprits, width, glyphs)]


@given(_RUNS, st.integers(20, 200), st.booleans(), st.booleans())
def test_any_series_fits_any_width(
    runs: list[tuple[RepetitionVerdict, float]], width: int, has_two: bool, in_unicode: bool
) -> None:
    glyphs = UNICODE if in_unicode else ASCII
    series = timed(written_series(*(verdict for verdict, _ in runs), has_two=has_two), [time for _, time in runs])
    rows = picture_rows(series, conclude(series).culprits, width, glyphs)
    assert rows
    assert max(map(length, rows)) <= width
    texts = [plain_row(row) for row in rows]
    assert all(text.isprintable() for text in texts)
    assert in_unicode or all(text.isascii() for text in texts)


def _plot(lines: list[str], edge: str = "│") -> list[str]:
    """The rows of the timeline, from the longest times to the shortest, without their labels."""
    return [line.split(edge)[1].rstrip() for line in lines if edge in line]


def test_each_run_is_in_its_place_at_the_height_of_its_time() -> None:
    lines = _drawn([(UNDISTURBED, 1.0), (_HOG, 4.0), (UNKNOWN, 2.0), (UNDISTURBED, 1.0)], 80)
    plot = _plot(lines)
    assert (plot[0], plot[-1]) == ("    !", "•           •")
    assert [row for row in plot if "?" in row] == ["        ?"]
    labels = [line.split("│")[0].split() for line in lines if "│" in line]
    assert (labels[0], labels[-1]) == (["4", "s"], ["1", "s"])


def test_beneath_a_disturbed_run_is_who_it_was() -> None:
    lines = _drawn([(UNDISTURBED, 1.0), (_HOG, 4.0), (UNDISTURBED, 1.0)], 80)
    (lane,) = [line for line in lines if "hog" in line]
    (plot,) = [line for line in lines if "!" in line and "│" in line]
    assert lane.index("▲") == plot.index("!")


@pytest.mark.parametrize("width", [20, 30, 60, 100])
def test_of_a_thousand_runs_the_one_that_was_disturbed_is_seen_with_its_culprit(width: int) -> None:
    runs = [(UNDISTURBED, 1.0)] * 1000
    runs[500] = (_HOG, 1.0)
    lines = _drawn(runs, width)
    assert "!" in _plot(lines)[0]
    assert any("hog" in line for line in lines)
    assert any("a column" in line for line in lines)


def test_bars_are_as_long_as_there_are_runs_and_disturbed_ones_are_apart() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 5, (_HOG, 1.0), (_HOG, 1.5), (UNKNOWN, 1.5)]
    bars = [line.rsplit("│", 1)[1] for line in _drawn(runs, 100) if "│" in line]
    assert (bars[0], bars[-1]) == ("?! 2", "█████! 6")
    assert set(bars[1:-1]) == {""}


def test_a_bar_of_many_is_in_proportion_and_none_is_lost() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 900, *[(UNDISTURBED, 2.0)] * 450, (_HOG, 1.0)]
    bars = [line.rsplit("│", 1)[1] for line in _drawn(runs, 100) if "│" in line]
    assert bars[-1].endswith("! 901")
    assert bars[-1].count("█") == pytest.approx(2 * bars[0].count("█"), abs=1)


def test_two_commands_have_a_row_each_on_one_axis() -> None:
    lines = _drawn([(UNDISTURBED, 1.0), (UNDISTURBED, 2.0), (UNDISTURBED, 1.0), (_HOG, 2.0)], 100, has_two=True)
    assert [line[:2] for line in lines if "time of each run" in line] == ["A:", "B:"]
    plot = _plot(lines)
    half = len(plot) // 2
    assert [row for row in plot[:half] if row] == ["•       •"]
    assert [row for row in plot[half:] if row] == ["    •       !"]
    assert len([line for line in lines if line.strip().startswith("run")]) == 1


def test_the_axis_tells_runs_and_when_they_began() -> None:
    lines = _drawn([(UNDISTURBED, 1.0)] * 20, 100)
    (numbers,) = [line.split() for line in lines if line.split()[:1] == ["run"]]
    (times,) = [line.split() for line in lines if line.split()[:1] == ["after"]]
    assert numbers == ["run", "1", "5", "10", "15", "20"]
    assert " ".join(times) == "after 0 4.0 s 9.0 s 14 s"


def test_equal_times_are_one_row_and_one_run_is_no_picture() -> None:
    assert len(_plot(_drawn([(UNDISTURBED, 1.0)] * 3, 80))) == 1
    assert _drawn([(UNDISTURBED, 1.0)], 80) == []


def test_a_time_is_in_the_row_whose_label_is_the_nearest() -> None:
    lines = _drawn([(UNDISTURBED, 1.0), (UNDISTURBED, 128.0), (UNKNOWN, 3.1)], 80)  # rows are a factor of 2 apart
    (row,) = [line for line in lines if "?" in line and "│" in line]
    assert row.split("│")[0].split() == ["4", "s"]


def test_in_a_narrow_terminal_the_histogram_is_below_the_timeline() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 5, (_HOG, 2.0)]
    plot = _plot(_drawn(runs, 40))
    assert plot[len(plot) // 2 :: len(plot) // 2 - 1] == ["! 1", "█████ 5"]


@pytest.mark.parametrize(("least", "most"), [(1.0, 1.0001), (0.001, 0.0012), (0.0005, 0.12), (9.9, 100.0)])
def test_no_two_rows_have_the_same_label_and_each_is_short(least: float, most: float) -> None:
    labels = TimeScale.of([least, most], 8).labels
    assert len(set(labels)) == 8
    assert max(map(len, labels)) <= 9
