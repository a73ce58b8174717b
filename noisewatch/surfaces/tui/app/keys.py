"""The keys, in the last line of each screen."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "slash": "/",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
}

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


def moment_keys(model: ScreenModel) -> Sequence[tuple[str, str]]:
    """Where another moment than the newest is shown."""
    space = "play" if model.is_recorded and not model.plays else "stop" if model.is_recorded else "go on"
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


def name_of_key(key: str) -> str:
    """As it stands on a keyboard; `key` is Textual's name of it."""
    return _NAMES.get(key, key.replace("shift+", "shift-").replace("ctrl+", "ctrl-"))
