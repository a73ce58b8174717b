"""The expected effect of every key of the monitor, in every place where it can be pressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noisewatch.surfaces.tui.app.keys import COMMANDS, SCROLLING
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.history import HistoryOverlay
from noisewatch.surfaces.tui.overlays.overlay import Overlay, OverlayState
from noisewatch.surfaces.tui.overlays.preflight import PreflightOverlay
from noisewatch.surfaces.tui.overlays.trace import TraceOverlay
from noisewatch.surfaces.tui.overlays.tune import TuneOverlay
from noisewatch.surfaces.tui.screens.table import ALL_ROWS
from noisewatch.surfaces.tui.state.screen_model import Screen

HELP, TYPING, RECORDED = "help", "typing", "a recording"
OVERLAYS: Mapping[str, type[Overlay[Any]]] = {
    "c": CalibrationOverlay,
    "t": TraceOverlay,
    "p": PreflightOverlay,
    "r": HistoryOverlay,
    "T": TuneOverlay,
}
CLOSING = "q"  # it quits if nothing is open
QUITTING = (CLOSING, "f10", "ctrl+c")
KEYS = [key for command in COMMANDS for key in command.key.split(",") if key not in QUITTING]
Change = dict[str, object]
CHARACTERS = {
    "space": " ",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "colon": ":",
    "slash": "/",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}


def _step(by: int) -> Callable[[str], Change]:
    """Return the effect of a step by this many rows: on the overview a single step selects, others scroll."""

    def change(screen: str) -> Change:
        if screen == Screen.EVENTS:
            return {"event": min(24 - by, 29)}
        if screen == Screen.MAP:
            return {"map": f"noise {30 + by} False"}
        row = max(5 + by, 0)
        if screen == Screen.PREFLIGHT:
            return {"row": row, "chosen": f"check-{row}"}
        if screen == Screen.IRQS:
            return {"row": row, "chosen": f"queue {row}"}
        if screen == Screen.CLOCK or (screen == Screen.OVERVIEW and abs(by) > 1):
            return {"offset": row}
        return {"row": row, "chosen": f"hog {3 * row if screen == Screen.CPU else row}"}  # a CPU has every third one

    return change


def _to_end(direction: int) -> Callable[[str], Change]:
    """Return the effect of a key that goes to the first or last row of the list."""

    def change(screen: str) -> Change:
        is_last = direction > 0
        if screen == Screen.EVENTS:
            return {"event": 0 if is_last else 29}
        if screen == Screen.MAP:
            return {"map": f"noise {63 if is_last else 0} False"}
        if screen == Screen.CLOCK:
            return {"offset": ALL_ROWS if is_last else 0}
        row, name = {
            Screen.PREFLIGHT: (19, "check-19"),
            Screen.IRQS: (19, "Local timer interrupts"),
            Screen.CPU: (19, "hog 57"),
        }.get(Screen(screen), (59, "hog 59"))
        first = {Screen.PREFLIGHT: "check-0", Screen.IRQS: "queue 0"}.get(Screen(screen), "hog 0")
        return {"row": row, "chosen": name} if is_last else {"row": 0, "chosen": first}

    return change


def _next_screen(direction: int) -> Callable[[str], Change]:
    def change(screen: str) -> Change:
        if screen == Screen.CPU:
            return {"cpu": 30 + direction, "row": 0, "chosen": None}
        return {"screen": tuple(Screen)[(Screen(screen).number - 1 + direction) % len(Screen)]}

    return change


def _always(**change: object) -> Callable[[str], Change]:
    return lambda screen: change


_DRILL_IN: Change = {"screen": Screen.CPU, "row": 1, "chosen": "hog 5", "cpu": 32}
_ON_ENTER: dict[str, Change] = {
    Screen.OVERVIEW: _DRILL_IN,
    Screen.CULPRITS: _DRILL_IN,
    Screen.IRQS: {"screen": Screen.CPU, "cpu": 35},
    Screen.CPU: {},
    Screen.EVENTS: {"screen": Screen.OVERVIEW, "cursor": 24},
    Screen.PREFLIGHT: {"opens_check": True},
}
_ON_FIX: dict[str, Change] = {
    Screen.OVERVIEW: {"advice": "hog 5"},
    Screen.CULPRITS: {"advice": "hog 5"},
    Screen.IRQS: {"advice": "queue 5"},
    Screen.CPU: {"advice": "hog 15"},
    Screen.PREFLIGHT: {"notice": "this screen shows the fix of the selected cause, if there is one; y copies it"},
}
# The targets of `[` and `]`; at its burst, the selected IRQ is in the first row.
_BEFORE: dict[str, Change] = {Screen.CLOCK: {"cursor": 12}, Screen.IRQS: {"cursor": 9, "row": 0}}
_AFTER: dict[str, Change] = {Screen.CLOCK: {"cursor": 22}, Screen.IRQS: {"cursor": 24, "row": 0}}
_ON_SCREEN: dict[str, Callable[[str], Change]] = {
    "space": _always(cursor=None),
    "less_than_sign": _always(),
    "greater_than_sign": _always(),
    "left": _always(cursor=14),
    "right": _always(cursor=16),
    "shift+left": _always(cursor=5),
    "shift+right": _always(cursor=25),
    "left_parenthesis": _always(cursor=0),
    "right_parenthesis": _always(cursor=None),
    "home": _to_end(-1),
    "end": _to_end(1),
    "left_square_bracket": lambda screen: _BEFORE.get(screen, {"cursor": 10}),
    "right_square_bracket": lambda screen: _AFTER.get(screen, {"cursor": 20}),
    "left_curly_bracket": _always(cursor=14),
    "right_curly_bracket": _always(cursor=16),
    "H": _always(cursor=None, pauses_on_spike=True),
    "w": _always(zoom=2),
    "s": _always(sort="rate"),
    "m": _always(baseline=15),
    "M": _always(baseline=None),
    "S": _always(notice="no idle probe"),
    "a": _always(shows_all_cpus=True),
    "g": lambda screen: (
        {"groups_irqs": True, "row": 0, "chosen": "card"}
        if screen == Screen.IRQS
        else {"clock_graph": "each"}
        if screen == Screen.CLOCK
        else {"folds_events" if screen == Screen.EVENTS else "folds": False}
    ),
    "z": lambda screen: {"map": "noise None True"} if screen == Screen.MAP else {"shows_silent_irqs": True},
    "v": _always(shows_all_checks=True),
    "F": _always(notice="no fix script"),
    "c": _always(above="CalibrationOverlay announced"),
    "t": _always(above="TraceOverlay announced"),
    "p": _always(above="PreflightOverlay announced"),
    "r": _always(above="HistoryOverlay over"),
    "T": _always(above="TuneOverlay over"),
    **{str(screen.number): _always(screen=screen) for screen in Screen},
    "tab": _next_screen(1),
    "shift+tab": _next_screen(-1),
    "slash": lambda screen: (
        {"is_typing": True, "row": 0, "chosen": None, "event": None}
        | ({} if screen in (Screen.CULPRITS, Screen.EVENTS, Screen.IRQS) else {"screen": Screen.CULPRITS})
    ),
    "f": lambda screen: _ON_FIX.get(screen, {"notice": "no culprit is selected here"}),
    "e": _always(notice="written"),
    "y": _always(notice="no command to copy"),
    "enter": lambda screen: _ON_ENTER.get(screen, {"screen": Screen.CPU}),
    "escape": _always(screen=Screen.OVERVIEW),
    "question_mark": _always(shows_help=True),
    "h": _always(shows_help=True),
    "down": _step(1),
    "j": _step(1),
    "up": _step(-1),
    "k": lambda screen: {"map": "interrupts None False"} if screen == Screen.MAP else _step(-1)(screen),
    "pagedown": _step(10),
    "pageup": _step(-10),
    "colon": _always(has_palette=True),
    "ctrl+p": _always(has_palette=True),
}
# F keys with the effect of another key, as in htop.
_AS_IN_HTOP = {"f1": "h", "f3": "slash", "f4": "slash", "f5": "g", "f6": "s", "f9": "f"}
_ON_SCREEN |= {key: _ON_SCREEN[same] for key, same in _AS_IN_HTOP.items()}
# Keys with another effect on the overview of a recording that does not play.
_ON_RECORDING: dict[str, Change] = {
    "space": {"plays": True},
    "less_than_sign": {"speed": 0.5},
    "greater_than_sign": {"speed": 2.0},
    "H": {"pauses_on_spike": True},
    "c": {"above": "CalibrationOverlay over"},
    "t": {"above": "TraceOverlay over"},
    "p": {"above": "PreflightOverlay over"},
}
_WHILE_TYPING: dict[str, Change] = {
    "enter": {"is_typing": False},
    "escape": {"is_typing": False, "filter": "before"},
    **{key: {"filter": f"ho{character}"} for key, character in CHARACTERS.items()},
    **{key: {"filter": f"ho{key}"} for key in KEYS if len(key) == 1},
}


def _on_screen(screen: str) -> dict[str, Change]:
    """Return the effects of all keys; a key that opens a screen selects its first row."""
    changes = {key: change(screen) for key, change in _ON_SCREEN.items()}
    first_row: Change = {"event": None, "row": 0, "chosen": None}
    return {key: {**first_row, **change} if "screen" in change else change for key, change in changes.items()}


def _in_overlay(kind: type[Overlay[Any]]) -> dict[str, Change]:
    """Return the effects of all keys in an overlay; most have none."""
    over = f"{kind.__name__} {OverlayState.OVER}"
    return {
        **{key: {} for key in KEYS},
        "enter": {"above": over},
        "escape": {"above": None},
        CLOSING: {"above": None},
        "e": {"notice": "written"},
    }


# By place, the changes after a key. Before the key, the monitor shows interval 15 of 30 (10 and 20 are disturbed), with
# CPU 30, the sixth row and the sixth event from the top selected (each interval has an event), offset 5, and interval
# 5 as the baseline. All other state must be unchanged.
EFFECTS: dict[str, dict[str, Change]] = {
    **{screen: _on_screen(screen) for screen in Screen},
    RECORDED: {**_on_screen(Screen.OVERVIEW), **_ON_RECORDING},
    HELP: {key: {} if key in SCROLLING else {"shows_help": False} for key in [*KEYS, CLOSING]},
    TYPING: {key: _WHILE_TYPING.get(key, {}) for key in KEYS},
    **{place: _in_overlay(kind) for place, kind in OVERLAYS.items()},
}
# Keys whose effect is visible only on other screens: the picture may be unchanged.
_INVISIBLE: dict[str, tuple[str, ...]] = {
    Screen.OVERVIEW: ("g", "z", "v"),
    Screen.MAP: ("2", "s", "a", "g", "z", "v"),
    Screen.IRQS: ("a", "v"),
    Screen.CLOCK: (str(Screen.CLOCK.number), "s", "a", "z", "v"),
    Screen.CPU: ("a", "g", "z", "v"),
    Screen.EVENTS: ("s", "a", "g", "z", "v"),
    Screen.PREFLIGHT: ("s", "a", "g", "z"),
    Screen.CULPRITS: ("a", "g", "z", "v"),
    RECORDED: ("g", "z", "v"),
}
INVISIBLE = {
    place: (*keys, *(key for key, same in _AS_IN_HTOP.items() if same in keys)) for place, keys in _INVISIBLE.items()
}
