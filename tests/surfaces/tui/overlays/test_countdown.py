"""Overlays that measure start by themselves after a countdown, which escape stops."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from noisewatch.machine import Machine
from noisewatch.operations.frame.frame import RunLine
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays import overlay as overlays
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, OverlayState
from noisewatch.surfaces.tui.overlays.preflight import PreflightOverlay
from tests.surfaces.tui.app.piloting import lines_of, until, with_monitor
from tests.surfaces.tui.framing import frame, overlay_text
from tests.written import WrittenMachine
from tests.written.quiet_machine import quiet_files

_MEASURING = ["c", "p", "t"]
_RUN = RunLine("1", "running", ("bench",), (3,), 2, 10, 0, (), ())


class _Machines:
    """Access to a machine, with the number of times that it was opened to be measured."""

    def __init__(self) -> None:
        self.opened_count = 0
        self.access = MachineAccess(self._open, PreflightOptions)

    def _open(self) -> Machine:
        self.opened_count += 1
        return WrittenMachine(quiet_files())


@pytest.fixture
def machines() -> _Machines:
    return _Machines()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A countdown that is over at once."""
    monkeypatch.setattr(overlays, "_COUNT_S", 0.01)


@pytest.mark.parametrize("key", _MEASURING)
def test_a_measurement_counts_down_and_then_starts(key: str, machines: _Machines, soon: None) -> None:
    counts: list[int] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        def draw() -> None:
            counts.append(app._overlays.shown.left_s if app._overlays.shown is not None else -1)
            app.draw()

        app._overlays._draw = draw
        app.show_frame(frame(4))
        await pilot.press(key)
        await until(pilot, lambda: machines.opened_count == 1)
        await pilot.press("escape")

    with_monitor(steps, access=machines.access)
    assert counts[:3] == [2, 1, 0]


@pytest.mark.parametrize("key", _MEASURING)
@pytest.mark.parametrize("closing", ["escape", "q"])
def test_escape_in_the_countdown_measures_nothing(
    key: str, closing: str, machines: _Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlays, "_COUNT_S", 600.0)
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press(key)
        texts.append("\n".join(lines_of(app)))
        shown = app._overlays.shown
        assert shown is not None
        await pilot.press(closing)
        assert app._overlays.shown is None
        for _ in range(4):
            app._overlays._count(shown)  # as its timer does
        await app.workers.wait_for_complete()

    with_monitor(steps, access=machines.access)
    assert "Starts in 3 s: enter starts now, esc stops" in texts[0]
    assert machines.opened_count == 0


@pytest.mark.parametrize("key", _MEASURING)
def test_enter_starts_before_the_countdown_is_over(key: str, machines: _Machines) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4))
        await pilot.press(key, "enter")
        await until(pilot, lambda: machines.opened_count == 1)
        await pilot.press("escape")

    with_monitor(steps, access=machines.access)
    assert machines.opened_count == 1


def test_a_stopped_countdown_does_not_start_the_next_overlay(machines: _Machines, soon: None) -> None:
    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._overlays.announce(CalibrationOverlay.of(frame(4)))
        app._overlays.leave()
        app._overlays.announce(CalibrationOverlay.of(frame(4, runs=(_RUN,))))
        await pilot.pause(0.2)
        assert app._overlays.shown is not None
        assert app._overlays.shown.state == OverlayState.ANNOUNCED

    with_monitor(steps, access=machines.access)
    assert machines.opened_count == 0


@pytest.mark.parametrize("key", _MEASURING)
def test_while_a_run_is_measured_only_enter_starts(key: str, machines: _Machines, soon: None) -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, runs=(_RUN,)))
        await pilot.press(key)
        await pilot.pause(0.2)
        texts.append("\n".join(lines_of(app)))
        assert machines.opened_count == 0
        await pilot.press("enter")
        await until(pilot, lambda: machines.opened_count == 1)
        await pilot.press("escape")

    with_monitor(steps, access=machines.access)
    assert "run 2/10 of bench: starting now is a disturbance; enter starts anyway" in texts[0]
    assert "Starts in" not in texts[0]


@pytest.mark.parametrize("kind", [CalibrationOverlay, PreflightOverlay])
def test_a_recording_is_judged_without_a_countdown(kind: type[CalibrationOverlay | PreflightOverlay]) -> None:
    assert kind.of(frame(4, origin="replay of x.nw")).costs_nothing
    assert not kind.of(frame(4)).costs_nothing


def test_without_target_cpus_nothing_counts_down(machines: _Machines, soon: None) -> None:
    texts: list[str] = []

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        app.show_frame(frame(4, target=()))
        await pilot.press("c")
        await pilot.pause(0.2)
        texts.append("\n".join(lines_of(app)))

    with_monitor(steps, access=machines.access)
    assert "There is no target CPU." in texts[0]
    assert "Starts in" not in texts[0]
    assert machines.opened_count == 0


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 5), (40, 10), (80, 24), (200, 60)])
def test_a_countdown_fits_any_size(width: int, height: int) -> None:
    for runs in ((), (_RUN,)):
        overlay = CalibrationOverlay.of(frame(4, runs=runs))
        overlay.left_s = 0 if runs else 3
        rows = overlay.rows(width, height, in_unicode=True)
        assert len(rows) == height
        assert all(sum(len(text) for text, _ in row) <= width for row in rows)
    assert "Starts in 3 s" not in overlay_text(overlay)
