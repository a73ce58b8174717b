"""The clock screen: clock over time, a row per CPU, limits of the clocks, reasons for unknown figures, and fixes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from noisewatch.judgement.catalogue import CATALOGUE
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    ClockCpu,
    ClockFigures,
    ClockGroup,
    ClockPackage,
    Conditions,
    FindingLine,
    Frame,
    IrqLine,
    IrqSetting,
    Throttled,
)
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import Piece, Row, length
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.clock_chart import braille_line, plain_line
from noisewatch.surfaces.tui.draw.clock_facts import CHECKS
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.clock_history import ClockGraph
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, frame, framed_lines, model_of, text_of

_DOTS = frozenset(map(chr, range(0x2801, 0x2900)))
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
    return "\n".join(framed_lines(model, width, height))


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("count", [2, 16, 64, 512])
def test_the_clock_screen_fits_any_size(count: int, size: tuple[int, int]) -> None:
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


def test_clock_spread_and_reference_lines_are_shown() -> None:
    text = _text(_model())
    assert "now 4.87" in text
    assert "3.58 to 4.87, spread 26%" in text
    assert "┄ highest 4.90 ┄" in text
    assert "┄ base 2.50 ┄" in text


def test_the_shown_interval_is_a_vertical_line_through_the_chart() -> None:
    model = _model()
    model.cursor = 30
    for glyphs, line, cursor in ((UNICODE, "│", "▲"), (ASCII, ":", "^")):
        rows = rows_of_screen(model, 120, 34, glyphs)
        axis_at = next(index for index, row in enumerate(rows) if cursor in text_of(row))
        column = text_of(rows[axis_at]).index(cursor)
        chart = [_cell(row, column) for row in rows[4:axis_at]]
        assert {style for _, style in chart} == {"strong"}
        signs = [sign for sign, _ in chart]
        assert line in signs
        assert set(signs) - {line, "-"}, "the value of the interval is not hidden"
        assert all(_cell(row, column + 1)[1] != "strong" for row in rows[4:axis_at])
    assert "then 3.58" in _text(model)
    model.clock_graph = ClockGraph.MEAN
    assert "slowest then 3.58" in _text(model)
    model.cursor = None
    assert "▲" not in _text(model)


def _cell(row: Row, column: int) -> Piece:
    """Return the sign in a column and its style."""
    return [(sign, style) for text, style in row for sign in text][column]


def test_a_clock_without_a_tick_shows_its_age() -> None:
    row = next(line for line in _text(_model()).splitlines() if " T    3 " in line or "T   3" in line)
    assert "11 s" in row


def test_heat_power_settings_and_failures_are_shown() -> None:
    text = _text(_model(), 120, 36)
    for expected in (
        "81 of 100 °C",
        "65 of 65 W",
        "31 s by heat",
        "PL1 65 of 125, PL2 160 W",
        "7× by power",
        "2.4 GHz of 0.8 to 3.6 GHz",
    ):
        assert expected in text
    assert "✗ powersave" in text
    assert "echo performance > governor" in text
    assert "C6" in text


def test_unknown_figures_have_their_reason() -> None:
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
        assert "Press c to measure it" in text


def test_figures_missing_in_a_recording_are_marked() -> None:
    first = frame(4, second=1, origin="replay of x.nw")
    model = model_of(first, frame(4, second=2, origin="replay of x.nw"))
    model.go_to(Screen.CLOCK)
    assert "not recorded" in _text(model)


def test_unknown_checks_are_not_shown_as_calm() -> None:
    unknown = replace(_GOVERNOR, status="unknown", gravity=Gravity.OPEN, fix=None)
    model = model_of(replace(_frame(1), findings=(unknown,)))
    model.go_to(Screen.CLOCK)
    assert "? unknown: governor-not-performance" in _text(model)
    assert "fails or warns" not in _text(model)


def test_y_copies_the_first_command() -> None:
    assert command_to_copy(_model())[0] == "echo performance > governor"


def test_y_does_not_call_unjudged_checks_passed() -> None:
    model = model_of(replace(frame(4), verdict=None, findings=()))
    model.go_to(Screen.CLOCK)
    assert command_to_copy(model) == (None, "no command to copy: not judged yet")


def test_all_checks_of_clock_heat_idle_and_power_are_on_the_screen() -> None:
    areas = ("frequency", "heat", "idle", "power")
    assert {check.id for check in CATALOGUE if check.area in areas} == CHECKS


def test_figures_are_requested_while_the_screen_is_open(tmp_path: Path) -> None:
    requests: list[object] = []

    async def open_and_leave(app: MonitorApp, pilot: Pilot[None]) -> None:
        app._sampler = sampler = SamplerProcess(())
        for key in (key_of(Screen.CLOCK), key_of(Screen.CLOCK), key_of(Screen.OVERVIEW)):
            await pilot.press(key)
            requests.append(sampler.asked.get("clock"))
        app._sampler = None

    with_monitor(open_and_leave)
    assert requests == [True, True, False]


def _slowing_frame(second: int, **rest: Any) -> Frame:
    """Return a frame in which CPU 2 is 30% slower from second 10 on, 3% slower from second 15 on, with all ticks."""
    khz = {**dict.fromkeys(range(1, 10), 4_000_000), **dict.fromkeys(range(10, 15), 2_800_000)}.get(second, 3_880_000)
    cpus = tuple(
        cpu_line(cpu, Role.TARGET if cpu > 1 else Role.HOUSEKEEPING, current_khz=khz if cpu == 2 else 4_000_000)
        for cpu in range(4)
    )
    ticks = IrqLine("LOC", (0, 1, 2, 3), (1.0,) * 4)
    return frame(cpus, second=second, irqs=(ticks,), irq_settings=(_TICK,), **rest)


def _slowing_model(seconds: int = 30, **rest: Any) -> ScreenModel:
    model = model_of(*(_slowing_frame(second, **rest) for second in range(1, seconds + 1)))
    model.go_to(Screen.CLOCK)
    return model


def test_brackets_go_to_drops_of_the_clock_which_the_screen_defines() -> None:
    model = _slowing_model()
    assert "[ ] drops over 5%" in _text(model)
    assert "[ ] clock drops" in _text(model)
    model.step_to_spike(-1)
    assert model.cursor == 9
    model.step_to_spike(-1)
    assert (model.cursor, model.notice) == (9, "no earlier clock drop")
    model.go_to(Screen.OVERVIEW)
    model.step_to_spike(1)
    assert model.notice == "no later spike; clock drops on screen 4: 1"


def test_a_stale_clock_is_not_a_drop() -> None:
    model = model_of(*(replace(_slowing_frame(second), irqs=()) for second in range(1, 30)))
    assert model.clocks.drops() == []


def test_the_graph_shows_the_slowest_clock_each_clock_or_their_mean() -> None:
    model = _slowing_model(12)
    assert "clock of the slowest target CPU, GHz" in _text(model)
    model.toggle_folding()
    assert "clock of each target CPU, GHz" in _text(model)
    rows = _text(model).partition("└")[0].splitlines()
    assert len([line for line in rows if re.search(r"[\u2801-\u28ff]\s*│$", line)]) == 2
    model.toggle_folding()
    assert "mean clock of the target CPUs, GHz" in _text(model)
    assert model.clocks.means([0, 11]) == [4_000_000, 3_400_000]
    assert model.clocks.distinct_clocks((2, 3), range(8, 13)) == [{4_000_000}, *[{2_800_000, 4_000_000}] * 3, set()]
    assert model.clocks.distinct_clocks((3,), [11]) == [{4_000_000}]
    model.toggle_folding()
    assert model.clock_graph == "slowest"
    assert model.folds


def test_the_figures_of_the_axis_are_round_and_aligned_with_the_line() -> None:
    lines = _text(_slowing_model(9), 120, 60).splitlines()
    row = next(line for line in lines if "4.00 ┤" in line)
    assert re.search(r"┤[\u2801-\u28ff]{9} ", row)
    labels = [match[1] for line in lines if (match := re.search(r"([\d.]+) ┤", line))]
    assert len(labels) > 1
    assert all(re.fullmatch(r"\d\.\d5?0?", label) for label in labels)


def test_heat_and_power_are_below_the_clock_and_the_axis_marks_slowdowns() -> None:
    def at(second: int) -> Frame:
        count = 7 + (second > 5)
        package = ClockPackage(0, "0-3", 50.0, 100.0, 60.0 if second < 6 else 125.0, 125.0, power_limit_count=count)
        hot = Conditions(throttled=(Throttled("core", "2", 3),) if second == 9 else ())
        clock = ClockFigures((), (), (package,)) if second > 2 else None
        return _slowing_frame(second, clock=clock, conditions=hot)

    model = model_of(*(at(second) for second in range(1, 13)))
    model.go_to(Screen.CLOCK)
    lines = _text(model).splitlines()
    assert any(re.search(r"heat {3}\?\?▄{10} +│$", line) for line in lines)
    assert any(re.search(r"power {2}\?\?▄▄▄█{7} +│$", line) for line in lines)
    axis = next(line for line in lines if "└" in line)
    assert "└─────P──hnow──" in axis
    assert "P at power limit · h slowed by heat" in _text(model, 200)


def test_unknown_ticks_are_not_shown_as_missing() -> None:
    model = model_of(*(replace(_slowing_frame(second), irqs=None) for second in range(1, 5)))
    model.go_to(Screen.CLOCK)
    assert "no tick" not in _text(model)
    assert re.search(r"T +2 .*unknown", _text(model))
    without = model_of(*(replace(_slowing_frame(second), irqs=()) for second in range(1, 5)))
    without.go_to(Screen.CLOCK)
    assert "no tick" in _text(without)


def test_both_packages_and_the_reason_for_unknown_idle_states_are_shown() -> None:
    packages = (ClockPackage(0, "0-1", 50.0, 90.0, 40.0, 95.0), ClockPackage(1, "2-3", 60.0, 90.0, 80.0, 95.0))
    figures = ClockFigures((), (ClockCpu(2, 0.5, (0.5,)),), packages, idle_names=("C6",))
    text = _text(_slowing_model(3, clock=figures))
    assert "80 of 95 W" in text
    assert re.search(r"package 0 +50 of 90 °C, 40 of 95 W", text)
    assert "? C-states: read on CPU 2 only" in text
