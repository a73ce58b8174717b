"""The clock screen with unread clocks, heat or power."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import (
    ClockCpu,
    ClockFigures,
    ClockLimits,
    ClockPackage,
    Conditions,
    IrqLine,
    IrqSetting,
    Temperature,
    Throttled,
)
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.screens.clock import settings_rows
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen_of, screen_text

_TARGETS = (cpu_line(0), cpu_line(2, Role.TARGET), cpu_line(3, Role.TARGET))


def _package(number: int, cpus: str, celsius: float | None, watts: float | None) -> ClockPackage:
    return ClockPackage(number, cpus, celsius, 100.0, watts, 100.0)


_TICKING: dict[str, Any] = {
    "irqs": (IrqLine("LOC", (0, 2, 3), (9.0,) * 3),),
    "irq_settings": (IrqSetting("LOC", Kind.TICK, "Local timer interrupts"),),
}


@pytest.mark.parametrize(
    ("first", "other", "share"), [(40.0, 50.0, 0.5), (40.0, None, None), (90.0, None, 0.9), (None, None, None)]
)
def test_heat_and_power_are_unknown_while_a_target_package_is_unless_another_is_hot(
    first: float | None, other: float | None, share: float | None
) -> None:
    packages = (_package(0, "2", first, first), _package(1, "3", other, other), _package(2, "0", None, None))
    clocks = model_of(frame(_TARGETS, clock=ClockFigures(packages=packages))).clocks
    assert clocks.heat([0]) == clocks.power([0]) == [pytest.approx(share) if share else None]


def test_heat_is_unknown_while_a_processor_sensor_is_unreadable() -> None:
    good, unreadable = Temperature("core 0", 50.0, 100.0), Temperature("core 1", None, 100.0)
    conditions = [Conditions(temperatures=sensors) for sensors in ((good,), (good, unreadable))]
    models = [model_of(frame(_TARGETS, conditions=state)) for state in conditions]
    assert [model.clocks.heat([0]) for model in models] == [[0.5], [None]]


def test_the_lane_of_heat_stays_while_one_package_is_unknown() -> None:
    packages = (_package(0, "2", 50.0, 50.0), _package(1, "3", None, 60.0))
    model = model_of(*(frame(_TARGETS, second=at, clock=ClockFigures(packages=packages)) for at in range(1, 9)))
    lines = screen_of(model, "clock", 120, 34)
    assert any(line.startswith("heat   ????????") for line in lines)
    assert any("package 1" in line and "heat ?, 60 of 100 W" in line for line in lines)


def test_slowdowns_of_a_target_cpu_are_marked_even_while_the_screen_was_closed() -> None:
    counted = {5: Throttled("package", "2-3", 3, "power"), 9: Throttled("core", "3", 1)}
    uncounted = {7: Throttled("core", "3", None, "power")}
    throttled = ((counted | uncounted).get(at) for at in range(1, 12))
    conditions = [Conditions(throttled=(line,) if line else ()) for line in throttled]
    model = model_of(*(frame(_TARGETS, second=at, conditions=state) for at, state in enumerate(conditions, start=1)))
    lines = screen_of(model, "clock", 200, 34)
    assert any(line.startswith("      └────P───h──") for line in lines)
    assert any("P at power limit" in line and "slowing unknown in 1 interval ·" in line for line in lines)


def _clocks(*khz: int | None) -> ScreenModel:
    """Return a model with these clocks of target CPU 3 over time; target CPU 2 is steady, and no tick is missing."""
    return model_of(
        *(
            frame((*_TARGETS[:2], cpu_line(3, Role.TARGET, current_khz=clock)), second=at, **_TICKING)
            for at, clock in enumerate(khz, start=1)
        )
    )


def _line(model: ScreenModel) -> str:
    """Return an x for each column in which the line of the clock is drawn."""
    chart = [line[7:] for line in screen_of(model, "clock", 120, 34) if line[6:7] in ("┤", "┊")]
    return "".join(" " if all(line[at : at + 1] in " ┄" for line in chart) else "x" for at in range(40)).rstrip()


def test_the_line_of_the_slowest_clock_has_a_gap_while_a_target_clock_is_unknown() -> None:
    model = _clocks(*[1_200_000] * 5, *[None] * 4, *[1_200_000] * 3)
    assert _line(model) == "xxxxx    xxx"
    model.go_to_number(6)
    assert "unknown on CPU 3" in "\n".join(screen_of(model, "clock", 160, 34)[2:5])


def test_a_target_cpu_without_a_clock_is_named_and_the_others_can_be_drawn() -> None:
    model = _clocks(*[None] * 9)
    text = "\n".join(screen_of(model, "clock", 120, 34))
    assert "The clock of CPU 3 is unknown, so the slowest and the mean clock are unknown too. Press g" in text
    model.go_to("clock")
    model.toggle_folding()
    assert _line(model) == "x" * 9


def test_a_column_with_an_unknown_clock_is_unknown_unless_the_clock_dropped() -> None:
    model = _clocks(*[2_000_000] * 10, *[2_000_000, *[None] * 9], *[1_200_000, *[None] * 9], *[2_000_000] * 10)
    model.zoom = 10
    assert _line(model) == "x xx"
    blind = _clocks(*[*[None] * 9, 2_000_000] * 3)
    blind.zoom = 10
    assert "intervals with an unknown clock. Press w to show" in "\n".join(screen_of(blind, "clock", 130, 34))


@pytest.mark.parametrize(
    ("slowed_ms", "throttles", "power_count", "expected"),
    [
        (0, 0, 700, "700× P"),
        (310, 3, 7, "310 ms, 7× P"),
        (None, 3, 0, "3×"),
        (None, None, 7, "?, 7× P"),
        (0, 0, 0, "0"),
    ],
)
def test_slowing_by_the_power_limit_is_counted_as_slowing(
    slowed_ms: int | None, throttles: int | None, power_count: int, expected: str
) -> None:
    cpus = (ClockCpu(3, slowed_ms=slowed_ms, throttles=throttles, power_limit_count=power_count),)
    model = model_of(*(frame(_TARGETS, second=at, clock=ClockFigures(cpus=cpus)) for at in (1, 2)))
    lines = screen_of(model, "clock", 130, 34)
    row = next(line for line in lines if re.match(r" ?T +3", line))
    assert re.search(rf" {re.escape(expected)} +│", row)
    assert ("since boot, P by power" in "\n".join(lines)) == bool(power_count)


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [("0", {"?"}), ("0,3", {"?", "3 GHz, fixed on 3"}), ("2", {"3 GHz, fixed", "? on 3"}), ("0-3", {"3 GHz, fixed"})],
)
def test_the_window_is_that_of_the_target_cpus(cpus: str, expected: set[str]) -> None:
    limits = (ClockLimits(cpus, 3_000_000, 3_000_000),)
    model = model_of(*(frame(_TARGETS, second=at, conditions=Conditions(clock_limits=limits)) for at in (1, 2)))
    rows = ["".join(text for text, _ in row)[9:].strip() for row in settings_rows(model, 60, UNICODE)]
    names = ["".join(text for text, _ in row)[:9].strip() for row in settings_rows(model, 60, UNICODE)]
    begin, end = names.index("window"), names.index("EPP")
    assert {row.replace("? read next interval", "?") for row in rows[begin:end]} == expected


def test_the_spread_of_a_cpu_without_a_tick_is_unknown() -> None:
    ticks = _TICKING | {"irqs": (IrqLine("LOC", (0, 2), (9.0, 9.0)),)}
    lines = screen_of(model_of(*(frame(_TARGETS, second=at, **ticks) for at in (1, 2))), "clock", 130, 34)
    rows = [line.partition("│")[0].split() for line in lines if re.match(r" ?T +[23] ", line)]
    assert [(row[1], row[-1]) for row in rows] == [("2", "0.0%"), ("3", "?")]


_ABSENT = (
    "governor",
    "window",
    "turbo",
    "preference",
    "throttles",
    "slowed_ms",
    "celsius",
    "watts",
    "limits",
    "uncore",
)


def _without_clocks(reasons: Mapping[str, str], **rest: Any) -> ScreenModel:
    lines = tuple(cpu_line(cpu, Role.TARGET, current_khz=None, governor=None) for cpu in range(8))
    reasons = {"current_khz": "no such file (/sys/cpufreq)", **reasons}
    clock = ClockFigures(
        cpus=tuple(ClockCpu(cpu, 0.5, (0.5,)) for cpu in range(8)), idle_names=("C1",), reasons=reasons
    )
    model = model_of(*(frame(lines, second=second, turbo=None, clock=clock, **rest) for second in (1, 2)))
    model.go_to(Screen.CLOCK)
    return model


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
@pytest.mark.parametrize("hypervisor", ["kvm", None])
def test_a_machine_without_clocks_has_one_sentence_instead_of_unknown_figures(
    size: tuple[int, int], hypervisor: str | None
) -> None:
    model = _without_clocks(dict.fromkeys(_ABSENT, "no such file (/sys/x)"), hypervisor=hypervisor)
    text = " ".join(screen_text(model, *size).replace("│", " ").split())
    assert "?" not in text.replace(" ? help", "").replace("? unknown:", "")
    names = "governor, limits, turbo, EPP, throttling, heat, power and uncore"
    said = f"The hypervisor and the host control it, and hides {names}." if hypervisor else f"Also unknown: {names}."
    assert f"unknown: no such file (/sys/cpufreq). {said} Press c to measure it" in text
    assert "50%" in text, "known figures stay"
    assert "GHz " not in text


def test_a_figure_that_exists_but_cannot_be_read_keeps_its_reason() -> None:
    absent = dict.fromkeys(_ABSENT, "no such file (/sys/x)")
    text = screen_text(_without_clocks({**absent, "watts": "permission denied (/sys/energy_uj)"}, hypervisor="kvm"))
    assert "? power: permission denied (/sys/energy_uj)" in text
    assert "? permission denied" in text
    assert "heat and uncore" in " ".join(text.replace("│", " ").split())
