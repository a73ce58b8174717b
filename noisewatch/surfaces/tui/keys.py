"""The keys, in the last line of each screen."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.text_row import Row

KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("space", "freeze"),
    ("enter", "CPU"),
    ("1-6", "screens"),
    ("p", "preflight"),
    ("c", "calibrate"),
    ("t", "trace"),
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
