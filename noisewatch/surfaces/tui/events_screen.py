"""The fifth screen: what changed, and when; the newest first."""

from __future__ import annotations

import textwrap

from noisewatch.surfaces.tui.event_kinds import MARKS, SEVERAL, Event
from noisewatch.surfaces.tui.filter_typing import hint
from noisewatch.surfaces.tui.glyphs import Glyphs
from noisewatch.surfaces.tui.page import page
from noisewatch.surfaces.tui.screen_model import ScreenModel
from noisewatch.surfaces.tui.text_row import Row, cut, fitted

_TEXT_AT = 23  # the column at which the text of an event begins
_KEYS = (
    ("q", "quit"),
    ("enter", "see that moment"),
    ("/", "filter"),
    ("{ }", "events"),
    ("1-6", "screens"),
    ("esc", "back"),
)


def events_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = [[(f"       {' at' if model.is_recorded else 'ago'}   what      {_heading(model)}", "heading")]]
    if model.log.silence is not None:
        rows.append([(f"             nothing is heard of devices: {model.log.silence}", "doubt")])
    listed, at, room = model.log.listed(), model.log.row(), max(height - len(rows), 0)
    if model.newest is None or not listed:
        said = "nothing like that" if model.log.events else "nothing has changed"
        return [*rows, [(f"             {said}", "faint")]]
    whole = _whole(_event_row(model, listed[at]), width)[:room]
    room -= len(whole) - 1
    first = max(min(at - room // 2, len(listed) - room), 0)
    for number, event in enumerate(listed[first : first + room], start=first):
        rows += whole if number == at else [cut(_event_row(model, event), width)]
    return rows


def _whole(row: Row, width: int) -> list[Row]:
    """The selected row, on as many lines as it takes."""
    (ago, _), (text, _) = row
    wide = max(width - _TEXT_AT, 10)
    first, *others = textwrap.wrap(text[_TEXT_AT - len(ago) :], wide) or [""]
    lines = [ago + text[: _TEXT_AT - len(ago)] + first, *(" " * _TEXT_AT + other for other in others)]
    return [[(fitted(line, width), "selected")] for line in lines]


def _when_s(model: ScreenModel, event: Event) -> float:
    """How far into a recording; of a machine that is watched how long ago."""
    if model.is_recorded:
        return (event.at_ns - (model.begin_ns or 0)) / 1e9
    return ((model.newest.taken_at_ns if model.newest is not None else event.at_ns) - event.at_ns) / 1e9


def _heading(model: ScreenModel) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    if model.log.filter:
        return f"filter: {model.log.filter}"
    since = "in the recording" if model.is_recorded else "since the monitor was started"
    return f"{since}; the letter marks it on the timeline, {SEVERAL}: several"


def _event_row(model: ScreenModel, event: Event) -> Row:
    """When, the letter that it has on the timeline, and what it was; strong where it is what is shown."""
    is_shown = model.cursor is not None and event.number == model.number
    style = "strong" if is_shown else "plain"
    return [
        (f"{_when_s(model, event):7.0f} s  ", "faint"),
        (f"{MARKS[event.kind]} {event.kind:<9} {event.text}", style),
    ]
