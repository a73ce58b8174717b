"""What every key of the monitor does, in every place: the table that its tests press keys by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noisewatch.surfaces.tui.app.keys import COMMANDS, SCROLLING
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.history import HistoryOverlay
from noisewatch.surfaces.tui.overlays.overlay import Overlay, OverlayState
from noisewatch.surfaces.tui.overlays.preflight import PreflightOverlay
from noisewatch.surfaces.tui.overlays.trace import TraceOverlay
from noisewatch.surfaces.tui.state.screen_model import Screen

HELP, TYPING, RECORDED = "help", "typing", "a recording"
OVERLAYS: Mapping[str, type[Overlay[Any]]] = {
    "c": CalibrationOverlay,
    "t": TraceOverlay,
    "p": PreflightOverlay,
    "r": HistoryOverlay,
}
CLOSING = "q"  # or quitting, where nothing is above the screen
QUITTING = (CLOSING, "ctrl+c")
KEYS = [key for command in COMMANDS for key in command.key.split(",") if key not in QUITTING]
Change = dict[str, object]
CHARACTERS = {
    "space": " ",
    "slash": "/",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}


def _moved(by: int) -> Callable[[str], Change]:
    """Single steps select a source on the overview, greater ones scroll its CPUs."""

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
        return {"row": row, "chosen": f"hog {3 * row if screen == Screen.CPU else row}"}  # of one CPU it is every third

    return change


def _beside(direction: int) -> Callable[[str], Change]:
    def change(screen: str) -> Change:
        if screen == Screen.CPU:
            return {"cpu": 30 + direction, "row": 0, "chosen": None}
        return {"screen": tuple(Screen)[(Screen(screen).number - 1 + direction) % len(Screen)]}

    return change


def _same(**change: object) -> Callable[[str], Change]:
    return lambda screen: change


_DRILLED: Change = {"screen": Screen.CPU, "row": 1, "chosen": "hog 5", "cpu": 32}
_ENTERED: dict[str, Change] = {
    Screen.OVERVIEW: _DRILLED,
    Screen.CULPRITS: _DRILLED,
    Screen.IRQS: {"screen": Screen.CPU, "cpu": 35},
    Screen.CPU: {},
    Screen.EVENTS: {"screen": Screen.OVERVIEW, "cursor": 24},
    Screen.PREFLIGHT: {"opens_check": True},
}
_ASKED: dict[str, Change] = {
    Screen.OVERVIEW: {"advice": "hog 5"},
    Screen.CULPRITS: {"advice": "hog 5"},
    Screen.IRQS: {"advice": "queue 5"},
    Screen.CPU: {"advice": "hog 15"},
    Screen.PREFLIGHT: {"notice": "its fix, if any, is below"},
}
_ON_Screen: dict[str, Callable[[str], Change]] = {
    "space": _same(cursor=None),
    "less_than_sign": _same(),
    "greater_than_sign": _same(),
    "left": _same(cursor=14),
    "right": _same(cursor=16),
    "shift+left": _same(cursor=5),
    "shift+right": _same(cursor=25),
    "home": _same(cursor=0),
    "end": _same(cursor=None),
    "left_square_bracket": lambda screen: {"cursor": 12 if screen == Screen.CLOCK else 10},
    "right_square_bracket": lambda screen: {"cursor": 22 if screen == Screen.CLOCK else 20},
    "left_curly_bracket": _same(cursor=14),
    "right_curly_bracket": _same(cursor=16),
    "H": _same(cursor=None, pauses_on_spike=True),
    "w": _same(zoom=2),
    "s": _same(sort="rate"),
    "m": _same(baseline=15),
    "M": _same(baseline=None),
    "S": _same(notice="no idle probe"),
    "a": _same(shows_all_cpus=True),
    "g": lambda screen: (
        {"groups_irqs": True, "row": 0, "chosen": "card"}
        if screen == Screen.IRQS
        else {"clock_graph": "each"}
        if screen == Screen.CLOCK
        else {"folds_events" if screen == Screen.EVENTS else "folds": False}
    ),
    "z": lambda screen: {"map": "noise None True"} if screen == Screen.MAP else {"shows_silent_irqs": True},
    "v": _same(shows_all_checks=True),
    "F": _same(notice="no fix script"),
    "c": _same(above="CalibrationOverlay announced"),
    "t": _same(above="TraceOverlay announced"),
    "p": _same(above="PreflightOverlay announced"),
    "r": _same(above="HistoryOverlay over"),
    **{str(screen.number): _same(screen=screen) for screen in Screen},
    "tab": _beside(1),
    "shift+tab": _beside(-1),
    "slash": lambda screen: (
        {"is_typing": True, "row": 0, "chosen": None, "event": None}
        | ({} if screen in (Screen.CULPRITS, Screen.EVENTS, Screen.IRQS) else {"screen": Screen.CULPRITS})
    ),
    "f": lambda screen: _ASKED.get(screen, {"notice": "no culprit is selected here"}),
    "e": _same(notice="written"),
    "y": _same(notice="no command to copy"),
    "enter": lambda screen: _ENTERED.get(screen, {"screen": Screen.CPU}),
    "escape": _same(screen=Screen.OVERVIEW),
    "question_mark": _same(shows_help=True),
    "h": _same(shows_help=True),
    "f1": _same(shows_help=True),
    "down": _moved(1),
    "j": _moved(1),
    "up": _moved(-1),
    "k": lambda screen: {"map": "interrupts None False"} if screen == Screen.MAP else _moved(-1)(screen),
    "pagedown": _moved(10),
    "pageup": _moved(-10),
}
# Where a recording is shown, which does not play, on the overview; all others do what they do elsewhere.
_OF_A_RECORDING: dict[str, Change] = {
    "space": {"plays": True},
    "less_than_sign": {"speed": 0.5},
    "greater_than_sign": {"speed": 2.0},
    "H": {"pauses_on_spike": True},
    "c": {"above": "CalibrationOverlay over"},
    "t": {"above": "TraceOverlay over"},
}
_WHILE_TYPING: dict[str, Change] = {
    "enter": {"is_typing": False},
    "escape": {"is_typing": False, "filter": "before"},
    **{key: {"filter": f"ho{character}"} for key, character in CHARACTERS.items()},
    **{key: {"filter": f"ho{key}"} for key in KEYS if len(key) == 1},
}


def _on_screen(screen: str) -> dict[str, Change]:
    """Another screen, or the same one anew, has its first row selected."""
    changes = {key: change(screen) for key, change in _ON_Screen.items()}
    anew: Change = {"event": None, "row": 0, "chosen": None}
    return {key: {**anew, **change} if "screen" in change else change for key, change in changes.items()}


def _in_overlay(kind: type[Overlay[Any]]) -> dict[str, Change]:
    """All but these keys do nothing there."""
    over = f"{kind.__name__} {OverlayState.OVER}"
    return {
        **{key: {} for key in KEYS},
        "enter": {"above": over},
        "escape": {"above": None},
        CLOSING: {"above": None},
        "e": {"notice": "written"},
    }


# By place, what is different after a key, of a monitor that shows interval 15 of 30, of which 10 and 20 are disturbed:
# CPU 30, the sixth row, offset 5, the fifth event from the top of one in each interval, a baseline of interval 5. What
# is not named must be as it was.
EFFECTS: dict[str, dict[str, Change]] = {
    **{screen: _on_screen(screen) for screen in Screen},
    RECORDED: {**_on_screen(Screen.OVERVIEW), **_OF_A_RECORDING},
    HELP: {key: {} if key in SCROLLING else {"shows_help": False} for key in [*KEYS, CLOSING]},
    TYPING: {key: _WHILE_TYPING.get(key, {}) for key in KEYS},
    **{place: _in_overlay(kind) for place, kind in OVERLAYS.items()},
}
# What these change belongs to other screens: the picture may stay as it is.
UNSEEN: dict[str, tuple[str, ...]] = {
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
