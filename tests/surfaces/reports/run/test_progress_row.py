"""The line that a terminal shows while a series runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.judgement.run.reasons import RepetitionVerdict
from noisewatch.surfaces.reports.parts.colours import plain_row
from noisewatch.surfaces.reports.run.picture import SeriesProgress
from noisewatch.surfaces.tui.draw.text_row import length
from tests.surfaces.reports.run.written_series import UNDISTURBED, UNKNOWN, disturbed_by, timed, written_series
from tests.surfaces.reports.verdicts import HOSTILE_NAMES

_HOG = disturbed_by("hog")


def _after(*runs: tuple[RepetitionVerdict, float], wanted: int = 25) -> SeriesProgress:
    progress = SeriesProgress(wanted)
    for judged in timed(written_series(*(verdict for verdict, _ in runs)), [time for _, time in runs]).repetitions:
        progress.add(judged)
    return progress


def _line(progress: SeriesProgress, width: int = 140, **options: object) -> str:
    return plain_row(progress.row(width, **options))  # type: ignore[arg-type]


def test_it_tells_the_last_runs_with_their_times_how_long_it_takes_and_who_it_was() -> None:
    progress = _after(
        (UNDISTURBED, 1.0), (UNKNOWN, 1.0), (UNDISTURBED, 1.0), (_HOG, 2.0), (UNDISTURBED, 1.0), wanted=10
    )
    assert _line(progress) == (
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
def test_where_there_is_little_room_what_matters_most_stays(width: int, line: str) -> None:
    progress = _after(*[(UNDISTURBED, 1.0)] * 5, wanted=10)
    assert _line(progress, width) == line


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
def test_it_is_one_line_whatever_happens(
    runs: list[tuple[RepetitionVerdict, float]], width: int, in_unicode: bool, waits_for: str
) -> None:
    row = _after(*runs, wanted=20).row(width, in_unicode, waits_for)
    assert length(row) <= width
    line = plain_row(row)
    assert line.isprintable()
    assert in_unicode or line.isascii()


def test_who_is_waited_for_stands_in_the_place_of_who_it_was() -> None:
    line = _line(_after((_HOG, 1.0)), waits_for="stress-ng on CPU 3")
    assert "waiting for stress-ng on CPU 3" in line
    assert "hog" not in line


def test_before_the_first_run_and_beyond_the_wanted_ones_nobody_knows_how_long_it_takes() -> None:
    assert _line(SeriesProgress(25)) == "0/25"
    assert "left" not in _line(_after(*[(UNDISTURBED, 1.0)] * 3, wanted=2))


@pytest.mark.parametrize(
    ("seconds", "wanted", "left"), [(1.0, 3, "~2 s"), (100.0, 3, "~3 min"), (100.0, 1001, "~28 h")]
)
def test_the_time_left_is_at_the_pace_so_far(seconds: float, wanted: int, left: str) -> None:
    assert f"{left} left" in _line(_after((UNDISTURBED, seconds), wanted=wanted))


def test_older_signs_make_room_for_who_it_was() -> None:
    line = _line(_after(*[(UNDISTURBED, 1.0)] * 19, (_HOG, 1.0)), 80)
    assert "hog" in line
    assert line.count("•") < 19
