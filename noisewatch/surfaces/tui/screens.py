"""Which function draws which screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.surfaces.tui.cpu_screen import cpu_screen_rows
from noisewatch.surfaces.tui.events_screen import events_rows
from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.map_screen import map_rows
from noisewatch.surfaces.tui.overview import overview_rows
from noisewatch.surfaces.tui.preflight_screen import preflight_rows
from noisewatch.surfaces.tui.screen_model import CPU, EVENTS, MAP, OVERVIEW, PREFLIGHT, SOURCES, ScreenModel
from noisewatch.surfaces.tui.sources_screen import sources_rows
from noisewatch.surfaces.tui.text_row import Row

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
