"""The fifth screen: what changed, and when; the newest first."""

from __future__ import annotations

import textwrap

from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.page import page
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row

_KEYS = (("q", "quit"), ("space", "freeze"), ("[ ]", "disturbances"), ("1-6", "screens"), ("esc", "back"))
_TEXT_AT = 21  # the column


def events_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = [[("      ago  what      ", "heading"), ("since the monitor was started", "heading")]]
    if model.log.silence is not None:
        rows.append([(f"           nothing is heard of devices: {model.log.silence}", "doubt")])
    if model.newest is None or not model.log.events:
        return [*rows, [("           nothing has changed", "faint")]]
    newest_ns = model.newest.taken_at_ns
    shown_ns = model.frame.taken_at_ns if model.cursor is not None and model.frame is not None else None
    for event in list(reversed(model.log.events))[model.row : model.row + max(height - len(rows), 0)]:
        ago = f"{(newest_ns - event.at_ns) / 1e9:7.0f} s"
        style = "strong" if event.at_ns == shown_ns else "plain"
        first, *others = textwrap.wrap(event.text, max(width - _TEXT_AT, 10)) or [""]
        rows.append([(f"{ago}  ", "faint"), (f"{event.kind:<9} {first}", style)])
        rows += [[(" " * _TEXT_AT + other, style)] for other in others]
    return rows
