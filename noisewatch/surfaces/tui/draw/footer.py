"""The last row of a screen: its keys. Drawn without Textual, as one picture as text is, too."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

KEYS = (
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


def snapshot_keys(model: ScreenModel) -> Sequence[tuple[str, str]]:
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


def key_row(width: int, keys: Sequence[tuple[str, str]] = KEYS) -> Row:
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
