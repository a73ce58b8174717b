"""A table of the screens, with the function that draws each one, and the key effects that differ by screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.screens.clock import clock_rows, rows_of_cpus
from noisewatch.surfaces.tui.screens.culprits import culprits_rows
from noisewatch.surfaces.tui.screens.events import events_rows
from noisewatch.surfaces.tui.screens.irqs import irqs_rows
from noisewatch.surfaces.tui.screens.map_screen import map_rows
from noisewatch.surfaces.tui.screens.one_cpu import cpu_screen_rows
from noisewatch.surfaces.tui.screens.overview import cpu_room, overview_rows
from noisewatch.surfaces.tui.screens.preflight import preflight_rows
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel

ALL_ROWS = 1_000_000  # a move by this many rows goes to the first or last row of the list

Rows = Callable[[ScreenModel, int, int, Glyphs], list[Row]]
Room = Callable[[ScreenModel, int, int], int]  # rows of CPUs that are visible in a width and height


class ScreenEntry(Struct, frozen=True):
    """The rows of a screen, and its search words in the palette.

    The arrow keys move the selection or, if `scrolls` is set, scroll the CPUs; `scrolls` returns the number of visible
    CPUs. With `selects_by_row`, only pages scroll the CPUs.
    """

    rows: Rows
    words: str
    enter: Callable[[ScreenModel], None] = ScreenModel.drill_in
    scrolls: Room | None = None
    selects_by_row: bool = False

    def move(self, model: ScreenModel, rows: int, size: tuple[int, int]) -> None:
        """Move the selection, or scroll the CPUs, by this many rows; `size` is the screen's width and height."""
        if self.scrolls is None or (self.selects_by_row and abs(rows) in (1, ALL_ROWS)):
            model.select(rows)
        else:
            model.scroll(rows, self.scrolls(model, *size))


SCREEN_ENTRIES: Mapping[Screen, ScreenEntry] = {
    Screen.OVERVIEW: ScreenEntry(
        overview_rows, "all CPUs, noise, culprits, summary, home", scrolls=cpu_room, selects_by_row=True
    ),
    Screen.MAP: ScreenEntry(map_rows, "all CPUs over time, heat map", ScreenModel.open_pointed),
    Screen.IRQS: ScreenEntry(irqs_rows, "interrupts, devices, affinity, softirqs"),
    Screen.CLOCK: ScreenEntry(
        clock_rows, "frequency, turbo, temperature, heat, power, throttling, governor", scrolls=rows_of_cpus
    ),
    Screen.CPU: ScreenEntry(cpu_screen_rows, "one CPU, its culprits by kind"),
    Screen.EVENTS: ScreenEntry(events_rows, "log of what changed", ScreenModel.show_event),
    Screen.PREFLIGHT: ScreenEntry(preflight_rows, "checks, verdict, causes, fixes, gate", ScreenModel.toggle_check),
    Screen.CULPRITS: ScreenEntry(culprits_rows, "who makes noise, threads, processes, list"),
}


def rows_of_screen(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the model's current screen as rows."""
    return SCREEN_ENTRIES[model.screen].rows(model, width, height, glyphs)
