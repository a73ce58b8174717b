"""The rows of the clock screen: a few round figures at the line, room for the CPUs, heat and power where there is."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Role
from noisewatch.operations.frame.clock import ClockFigures, ClockPackage
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.operations.frame.irqs import IrqLine
from noisewatch.surfaces.tui.draw.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of

_PACKAGE = ClockPackage(0, "0-511", 50.0, 100.0, 60.0, 125.0, throttles=3)


def _frame(second: int, count: int) -> Frame:
    cpus = tuple(
        cpu_line(cpu, Role.TARGET if cpu else Role.HOUSEKEEPING, current_khz=1_200_000 if second > 8 else 3_000_000)
        for cpu in range(count)
    )
    ticks = IrqLine("LOC", tuple(range(count)), (1.0,) * count)
    return frame(cpus, second=second, clock=ClockFigures((), (), (_PACKAGE,)), irqs=(ticks,))


def _model(count: int) -> ScreenModel:
    model = model_of(*(_frame(second, count) for second in range(1, 13)))
    model.go_to(Screen.CLOCK)
    return model


def _lines(model: ScreenModel, width: int, height: int) -> list[str]:
    return [strip_of(row, width).text for row in rows_of_screen(model, width, height, UNICODE)]


def _rows_of_lane(lines: list[str], name: str, end: str) -> int:
    first = next(at for at, line in enumerate(lines) if line.startswith(f"│ {name} "))
    return next(at for at, line in enumerate(lines) if line.startswith(end)) - first


@pytest.mark.parametrize(("count", "size"), [(2, (300, 80)), (16, (300, 80)), (64, (300, 80)), (2, (120, 34))])
def test_the_axis_has_a_few_round_figures_in_equal_steps(count: int, size: tuple[int, int]) -> None:
    lines = _lines(_model(count), *size)
    found = [(at, float(match[1])) for at, line in enumerate(lines) if (match := re.match(r"│ +([\d.]+) ┤", line))]
    rows, clocks = zip(*found, strict=True)
    steps = {round(one - other, 2) for one, other in pairwise(clocks)}
    assert 2 <= len(found) <= 6
    assert len(steps) == 1
    assert steps <= {0.1, 0.2, 0.5, 1.0}
    gaps = [other - one for one, other in pairwise(rows)]
    assert max(gaps) - min(gaps) <= 1
    assert not any(re.match(r"│ +┤", line) for line in lines)


def test_the_line_has_five_rows_beside_heat_and_power() -> None:
    for count in (2, 16, 512):
        lines = _lines(_model(count), 120, 34)
        assert sum(bool(re.match(r"│ +[\d.]* +[┤┊]", line[:10])) for line in lines) >= 5
        assert _rows_of_lane(lines, "heat", "│ power") == 1


def test_a_high_screen_gives_its_rows_to_the_cpus_then_to_heat_and_power() -> None:
    few = _lines(_model(2), 300, 80)
    assert _rows_of_lane(few, "heat", "│ power") == 8
    some = _lines(_model(16), 300, 80)
    assert sum(bool(re.match(r"│ [ T]+\d+ +1\.20", line[:20])) for line in some) == 16
    assert _rows_of_lane(some, "heat", "│ power") == 8
    assert sum(bool(re.match(r"│ +[\d.]* +[┤┊]", line[:10])) for line in some) < 32


def test_what_helps_takes_one_row_where_nothing_fails() -> None:
    model = _model(2)
    calm = _lines(model, 120, 34)
    assert any("what helps: no check of clock" in line or "what helps: not judged" in line for line in calm)
    failing = FindingLine("turbo-enabled", "fail", "blocking", Gravity.FAILED, "turbo is on", "echo 1 > no_turbo")
    model.add(replace(_frame(13, 2), findings=(failing,)))
    lines = _lines(model, 120, 34)
    assert any("─ what helps ─" in line for line in lines)
    assert any("slowed     3× by heat" in line for line in lines)
