"""Every key of the monitor has exactly its expected effect on every screen."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace
from textual.events import Key
from textual.keys import Keys
from textual.pilot import Pilot

from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import FindingLine, Frame, IrqLine, IrqSetting
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.player import Player
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.screens.clock import rows_of_cpus
from noisewatch.surfaces.tui.screens.table import ALL_ROWS
from noisewatch.surfaces.tui.state.baseline import baseline_of
from noisewatch.surfaces.tui.state.screen_model import WITH_CULPRITS, Screen, ScreenModel
from noisewatch.surfaces.tui.state.selection import Selection
from tests.surfaces.tui.app.key_effects import (
    CHARACTERS,
    CLOSING,
    EFFECTS,
    HELP,
    INVISIBLE,
    KEYS,
    OVERLAYS,
    QUITTING,
    RECORDED,
    TYPING,
)
from tests.surfaces.tui.app.piloting import lines_of, with_monitor
from tests.surfaces.tui.framing import SECOND_NS, cpu_line, culprit, frame, model_of
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files

SIZE = (100, 30)
_COVERED = (HELP, *OVERLAYS)
_HOPS = 5  # from the application to the screen to the view, and back, each with a queue of its own


class _State(Struct, frozen=True):
    """The state of the monitor that a key may change."""

    screen: str
    cursor: int | None
    pauses_on_spike: bool
    zoom: int
    plays: bool
    speed: float
    baseline: int | None  # the number of the baseline's last interval
    cpu: int | None
    row: int
    chosen: str | None  # the selected source or check
    event: int | None  # the interval of the event selected in the log
    offset: int
    sort: str
    shows_all_cpus: bool
    opens_check: bool
    area: str | None
    shows_all_checks: bool
    folds: bool
    folds_events: bool
    groups_irqs: bool
    shows_silent_irqs: bool
    clock_graph: str
    map: str
    filter: str
    is_typing: bool
    advice: str | None
    notice: str | None
    shows_help: bool
    above: str | None
    has_palette: bool


def _state_of(app: MonitorApp) -> _State:
    model, above = app.model, app._overlays.shown
    notice = model.notice if above is None else above.notice
    return _State(
        model.screen,
        model.cursor,
        model.pauses_on_spike,
        model.zoom,
        model.plays,
        model.speed,
        model.baseline.taken_at_ns // SECOND_NS - 1 if model.baseline is not None else None,
        model.cpu,
        model.selection.row,
        _chosen(model),
        model.log.chosen.number if model.log.chosen is not None else None,
        model.offset,
        model.sort,
        model.shows_all_cpus,
        model.opens_check,
        model.area,
        model.shows_all_checks,
        model.folds,
        model.log.folds,
        model.groups_irqs,
        model.shows_silent_irqs,
        model.clock_graph,
        f"{model.map.quantity} {model.map.cpu} {model.map.opens_part}",
        model.filter,
        model.is_typing,
        model.advice.about.name if model.advice is not None else None,
        notice.partition(":")[0] if notice is not None else None,
        app._shows_help,
        f"{type(above).__name__} {above.state}" if above is not None else None,
        len(app.screen_stack) > 1,
    )


def _chosen(model: ScreenModel) -> str | None:
    chosen = model.selection.chosen
    return None if chosen is None else chosen.id if isinstance(chosen, FindingLine) else chosen.name


def _sixth_row(model: ScreenModel) -> Selection:
    """Return a selection of the sixth row of the screen, if its rows can be selected."""
    if model.screen == Screen.PREFLIGHT:
        return Selection(model.findings().lines[5], 5)
    if model.screen == Screen.IRQS:
        return Selection(model.irq_listing().lines[5], 5)
    return Selection(model.listed()[5], 5) if model.screen in WITH_CULPRITS else Selection()


@cache
def _thirty_intervals() -> ScreenModel:
    """Return 30 intervals of 64 CPUs, with targets from CPU 30 on, 60 sources on three of them, 20 findings, and 20
    IRQs of one device, one of them silent. The clock of the last CPU drops twice, and the rate of IRQ 105 rises twice.
    """
    hogs = tuple(culprit(f"hog {at}", cpu=30 + at % 3, lost_ns=1e6 - at, role=Role.TARGET) for at in range(60))
    findings = tuple(
        FindingLine(id=f"check-{at}", status="fail", weight="blocking", gravity=Gravity.FAILED, said="it was found")
        for at in range(20)
    )
    settings = tuple(
        IrqSetting(f"{100 + at}", Kind.IRQ, f"queue {at}", "card", allowed=f"{30 + at}", effective=f"{30 + at}")
        for at in range(20)
    )
    tick = IrqSetting("LOC", Kind.TICK, "Local timer interrupts")
    ticks = IrqLine("LOC", (*range(64),), (1.0,) * 64)

    def interval(second: int) -> Frame:
        lost_ns = 50e6 if second in (11, 21) else 1e3 * second
        bursts = (105,) if second in (10, 25) else ()
        lines = tuple(IrqLine(f"{irq}", (irq - 70,), (500.0 if irq in bursts else 50.0,)) for irq in range(100, 119))
        khz = 2_000_000 if second in (13, 23) else 3_000_000
        cpus = tuple(cpu_line(cpu, Role.TARGET if cpu >= 30 else Role.HOUSEKEEPING, lost_ns) for cpu in range(64))
        cpus = (*cpus[:-1], replace(cpus[-1], current_khz=khz))
        return frame(cpus, hogs, second=second, findings=findings, irqs=(*lines, ticks), irq_settings=(*settings, tick))

    model = model_of(*(interval(second) for second in range(1, 31)))
    for at in range(30):
        model.log.add(Event(at * SECOND_NS, EventKind.DEVICE, f"{at} was added", at))
    return model


def _open_place(app: MonitorApp, place: str) -> None:
    """Set the monitor to the state in which a key is pressed at this place."""
    app.model = model = copy(_thirty_intervals())
    app._shows_help, app._overlays.shown = place == HELP, None
    model.screen = Screen(place) if place in tuple(Screen) else Screen.CULPRITS if place == TYPING else Screen.OVERVIEW
    model.cpu, model.offset, model.cursor = 30, 5, 15
    model.selection = _sixth_row(model)
    model.log.folds = True
    model.log.filter, model.log.chosen = "", None if place == TYPING else model.log.listed()[5]
    model.baseline = baseline_of(model.history, 5)
    if place == RECORDED and model.newest is not None:
        model.newest = replace(model.newest, origin="replay of x.nw")
        app._player = Player(model, app.set_timer, app.draw, SamplerProcess(()).read_on)
    if place == TYPING:
        model.filter, model.filter_before, model.is_typing = "ho", "before", True
        model.selection = Selection()
    if place in OVERLAYS:
        app._overlays.shown = OVERLAYS[place].of(model.newest)
    app.draw()


async def _press(app: MonitorApp, pilot: Pilot[None], key: str) -> None:
    """Press a key and let all queues drain, without the pilot's wait of 0.1 s for an idle process."""
    app.post_message(Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))
    for _ in range(_HOPS):
        await pilot.pause(0)


@pytest.mark.parametrize("place", EFFECTS)
def test_the_table_has_a_row_for_every_key(place: str) -> None:
    assert sorted(EFFECTS[place]) == sorted([*KEYS, *([CLOSING] if place in _COVERED else [])])


@pytest.mark.parametrize("place", EFFECTS)
def test_every_key_has_exactly_its_expected_effect(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    errors: list[str] = []

    async def press_all(app: MonitorApp, pilot: Pilot[None]) -> None:
        _open_place(app, place)
        picture = app.rows(*SIZE)
        for key, change in EFFECTS[place].items():
            _open_place(app, place)
            before = _state_of(app)
            await _press(app, pilot, key)
            await app.workers.wait_for_complete()
            await pilot.pause(0)
            expected = replace(before, **change)  # an unknown name fails here
            if expected.offset == ALL_ROWS:
                expected = replace(expected, offset=len(app.model.cpus) - rows_of_cpus(app.model, *SIZE))
            if _state_of(app) != expected:
                errors.append(f"{key}: {_state_of(app)}, not {expected}")
            is_visible = app.rows(*SIZE) != picture or expected.has_palette
            if expected != before and key not in INVISIBLE.get(place, ()) and not is_visible:
                errors.append(f"{key}: nothing of it can be seen")
            while len(app.screen_stack) > 1:
                await app.pop_screen()
            assert len(lines_of(app)) == SIZE[1]
            for path in tmp_path.iterdir():
                path.unlink()

    with_monitor(press_all, size=SIZE, access=MachineAccess(lambda: WrittenMachine(quiet_files())))
    assert errors == []


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (place, key)
        for place in EFFECTS
        for key in QUITTING
        if place != TYPING and (key == "ctrl+c" or place not in _COVERED)
    ],
)
def test_the_monitor_can_be_quit_from_everywhere(place: str, key: str) -> None:
    async def press(app: MonitorApp, pilot: Pilot[None]) -> None:
        _open_place(app, place)
        await pilot.press(key)

    app = with_monitor(press, size=SIZE)
    assert not app.is_running
    assert app.return_code == 0


@pytest.mark.parametrize(
    ("place", "opening", "attribute"),
    [
        (Screen.OVERVIEW, "f", "advice"),
        (Screen.PREFLIGHT, "enter", "opens_check"),
        (Screen.PREFLIGHT, "v", "shows_all_checks"),
    ],
)
def test_q_closes_open_details_before_it_quits(place: str, opening: str, attribute: str) -> None:
    states: list[object] = []

    async def press(app: MonitorApp, pilot: Pilot[None]) -> None:
        _open_place(app, place)
        for key in (opening, "q"):
            await _press(app, pilot, key)
            await app.workers.wait_for_complete()
            await pilot.pause(0)
            states.append(bool(getattr(_state_of(app), attribute)))
        assert app.is_running
        await pilot.press("q")

    access = MachineAccess(lambda: WrittenMachine(quiet_files()))
    assert with_monitor(press, size=SIZE, access=access).return_code == 0
    assert states == [True, False]


@pytest.mark.parametrize(
    ("place", "expected"), [(Screen.OVERVIEW, {"q", "f10", "ctrl+q", "ctrl+c"}), (TYPING, {"ctrl+c"})]
)
def test_no_other_key_ends_the_program(
    place: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    key = ""
    keys = {key.value for key in Keys} | {chr(code) for code in range(ord("!"), ord("~") + 1)}
    exit_keys: set[str] = set()

    class StayingApp(MonitorApp):
        def exit(self, *_arguments: object, **_options: object) -> None:
            exit_keys.add(key)

    async def press_all(app: MonitorApp, pilot: Pilot[None]) -> None:
        nonlocal key
        for key in sorted(keys):
            _open_place(app, place)
            await _press(app, pilot, key)
            while len(app.screen_stack) > 1:
                await app.pop_screen()

    with_monitor(press_all, size=SIZE, kind=StayingApp)
    assert exit_keys == expected


def test_while_typing_a_filter_only_ctrl_c_quits() -> None:
    filters: list[str] = []

    async def press(app: MonitorApp, pilot: Pilot[None]) -> None:
        _open_place(app, TYPING)
        await pilot.press("q")
        filters.append(app.model.filter)
        assert app.is_running
        await pilot.press("ctrl+c")

    assert with_monitor(press, size=SIZE).return_code == 0
    assert filters == ["hoq"]
