"""The clock screen: the line over time, a row a CPU, what holds the clocks, why the rest is unknown, and what helps."""

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
from noisewatch.surfaces.drawing.text_row import length
from noisewatch.surfaces.tui.app.export import command_to_copy
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.app.sampler_process import SamplerProcess
from noisewatch.surfaces.tui.draw.clock_chart import braille_line, plain_line
from noisewatch.surfaces.tui.draw.clock_facts import CHECKS
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.clock_history import ClockGraph
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.app.piloting import key_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, frame, model_of

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
    assert "┄ highest 4.90 ┄" in text
    assert "┄ base 2.50 ┄" in text


def test_the_snapshot_that_is_shown_stands_out_in_the_line() -> None:
    model = _model()
    model.cursor = 30
    rows = rows_of_screen(model, 120, 34, UNICODE)
    lines = [row for row in rows[4:20] if any(style == "calm" and set(text) & _DOTS for text, style in row)]
    marked = [text for row in lines for text, style in row if style == "strong" and set(text) & _DOTS]
    assert [len(text) for text in marked] == [1]
    assert "then 3.58" in _text(model)
    model.clock_graph = ClockGraph.MEAN
    assert "slowest then 3.58" in _text(model)


def test_a_clock_without_a_tick_has_its_age() -> None:
    row = next(line for line in _text(_model()).splitlines() if " T    3 " in line or "T   3" in line)
    assert "11 s" in row


def test_heat_power_settings_and_what_fails_are_told() -> None:
    text = _text(_model(), 120, 36)
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
        assert "Press c to measure it" in text


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


def _slowing(second: int, **rest: Any) -> Frame:
    """The clock of CPU 2 falls in steps, by 30% and by 3%, and all ticks are seen."""
    khz = {**dict.fromkeys(range(1, 10), 4_000_000), **dict.fromkeys(range(10, 15), 2_800_000)}.get(second, 3_880_000)
    cpus = tuple(
        cpu_line(cpu, Role.TARGET if cpu > 1 else Role.HOUSEKEEPING, current_khz=khz if cpu == 2 else 4_000_000)
        for cpu in range(4)
    )
    ticks = IrqLine("LOC", (0, 1, 2, 3), (1.0,) * 4)
    return frame(cpus, second=second, irqs=(ticks,), irq_settings=(_TICK,), **rest)


def _slowed(seconds: int = 30, **rest: Any) -> ScreenModel:
    model = model_of(*(_slowing(second, **rest) for second in range(1, seconds + 1)))
    model.go_to(Screen.CLOCK)
    return model


def test_brackets_go_to_drops_of_the_clock_and_the_screen_says_which_are_called_so() -> None:
    model = _slowed()
    assert "[ ] drops over 5%" in _text(model)
    assert "[ ] clock drops" in _text(model)
    model.step_to_spike(-1)
    assert model.cursor == 9
    model.step_to_spike(-1)
    assert (model.cursor, model.notice) == (9, "no earlier clock drop")
    model.go_to(Screen.OVERVIEW)
    model.step_to_spike(1)
    assert model.notice == "no later spike"


def test_a_stale_clock_is_no_drop() -> None:
    model = model_of(*(replace(_slowing(second), irqs=()) for second in range(1, 30)))
    assert model.clocks.drops() == []


def test_the_graph_is_of_the_slowest_of_each_or_their_mean() -> None:
    model = _slowed(12)
    assert "clock of the slowest target CPU, GHz" in _text(model)
    model.toggle_folding()
    assert "clock of each target CPU, GHz" in _text(model)
    each = _text(model).partition("└")[0].splitlines()
    assert len([line for line in each if re.search(r"[\u2801-\u28ff]\s*│$", line)]) == 2
    model.toggle_folding()
    assert "mean clock of the target CPUs, GHz" in _text(model)
    assert model.clocks.means([0, 11]) == [4_000_000, 3_400_000]
    assert model.clocks.distinct_clocks((2, 3), range(8, 13)) == [{4_000_000}, *[{2_800_000, 4_000_000}] * 3, set()]
    assert model.clocks.distinct_clocks((3,), [11]) == [{4_000_000}]
    model.toggle_folding()
    assert model.clock_graph == "slowest"
    assert model.folds


def test_the_figures_of_the_axis_are_round_and_stand_where_the_line_has_them() -> None:
    lines = _text(_slowed(9), 120, 60).splitlines()
    row = next(line for line in lines if "4.00 ┤" in line)
    assert re.search(r"┤[\u2801-\u28ff]{9} ", row)
    labels = [match[1] for line in lines if (match := re.search(r"([\d.]+) ┤", line))]
    assert len(labels) > 1
    assert all(re.fullmatch(r"\d\.\d5?0?", label) for label in labels)


def test_heat_and_power_stand_below_the_clock_and_the_axis_tells_what_slowed_it() -> None:
    def at(second: int) -> Frame:
        limited = 7 + (second > 5)
        package = ClockPackage(0, "0-3", 50.0, 100.0, 60.0 if second < 6 else 125.0, 125.0, power_limit_count=limited)
        hot = Conditions(throttled=(Throttled("core", "2", 3),) if second == 9 else ())
        clock = ClockFigures((), (), (package,)) if second > 2 else None
        return _slowing(second, clock=clock, conditions=hot)

    model = model_of(*(at(second) for second in range(1, 13)))
    model.go_to(Screen.CLOCK)
    lines = _text(model).splitlines()
    assert any(re.search(r"heat {3}\?\?▄{10} +│$", line) for line in lines)
    assert any(re.search(r"power {2}\?\?▄▄▄█{7} +│$", line) for line in lines)
    axis = next(line for line in lines if "└" in line)
    assert "└─────P──hnow──" in axis
    assert "P at power limit · h slowed by heat" in _text(model, 200)


def test_where_ticks_are_unknown_nobody_is_said_to_have_none() -> None:
    model = model_of(*(replace(_slowing(second), irqs=None) for second in range(1, 5)))
    model.go_to(Screen.CLOCK)
    assert "no tick" not in _text(model)
    assert re.search(r"T +2 .*unknown", _text(model))
    without = model_of(*(replace(_slowing(second), irqs=()) for second in range(1, 5)))
    without.go_to(Screen.CLOCK)
    assert "no tick" in _text(without)


def test_both_packages_are_told_and_why_idle_states_of_some_cpus_are_unknown() -> None:
    packages = (ClockPackage(0, "0-1", 50.0, 90.0, 40.0, 95.0), ClockPackage(1, "2-3", 60.0, 90.0, 80.0, 95.0))
    figures = ClockFigures((), (ClockCpu(2, 0.5, (0.5,)),), packages, idle_names=("C6",))
    text = _text(_slowed(3, clock=figures))
    assert "80 of 95 W" in text
    assert re.search(r"package 0 +50 of 90 °C, 40 of 95 W", text)
    assert "? C-states: read on CPU 2 only" in text
