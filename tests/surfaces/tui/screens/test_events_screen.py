"""The rows below the list of events: the culprits at that time, the kinds of events, and the noise around them."""

from __future__ import annotations

import pytest

from noisewatch.kinds import Role
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of, screen_of, text_of

_SIZES = [(120, 60), (120, 80), (200, 60), (300, 80)]


def _model(events: int = 3) -> ScreenModel:
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET, 30e6))
    model = model_of(*(frame(cpus, (culprit("hog"), culprit("dog")), second) for second in range(1, 61)))
    for number in range(events):
        model.log.add(Event((number + 1) * SECOND_NS, EventKind.CLOCK, f"event {number}", number))
    return model


@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_a_short_log_leaves_rows_for_culprits_kinds_of_events_and_noise(width: int, height: int) -> None:
    text = "\n".join(screen_of(_model(), Screen.EVENTS, width, height))
    assert "event 2" in text
    assert "culprits then" in text
    assert "a CPU goes offline, or comes online" in text
    assert "3 times c clock" in text
    assert "noise of the worst target CPU, around the selected event" in text


@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_a_long_log_takes_these_rows(width: int, height: int) -> None:
    lines = screen_of(_model(100), Screen.EVENTS, width, height)
    rows = [line for line in lines if "c clock     event" in line]
    assert len(rows) >= (height - 12 if width >= 200 else height // 2)
    assert not any("around the selected event" in line for line in lines)


@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_without_an_event_the_kinds_of_events_are_listed(width: int, height: int) -> None:
    text = "\n".join(screen_of(_model(0), Screen.EVENTS, width, height))
    assert "no events" in text
    assert "a CPU goes offline, or comes online" in text
    assert "selected" not in text


def test_the_mark_is_below_the_interval_of_the_selected_event() -> None:
    model = _model(1)
    model.go_to(Screen.EVENTS)
    rows = [text_of(row) for row in rows_of_screen(model, 300, 80, UNICODE)]
    mark = next(row for row in rows if "▲" in row)
    first_bars = next(row for row in rows if row.startswith("│ target")).index("▆")
    assert mark.index("▲") == first_bars


def test_without_panels_culprits_are_shown_where_they_fit() -> None:
    assert any("culprits then" in line for line in screen_of(_model(), Screen.EVENTS, 99, 40))
    assert not any("culprits then" in line for line in screen_of(_model(), Screen.EVENTS, 80, 20))


def test_a_copied_tree_shows_why_it_has_no_events() -> None:
    text = "\n".join(screen_of(model_of(frame(seconds=0.0, origin="copied tree x")), Screen.EVENTS, 120, 60))
    assert "no events: a copied tree is a single snapshot" in text
    assert "a CPU goes offline" not in text


def test_several_events_in_one_line_are_counted() -> None:
    model = _model(0)
    for number in range(3):
        model.log.add(
            Event((number + 1) * SECOND_NS, EventKind.DEVICE, f"event {number} of a cable", number, "a cable")
        )
    text = "\n".join(screen_of(model, Screen.EVENTS, 120, 40))
    assert "3 events in 1 line" in text
    assert "in 1 lines" not in text
