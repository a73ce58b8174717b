"""The filter while it is typed, on the screen that has one: it replaces the old one, which escape brings back."""

from __future__ import annotations

from noisewatch.surfaces.tui.state.screen_model import EVENTS, SOURCES, ScreenModel

_LONGEST = 60


def begin_filter(model: ScreenModel) -> None:
    """From now on keys are part of a new filter."""
    if model.screen not in (SOURCES, EVENTS):
        model.go_to(SOURCES)
    model.filter_before = _filter(model)
    _change(model, "")
    model.is_typing = True


def type_key(model: ScreenModel, key: str, character: str | None) -> None:
    """Takes in a key: enter keeps what was typed, if only to show all; escape brings back what was there before."""
    if key == "enter":
        model.is_typing = False
    elif key == "escape":
        model.is_typing = False
        _change(model, model.filter_before)
    elif key == "backspace":
        _change(model, _filter(model)[:-1])
    elif character is not None and character.isprintable():
        _change(model, (_filter(model) + character)[:_LONGEST])


def hint(model: ScreenModel) -> str:
    """What the keys do that end it."""
    before = f"esc: {model.filter_before}" if model.filter_before else "esc: as before"
    return f"enter: {'show these' if _filter(model) else 'show all'}, {before}"


def _filter(model: ScreenModel) -> str:
    return model.log.filter if model.screen == EVENTS else model.filter


def _change(model: ScreenModel, text: str) -> None:
    """The first row is selected of what is left."""
    if model.screen == EVENTS:
        model.log.filter = text
    else:
        model.filter = text
    model.advice = None
    model.forget_selection()
