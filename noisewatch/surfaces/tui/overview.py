"""The first screen: CPUs, who disturbs them, and the timeline."""

from __future__ import annotations

from noisewatch.surfaces.tui.cpu_panel import cpu_panel_height, cpu_rows
from noisewatch.surfaces.tui.culprit_panel import culprit_rows
from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.header import header_rows
from noisewatch.surfaces.tui.keys import key_row
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row
from noisewatch.surfaces.tui.timeline import timeline_rows

_LOWEST_WITH_TIMELINE = 16


def _heights(model: ScreenModel, height: int) -> tuple[int, int, int, int, int]:
    """Rows for the header, the CPUs, the culprits, the timeline and the keys. A low screen loses the last first."""
    header = 3 if height >= 12 else (2 if height >= 6 else 1)
    keys = 1 if height >= 8 else 0
    timeline = 2 if height >= _LOWEST_WITH_TIMELINE else 0
    left = max(height - header - timeline - keys, 0)
    cpu_count = len(model.frame.cpus) if model.frame is not None else 1
    cpus = cpu_panel_height(cpu_count, left)
    return header, cpus, left - cpus, timeline, keys


def cpu_room(model: ScreenModel, height: int) -> int:
    """How many CPUs a screen of this height shows at once."""
    return max(_heights(model, height)[1] - 1, 0)


def all_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen: header, CPUs, culprits, keys."""
    header_height, cpu_height, culprit_height, timeline_height, key_height = _heights(model, height)
    rows = header_rows(model, width, glyphs)[:header_height]
    rows += cpu_rows(model, width, cpu_height, glyphs)
    rows += culprit_rows(model, width, culprit_height, glyphs)
    rows += [[] for _ in range(height - timeline_height - key_height - len(rows))]
    rows += timeline_rows(model, width, glyphs)[:timeline_height]
    return [*rows, key_row(width)][:height] if key_height else rows[:height]
