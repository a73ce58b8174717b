"""The picture of a series, and the line that a terminal shows while the series runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.operations.run.conclusion import conclude
from noisewatch.surfaces.drawing.colours import plain_row
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.reports.run.picture import SeriesProgress, TimeScale, picture_rows
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, timed, written_series
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_HOG = disturbed_by("hog")
_VERDICTS = st.sampled_from([UNDISTURBED, UNKNOWN, _HOG, *map(disturbed_by, HOSTILE_NAMES)])
_RUNS = st.lists(st.tuples(_VERDICTS, st.floats(1e-6, 1e3)), min_size=2, max_size=60)


def _picture(
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
    """Return the rows of the timeline without labels, from the longest to the shortest times."""
    return [line.split(edge)[1].rstrip() for line in lines if edge in line]


def test_each_run_is_in_its_place_at_the_height_of_its_time() -> None:
    lines = _picture([(UNDISTURBED, 1.0), (_HOG, 4.0), (UNKNOWN, 2.0), (UNDISTURBED, 1.0)], 80)
    plot = _plot(lines)
    assert (plot[0], plot[-1]) == ("    !", "•           •")
    assert [row for row in plot if "?" in row] == ["        ?"]
    labels = [line.split("│")[0].split() for line in lines if "│" in line]
    assert (labels[0], labels[-1]) == (["4", "s"], ["1", "s"])


def test_culprit_is_marked_below_the_disturbed_run() -> None:
    lines = _picture([(UNDISTURBED, 1.0), (_HOG, 4.0), (UNDISTURBED, 1.0)], 80)
    (lane,) = [line for line in lines if "hog" in line]
    (plot,) = [line for line in lines if "!" in line and "│" in line]
    assert lane.index("▲") == plot.index("!")


@pytest.mark.parametrize("width", [20, 30, 60, 100])
def test_one_disturbed_run_of_a_thousand_is_shown_with_its_culprit(width: int) -> None:
    runs = [(UNDISTURBED, 1.0)] * 1000
    runs[500] = (_HOG, 1.0)
    lines = _picture(runs, width)
    assert "!" in _plot(lines)[0]
    assert any("hog" in line for line in lines)
    assert any("per column" in line for line in lines)


def test_bars_count_runs_and_mark_disturbed_ones() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 5, (_HOG, 1.0), (_HOG, 1.5), (UNKNOWN, 1.5)]
    bars = [line.rsplit("│", 1)[1] for line in _picture(runs, 100) if "│" in line]
    assert (bars[0], bars[-1]) == ("?! 2", "█████! 6")
    assert set(bars[1:-1]) == {""}


def test_bars_of_many_runs_are_proportional_and_complete() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 900, *[(UNDISTURBED, 2.0)] * 450, (_HOG, 1.0)]
    bars = [line.rsplit("│", 1)[1] for line in _picture(runs, 100) if "│" in line]
    assert bars[-1].endswith("! 901")
    assert bars[-1].count("█") == pytest.approx(2 * bars[0].count("█"), abs=1)


def test_two_commands_have_a_row_each_on_one_axis() -> None:
    lines = _picture([(UNDISTURBED, 1.0), (UNDISTURBED, 2.0), (UNDISTURBED, 1.0), (_HOG, 2.0)], 100, has_two=True)
    assert [line[:2] for line in lines if "time of each run" in line] == ["A:", "B:"]
    plot = _plot(lines)
    half = len(plot) // 2
    assert [row for row in plot[:half] if row] == ["•       •"]
    assert [row for row in plot[half:] if row] == ["    •       !"]
    assert len([line for line in lines if line.strip().startswith("run")]) == 1


def test_axis_shows_run_numbers_and_start_times() -> None:
    lines = _picture([(UNDISTURBED, 1.0)] * 20, 100)
    (numbers,) = [line.split() for line in lines if line.split()[:1] == ["run"]]
    (times,) = [line.split() for line in lines if line.split()[:1] == ["after"]]
    assert numbers == ["run", "1", "5", "10", "15", "20"]
    assert " ".join(times) == "after 0 4.0 s 9.0 s 14 s"


def test_equal_times_are_one_row_and_one_run_has_no_picture() -> None:
    assert len(_plot(_picture([(UNDISTURBED, 1.0)] * 3, 80))) == 1
    assert _picture([(UNDISTURBED, 1.0)], 80) == []


def test_time_is_in_the_row_with_the_nearest_label() -> None:
    lines = _picture([(UNDISTURBED, 1.0), (UNDISTURBED, 128.0), (UNKNOWN, 3.1)], 80)  # rows are a factor of 2 apart
    (row,) = [line for line in lines if "?" in line and "│" in line]
    assert row.split("│")[0].split() == ["4", "s"]


def test_in_a_narrow_terminal_the_histogram_is_below_the_timeline() -> None:
    runs = [*[(UNDISTURBED, 1.0)] * 5, (_HOG, 2.0)]
    plot = _plot(_picture(runs, 40))
    assert plot[len(plot) // 2 :: len(plot) // 2 - 1] == ["! 1", "█████ 5"]


@pytest.mark.parametrize(("least", "most"), [(1.0, 1.0001), (0.001, 0.0012), (0.0005, 0.12), (9.9, 100.0)])
def test_no_two_rows_have_the_same_label_and_each_is_short(least: float, most: float) -> None:
    labels = TimeScale.of([least, most], 8).labels
    assert len(set(labels)) == 8
    assert max(map(len, labels)) <= 9


def _progress_after(*runs: tuple[RepetitionVerdict, float], count: int = 25) -> SeriesProgress:
    progress = SeriesProgress(count)
    for judged in timed(written_series(*(verdict for verdict, _ in runs)), [time for _, time in runs]).repetitions:
        progress.add(judged)
    return progress


def _progress_line(progress: SeriesProgress, width: int = 140, **options: object) -> str:
    return plain_row(progress.row(width, **options))  # type: ignore[arg-type]


def test_progress_shows_the_last_runs_the_time_left_and_the_culprit() -> None:
    progress = _progress_after(
        (UNDISTURBED, 1.0), (UNKNOWN, 1.0), (UNDISTURBED, 1.0), (_HOG, 2.0), (UNDISTURBED, 1.0), count=10
    )
    assert _progress_line(progress) == (
        "5/10  •? •1.0 s !2.0 s •1.0 s  ~6 s left  1 disturbed  1 unknown  run 4: hog (pid 900) on CPU 2: 50 ms (5.00%)"
    )


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "5/10  •• •1.0 s •1.0 s •1.0 s  ~5 s left"),
        (28, "5/10  •••• •1.0 s  ~5 s left"),
        (24, "5/10  •••••  ~5 s left"),
        (18, "5/10  •  ~5 s left"),
        (8, "5/10"),
    ],
)
def test_narrow_progress_line_keeps_the_most_important_parts(width: int, line: str) -> None:
    progress = _progress_after(*[(UNDISTURBED, 1.0)] * 5, count=10)
    assert _progress_line(progress, width) == line


@given(
    st.lists(
        st.tuples(st.sampled_from([UNDISTURBED, UNKNOWN, *map(disturbed_by, HOSTILE_NAMES)]), st.floats(1e-9, 1e5)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 160),
    st.booleans(),
    st.sampled_from(["", *HOSTILE_NAMES]),
)
def test_progress_fits_one_line(
    runs: list[tuple[RepetitionVerdict, float]], width: int, in_unicode: bool, doing: str
) -> None:
    row = _progress_after(*runs, count=20).row(width, in_unicode, doing)
    assert length(row) <= width
    line = plain_row(row)
    assert line.isprintable()
    assert in_unicode or line.isascii()


def test_culprit_waited_for_replaces_the_last_culprit() -> None:
    line = _progress_line(_progress_after((_HOG, 1.0)), doing="waiting for stress-ng on CPU 3")
    assert "waiting for stress-ng on CPU 3" in line
    assert "hog" not in line


def test_time_left_is_hidden_before_the_first_run_and_beyond_the_requested_runs() -> None:
    assert _progress_line(SeriesProgress(25)) == "0/25"
    assert "left" not in _progress_line(_progress_after(*[(UNDISTURBED, 1.0)] * 3, count=2))


@pytest.mark.parametrize(("seconds", "count", "left"), [(1.0, 3, "~2 s"), (100.0, 3, "~3 min"), (100.0, 1001, "~28 h")])
def test_time_left_is_predicted_from_the_finished_runs(seconds: float, count: int, left: str) -> None:
    assert f"{left} left" in _progress_line(_progress_after((UNDISTURBED, seconds), count=count))


def test_oldest_signs_are_dropped_to_show_the_culprit() -> None:
    line = _progress_line(_progress_after(*[(UNDISTURBED, 1.0)] * 19, (_HOG, 1.0)), 80)
    assert "hog" in line
    assert line.count("•") < 19
