"""The latest events below the list of a screen, if it leaves rows."""

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


def _event_numbers(lines: list[str]) -> list[int]:
    """Return the numbers of the listed events, from top to bottom."""
    first = next((at for at, line in enumerate(lines) if _TITLE in line), len(lines))
    return [int(line.split("  event ")[1].split()[0]) for line in lines[first:] if "  event " in line]


@pytest.mark.parametrize("screen", WITH_CULPRITS)
@pytest.mark.parametrize(("width", "height"), [(120, 60), (300, 80), (99, 60), (80, 40)])
@pytest.mark.parametrize("culprits", [(), ("hog", "dog")])
def test_the_latest_events_are_below_few_culprits(
    screen: Screen, width: int, height: int, culprits: tuple[str, ...]
) -> None:
    numbers = _event_numbers(screen_of(_model(*culprits), screen, width, height))
    assert len(numbers) > 3
    assert numbers == list(range(39, 39 - len(numbers), -1))


def test_events_leave_the_rows_of_culprits_and_of_the_selected_one() -> None:
    lines = screen_of(_model(*(f"hog{number}" for number in range(20))), Screen.OVERVIEW, 120, 34)
    assert not _event_numbers(lines)
    assert sum("hog" in line for line in lines) > 8
    lines = screen_of(_model("hog"), Screen.OVERVIEW, 120, 34)
    assert _event_numbers(lines)
    assert any("4.0 ms/s of CPU 2" in line for line in lines)
    assert any(line.startswith("200 ms ") for line in lines)


def test_recurring_events_are_folded_if_not_all_fit() -> None:
    model = _model("hog", events=60, about="a cable")
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert any("a cable came 60 times" in line for line in lines)
    assert not _event_numbers(lines)


def test_at_an_earlier_interval_of_a_recording_the_events_are_those_around_it() -> None:
    model = _model("hog", events=60)
    model.add(frame(second=61, origin="replay of x.nw"))
    model.go_to_number(20)
    numbers = _event_numbers(screen_of(model, Screen.OVERVIEW, 120, 40))
    assert 20 in numbers
    assert 0 not in numbers
    assert 59 not in numbers


def test_at_an_earlier_live_interval_the_events_are_those_up_to_it() -> None:
    model = _model("hog", events=60)
    model.go_to_number(20)
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert _event_numbers(lines)[0] == 20
    assert "      0 s  d device    event 20" in next(line for line in lines if "event 20" in line)
    model.add(frame(second=61))
    assert _event_numbers(screen_of(model, Screen.OVERVIEW, 120, 40)) == _event_numbers(lines)


def test_a_fix_leaves_rows_for_events() -> None:
    model = _model("hog")
    lines = screen_of(model, Screen.OVERVIEW, 120, 60)
    assert _event_numbers(lines)
    model.awaits_fix = True
    assert len(_event_numbers(screen_of(model, Screen.OVERVIEW, 120, 60))) >= len(_event_numbers(lines))


def test_few_events_leave_room_for_the_kinds_of_events() -> None:
    lines = screen_of(_model("hog", events=2), Screen.OVERVIEW, 120, 60)
    for kind in EventKind:
        assert any(f" {kind.mark} {kind:<9} {kind.meaning}" in line for line in lines), kind
    assert any("2 times d device    a device is added, removed or changed" in line for line in lines)


def test_without_an_event_only_the_kinds_of_events_are_listed() -> None:
    lines = screen_of(_model("hog", events=0), Screen.OVERVIEW, 120, 60)
    assert any("kinds of events, logged if they can be read" in line for line in lines)
    assert any(line.startswith("├─ no events ──") for line in lines)
    assert not any("times" in line for line in lines if "verdict changes" in line)
    assert not any(_TITLE in line for line in screen_of(_model("hog", events=0), Screen.OVERVIEW, 120, 34))


def test_missing_device_events_have_their_reason() -> None:
    model = _model("hog", events=0)
    model.log.silence = "the socket was denied"
    assert any("removed or changed: the socket was denied" in line for line in screen_of(model, Screen.MAP, 120, 60))
    model.add(frame(second=61, origin="replay of x.nw"))
    assert any("removed or changed: a recording has none" in line for line in screen_of(model, Screen.MAP, 120, 60))


@pytest.mark.parametrize(("width", "height"), [(120, 34), (120, 60), (300, 80), (99, 60)])
def test_events_and_culprits_are_below_the_map_of_few_cpus(width: int, height: int) -> None:
    lines = screen_of(_model("hog"), Screen.MAP, width, height)
    assert len(_event_numbers(lines)) > 2
    assert any("hog" in line for line in lines)


@pytest.mark.parametrize("height", [34, 60, 80, 120])
def test_the_rows_of_the_map_have_a_limited_height(height: int) -> None:
    lines = screen_of(_model("hog", events=0), Screen.MAP, 120, height)
    first = next(at for at, line in enumerate(lines) if line.startswith("  0 "))
    second = next(at for at, line in enumerate(lines) if line.startswith("T 2 "))
    assert 6 <= second - first <= 16


@pytest.mark.parametrize(("width", "height"), [(120, 34), (300, 80)])
def test_without_irqs_the_events_are_below_the_reason_without_an_empty_panel(width: int, height: int) -> None:
    lines = screen_of(_model("hog"), Screen.IRQS, width, height)
    assert any("rates unknown: /proc/interrupts was not read" in line for line in lines)
    assert len(_event_numbers(lines)) > height // 4
    assert not any("enter its CPU" in line for line in lines[:-1])


@pytest.mark.parametrize("screen", [*WITH_CULPRITS, Screen.MAP, Screen.IRQS, Screen.EVENTS])
@pytest.mark.parametrize(("width", "height"), [(120, 40), (300, 80)])
def test_for_a_copied_tree_the_answers_of_checks_replace_the_events(screen: Screen, width: int, height: int) -> None:
    interval = frame(2, failed=("turbo-enabled",), unknown=("hypervisor-steal",), seconds=0.0, origin="copied tree x")
    model = model_of(interval)
    model.cpu = 1
    text = "\n".join(screen_of(model, screen, width, height))
    assert "checks of a single snapshot" in text
    assert "turbo-enabled     turbo-enabled was found" in text
    assert "? hypervisor-steal  hypervisor-steal is not known" in text
    assert _TITLE not in text


def test_at_an_earlier_interval_of_a_recording_newer_events_are_counted() -> None:
    model = _model()
    assert model.newest is not None
    model.newest = replace(model.newest, origin="replay of machine.nw")
    assert "newer above" not in "\n".join(screen_of(model, Screen.OVERVIEW, 120, 40))
    model.go_to_number(20)
    lines = screen_of(model, Screen.OVERVIEW, 120, 40)
    assert any(f" {39 - _event_numbers(lines)[0]} newer above" in line for line in lines)
