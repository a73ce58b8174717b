"""The timeline's sentences match the intervals that it covers, and its axis shows their times."""

from __future__ import annotations

import re
from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.timeline import over_limit, timeline_rows
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, frame, model_of, screen, text_of

_NOON_NS = 1_800_014_400 * SECOND_NS  # 12:00:00 UTC


def _model(noisy: tuple[int, ...] = (), count: int = 200, has_wall_clock: bool = False) -> ScreenModel:
    return model_of(*(_interval(number, number in noisy, has_wall_clock) for number in range(count)))


@cache
def _interval(number: int, is_noisy: bool, has_wall_clock: bool) -> Frame:
    return frame(
        (cpu_line(1, Role.TARGET, 50e6 if is_noisy else 1e3),),
        second=1000 + number,
        wall_ns=_NOON_NS + number * SECOND_NS if has_wall_clock else None,
    )


def _axis(model: ScreenModel, width: int = 107) -> str:
    return text_of(timeline_rows(model, width, 3, UNICODE)[-1])


def test_intervals_over_the_limit_are_counted_in_all_history_at_any_width() -> None:
    model = _model(noisy=(5, 150, 190))
    for size in ((80, 24), (140, 40)):
        for name in (Screen.MAP, Screen.OVERVIEW):
            model.go_to(name)
            text = "\n".join(screen(model, *size))
            assert set(re.findall(r"over 0.5% in (\d+ of \d+)", text)) == {"3 of 200"}
    model.go_to_number(120)
    model.zoom = 10
    assert over_limit(model) == ["over 0.5% in 3 of 200 intervals"]


def test_both_ends_have_the_time_of_day_or_the_age() -> None:
    assert _axis(_model(has_wall_clock=True)).split() == ["12:01:40", "now"]
    assert _axis(_model()).split() == ["-99", "s", "now"]
    assert len(_axis(_model())) == 107


def test_both_ends_of_a_recording_have_its_own_time() -> None:
    model = _model()
    assert model.newest is not None
    model.newest = replace(model.newest, origin="replay of machine.nw")
    assert _axis(model).split() == ["100", "s", "199", "s"]


@pytest.mark.parametrize("number", [*range(100, 116), *range(116, 184, 7), *range(184, 200)])
@pytest.mark.parametrize("width", [40, 60, 107])
def test_the_sentence_at_the_cursor_overlaps_neither_end(number: int, width: int) -> None:
    model = _model(has_wall_clock=True)
    model.log.add(Event(0, EventKind.CLOCK, "turbo is now on, was off, " * 3, number))
    model.go_to_number(number)
    axis = _axis(model, width)
    assert len(axis) <= width
    assert "▲" in axis
    begin, cursor = axis.partition("▲")[0][7:], axis.index("▲")
    assert str(model.wall_clock()) in axis
    if begin.startswith("12:0") and "ago" not in begin:
        assert begin[8:].strip() == ""
    if axis.endswith("now"):
        assert axis[-4] == " "
        assert len(axis) == width > cursor


def test_both_ends_are_shown_where_the_sentence_leaves_room() -> None:
    model = _model(has_wall_clock=True)
    model.go_to_number(150)
    assert _axis(model).split() == ["12:01:40", "▲", "12:02:30,", "49", "s", "ago", "now"]


@pytest.mark.parametrize("zoom", [10, 60])
def test_a_zoomed_out_recording_fills_the_lane_up_to_its_end(zoom: int) -> None:
    model = _model(count=120)
    assert model.newest is not None
    model.newest, model.zoom = replace(model.newest, origin="replay of machine.nw", is_last=True), zoom
    lane, *_, axis = (text_of(row) for row in timeline_rows(model, 107, 3, UNICODE))
    assert len(lane.rstrip()) > 90
    assert axis.rstrip().endswith("119 s")
