"""Lanes, event letters, cursor, clicks and ends agree on the column of an interval, and fill their width."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.timeline import LABEL, axis_of, number_in, strip_axis, timeline_rows
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen_of, text_of

_ON_MAP = 8  # the column of the map's first interval, as its labels are wider
_NOISY_MARK, _CALM_MARK = "█", "▁"


@cache
def _live(count: int) -> ScreenModel:
    """Return a model in which the fifth of every seven intervals is noisy."""
    losses = (300e6 if second % 7 == 4 else 20e3 for second in range(count))
    return model_of(*(frame((cpu_line(1, Role.TARGET, ns),), second=at) for at, ns in enumerate(losses)))


def _model(count: int, is_recorded: bool = False, zoom: int = 1) -> ScreenModel:
    model = replace(_live(count), zoom=zoom, cursor=None, log=EventLog())
    if is_recorded and model.newest is not None:
        model.newest = replace(model.newest, origin="replay of machine.nw", is_last=True)
    return model


@pytest.mark.parametrize("width", [60, 140, 296])
@pytest.mark.parametrize("count", [1, 7, 50, 53, 100, 133, 200, 289, 290, 400])
def test_the_intervals_of_a_whole_recording_fill_the_lane_evenly(count: int, width: int) -> None:
    axis = axis_of(_model(count, is_recorded=True), width)
    assert (axis.before, axis.after, axis.stop) == (0, 0, width - LABEL)
    numbers_by_column = [axis.intervals_in(column)[0] for column in range(axis.room)]
    assert numbers_by_column == [*axis.spread(axis.numbers)]
    columns = [numbers_by_column.count(number) for number in axis.numbers]
    assert len(columns) == min(count, axis.room)
    assert max(columns) - min(columns) <= 1
    assert all(numbers_by_column[axis.column(number)] == number for number in axis.numbers)


@pytest.mark.parametrize("room", [20, 50, 53, 60])
def test_a_lane_with_another_room_keeps_the_columns_of_its_last_intervals(room: int) -> None:
    axis = axis_of(_model(37, is_recorded=True), 53 + LABEL)
    other = axis.with_room(room)
    assert other.numbers[-1] == axis.numbers[-1]
    assert all(room - other.column(number) == 53 - axis.column(number) for number in other.numbers)
    assert len(other.spread(other.numbers)) == other.width <= room


def test_half_columns_have_the_columns_of_their_interval() -> None:
    axis = axis_of(_model(5, is_recorded=True), 13 + LABEL)
    halves = [(number, half) for number in axis.numbers for half in "ab"]
    assert (
        axis.spread(halves)[::2]
        == [
            (number, half)
            for number in axis.numbers
            for half in "ab"
            for _ in range(axis.spread(axis.numbers).count(number))
        ][::2]
    )
    assert len(axis.spread(halves)) == 2 * 13


@pytest.mark.parametrize("number", [0, 20, 36])
def test_a_strip_ends_with_the_shown_interval_in_the_scale_of_the_recording(number: int) -> None:
    model = _model(37, is_recorded=True)
    model.go_to_number(number)
    strip = strip_axis(model, 80)
    assert strip.numbers == range(number + 1)
    assert len(strip.spread(strip.numbers)) == strip.width == (number + 1) * 80 // 37


def test_an_interval_of_an_unfinished_recording_or_live_takes_one_column() -> None:
    model = _model(30, is_recorded=True)
    assert model.newest is not None
    model.newest = replace(model.newest, is_last=False)
    assert axis_of(model, 296).width == axis_of(_model(30), 296).width == 30


def test_a_live_lane_starts_at_the_left_and_moves_only_when_it_is_full() -> None:
    places = [axis_of(_model(count), 100) for count in (1, 30, 93)]
    assert [axis.column(0) for axis in places] == [0] * 3
    assert [axis.stop for axis in places] == [1, 30, 93]
    full = axis_of(_model(200), 100)
    assert (full.before, full.stop, full.numbers) == (0, 93, range(107, 200))


def test_only_the_map_reserves_room_for_longer_labels() -> None:
    model = _model(30, is_recorded=True)
    model.go_to(Screen.MAP)
    assert axis_of(model, 296).before == _ON_MAP
    for name in set(Screen) - {Screen.MAP}:
        model.go_to(name)
        assert axis_of(model, 296).before == 0


@pytest.mark.parametrize("zoom", [1, 10])
@pytest.mark.parametrize(("name", "least"), [(Screen.OVERVIEW, 0), (Screen.MAP, _ON_MAP)])
def test_a_window_that_moves_back_stays_full(zoom: int, name: Screen, least: int) -> None:
    model = _model(695, zoom=zoom)
    model.go_to(name)
    for number in range(0, 695, 5):
        model.cursor = number
        axis = axis_of(model, 60)
        assert axis.after == 0
        assert axis.before <= least
        assert number in axis.numbers
        assert number in axis.with_room(60 - LABEL - least).numbers


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("zoom", [1, 5])
@pytest.mark.parametrize("count", [1, 2, 30, 69, 130, 400])
@pytest.mark.parametrize("width", [9, 19, 30, 60, 103, 296])
def test_lane_letter_cursor_and_click_agree(width: int, count: int, zoom: int, is_recorded: bool) -> None:
    for number in {0, 4, count // 2, count - 1} & set(range(count)):
        model = _model(count, is_recorded, zoom)
        model.go_to_number(number)
        model.log.add(Event(0, EventKind.CLOCK, "", number))
        lane, letters, below = (text_of(row) for row in timeline_rows(model, width, 3, UNICODE))
        at, columns = below.index("▲"), [x for x in range(LABEL, width) if lane[x] != " "]
        assert len(lane) == len(letters) == width >= len(below)
        assert letters[LABEL:].split() == ["c"]
        assert letters.index("c", LABEL) == at
        assert (lane[at] == _NOISY_MARK) is any(
            interval % 7 == 4 for interval in axis_of(model, width).intervals_in(at - LABEL) if interval >= 0
        )
        clicked = number_in(model, at, width)
        assert clicked is not None
        assert 0 <= clicked - number < zoom
        assert columns == [x for x in range(width) if number_in(model, x, width) is not None]
        assert columns == list(range(columns[0], columns[-1] + 1))


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("count", [20, 69, 130, 400])
@pytest.mark.parametrize("width", [60, 103, 296])
def test_the_ends_of_the_axis_are_below_those_of_the_lane(width: int, count: int, is_recorded: bool) -> None:
    lane, _, below = (text_of(row) for row in timeline_rows(_model(count, is_recorded), width, 3, UNICODE))
    columns = [x for x in range(LABEL, width) if lane[x] != " "]
    assert len(below) - len(below.lstrip()) == columns[0]
    assert len(below) == columns[-1] + 1


@pytest.mark.parametrize("name", [Screen.MAP, Screen.CPU])
@pytest.mark.parametrize("count", [20, 69, 200])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_lanes_of_other_screens_have_the_columns_of_the_timeline(name: Screen, count: int, is_recorded: bool) -> None:
    model = _model(count, is_recorded)
    rows = screen_of(model, name, 100, 40)
    noisy = [
        [x for x, sign in enumerate(row) if sign == _NOISY_MARK and x >= LABEL + (_ON_MAP if name == Screen.MAP else 0)]
        for row in rows
    ]
    on_lane = next(columns for row, columns in zip(rows[::-1], noisy[::-1], strict=True) if row.startswith("target "))
    assert on_lane
    assert noisy.count(on_lane) > 1
