"""The fifth screen: what changed, and when; the newest first."""

from __future__ import annotations

import textwrap

from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, fitted
from noisewatch.surfaces.tui.events.kinds import MARKS, SEVERAL, Event
from noisewatch.surfaces.tui.screens.culprits import hint
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import SCREENS, ScreenModel

_NARROW = 60
_KEYS = (
    ("q", "quit"),
    ("enter", "show that time"),
    ("/", "filter"),
    ("{ }", "events"),
    (f"1-{len(SCREENS)}", "screens"),
    ("esc", "back"),
)


def events_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    is_narrow = width < _NARROW
    when = " at" if model.is_recorded else "ago"
    columns = f"   {when}   " if is_narrow else f"       {when}   what      "
    rows: list[Row] = [[(columns + _heading(model), "heading")]]
    if model.log.silence is not None:
        rows.append([(f"             no device events: {model.log.silence}", "doubt")])
    listed, at, room = model.log.listed(), model.log.row(), max(height - len(rows), 0)
    if model.newest is None or not listed:
        said = "no event matches" if model.log.events else "no events"
        return [*rows, [(f"             {said}", "faint")]]
    whole = _whole(_event_row(model, listed[at], is_narrow), len(columns), width)[:room]
    room -= len(whole) - 1
    first = max(min(at - room // 2, len(listed) - room), 0)
    for number, event in enumerate(listed[first : first + room], start=first):
        rows += whole if number == at else [cut(_event_row(model, event, is_narrow), width)]
    return rows


def _whole(row: Row, text_at: int, width: int) -> list[Row]:
    """The selected row, on as many lines as it takes; its text begins at that column."""
    line = "".join(text for text, _ in row)
    first, *others = textwrap.wrap(line[text_at:], max(width - text_at, 10)) or [""]
    lines = [line[:text_at] + first, *(" " * text_at + other for other in others)]
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
    since = "in the recording" if model.is_recorded else "since start"
    return f"{since}; letters as on the timeline, {SEVERAL}: several"


def _event_row(model: ScreenModel, event: Event, is_narrow: bool) -> Row:
    """When, the letter that it has on the timeline, and what it was; strong where it is what is shown.

    On a narrow screen the letter has to do for the kind.
    """
    is_shown = model.cursor is not None and event.number == model.number
    style: Style = "strong" if is_shown else "plain"
    kind = MARKS[event.kind] + ("" if is_narrow else f" {event.kind:<9}")
    return [
        (f"{_when_s(model, event):{4 if is_narrow else 7}.0f} s ", "faint"),
        (f"{'' if is_narrow else ' '}{kind} {event.text}", style),
    ]
