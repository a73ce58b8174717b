"""The selection follows its source or its check, and keys act only on the row that was drawn as selected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind
from noisewatch.operations.frame.frame import CulpritLine, FindingLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.draw.line_view import style_named
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, until, with_monitor
from tests.surfaces.tui.framing import culprit, frame, model_of, screen_text
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files

_WITH_SOURCES = (Screen.OVERVIEW, Screen.CULPRITS, Screen.CPU)


def _source(name: str, lost_ns: float, cpu: int = 3, tid: int | None = None) -> CulpritLine:
    """Return a thread with this number, or an interrupt."""
    kind = "irq" if tid is None else "thread"
    return culprit(name, cpu, lost_ns, kind=kind, pid=tid, tid=tid, irq=None if tid else int(name.split()[0]))


_NOISIEST, _MIDDLE, _QUIETEST = _source("loud", 3e6, tid=1), _source("24 eth0", 2e6), _source("soft", 1e6, tid=3)


def _frame(second: int, *sources: CulpritLine) -> Frame:
    return frame(4, tuple(sorted(sources, key=lambda source: -source.stolen_ns_per_s)), second)


def _at(screen: str) -> ScreenModel:
    """Return a model on this screen, with the second of three sources selected."""
    model = model_of(_frame(1, _NOISIEST, _MIDDLE, _QUIETEST))
    model.go_to(screen)
    model.select(1)
    assert "24 eth0" in _selected_text(model)
    return model


def _selected_text(model: ScreenModel) -> str:
    """Return the text of the only row that is drawn as selected."""
    rows = rows_of_screen(model, 100, 30, UNICODE)
    (selected,) = ["".join(text for text, _ in row) for row in rows if any(style == "selected" for _, style in row)]
    return selected


@pytest.mark.parametrize("screen", _WITH_SOURCES)
@pytest.mark.parametrize("lost_ns", [9e6, 0.1e6])
def test_the_selection_follows_its_source_to_another_row(screen: str, lost_ns: float) -> None:
    model = _at(screen)
    model.add(_frame(2, _NOISIEST, replace(_MIDDLE, stolen_ns_per_s=lost_ns), _QUIETEST, _source("new", 5e6, tid=4)))
    assert "24 eth0" in _selected_text(model)
    selected = model.selected()
    assert selected is not None
    assert (selected.name, selected.stolen_ns_per_s) == ("24 eth0", lost_ns)


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_a_gone_source_stays_selected_and_is_marked(screen: str) -> None:
    model = _at(screen)
    model.add(_frame(2, _NOISIEST, _QUIETEST))
    assert "24 eth0" in _selected_text(model)
    assert "not seen" in _selected_text(model)
    model.add(_frame(3, _NOISIEST, _MIDDLE, _QUIETEST))
    assert "not seen" not in _selected_text(model)


@pytest.mark.parametrize(("rows", "name"), [(1, "soft"), (-1, "loud")])
def test_arrows_go_from_a_gone_source_to_the_nearest_row(rows: int, name: str) -> None:
    model = _at(Screen.CULPRITS)
    model.add(_frame(2, _NOISIEST, _QUIETEST))
    model.select(rows)
    assert name in _selected_text(model)


@pytest.mark.parametrize("folds", [True, False])
def test_a_thread_is_followed_to_another_cpu_and_under_another_name_and_an_interrupt_if_rows_are_grouped(
    folds: bool,
) -> None:
    model = model_of(_frame(1, _NOISIEST, _MIDDLE, _QUIETEST))
    model.go_to(Screen.CULPRITS)
    model.folds = folds
    model.select(0)
    model.add(_frame(2, replace(_NOISIEST, cpu=2, name="renamed", stolen_ns_per_s=0.5e6), _MIDDLE, _QUIETEST))
    assert "renamed" in _selected_text(model)
    model.select(-1)
    assert "soft" in _selected_text(model)
    model.select(-1)
    model.add(_frame(3, _NOISIEST, replace(_MIDDLE, cpu=2), _QUIETEST))
    assert "24 eth0" in _selected_text(model)
    assert ("not seen" in _selected_text(model)) == (not folds)
    assert len(model.listing().lines) == (3 if folds else 4)


def test_the_selection_of_a_thread_on_two_cpus_keeps_its_cpu() -> None:
    model = model_of(_frame(1, _NOISIEST, replace(_NOISIEST, cpu=2, stolen_ns_per_s=2e6)))
    model.go_to(Screen.CULPRITS)
    model.select(1)
    model.add(_frame(2, _NOISIEST, replace(_NOISIEST, cpu=2, stolen_ns_per_s=8e6)))
    selected = model.selected()
    assert selected is not None
    assert selected.cpu == 2


_PAIR = (replace(_NOISIEST, cpu=2, pid=7, tid=8), replace(_NOISIEST, cpu=3, pid=7, tid=9))


@pytest.mark.parametrize("before", [_PAIR, _PAIR[:1], _PAIR[1:]])
@pytest.mark.parametrize("after", [_PAIR, _PAIR[:1], _PAIR[1:]])
@pytest.mark.parametrize("kind", ["thread", "tick"])
def test_a_grouped_row_is_followed_to_fewer_and_more_cpus(
    before: tuple[CulpritLine, ...], after: tuple[CulpritLine, ...], kind: str
) -> None:
    if kind == "tick":
        before, after = (
            tuple(replace(line, kind=Kind.TICK, pid=None, tid=None) for line in lines) for lines in (before, after)
        )
    model = model_of(_frame(1, *before, _QUIETEST))
    model.select(0)
    model.add(_frame(2, *after, _QUIETEST))
    assert "loud" in _selected_text(model)
    assert "not seen" not in _selected_text(model)
    assert len(model.listing().lines) == 2


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_a_gone_source_that_no_key_has_chosen_leaves_at_once(screen: str) -> None:
    model = _drawn_model(screen, _frame(1, _NOISIEST, _MIDDLE, _QUIETEST), _frame(2, _NOISIEST, _QUIETEST))
    assert "24 eth0" not in screen_text(model)
    model.add(_frame(3, _QUIETEST))
    model.note_drawn()
    assert "loud" not in screen_text(model)
    assert "soft" in _selected_text(model)


def _swapping(model: ScreenModel, second: int) -> None:
    """Add an interval in which the two noisiest sources have swapped their costs."""
    loud, eth = (9e6, 8e6) if second % 2 else (8e6, 9e6)
    sources = (replace(_NOISIEST, stolen_ns_per_s=loud), replace(_MIDDLE, stolen_ns_per_s=eth), _QUIETEST)
    model.add(_frame(second, *sources))


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_down_goes_on_to_the_next_row_although_rows_swap(screen: str) -> None:
    model = _drawn_model(screen)
    names: list[str] = []
    for second in range(1, 5):
        _swapping(model, second)
        if second > 1:
            model.select(1)
        model.note_drawn()
        selected = model.selected()
        names.append(selected.name if selected is not None else "")
    assert names == ["loud", "24 eth0", "soft", "soft"]


def test_a_key_moves_from_the_drawn_row_before_a_new_frame_is_drawn() -> None:
    model = _drawn_model(Screen.CULPRITS, _frame(1, _NOISIEST, _MIDDLE, _QUIETEST))
    model.add(_frame(2, replace(_NOISIEST, stolen_ns_per_s=0.1e6), _MIDDLE, _QUIETEST))
    model.select(1)
    assert "24 eth0" in _selected_text(model)


def test_rows_are_sorted_again_some_seconds_after_the_last_key() -> None:
    model = _drawn_model(Screen.CULPRITS)
    for second in (1, 2):
        _swapping(model, second)
        model.select(1)
        model.note_drawn()
    orders = []
    for second in (3, 4, 5, 6, 8):
        _swapping(model, second)
        model.note_drawn()
        orders.append([line.name for line in model.listing().lines])
    assert orders == [["loud", "24 eth0", "soft"]] * 4 + [["24 eth0", "loud", "soft"]]


@pytest.mark.parametrize("change", [ScreenModel.next_sort, ScreenModel.toggle_folding, lambda model: model.step(0)])
def test_another_order_or_moment_sorts_at_once(change: Callable[[ScreenModel], None]) -> None:
    model = _drawn_model(Screen.CULPRITS)
    _swapping(model, 1)
    model.note_drawn()
    model.select(1)
    _swapping(model, 2)
    assert model.listing().lines[0].name == "loud"
    change(model)
    assert model.listing().lines[0].name == "24 eth0"


@pytest.mark.parametrize(("lost_ns", "at"), [(9e9, 0), (2.5e6, 1), (1e3, 3)])
def test_a_new_source_gets_its_place_among_rows_that_keep_their_order(lost_ns: float, at: int) -> None:
    model = _drawn_model(Screen.CULPRITS, _frame(1, _NOISIEST, _MIDDLE, _QUIETEST))
    model.select(1)
    model.add(_frame(2, _NOISIEST, _MIDDLE, _QUIETEST, _source("new", lost_ns, tid=9)))
    assert [line.name for line in model.listing().lines].index("new") == at
    assert "24 eth0" in _selected_text(model)


@pytest.mark.parametrize("screen", [Screen.CULPRITS, Screen.EVENTS, Screen.IRQS, Screen.PREFLIGHT])
def test_the_top_stays_in_sight_while_the_selected_row_fits(screen: Screen) -> None:
    sources = [_source(f"thread {number:02}", 10e6 - number * 1e5, tid=number) for number in range(1, 40)]
    checks = tuple(
        FindingLine(id=f"thread {at:02}", status="fail", weight="blocking", gravity=Gravity.FAILED, said="said")
        for at in range(1, 40)
    )
    settings = tuple(IrqSetting(f"{at}", Kind.IRQ, f"thread {at:02}", "card", "0", "0") for at in range(1, 40))
    lines = tuple(IrqLine(f"{at}", (0,), (50.0,)) for at in range(1, 40))
    model = model_of(replace(_frame(1, *sources), findings=checks, irqs=lines, irq_settings=settings))
    for at in range(39, 0, -1):
        model.log.add(Event(-at, EventKind.DEVICE, f"thread {at:02}", 0))
    model.go_to(screen)
    room = len(set(re.findall(r"thread (\d\d)", "".join(screen_text(model, 100, 24).splitlines()[3:]))))
    assert room > 4
    has_top: list[bool] = []
    for _ in range(39):
        body = screen_text(model, 100, 24).splitlines()[3:]
        has_top.append(any("thread 01" in row for row in body))
        model.select(1)
    visible = has_top.index(False)
    assert visible == room
    assert not any(has_top[visible:])
    for _ in range(39 - visible):
        model.select(-1)
    assert "thread 01" in "".join(screen_text(model, 100, 24).splitlines()[3:])


def _drawn_model(screen: str, *frames: Frame) -> ScreenModel:
    """Return a model that has drawn all frames, without a selection by key."""
    model = model_of()
    model.screen, model.cpu = Screen(screen), 3
    for interval in frames:
        model.add(interval)
        model.note_drawn()
    return model


@pytest.mark.parametrize("screen", _WITH_SOURCES)
def test_the_first_row_stays_selected_while_another_costs_about_the_same(screen: str) -> None:
    sources = (replace(_MIDDLE, stolen_ns_per_s=ns) for ns in (2e6, 4e6, 2.9e6, 5.9e6))
    model = _drawn_model(screen, *(_frame(second, _NOISIEST, source) for second, source in enumerate(sources)))
    assert [line.name for line in model.listed()] == ["24 eth0", "loud"]
    assert "loud" in _selected_text(model)


@pytest.mark.parametrize("screen", _WITH_SOURCES)
@pytest.mark.parametrize("source", [replace(_MIDDLE, stolen_ns_per_s=6e6), _source("new", 9e8, tid=9)])
def test_a_clearly_more_costly_source_is_selected_at_once(screen: str, source: CulpritLine) -> None:
    model = _drawn_model(screen, _frame(1, _NOISIEST, _QUIETEST), _frame(2, _NOISIEST, source))
    assert source.name in _selected_text(model)


def test_after_the_first_source_is_gone_the_next_is_selected() -> None:
    model = _drawn_model(Screen.CULPRITS, _frame(1, _NOISIEST, _MIDDLE, _QUIETEST), _frame(2, _MIDDLE, _QUIETEST))
    assert "24 eth0" in _selected_text(model)
    assert "not seen" not in _selected_text(model)


def test_the_most_costly_source_depends_on_the_sort_order() -> None:
    frequent, rare = replace(_MIDDLE, rate_per_s=900.0), replace(_NOISIEST, rate_per_s=1.0)
    model = _drawn_model(Screen.CULPRITS, _frame(1, frequent, rare))
    assert "loud" in _selected_text(model)
    model.next_sort()
    assert "24 eth0" in _selected_text(model)


def test_another_moment_selects_the_first_row_unless_a_key_has_selected_one() -> None:
    close = replace(_MIDDLE, stolen_ns_per_s=4e6)
    model = _drawn_model(Screen.CULPRITS, _frame(1, _NOISIEST, close), _frame(2, _NOISIEST, _MIDDLE))
    assert "24 eth0" in _selected_text(model)
    model.step(0)
    assert "loud" in _selected_text(model)
    model.select(1)
    model.step(-1)
    assert "24 eth0" in _selected_text(model)


@pytest.mark.parametrize("count", [4, 12])
def test_the_first_row_is_visible_with_the_selected_one_if_they_fit(count: int) -> None:
    sources = [_source(f"thread {number}", 10e6 - number * 1e5, tid=number) for number in range(1, count)]
    noisy = _source("loud", 11e6, tid=90)
    model = _drawn_model(
        Screen.CULPRITS, _frame(1, noisy, *sources), _frame(2, replace(noisy, stolen_ns_per_s=9.65e6), *sources)
    )
    model.go_to(Screen.CULPRITS)
    model.selection = replace(model.selection, drawn=noisy)
    listing = model.listing()
    assert (listing.at, listing.first_in(4), listing.first_in(2) > 0) == (3, 0, True)


def test_a_selection_that_was_never_drawn_is_not_kept() -> None:
    model = model_of(_frame(1, _NOISIEST, _QUIETEST))
    model.add(_frame(2, _NOISIEST, replace(_QUIETEST, stolen_ns_per_s=4e6)))
    assert "soft" in _selected_text(model)


@pytest.mark.parametrize("screen", [Screen.OVERVIEW, Screen.CULPRITS])
def test_enter_keeps_the_source_selected_on_the_screen_of_its_cpu(screen: str) -> None:
    model = _at(screen)
    model.drill_in()
    assert (model.screen, model.cpu) == (Screen.CPU, 3)
    assert "24 eth0" in _selected_text(model)


def test_a_check_stays_selected_when_it_passes_but_its_fix_is_not_copied() -> None:
    one, two, new = (
        FindingLine(id=name, status="fail", weight="blocking", gravity=Gravity.FAILED, said="said", fix=f"fix {name}")
        for name in ("one", "two", "new")
    )
    model = model_of(replace(frame(4), findings=(one, two)))
    model.go_to(Screen.PREFLIGHT)
    model.select(1)
    model.add(replace(frame(4, second=2), findings=(new, one, two)))
    assert "two" in _selected_text(model)
    assert command_to_copy(model)[0] == "fix two"
    model.add(replace(frame(4, second=3), findings=(new, one)))
    assert "two" in _selected_text(model)
    assert command_to_copy(model) == (
        None,
        "no command to copy: the check neither fails nor warns in this snapshot, and is not unknown",
    )


def test_dropping_the_selected_event_selects_the_oldest() -> None:
    model = model_of(frame(4))
    model.log.events.clear()
    for number in range(5):
        model.log.add(Event(number, EventKind.DEVICE, f"{number}", 10 * number))
    model.log.choose(4)
    model.log.events.popleft()
    assert model.log.listed()[model.log.row()].text == "1"


def test_enter_goes_to_the_event_that_was_drawn_as_selected() -> None:
    model = model_of(*(frame(4, second=second) for second in range(1, 9)))
    model.go_to(Screen.EVENTS)
    model.log.add(Event(1, EventKind.DEVICE, "seen", 3))
    model.note_drawn()
    model.log.add(Event(2, EventKind.DEVICE, "not drawn yet", 6))
    model.show_event()
    assert model.cursor == 3


def _with_pending_frame(screen: str, key: str) -> Iterator[str]:
    """Press a key after a frame that is not drawn yet; yield the advised and the selected source."""

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(_frame(1, _NOISIEST, _QUIETEST))
        await pilot.press(screen)
        app.model.add(_frame(2, _NOISIEST, replace(_QUIETEST, stolen_ns_per_s=9e6)))
        await pilot.press(key)
        if key == "f":
            await until(pilot, lambda: app.model.advice is not None)

    app = with_monitor(steps, access=MachineAccess(lambda: WrittenMachine(quiet_files())))
    yield app.model.advice.about.name if app.model.advice is not None else ""
    yield _selected_text(app.model)


@pytest.mark.parametrize("screen", ["1", key_of(Screen.CULPRITS)])
@pytest.mark.parametrize("key", ["f", "enter"])
def test_a_key_acts_on_the_row_that_was_drawn_as_selected(screen: str, key: str) -> None:
    about, text = _with_pending_frame(screen, key)
    assert about == ("loud" if key == "f" else "")
    assert "loud" in text


def test_the_selected_style_is_reversed() -> None:
    assert style_named("selected").reverse
