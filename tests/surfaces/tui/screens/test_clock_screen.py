"""The clock screen: the line over time, a row a CPU, what holds the clocks, why the rest is unknown, and what helps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.clock import ClockCpu, ClockFigures, ClockGroup, ClockPackage
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.operations.frame.irqs import IrqLine, IrqSetting
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.braille import braille_line, plain_line
from noisewatch.surfaces.tui.draw.clock_help import CHECKS
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.draw.text_row import length
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, frame, model_of

_SIZES = [(1, 1), (20, 5), (40, 10), (60, 20), (80, 24), (100, 32), (120, 34), (140, 40), (300, 80)]
_NO_FILE = "no such file (/sys/class/powercap)"
_GOVERNOR = FindingLine(
    id="governor-not-performance",
    status="fail",
    weight="blocking",
    gravity=Gravity.FAILED,
    said="governor powersave on CPU 2",
    fix="echo performance > governor",
)
_TICK = IrqSetting("LOC", Kind.TICK, "Local timer interrupts", None)


def _figures(count: int, second: int) -> ClockFigures:
    half = count // 2
    return ClockFigures(
        groups=(ClockGroup(f"0-{count - 1}", "intel_pstate", "powersave", 800_000, 4_900_000, 800_000, 4_900_000,
                           2_500_000, "balance_performance"),),
        cpus=tuple(
            ClockCpu(cpu, 0.4, (0.0, 0.5, 0.1), celsius=70.0 + cpu % 7, critical_celsius=100.0, slowed_ms=310 * second)
            for cpu in range(count)
        ),
        packages=(ClockPackage(0, f"0-{half - 1}", 81.0, 100.0, 65.0, 65.0, 160.0, 125.0, 3, 31_000, 7, 2_400_000,
                               800_000, 3_600_000),),
        idle_names=("POLL", "C1", "C6"),
        packages_age_s=3.0,
    )  # fmt: skip


def _frame(second: int, count: int = 8, clock: ClockFigures | None = None, khz: int | None = None) -> Frame:
    khz = (4_870_000 if second % 40 < 25 else 3_580_000) if khz is None else khz or None
    cpus = tuple(
        cpu_line(cpu, Role.TARGET if 2 <= cpu < count // 2 + 1 else Role.HOUSEKEEPING, current_khz=khz)
        for cpu in range(count)
    )
    ticking = tuple(cpu for cpu in range(count) if cpu != 3 or second < 50)
    return frame(
        cpus,
        second=second,
        findings=(_GOVERNOR,),
        turbo="on",
        clock=clock or _figures(count, second),
        irqs=(IrqLine("LOC", ticking, tuple(1.0 for _ in ticking)),),
        irq_settings=(_TICK,) if second == 1 else None,
    )


def _model(count: int = 8, seconds: int = 60) -> ScreenModel:
    model = model_of(*(_frame(second, count) for second in range(1, seconds + 1)))
    model.go_to(Screen.CLOCK)
    return model


def _text(model: ScreenModel, width: int = 120, height: int = 34) -> str:
    return "\n".join(strip_of(row, width).text for row in rows_of_screen(model, width, height, UNICODE))


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("count", [2, 16, 64, 512])
def test_it_fits_any_size(count: int, size: tuple[int, int]) -> None:
    model = _model(count, seconds=3)
    for glyphs in (UNICODE, ASCII):
        for cursor, zoom in ((None, 1), (1, 10)):
            model.cursor, model.zoom = cursor, zoom
            rows = rows_of_screen(model, *size, glyphs)
            assert len(rows) == size[1]
            assert max(map(length, rows)) <= size[0]


def test_a_line_shows_a_drop_between_its_levels() -> None:
    assert braille_line([4.0, 4.0, 1.0, 1.0], 2, 1.0, 4.0) == ["⠉⡆", " ⣇"]
    assert plain_line([4.0, 4.0, 1.0, 1.0], 3, 1.0, 4.0) == ["* ", " |", " *"]
    assert braille_line([None, None, 2.0, 2.0], 1, 1.0, 3.0)[0][0] == " "


def test_the_clock_its_spread_and_its_references_are_told() -> None:
    text = _text(_model())
    assert "now 4.87" in text
    assert "3.58 to 4.87, spread 26%" in text
    assert "base 2.50 · highest 4.90" in text
    assert "┄┄┄" in text


def test_the_snapshot_that_is_shown_stands_out_in_the_line() -> None:
    model = _model()
    model.cursor = 30
    rows = rows_of_screen(model, 120, 34, UNICODE)
    columns = {
        sum(len(piece) for piece, _ in row[: [style for _, style in row].index("selected")]) for row in rows[4:8]
    }
    assert len(columns) == 1
    assert "then 3.58" in _text(model)


def test_a_clock_without_a_tick_has_its_age() -> None:
    row = next(line for line in _text(_model()).splitlines() if " T    3 " in line or "T   3" in line)
    assert "11 s" in row


def test_heat_power_settings_and_what_fails_are_told() -> None:
    text = _text(_model())
    for said in (
        "81 of 100 °C",
        "65 of 65 W",
        "31 s by heat",
        "PL1 65 of 125, PL2 160 W",
        "7× by power",
        "2.4 GHz of 0.8 to 3.6 GHz",
    ):
        assert said in text
    assert "✗ powersave" in text
    assert "echo performance > governor" in text
    assert "C6" in text


def test_what_is_unknown_says_why() -> None:
    clock = ClockFigures(reasons={"watts": _NO_FILE, "limits": _NO_FILE})
    model = model_of(*(_frame(second, clock=clock) for second in (1, 2)))
    model.go_to(Screen.CLOCK)
    assert f"power, power limits: {_NO_FILE}" in _text(model, 140, 40)


def test_a_virtual_machine_is_offered_the_measured_clock() -> None:
    clock = ClockFigures(reasons={"current_khz": "no such file (/sys/x)"})
    model = model_of(_frame(1, clock=clock, khz=0), _frame(2, clock=clock, khz=0))
    model.go_to(Screen.CLOCK)
    for size in ((120, 34), (80, 24)):
        text = " ".join(_text(model, *size).replace("│", " ").split())
        assert "unknown: no such file (/sys/x)" in text
        assert "c measures it" in text


def test_figures_that_were_not_recorded_are_said_to_be_missing() -> None:
    shown = frame(4, second=1, origin="replay of x.nw")
    model = model_of(shown, frame(4, second=2, origin="replay of x.nw"))
    model.go_to(Screen.CLOCK)
    assert "not recorded" in _text(model)


def test_checks_without_an_answer_are_no_calm() -> None:
    unknown = replace(_GOVERNOR, status="unknown", gravity=Gravity.OPEN, fix=None)
    model = model_of(replace(_frame(1), findings=(unknown,)))
    model.go_to(Screen.CLOCK)
    assert "? unknown: governor-not-performance" in _text(model)
    assert "fails or warns" not in _text(model)


def test_y_copies_the_first_command() -> None:
    assert command_to_copy(_model())[0] == "echo performance > governor"


def test_every_check_of_clock_heat_idle_and_power_is_looked_at() -> None:
    areas = ("frequency", "heat", "idle", "power")
    assert {check.id for check in CATALOGUE if check.area in areas} == CHECKS


def test_the_figures_are_asked_for_while_the_screen_is_open(tmp_path: Path) -> None:
    asked: list[object] = []

    async def open_and_leave(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._sampler = sampler = SamplerProcess(())
        for key in (key_of(Screen.CLOCK), key_of(Screen.CLOCK), key_of(Screen.OVERVIEW)):
            await pilot.press(key)
            asked.append(sampler.asked.get("clock"))
        app._sampler = None

    with_monitor(open_and_leave)
    assert asked == [True, True, False]
