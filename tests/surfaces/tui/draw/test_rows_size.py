"""The screen fits terminals of any size."""

from __future__ import annotations

from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.tui.app.keys import help_rows
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.filters import SortOrder
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.crowd import crowded
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of, screen, screen_of, text_of

_SIZES = [
    (1, 1),
    (1, 60),
    (200, 1),
    (2, 2),
    (7, 5),
    (20, 6),
    (39, 8),
    (40, 11),
    (79, 12),
    (80, 24),
    (100, 30),
    (200, 60),
]
_CULPRITS = tuple(culprit(name, cpu) for cpu, name in enumerate(["hog", "数据库服务器", "[bold red]x[/]", "x" * 300]))


def _model(cpu_count: int) -> ScreenModel:
    frames = [frame(cpu_count, _CULPRITS, second, failed=("tasks-on-target",) * 5) for second in range(1, 300)]
    return model_of(*frames)


@pytest.mark.parametrize("cpu_count", [1, 4, 64, 512])
@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_the_overview_fills_any_size_exactly(cpu_count: int, width: int, height: int) -> None:
    model = model_of(frame(cpu_count, _CULPRITS), frame(cpu_count, _CULPRITS, 2))
    for glyphs in (UNICODE, ASCII):
        rows = overview_rows(model, width, height, glyphs)
        assert len(rows) == height
        assert {strip_of(row, width).cell_length for row in rows} == {width}


@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_a_long_history_fits_as_well(width: int, height: int) -> None:
    rows = overview_rows(_model(4), width, height, UNICODE)
    assert len(rows) == height
    assert {strip_of(row, width).cell_length for row in rows} == {width}


@pytest.mark.parametrize(
    "model",
    [
        ScreenModel(),
        ScreenModel(trouble="the sampler ended: boom"),
        model_of(frame(0)),
        model_of(frame(4, seconds=0.0, verdict=None)),
        model_of(frame((cpu_line(0, lost_ns=None),))),
        model_of(frame(4, remark="a remark " * 30)),
        model_of(frame(4, machine="数据库" * 40)),
    ],
    ids=["before any frame", "in trouble", "no cpus", "no rates", "unknown loss", "long remark", "long wide name"],
)
@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_every_state_fits(model: ScreenModel, width: int, height: int) -> None:
    rows = overview_rows(model, width, height, UNICODE)
    assert len(rows) == height
    assert {strip_of(row, width).cell_length for row in rows} == {width}


@pytest.mark.parametrize("name", Screen)
@pytest.mark.parametrize("cpu_count", [2, 16, 512])
@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 5), (40, 10), (60, 20), (99, 31)])
def test_every_screen_fits_a_small_terminal(name: str, cpu_count: int, width: int, height: int) -> None:
    model = copy(crowded(cpu_count))
    model.go_to(name)
    rows = rows_of_screen(model, width, height, UNICODE)
    assert len(rows) == height
    assert {strip_of(row, width).cell_length for row in rows} == {width}
    assert max(map(length, rows)) <= width


@given(
    width=st.integers(1, 200),
    height=st.integers(1, 60),
    count=st.integers(0, 70),
    offset=st.integers(0, 100),
    sort=st.sampled_from(SortOrder),
)
def test_a_scrolled_and_sorted_screen_fits(width: int, height: int, count: int, offset: int, sort: SortOrder) -> None:
    model = model_of(frame(count, _CULPRITS), frame(count, _CULPRITS, 2))
    model.offset, model.sort, model.shows_all_cpus = offset, sort, True
    rows = overview_rows(model, width, height, UNICODE)
    assert len(rows) == height
    assert {strip_of(row, width).cell_length for row in rows} == {width}


_HOG = culprit("tokio-rt-worker", cpu=3, lost_ns=9e8, pid=12345, tid=12346)
_SMALL = [(60, 20), (40, 15), (20, 10)]


@pytest.mark.parametrize("size", _SMALL)
@pytest.mark.parametrize("name", ["overview", "culprits", "cpu"])
def test_a_small_screen_shows_a_culprit_and_its_noise(name: str, size: tuple[int, int]) -> None:
    hog = replace(_HOG, name="tokio-rt-worker" if size[0] > 20 else "postgres")
    rows = [row for row in screen_of(model_of(frame(4, (hog,))), name, *size) if hog.name in row]
    assert rows[0].split("ms")[0].split()[-1].endswith("900")


@pytest.mark.parametrize("size", _SMALL[:2])
def test_a_small_screen_shows_the_whole_name_of_a_check(size: tuple[int, int]) -> None:
    failed = "device-interrupts-on-target"
    rows = screen_of(model_of(frame(4, failed=(failed,), verdict="unstable")), "preflight", *size)
    assert [row for row in rows if row.startswith(f"✗    {failed}")]


@pytest.mark.parametrize("size", _SMALL)
def test_a_small_screen_shows_the_text_of_an_event(size: tuple[int, int]) -> None:
    model = model_of(frame(4), frame(4, second=2))
    model.log.add(Event(SECOND_NS, EventKind.DEVICE, "sdb was added", 1))
    assert "sdb was" in "".join(screen_of(model, "events", *size))


@pytest.mark.parametrize("height", [1, 2, 10, 60])
def test_the_help_is_no_higher_than_the_screen(height: int) -> None:
    assert 0 < len(help_rows(80, height)) <= height


@pytest.mark.parametrize("width", [10, 20, 40, 80, 200])
def test_the_verdict_is_never_cut_off_at_the_right(width: int) -> None:
    assert screen(model_of(frame(4, verdict="unstable")), width, 24)[1].startswith(" UNSTABLE ")


@pytest.mark.parametrize("machine", ["benchmark-host" * 10, "数据库服务器", "数据库" * 40])
def test_the_verdict_is_never_cut_off_by_the_name_of_the_machine(machine: str) -> None:
    assert screen(model_of(frame(4, machine=machine, verdict="unstable")), 60, 24)[1].startswith(" UNSTABLE ")


def test_keys_are_shown_whole_or_not_at_all() -> None:
    rows = [screen(model_of(frame(4)), width, 24)[-1].strip() for width in range(1, 90)]
    expected = ["", "q quit"]
    for key in ("? help", "space freeze", "enter CPU", f"1-{len(Screen)} screens", "p preflight", "c calibrate"):
        expected.append(f"{expected[-1]}  {key}")
    assert set(rows) == set(expected)


def test_on_eighty_columns_no_column_of_a_cpu_is_lost() -> None:
    interval: Frame = frame((cpu_line(3, "target", 4_000_000.0),))
    line = next(line for line in screen(model_of(interval), 80, 24) if line.startswith(" T   3"))
    assert line.split()[:8] == ["T", "3", "4.0", "ms", "0.4%", "12", "3.0", "2.0%"]


def test_plain_rows_hold_no_line_breaks_or_escapes() -> None:
    rows = overview_rows(_model(4), 100, 30, UNICODE)
    assert [text_of(row) for row in rows if not text_of(row).isprintable()] == []
