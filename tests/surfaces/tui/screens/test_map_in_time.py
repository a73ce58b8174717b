"""The map and the timeline below it show the same intervals in the same columns after any step."""

from __future__ import annotations

from copy import copy
from functools import cache

import pytest

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CpuLine
from noisewatch.surfaces.drawing.glyphs import UNICODE
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from tests.surfaces.tui.framing import cpu_line, frame, model_of, screen_of

_NOISE_NS = 900e6


@cache
def _cpus(count: int, is_noisy: bool) -> tuple[CpuLine, ...]:
    """Return the lines of CPUs of which the last is the target."""
    return tuple(
        cpu_line(cpu, Role.TARGET if cpu == count - 1 else Role.HOUSEKEEPING, _NOISE_NS if is_noisy else 1e3)
        for cpu in range(count)
    )


@cache
def _model(count: int, noisy_second: int) -> ScreenModel:
    return model_of(*(frame(_cpus(count, second == noisy_second), second=second) for second in range(150)))


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("zoom", [1, 2])
@pytest.mark.parametrize("count", [4, 64])
@pytest.mark.parametrize("number", [149, 130, 100, 75, 30])
def test_a_spike_on_the_map_is_above_its_column_on_the_timeline(width: int, zoom: int, count: int, number: int) -> None:
    model = copy(_model(count, number))
    model.zoom = zoom
    model.go_to_number(number)
    lines = screen_of(model, "map", width)
    (timeline,) = [line for line in lines if line.startswith("target ") and "█" in line]
    rows = [line for line in lines[4:-4] if "┃" in line]
    assert len(rows) > 3
    assert {line.index("┃") for line in rows} == {timeline.index("█")} == {lines[-2].index("▲")}
    styled = rows_of_screen(model, width, 30, UNICODE)
    assert ("┃", "grave") in [piece for row in styled for piece in row]
    model.step(-1)
    earlier = screen_of(model, "map", width)
    noisy = [line for line in earlier[4:-4] if "█" in line]
    assert {line.index("█") for line in noisy} == {
        next(line for line in earlier if line.startswith("target ") and "█" in line).index("█")
    }
