"""The first screen: the CPUs and the culprits."""

from __future__ import annotations

from noisewatch.surfaces.tui.draw.cpu_panel import cpu_panel_height, cpu_rows, framed_cpus, panels_across, row_room
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_rows
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import side_by_side
from noisewatch.surfaces.tui.draw.side_panel import LEAST_WITH_SIDE, SIDE, side_panel
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.screens.page import has_frames, heights, page
from noisewatch.surfaces.tui.screens.selected_culprit import framed_with_selected, with_selected
from noisewatch.surfaces.tui.state.filters import order_in_words
from noisewatch.surfaces.tui.state.listed_culprits import counted
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_LEAST_CULPRITS = 12  # rows
_CPU_SHARE = 0.55


def overview_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, framed=_framed)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    cpu_height = _cpu_height(model, height // 2 if model.shows_fix else height)
    rows = cpu_rows(model, width, cpu_height, glyphs)
    listing = model.listing()
    where = "all CPUs" if model.shows_all_cpus else "targets"
    who = f"culprits on {where}, by {order_in_words(model.sort, model.folds)}"

    def table(room: int) -> list[Row]:
        return culprit_rows(model, listing, who, width, room, glyphs)

    return rows + with_selected(model, listing.selected, table, listing.needed, width, height - cpu_height, glyphs)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    cpus = framed_cpus(model, width, _most_cpu_rows(height), glyphs)
    beside = SIDE if width >= LEAST_WITH_SIDE else 0
    left, below = width - beside, height - len(cpus)
    listing = model.listing()

    def table(room: int) -> list[Row]:
        return culprit_rows(model, listing, "who", left - 4, room, glyphs)

    keys = f"{counted(model, listing)} · s sort · g group · / filter"
    culprits = framed_with_selected(
        model, listing.selected, _culprits_title(model), keys, table, listing.needed, left, below, glyphs
    )
    return [*cpus, *(side_by_side(culprits, side_panel(model, beside, below, glyphs)) if beside else culprits)]


def _most_cpu_rows(height: int) -> int:
    """Return the most rows for CPUs; culprits and the side panel need some too."""
    return max(height - _LEAST_CULPRITS, int(height * _CPU_SHARE))


def _culprits_title(model: ScreenModel) -> str:
    where = "all CPUs" if model.shows_all_cpus else "the target CPUs"
    return f"culprits on {where}, by {order_in_words(model.sort, model.folds)}"


def _cpu_height(model: ScreenModel, room: int) -> int:
    return cpu_panel_height(len(model.frame.cpus) if model.frame is not None else 1, room)


def cpu_room(model: ScreenModel, width: int, height: int) -> int:
    """Return how many CPUs have their own row on a screen of this size."""
    count = len(model.frame.cpus) if model.frame is not None else 1
    room = heights(width, height, model.runs.has_any).body
    if not has_frames(width, height):
        return row_room(count, width, _cpu_height(model, room))
    most = _most_cpu_rows(room)
    return count if panels_across(count, width, most) is not None else row_room(count, width - 4, most - 2)
