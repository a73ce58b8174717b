"""The rows of the clock screen: a few round figures on the axis, and room for CPUs, heat and power."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from noisewatch.cpus import parse_cpu_list
from noisewatch.judgement.terms import Gravity
from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    ClockCpu,
    ClockFigures,
    ClockGroup,
    ClockPackage,
    FindingLine,
    Frame,
    IrqLine,
    IrqSetting,
)
from noisewatch.surfaces.tui.draw.clock_facts import CHECKS
from noisewatch.surfaces.tui.state.clock_history import ReportedFigures
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, framed_lines, model_of

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


def _rows_of_lane(lines: list[str], name: str, end: str) -> int:
    first = next(at for at, line in enumerate(lines) if line.startswith(f"│ {name} "))
    return next(at for at, line in enumerate(lines) if line.startswith(end)) - first


@pytest.mark.parametrize(("count", "size"), [(2, (300, 80)), (16, (300, 80)), (64, (300, 80)), (2, (120, 34))])
def test_the_axis_has_a_few_round_figures_in_equal_steps(count: int, size: tuple[int, int]) -> None:
    lines = framed_lines(_model(count), *size)
    labels = [(at, float(match[1])) for at, line in enumerate(lines) if (match := re.match(r"│ +([\d.]+) ┤", line))]
    rows, clocks = zip(*labels, strict=True)
    steps = {round(one - other, 2) for one, other in pairwise(clocks)}
    assert 2 <= len(labels) <= 6
    assert len(steps) == 1
    assert steps <= {0.1, 0.2, 0.5, 1.0}
    gaps = [other - one for one, other in pairwise(rows)]
    assert max(gaps) - min(gaps) <= 1
    assert not any(re.match(r"│ +┤", line) for line in lines)


def test_the_line_has_five_rows_next_to_heat_and_power() -> None:
    for count in (2, 16, 512):
        lines = framed_lines(_model(count), 120, 34)
        assert sum(bool(re.match(r"│ +[\d.]* +[┤┊]", line[:10])) for line in lines) >= 5
        assert _rows_of_lane(lines, "heat", "│ power") == 1


def test_a_high_screen_gives_its_rows_to_cpus_then_to_heat_and_power() -> None:
    few = framed_lines(_model(2), 300, 80)
    assert _rows_of_lane(few, "heat", "│ power") == 8
    some = framed_lines(_model(16), 300, 80)
    assert sum(bool(re.match(r"│ [ T]+\d+ +1\.20", line[:20])) for line in some) == 16
    assert _rows_of_lane(some, "heat", "│ power") == 8
    assert sum(bool(re.match(r"│ +[\d.]* +[┤┊]", line[:10])) for line in some) < 32


def test_what_helps_takes_one_row_if_nothing_fails() -> None:
    model = _model(2)
    calm = framed_lines(model, 120, 34)
    assert any("what helps: no check on clock" in line or "what helps: not judged" in line for line in calm)
    failing = FindingLine("turbo-enabled", "fail", "blocking", Gravity.FAILED, "turbo is on", "echo 1 > no_turbo")
    model.add(replace(_frame(13, 2), findings=(failing,)))
    lines = framed_lines(model, 120, 34)
    assert any("─ what helps ─" in line for line in lines)
    assert any("slowed     3× by heat" in line for line in lines)


def _settings(finding: str, *groups: ClockGroup) -> list[str]:
    """Return the rows of the settings, from the governor to the idle states, without the text left of them."""
    failing = FindingLine(finding, "fail", "blocking", Gravity.FAILED, "said", "fix")
    governor_by_cpu = {cpu: group.governor for group in groups for cpu in parse_cpu_list(group.cpus)}
    interval = _frame(1, 8)
    cpus = tuple(replace(line, governor=governor_by_cpu.get(line.cpu)) for line in interval.cpus)
    model = model_of(replace(interval, cpus=cpus, findings=(failing,), clock=ClockFigures(groups, (), (_PACKAGE,))))
    model.go_to(Screen.CLOCK)
    lines = [line[-39:-1].strip(" │") for line in framed_lines(model, 120, 40)]
    begin = next(at for at, line in enumerate(lines) if line.startswith("governor"))
    return lines[begin : next(at for at, line in enumerate(lines) if line.startswith("idle"))]


def _group(cpus: str, governor: str | None, preference: str | None, low: int = 1_000_000) -> ClockGroup:
    return ClockGroup(cpus, "acpi-cpufreq", governor, low, 3_000_000, 800_000, 3_000_000, None, preference)


def test_differing_settings_name_their_cpus_and_the_wrong_ones_are_marked() -> None:
    steady = _group("0-4", "performance", "performance")
    rows = _settings("governor-not-performance", steady, _group("5-7", "powersave", "performance", 3_000_000))
    assert rows[:2] == ["governor   performance, acpi-cpufreq", "✗ powersave on 5-7"]
    assert rows[3:5] == ["window     1 to 3 GHz", "3 GHz, fixed on 5-7"]
    assert rows[5:] == ["EPP        performance"]
    moving = _settings("frequency-window-open", steady, _group("5-7", "performance", None, 3_000_000))
    assert moving[2:4] == ["window   ✗ 1 to 3 GHz", "3 GHz, fixed on 5-7"]
    assert moving[-1] == "? on 5-7"


def test_many_settings_are_counted_with_their_cpus() -> None:
    rows = _settings(
        "energy-preference-not-performance", *(_group(f"{cpu}", "performance", f"{cpu}") for cpu in range(1, 8))
    )
    assert rows[-2:] == ["EPP      ✗ 1", "✗ 6 other values on 2-7"]


def test_an_unknown_figure_has_its_whole_reason() -> None:
    why = "not reported by this processor or driver"
    clock = ClockFigures(
        packages=(ClockPackage(0, "0-3"), ClockPackage(1, "4-7")),
        reasons={"preference": why, "watts": "no such file (/sys/class/powercap/intel-rapl:0/energy_uj)"},
    )
    model = model_of(*(replace(_frame(second, 8), clock=clock) for second in (1, 2)))
    model.go_to(Screen.CLOCK)
    side = [line[-39:-1].strip(" │") for line in framed_lines(model, 120, 40)]
    assert "power      ? no such file" in side
    assert "package 1  ? no such file" in side
    at = side.index("EPP        ? not reported by this")
    assert side[at + 1] == "processor or driver"


def test_without_clocks_there_is_room_for_all_reasons() -> None:
    reasons = {
        name: f"permission denied (/sys/{name})" for name in ("current_khz", "window", "watts", "limits", "uncore")
    }
    cpus = tuple(replace(line, current_khz=None) for line in _frame(1, 64).cpus)
    model = model_of(replace(_frame(1, 64), cpus=cpus, clock=ClockFigures(reasons=reasons)))
    model.go_to(Screen.CLOCK)
    text = "\n".join(framed_lines(model, 120, 34))
    for name in reasons:
        assert f"permission denied (/sys/{name})" in text
    assert text.count("pgdn scrolls") == 1


@pytest.mark.parametrize(("slow", "expected"), [((9,), "CPU 9"), ((8, 9), "CPUs 8-9"), (range(2, 64, 2), "31 CPUs")])
def test_the_lowest_clock_names_its_cpus(slow: Iterable[int], expected: str) -> None:
    def at(second: int) -> Frame:
        interval = _frame(1, 64)
        cpus = tuple(
            replace(line, current_khz=2_000_000) if second == 3 and line.cpu in slow else line for line in interval.cpus
        )
        return replace(interval, taken_at_ns=second * 10**9, cpus=cpus)

    model = model_of(*map(at, range(1, 6)))
    model.go_to(Screen.CLOCK)
    assert f"2.00 on {expected} to 3.00, spread 33%" in "\n".join(framed_lines(model, 120, 34))


def test_all_unknown_checks_are_named_if_they_fit() -> None:
    unknown = tuple(FindingLine(name, "unknown", "blocking", Gravity.OPEN, "said") for name in sorted(CHECKS))
    interval = replace(_frame(1, 2), findings=unknown)
    cpus = tuple(replace(line, current_khz=None) for line in interval.cpus)
    model = model_of(replace(interval, cpus=cpus))
    model.go_to(Screen.CLOCK)
    text = " ".join(framed_lines(model, 120, 34))
    assert all(name in text for name in CHECKS)
    moving = model_of(*(replace(_frame(second, 2), findings=unknown) for second in (1, 2)))
    moving.go_to(Screen.CLOCK)
    assert any("what helps: ? unknown: " in line and line.endswith("…  ") for line in framed_lines(moving, 120, 34))


def _interval(second: int, clock: ClockFigures | None, ticking: tuple[int, ...] = (0, 1)) -> Frame:
    tick = IrqSetting("LOC", Kind.TICK, "Local timer interrupts", None)
    lines = (IrqLine("LOC", ticking, tuple(1.0 for _ in ticking)),)
    return replace(_frame(second, 2), clock=clock, irqs=lines, irq_settings=(tick,) if second == 1 else None)


def _heading(model: ScreenModel) -> list[str]:
    matches = (re.search(r"CPU +GHz.* C6", line) for line in framed_lines(model, 200, 40))
    return next(match[0].split() for match in matches if match is not None)


def test_a_column_stays_when_later_frames_have_no_figure_for_it() -> None:
    cpus = tuple(
        ClockCpu(cpu, 0.4, (0.0, 0.5, 0.1), celsius=70.0, critical_celsius=100.0, slowed_ms=310) for cpu in range(2)
    )
    full = ClockFigures((), cpus, (_PACKAGE,), idle_names=("POLL", "C1", "C6"))
    model = model_of(_interval(1, full), _interval(2, full))
    model.go_to(Screen.CLOCK)
    names = ["spread", "heat", "slowed", "C0", "C1", "C6"]
    assert _heading(model)[-6:] == names
    assert "age" not in _heading(model)
    bare = ClockFigures((), tuple(ClockCpu(cpu) for cpu in range(2)), (_PACKAGE,))
    for second, clock in ((3, bare), (4, None)):
        model.add(_interval(second, clock))
        assert _heading(model)[-6:] == names
        row = next(line for line in framed_lines(model, 200, 40) if re.search(r"T +1\D", line))
        assert row[:160].count("?") == 5
    model.add(_interval(5, full, ticking=(0,)))
    model.add(_interval(6, full))
    assert "age" in _heading(model)


def test_counts_of_slowing_are_marked_as_since_boot() -> None:
    clock = ClockFigures((), (ClockCpu(0, slowed_ms=310), ClockCpu(1, slowed_ms=310)), (_PACKAGE,))
    model = model_of(_interval(1, clock), _interval(2, clock))
    model.go_to(Screen.CLOCK)
    text = "\n".join(framed_lines(model, 120, 34))
    assert "slowed since boot" in text
    assert "3× by heat since boot" in text


def test_a_figure_of_other_cpus_has_no_column() -> None:
    figures = ReportedFigures.of(_interval(1, ClockFigures((), (ClockCpu(0, celsius=70.0), ClockCpu(1, slowed_ms=0)))))
    assert (figures.names({0}), figures.names({1}), figures.names({0, 1})) == ({"heat"}, {"slowed"}, {"heat", "slowed"})


def test_both_ends_of_the_graph_have_their_time_in_a_recording() -> None:
    model = model_of(*(replace(_frame(second, 2), origin="replay of x.nw") for second in range(1, 41)))
    model.go_to(Screen.CLOCK)
    axis = next(line for line in framed_lines(model, 80, 24) if "└" in line)
    assert re.search(r"└0 s─+24 s─+39 s─*$", axis)


def test_the_graph_announces_heat_and_power_that_do_not_fit() -> None:
    model = _model(2)
    assert any(
        line.rstrip().endswith("heat and power: shown on a taller screen") for line in framed_lines(model, 80, 24)
    )
    assert not any("on a taller screen" in line for line in framed_lines(model, 120, 34))


@pytest.mark.parametrize(("count", "size"), [(4, (120, 34)), (4, (80, 24)), (200, (120, 34)), (200, (80, 24))])
def test_the_key_to_scroll_is_offered_only_if_a_cpu_is_hidden(count: int, size: tuple[int, int]) -> None:
    assert ("more CPUs" in framed_lines(_model(count), *size)[-1]) is (count == 200)
