"""The keys, in the last line of each screen."""

from __future__ import annotations

from noisewatch.surfaces.tui.text_row import Row

KEYS = (
    ("q", "quit"),
    ("space", "freeze"),
    ("s", "sort"),
    ("a", "all CPUs"),
    ("c", "calibrate"),
    ("t", "trace"),
    ("?", "help"),
)


def key_row(width: int) -> Row:
    """As many keys as fit whole."""
    row: Row = []
    used = 0
    for key, action in KEYS:
        piece = f" {key} {action} "
        if used + len(piece) > width:
            break
        used += len(piece)
        row += [(f" {key} ", "key"), (f"{action} ", "plain")]
    return row
