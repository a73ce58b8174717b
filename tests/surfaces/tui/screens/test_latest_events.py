"""The latest events below what a screen lists, where that leaves rows."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisewatch.kinds import Role
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of, screen_of

_TITLE = "events, the newest first"


def _model(*culprits: str, events: int = 40, about: str = "") -> ScreenModel:
    cpus = (cpu_line(0), cpu_line(2, Role.TARGET))
    lines = tuple(culprit(name) for name in culprits)
    model = model_of(*(frame(cpus, lines, second) for second in range(1, 61)))
    for number in range(events):
        text = f"event {number} of {about}" if about else f"event {number}"
        model.log.add(Event((number + 1) * SECOND_NS, EventKind.DEVICE, text, number, about))
    model.cpu = 2
    return model


def _events_in(lines: list[str]) -> list[int]:
    """Their numbers, from above."""
    first = next((at for at, line in enumerate(lines) if _TITLE in line), len(lines))
    return [int(line.split("  event ")[1].split()[0]) for line in lines[first:] if "  event " in line]


@pytest.mark.parametrize("screen", WITH_CULPRITS)
@pytest.mark.parametrize(("width", "height"), [(120, 60), (300, 80), (99, 60), (80, 40)])
@pytest.mark.parametrize("culprits", [(), ("hog", "dog")])
def test_below_few_culprits_are_the_latest_events(
    screen: Screen, width: int, height: int, culprits: tuple[str, ...]
) -> None:
    found = _events_in(screen_of(_model(*culprits), screen, width, height))
    assert len(found) > 3
    assert found == list(range(39, 39 - len(found), -1))


def test_they_leave_the_culprits_and_the_selected_one_their_rows() -> None:
    lines = screen_of(_model(*(f"hog{each}" for each in range(20))), Screen.OVERVIEW, 120, 34)
    assert not _events_in(lines)
    assert sum("hog" in line for line in lines) > 8
    lines = screen_of(_model("hog"), Screen.OVERVIEW, 120, 34)
    assert _events_in(lines)
    assert any("4.0 ms/s of CPU 2" in line for line in lines)
    assert any(line.startswith("  200 ms") for line in lines)


def test_what_came_again_and_again_is_one_where_not_all_find_room() -> None:
    model = _model("hog", events=60, about="a cable")
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert any("a cable came 60 times" in line for line in lines)
    assert not _events_in(lines)


def test_of_an_earlier_interval_of_a_recording_they_are_those_around_it() -> None:
    model = _model("hog", events=60)
    model.add(frame(second=61, origin="replay of x.nw"))
    model.go_to_number(20)
    found = _events_in(screen_of(model, Screen.OVERVIEW, 120, 40))
    assert 20 in found
    assert 0 not in found
    assert 59 not in found


def test_of_an_earlier_interval_of_what_goes_on_they_are_those_up_to_it() -> None:
    model = _model("hog", events=60)
    model.go_to_number(20)
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert _events_in(lines)[0] == 20
    assert "      0 s  d device    event 20" in next(line for line in lines if "event 20" in line)
    model.add(frame(second=61))
    assert _events_in(screen_of(model, Screen.OVERVIEW, 120, 40)) == _events_in(lines)


def test_the_fix_of_the_selected_one_leaves_them_the_rest() -> None:
    model = _model("hog")
    lines = screen_of(model, Screen.OVERVIEW, 120, 60)
    assert _events_in(lines)
    model.awaits_fix = True
    assert len(_events_in(screen_of(model, Screen.OVERVIEW, 120, 60))) >= len(_events_in(lines))


def test_where_they_leave_room_stands_what_else_would_be_told() -> None:
    lines = screen_of(_model("hog", events=2), Screen.OVERVIEW, 120, 60)
    for kind in EventKind:
        assert any(f" {kind.mark} {kind:<9} {kind.meaning}" in line for line in lines), kind
    assert any("2 times d device    a device is added, removed or changed" in line for line in lines)


def test_without_an_event_it_is_all_that_stands_there() -> None:
    lines = screen_of(_model("hog", events=0), Screen.OVERVIEW, 120, 60)
    assert any("kinds of events, if they can be read" in line for line in lines)
    assert any(line.startswith("├─ no events ──") for line in lines)
    assert not any("times" in line for line in lines if "verdict changes" in line)
    assert not any(_TITLE in line for line in screen_of(_model("hog", events=0), Screen.OVERVIEW, 120, 34))


def test_that_nothing_is_heard_of_devices_is_said() -> None:
    model = _model("hog", events=0)
    model.log.silence = "the socket was denied"
    assert any("removed or changed: the socket was denied" in line for line in screen_of(model, Screen.MAP, 120, 60))
    model.add(frame(second=61, origin="replay of x.nw"))
    assert any("removed or changed: a recording has none" in line for line in screen_of(model, Screen.MAP, 120, 60))


@pytest.mark.parametrize(("width", "height"), [(120, 34), (120, 60), (300, 80), (99, 60)])
def test_below_the_map_of_few_cpus_are_those_as_well(width: int, height: int) -> None:
    lines = screen_of(_model("hog"), Screen.MAP, width, height)
    assert len(_events_in(lines)) > 2
    assert any("hog" in line for line in lines)


@pytest.mark.parametrize("height", [34, 60, 80, 120])
def test_no_row_of_the_map_is_higher_than_it_takes_to_tell_levels_apart(height: int) -> None:
    lines = screen_of(_model("hog", events=0), Screen.MAP, 120, height)
    first = next(at for at, line in enumerate(lines) if line.startswith("  0 "))
    second = next(at for at, line in enumerate(lines) if line.startswith("T 2 "))
    assert 6 <= second - first <= 16


@pytest.mark.parametrize(("width", "height"), [(120, 34), (300, 80)])
def test_where_no_irq_can_be_listed_they_stand_below_the_reason_and_no_empty_panel(width: int, height: int) -> None:
    lines = screen_of(_model("hog"), Screen.IRQS, width, height)
    assert any("rates unknown: /proc/interrupts was not read" in line for line in lines)
    assert len(_events_in(lines)) > height // 4
    assert not any("enter its CPU" in line for line in lines[:-1])


@pytest.mark.parametrize("screen", [*WITH_CULPRITS, Screen.MAP, Screen.IRQS, Screen.EVENTS])
@pytest.mark.parametrize(("width", "height"), [(120, 40), (300, 80)])
def test_of_a_copied_tree_they_give_way_to_what_the_checks_say(screen: Screen, width: int, height: int) -> None:
    known = frame(2, failed=("turbo-enabled",), unknown=("hypervisor-steal",), seconds=0.0, origin="copied tree x")
    model = model_of(known)
    model.cpu = 1
    text = "\n".join(screen_of(model, screen, width, height))
    assert "checks of a single snapshot" in text
    assert "turbo-enabled     turbo-enabled was found" in text
    assert "? hypervisor-steal  hypervisor-steal is not known" in text
    assert _TITLE not in text


def test_beside_an_earlier_interval_of_a_recording_the_newer_events_above_are_counted() -> None:
    model = _model()
    assert model.newest is not None
    model.newest = replace(model.newest, origin="replay of machine.nw")
    assert "newer above" not in "\n".join(screen_of(model, Screen.OVERVIEW, 120, 40))
    model.go_to_number(20)
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert any(f" {39 - _events_in(lines)[0]} newer above" in line for line in lines)
