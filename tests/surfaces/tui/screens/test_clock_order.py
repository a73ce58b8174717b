"""The order of the clock screen's CPUs: no target CPU with another clock is hidden by CPUs that are as usual."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import Frame, IrqLine, IrqSetting
from noisewatch.surfaces.tui.screens.clock import rows_of_cpus
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, framed_lines, model_of

_TICK = (IrqSetting("LOC", Kind.TICK, "Local timer interrupts"),)
_COUNT = 128
_SIZES = [(80, 24), (120, 34), (200, 60)]


def _frame(second: int, khz_by_cpu: Mapping[int, int | None], silent: frozenset[int]) -> Frame:
    """Return a frame with target CPUs from CPU 2 on, at 3 GHz unless `khz_by_cpu` has another clock."""
    lines = tuple(
        cpu_line(cpu, Role.TARGET if cpu > 1 else Role.HOUSEKEEPING, current_khz=khz_by_cpu.get(cpu, 3_000_000))
        for cpu in range(_COUNT)
    )
    ticking = tuple(cpu for cpu in range(_COUNT) if cpu not in silent)
    ticks = IrqLine("LOC", ticking, (1.0,) * len(ticking))
    return frame(lines, second=second, irqs=(ticks,), irq_settings=_TICK if second == 1 else None)


def _model(khz_by_cpu: Mapping[int, int | None], silent: frozenset[int] = frozenset()) -> ScreenModel:
    model = model_of(*(_frame(second, khz_by_cpu, silent) for second in range(1, 6)))
    model.go_to(Screen.CLOCK)
    return model


def _listed(model: ScreenModel, width: int, height: int) -> list[int]:
    """Return the listed CPUs, the rows from the top."""
    lines = framed_lines(model, width, height)
    return [int(match[1]) for line in lines if (match := re.match(r"[│ ] ?[ T]{1,3} {1,4}(\d+)[ ┐┘┤] +[\d.?]", line))]


@pytest.mark.parametrize("size", _SIZES)
def test_differing_target_cpus_come_first_the_worst_at_the_top(size: tuple[int, int]) -> None:
    model = _model({90: 2_400_000, 120: 1_200_000, 30: 3_600_000})
    assert _listed(model, *size)[:3] == [120, 30, 90]
    assert "no target differs" in "\n".join(framed_lines(model, *size))


@pytest.mark.parametrize("size", _SIZES)
def test_with_more_differing_cpus_than_rows_the_hidden_ones_are_counted(size: tuple[int, int]) -> None:
    slow: dict[int, int | None] = dict.fromkeys(range(70, 120), 1_200_000)
    model = _model({**slow, 127: 1_000_000})
    listed = _listed(model, *size)
    text = "\n".join(framed_lines(model, *size))
    assert listed[0] == 127
    room = rows_of_cpus(model, *size)
    hidden = 51 - min(room, 51)
    assert (f"{_COUNT - room} more, {hidden} differ" in text) == (hidden > 0)
    assert size != (80, 24) or hidden > 30


def test_target_cpus_without_a_measured_clock_precede_the_usual_ones_and_are_counted() -> None:
    model = _model({100: None}, silent=frozenset(range(110, 128)))
    assert _listed(model, 80, 24)[:3] == [100, 110, 111]
    assert re.search(r"\d+ more, \d+ unknown", "\n".join(framed_lines(model, 80, 24)))


def test_if_all_cpus_fit_they_keep_their_order() -> None:
    model = model_of(*(frame(4, second=second) for second in range(1, 4)))
    model.go_to(Screen.CLOCK)
    assert _listed(model, 120, 40) == [0, 1, 2, 3]
    assert "more" not in "".join(framed_lines(model, 120, 40)).replace("more CPUs", "")
