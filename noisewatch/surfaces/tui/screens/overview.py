"""The first screen: the CPUs, and the culprits."""

from __future__ import annotations

from noisewatch.surfaces.tui.draw.cpu_panel import cpu_panel_height, cpu_rows, row_room
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_rows
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.page import heights, page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel


def overview_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    cpu_height = _cpu_height(model, height)
    rows = cpu_rows(model, width, cpu_height, glyphs)
    return rows + culprit_rows(model, width, height - cpu_height, glyphs)


def _cpu_height(model: ScreenModel, room: int) -> int:
    return cpu_panel_height(len(model.frame.cpus) if model.frame is not None else 1, room)


def cpu_room(model: ScreenModel, width: int, height: int) -> int:
    """How many CPUs have a row of their own on a screen of this size."""
    count = len(model.frame.cpus) if model.frame is not None else 1
    return row_room(count, width, _cpu_height(model, heights(height)[1]))
