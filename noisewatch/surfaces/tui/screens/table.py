"""The functions that draw the screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.clock import clock_rows
from noisewatch.surfaces.tui.screens.culprits import culprits_rows
from noisewatch.surfaces.tui.screens.events import events_rows
from noisewatch.surfaces.tui.screens.irqs import irqs_rows
from noisewatch.surfaces.tui.screens.map_screen import map_rows
from noisewatch.surfaces.tui.screens.one_cpu import cpu_screen_rows
from noisewatch.surfaces.tui.screens.overview import overview_rows
from noisewatch.surfaces.tui.screens.preflight import preflight_rows
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel

_ROWS: Mapping[str, Callable[[ScreenModel, int, int, Glyphs], list[Row]]] = {
    Screen.OVERVIEW: overview_rows,
    Screen.MAP: map_rows,
    Screen.IRQS: irqs_rows,
    Screen.CLOCK: clock_rows,
    Screen.CPU: cpu_screen_rows,
    Screen.EVENTS: events_rows,
    Screen.PREFLIGHT: preflight_rows,
    Screen.CULPRITS: culprits_rows,
}


def rows_of_screen(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the model's current screen as rows."""
    return _ROWS[model.screen](model, width, height, glyphs)
