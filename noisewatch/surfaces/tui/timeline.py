"""The timeline: what the worst target CPU lost in each interval, and which of them is shown."""

from __future__ import annotations

from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.levels import columns_of, level_pieces
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row

_LABEL = "worst "


def timeline_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """The lane, the newest interval at the right, and below it where the picture was taken."""
    room = width - len(_LABEL)
    if room < 1 or not model.history.count:
        return [[], []]
    last, behind = _window(model, room)
    numbers = range(max(last + 1 - room * model.zoom, model.history.first), last + 1)
    lane = level_pieces(columns_of(model.history.worst(numbers), model.zoom)[-room:], glyphs)
    used = sum(len(text) for text, _ in lane)
    first: Row = [(_LABEL, "faint"), (" " * (room - used), "plain"), *lane]
    if model.cursor is None:
        return [first, []]
    said = f" {_at(model)} "
    column = len(_LABEL) + room - 1 - behind
    is_left = column + 1 + len(said) <= width
    mark = [(glyphs.cursor, "strong"), (said, "strong")] if is_left else [(said, "strong"), (glyphs.cursor, "strong")]
    begin = column if is_left else column - len(said)
    return [first, [(" " * begin, "plain"), *mark]]


def _window(model: ScreenModel, room: int) -> tuple[int, int]:
    """The interval at the right, and how many columns behind it is the one that is shown."""
    last = model.history.count - 1
    behind = (last - model.number) // model.zoom
    if behind >= room:  # so far back that the window has to move
        last -= (behind - room // 2) * model.zoom
        behind = (last - model.number) // model.zoom
    return last, behind


def number_in(model: ScreenModel, column: int, width: int) -> int | None:
    """The interval that is drawn in the column; None beside the lane."""
    room = width - len(_LABEL)
    if not len(_LABEL) <= column < width or not model.history.count:
        return None
    number = _window(model, room)[0] - (width - 1 - column) * model.zoom
    return number if number >= model.history.first else None


def _at(model: ScreenModel) -> str:
    return f"{model.into_s():.0f} s" if model.is_recorded else f"{model.behind_s():.0f} s ago"
