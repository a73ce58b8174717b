"""Events on the timeline: marked below the lane of the worst CPU, named next to the cursor, and reached by keys."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.screens.events import events_rows
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, lines_of, with_monitor
from tests.surfaces.tui.framing import frame, model_of, screen, screen_of, text_of

_SET = "turbo is now on, was off"
_FIRST = 7  # the column of the first interval


def _frames(*set_at: int, count: int = 20) -> list[Frame]:
    """Return frames in which turbo is on only in the given intervals."""
    return [replace(frame(second=second), turbo="on" if second in set_at else "off") for second in range(count)]


def _model(*set_at: int, count: int = 20) -> ScreenModel:
    return model_of(*_frames(*set_at, count=count))


def test_an_event_has_its_letter_below_the_interval_that_it_happened_in() -> None:
    model = _model(12)
    lane = screen(model)[-3]
    assert lane.startswith("event ")
    assert [at for at, mark in enumerate(lane.rstrip()) if mark == "c" and at > 5] == [_FIRST + 12, _FIRST + 13]
    assert screen_of(model, Screen.OVERVIEW, glyphs=ASCII)[-3] == lane


def test_an_event_moves_and_narrows_with_the_lane_above_it() -> None:
    model = _model(12, count=120)
    model.zoom = 10
    model.step(-10)
    worst, events, cursor = screen(model)[-4:-1]
    assert events.rstrip()[-1] == "c"
    assert events.index("c") == cursor.index("▲") == len(worst.rstrip()) - 11


def test_a_screen_too_low_for_three_rows_has_the_lane_and_the_cursor() -> None:
    model = _model(12)
    model.step(-3)
    assert not any(line.startswith("event ") for line in screen(model, 100, 19))
    assert screen(model, 100, 19)[-3].startswith("target ")
    assert "▲" in screen(model, 100, 19)[-2]


def test_several_kinds_at_once_share_a_sign_and_a_verdict_gives_way_to_its_cause() -> None:
    def lane(*kinds: EventKind) -> str:
        model = _model()
        for kind in kinds:
            model.log.add(Event(1, kind, kind, 19))
        return screen(model)[-3].rstrip()[-1]

    clock, verdict = EventKind.CLOCK, EventKind.VERDICT
    assert [lane(clock), lane(verdict), lane(clock, verdict), lane(clock, EventKind.HEAT)] == ["c", "v", "c", "*"]


@pytest.mark.parametrize("back", [-7, -18])
def test_the_event_of_the_shown_interval_is_next_to_the_cursor(back: int) -> None:
    model = _model(199 + back, count=200)
    model.step(back)
    below = screen(model)[-2]
    assert f" {-back} s ago: {_SET} ▲" in below
    model.step(-2)
    assert "turbo" not in screen(model)[-2]


def test_the_event_is_right_of_the_cursor_where_there_is_more_room() -> None:
    model = _model(119, count=200)
    model.step(-80)
    assert f"▲ 80 s ago: {_SET}" in screen(model)[-2]


@pytest.mark.parametrize("width", [8, 20, 40, 80])
def test_an_event_that_does_not_fit_is_cut_and_the_cursor_stays(width: int) -> None:
    model = _model(14)
    model.step(-5)
    assert "▲" in screen(model, width, 24)[-2]
    assert len(screen(model, width, 24)[-2]) == width


def test_steps_go_to_the_previous_and_the_next_event() -> None:
    model = _model(5, 12)
    numbers = []
    for direction in (-1, -1, -1, -1, -1, 1, 1):
        model.step_to_event(direction)
        numbers.append(model.number)
    assert numbers == [13, 12, 6, 5, 5, 6, 12]


def test_without_events_no_step_is_made() -> None:
    model = _model()
    model.step_to_event(-1)
    assert model.cursor is None


def test_a_new_event_does_not_move_the_selection() -> None:
    model = _model(5)
    model.go_to(Screen.EVENTS)
    model.select(1)
    assert model.log.row() == 1
    model.add(replace(frame(second=20), turbo="on"))
    assert model.log.row() == 2
    assert model.log.listed()[2].number == 5


def test_showing_an_event_of_a_dropped_interval_gives_a_notice() -> None:
    model = ScreenModel(History(5))
    for interval in _frames(5):
        model.add(interval)
    model.go_to(Screen.EVENTS)
    model.show_event()
    assert (model.screen, model.cursor, model.notice) == (Screen.EVENTS, None, "that interval is no longer kept")


def test_a_device_event_of_the_current_interval_shows_the_newest_one() -> None:
    model = _model()
    model.log.add(Event(19, EventKind.DEVICE, "USB device 1-2 was added", model.history.count))
    model.go_to(Screen.EVENTS)
    model.show_event()
    assert (model.screen, model.number) == (Screen.OVERVIEW, 19)


def test_with_an_empty_log_enter_does_nothing() -> None:
    model = _model()
    model.go_to(Screen.EVENTS)
    model.show_event()
    assert (model.screen, model.cursor) == (Screen.EVENTS, None)


def _pressed(*keys: str) -> tuple[ScreenModel, list[str]]:
    lines: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        for interval in _frames(5, 12):
            app.show_frame(interval)
        await pilot.press(*keys)
        lines.extend(lines_of(app))

    return with_monitor(steps).model, lines


def test_keys_step_from_event_to_event() -> None:
    assert _pressed("{", "{")[0].number == 12
    assert _pressed("left_curly_bracket", "{", "{", "right_curly_bracket")[0].number == 12


def test_enter_in_the_log_shows_the_interval_of_the_event() -> None:
    model, lines = _pressed(key_of(Screen.EVENTS), "down", "down", "enter")
    assert (model.screen, model.number) == (Screen.OVERVIEW, 6)
    assert "turbo is now off, was on" in lines[-2]


def test_the_selected_event_is_visible_in_a_long_log() -> None:
    model = _model()
    for number in range(100):
        model.log.add(Event(number, EventKind.DEVICE, f"event {number}", number))
    model.go_to(Screen.EVENTS)
    model.select(90)
    rows = [text_of(row) for row in events_rows(model, 100, 30, UNICODE)]
    assert any(" d device    event 9 " in row for row in rows)


def test_the_filter_of_the_log_is_separate_from_that_of_the_sources() -> None:
    model, lines = _pressed(key_of(Screen.EVENTS), "slash", *"!on,", "enter")
    assert (model.log.filter, model.filter) == ("!on,", "")
    assert len([line for line in lines if " s  c clock " in line]) == 2
    assert "filter: !on," in "".join(lines)
    assert _pressed(key_of(Screen.EVENTS), "slash", *"hotx", "backspace", "enter")[0].log.filter == "hot"
    assert "no event matches" in "".join(_pressed(key_of(Screen.EVENTS), "slash", *"hot")[1])
    assert _pressed(key_of(Screen.EVENTS), "slash", *"hot", "escape")[0].log.filter == ""


def test_in_a_recording_an_event_has_the_time_since_its_start() -> None:
    model = model_of(*(replace(interval, origin="replay of machine.nw") for interval in _frames(5)))
    rows = [line for line in screen_of(model, Screen.EVENTS) if " s  c clock " in line]
    assert [line.split()[:2] for line in rows] == [["6", "s"], ["5", "s"]]
