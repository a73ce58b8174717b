"""Which function draws which screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.cpu_map import map_rows
from noisewatch.surfaces.tui.screens.culprits import sources_rows
from noisewatch.surfaces.tui.screens.events import events_rows
from noisewatch.surfaces.tui.screens.one_cpu import cpu_screen_rows
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.screens.preflight import preflight_rows
from noisewatch.surfaces.tui.state.screen_model import CPU, EVENTS, MAP, OVERVIEW, PREFLIGHT, SOURCES, ScreenModel

_ROWS: Mapping[str, Callable[[ScreenModel, int, int, Glyphs], list[Row]]] = {
    OVERVIEW: overview_rows,
    MAP: map_rows,
    SOURCES: sources_rows,
    CPU: cpu_screen_rows,
    EVENTS: events_rows,
    PREFLIGHT: preflight_rows,
}


def rows_of_screen(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The screen that the model says, as rows."""
    return _ROWS[model.screen](model, width, height, glyphs)
