"""What all screens have in common: the head, a body of their own, the timeline, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.header import header_rows
from noisewatch.surfaces.tui.draw.text_row import Row, cut
from noisewatch.surfaces.tui.draw.timeline import number_in, timeline_rows
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_LOWEST_WITH_TIMELINE, _LOWEST_WITH_EVENTS = 16, 20
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("space", "freeze"),
    ("enter", "CPU"),
    ("1-6", "screens"),
    ("p", "preflight"),
    ("[ ]", "spikes"),
    ("c", "calibrate"),
    ("t", "trace"),
)

Keys = Sequence[tuple[str, str]]  # each key, and what it does
Body = Callable[[ScreenModel, int, int, Glyphs], list[Row]]


def heights(height: int) -> tuple[int, int, int, int]:
    """Rows for the head, the body, the timeline and the keys. A low screen loses the last ones first."""
    header = 3 if height >= 12 else (2 if height >= 6 else 1)
    keys = 1 if height >= 8 else 0
    timeline = 3 if height >= _LOWEST_WITH_EVENTS else (2 if height >= _LOWEST_WITH_TIMELINE else 0)
    return header, max(height - header - timeline - keys, 0), timeline, keys


def number_at(model: ScreenModel, x: int, y: int, width: int, height: int) -> int | None:
    """The interval that the timeline shows at that place of the screen; None where that is not the timeline."""
    header, room, timeline, _ = heights(height)
    return number_in(model, x, width) if 0 <= y - header - room < timeline else None


def page(
    model: ScreenModel,
    width: int,
    height: int,
    glyphs: Glyphs,
    body: Body,
    keys: Keys = _KEYS,
) -> list[Row]:
    """A whole screen."""
    header, room, timeline, key_height = heights(height)
    rows = header_rows(model, width, glyphs)[:header]
    rows += [cut(row, width) for row in body(model, width, room, glyphs)[:room]]
    rows += [[] for _ in range(header + room - len(rows))]
    rows += timeline_rows(model, width, timeline, glyphs)
    shown = _snapshot_keys(model) if model.cursor is not None and keys is _KEYS else keys
    rows = [*rows, *([_key_row(width, shown)] if key_height else [])][:height]
    if model.notice is not None and height > 1:
        rows[-1] = cut([(f" {model.notice}", "strong")], width)  # until the next key
    return rows


def _snapshot_keys(model: ScreenModel) -> Keys:
    """Where another snapshot than the newest is shown."""
    space = "play" if model.is_recorded and not model.plays else "stop" if model.is_recorded else "resume"
    return (
        ("q", "quit"),
        ("?", "help"),
        ("space", space),
        ("enter", "CPU"),
        ("[ ]", "spikes"),
        ("left right", "step"),
        ("end", "newest"),
    )


def _key_row(width: int, keys: Keys) -> Row:
    """As many keys as fit whole."""
    row: Row = []
    used = 0
    for key, action in keys:
        piece = f" {key} {action} "
        if used + len(piece) > width:
            break
        used += len(piece)
        row += [(f" {key} ", "key"), (f"{action} ", "plain")]
    return row
