"""The selection follows its source, or its check, and keys act on nothing else than what is seen selected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.judgement.terms import Gravity
from noisewatch.operations.frame.frame import CulpritLine, FindingLine, Frame
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import style_named
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame, model_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files

_WITH_SOURCES = (Screen.OVERVIEW, Screen.CULPRITS, Screen.CPU)


def _source(name: str, lost_ns: float, cpu: int = 3, tid: int | None = None) -> CulpritLine:
    """A thread of that number, or an interrupt."""
    kind = "irq" if tid is None else "thread"
    return culprit(name, cpu, lost_ns, kind=kind, pid=tid, tid=tid, irq=None if tid else int(name.split()[0]))


_LOUD, _MIDDLE, _SOFT = _source("loud", 3e6, tid=1), _source("24 eth0", 2e6), _source("soft", 1e6, tid=3)


def _frame(second: int, *sources: CulpritLine) -> Frame:
    return frame(4, tuple(sorted(sources, key=lambda each: -each.stolen_ns_per_s)), second)


def _at(screen: str) -> ScreenModel:
    """The screen with the second of three sources selected."""
    model = model_of(_frame(1, _LOUD, _MIDDLE, _SOFT))
    model.go_to(screen)
    model.select(1)
    assert "24 eth0" in _highlighted(model)
    return model


def _highlighted(model: ScreenModel) -> str:
    """The text of the one row that is shown as selected."""
    rows = rows_of_screen(model, 100, 30, UNICODE)
    (found,) = ["".join(text for text, _ in row) for row in rows if any(style == "selected" for _, style in row)]
    return found


@pytest.mark.parametrize("screen", _WITH_SOURCES)
@pytest.mark.parametrize("lost_ns", [9e6, 0.1e6])
def test_the_selection_follows_its_source_while_the_rows_are_sorted_anew(screen: str, lost_ns: float) -> None:
    model = _at(screen)
    model.add(_frame(2, _LOUD, replace(_MIDDLE, stolen_ns_per_s=lost_ns), _SOFT, _source("new", 5e6, tid=4)))
    assert "24 eth0" in _highlighted(model)
    selected = model.selected()
    assert selected is not None
    assert (selected.name, selected.stolen_ns_per_s) == ("24 eth0", lost_ns)


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_a_source_that_is_gone_stays_selected_where_it_was_and_is_said_to_be(screen: str) -> None:
    model = _at(screen)
    model.add(_frame(2, _LOUD, _SOFT))
    assert "24 eth0" in _highlighted(model)
    assert "not seen" in _highlighted(model)
    model.add(_frame(3, _LOUD, _MIDDLE, _SOFT))
    assert "not seen" not in _highlighted(model)


@pytest.mark.parametrize(("rows", "name"), [(1, "soft"), (-1, "loud")])
def test_from_where_the_gone_one_was_the_arrows_go_to_the_nearest(rows: int, name: str) -> None:
    model = _at(Screen.CULPRITS)
    model.add(_frame(2, _LOUD, _SOFT))
    model.select(rows)
    assert name in _highlighted(model)


def test_a_thread_is_followed_to_another_cpu_and_under_another_name_and_an_interrupt_is_not() -> None:
    model = model_of(_frame(1, _LOUD, _MIDDLE, _SOFT))
    model.go_to(Screen.CULPRITS)
    model.select(0)
    model.add(_frame(2, replace(_LOUD, cpu=2, name="renamed", stolen_ns_per_s=0.5e6), _MIDDLE, _SOFT))
    assert "renamed" in _highlighted(model)
    model.select(-1)
    assert "soft" in _highlighted(model)
    model.select(-1)
    model.add(_frame(3, _LOUD, replace(_MIDDLE, cpu=2), _SOFT))
    assert "not seen" in _highlighted(model)


def test_of_a_thread_on_two_cpus_the_selected_row_is_that_of_its_cpu() -> None:
    model = model_of(_frame(1, _LOUD, replace(_LOUD, cpu=2, stolen_ns_per_s=2e6)))
    model.go_to(Screen.CULPRITS)
    model.select(1)
    model.add(_frame(2, _LOUD, replace(_LOUD, cpu=2, stolen_ns_per_s=8e6)))
    selected = model.selected()
    assert selected is not None
    assert selected.cpu == 2


def _shown(screen: str, *frames: Frame) -> ScreenModel:
    """Each frame was drawn; no key has chosen a row."""
    model = model_of()
    model.screen, model.cpu = Screen(screen), 3
    for each in frames:
        model.add(each)
        model.note_drawn()
    return model


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_what_stood_first_stays_selected_while_another_costs_about_the_same(screen: str) -> None:
    close = (replace(_MIDDLE, stolen_ns_per_s=ns) for ns in (2e6, 4e6, 2.9e6, 5.9e6))
    model = _shown(screen, *(_frame(second, _LOUD, each) for second, each in enumerate(close)))
    assert [line.name for line in model.listed()] == ["24 eth0", "loud"]
    assert "loud" in _highlighted(model)


@pytest.mark.parametrize("screen", _WITH_SOURCES)
@pytest.mark.parametrize("source", [replace(_MIDDLE, stolen_ns_per_s=6e6), _source("new", 9e8, tid=9)])
def test_what_clearly_costs_more_than_what_stood_first_is_selected_at_once(screen: str, source: CulpritLine) -> None:
    model = _shown(screen, _frame(1, _LOUD, _SOFT), _frame(2, _LOUD, source))
    assert source.name in _highlighted(model)


def test_where_what_stood_first_has_gone_it_is_the_first_of_the_others() -> None:
    model = _shown(Screen.CULPRITS, _frame(1, _LOUD, _MIDDLE, _SOFT), _frame(2, _MIDDLE, _SOFT))
    assert "24 eth0" in _highlighted(model)
    assert "not seen" not in _highlighted(model)


def test_what_costs_more_is_measured_by_what_the_rows_are_sorted_by() -> None:
    often, seldom = replace(_MIDDLE, rate_per_s=900.0), replace(_LOUD, rate_per_s=1.0)
    model = _shown(Screen.CULPRITS, _frame(1, often, seldom))
    assert "loud" in _highlighted(model)
    model.next_sort()
    assert "24 eth0" in _highlighted(model)


def test_at_another_moment_it_is_the_first_row_again_unless_a_key_has_chosen_one() -> None:
    close = replace(_MIDDLE, stolen_ns_per_s=4e6)
    model = _shown(Screen.CULPRITS, _frame(1, _LOUD, close), _frame(2, _LOUD, _MIDDLE))
    assert "24 eth0" in _highlighted(model)
    model.step(0)
    assert "loud" in _highlighted(model)
    model.select(1)
    model.step(-1)
    assert "24 eth0" in _highlighted(model)


@pytest.mark.parametrize("count", [4, 12])
def test_the_first_row_can_be_seen_beside_the_selected_one_where_there_is_room(count: int) -> None:
    sources = [_source(f"thread {number}", 10e6 - number * 1e5, tid=number) for number in range(1, count)]
    loud = _source("loud", 11e6, tid=90)
    model = _shown(
        Screen.CULPRITS, _frame(1, loud, *sources), _frame(2, replace(loud, stolen_ns_per_s=9.65e6), *sources)
    )
    model.go_to(Screen.CULPRITS)
    model.selection = replace(model.selection, drawn=loud)
    listing = model.listing()
    assert (listing.at, listing.first_in(4), listing.first_in(2) > 0) == (3, 0, True)


def test_what_was_never_drawn_selected_does_not_stay_so() -> None:
    model = model_of(_frame(1, _LOUD, _SOFT))
    model.add(_frame(2, _LOUD, replace(_SOFT, stolen_ns_per_s=4e6)))
    assert "soft" in _highlighted(model)


@pytest.mark.parametrize("screen", [Screen.OVERVIEW, Screen.CULPRITS])
def test_enter_keeps_the_source_selected_on_the_screen_of_its_cpu(screen: str) -> None:
    model = _at(screen)
    model.drill_in()
    assert (model.screen, model.cpu) == (Screen.CPU, 3)
    assert "24 eth0" in _highlighted(model)


def test_a_check_stays_selected_while_others_come_and_when_it_passes_and_its_fix_is_then_not_copied() -> None:
    one, two, new = (
        FindingLine(id=name, status="fail", weight="blocking", gravity=Gravity.FAILED, said="said", fix=f"fix {name}")
        for name in ("one", "two", "new")
    )
    model = model_of(replace(frame(4), findings=(one, two)))
    model.go_to(Screen.PREFLIGHT)
    model.select(1)
    model.add(replace(frame(4, second=2), findings=(new, one, two)))
    assert "two" in _highlighted(model)
    assert command_to_copy(model)[0] == "fix two"
    model.add(replace(frame(4, second=3), findings=(new, one)))
    assert "two" in _highlighted(model)
    assert command_to_copy(model) == (
        None,
        "no command to copy: in this snapshot it neither fails nor warns, and is not unknown",
    )


def test_a_chosen_event_that_is_forgotten_leaves_the_oldest_selected_not_the_newest() -> None:
    model = model_of(frame(4))
    model.log.events.clear()
    for number in range(5):
        model.log.add(Event(number, EventKind.DEVICE, f"{number}", 10 * number))
    model.log.choose(4)
    model.log.events.popleft()
    assert model.log.listed()[model.log.row()].text == "1"


def test_enter_leads_to_the_event_that_was_drawn_selected_and_not_to_a_newer_one() -> None:
    model = model_of(*(frame(4, second=second) for second in range(1, 9)))
    model.go_to(Screen.EVENTS)
    model.log.add(Event(1, EventKind.DEVICE, "seen", 3))
    model.note_drawn()
    model.log.add(Event(2, EventKind.DEVICE, "not drawn yet", 6))
    model.show_event()
    assert model.cursor == 3


def _with_pending_frame(screen: str, key: str) -> Iterator[str]:
    """A frame has come, and is not drawn yet, when the key is pressed; of whom the answer is."""

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(_frame(1, _LOUD, _SOFT))
        await pilot.press(screen)
        app.model.add(_frame(2, _LOUD, replace(_SOFT, stolen_ns_per_s=9e6)))
        await pilot.press(key)
        if key == "f":
            await until(pilot, lambda: app.model.advice is not None)

    app = with_monitor(steps, access=MachineAccess(lambda: WrittenMachine(quiet_files())))
    yield app.model.advice.about.name if app.model.advice is not None else ""
    yield _highlighted(app.model)


@pytest.mark.parametrize("screen", ["1", key_of(Screen.CULPRITS)])
@pytest.mark.parametrize("key", ["f", "enter"])
def test_a_key_is_about_what_was_drawn_when_it_was_pressed(screen: str, key: str) -> None:
    about, highlighted = _with_pending_frame(screen, key)
    assert about == ("loud" if key == "f" else "")
    assert "loud" in highlighted


def test_selected_is_a_style_of_its_own() -> None:
    assert style_named("selected").reverse
