"""The sixth screen: what changed, and when; the newest first; and below what was at the time of the selected one."""

from __future__ import annotations

import textwrap

from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import joined, panel, side_by_side
from noisewatch.surfaces.tui.draw.text_row import Row, cut, fitted
from noisewatch.surfaces.tui.events.kinds import SEVERAL, Event
from noisewatch.surfaces.tui.screens.culprits import hint
from noisewatch.surfaces.tui.screens.event_list import columns_of_events, event_row
from noisewatch.surfaces.tui.screens.event_panel import event_rows, frame_of, time_in_words
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing

_LEAST_BESIDE = 200  # columns, from which on the panel stands beside the log
_LEAST_LIST, _LEAST_PANEL = 6, 4  # rows
_KEYS = (
    ("q", "quit"),
    ("?", "help"),
    ("enter", "show that time"),
    ("/", "filter"),
    ("g", "fold"),
    ("up down", "event"),
    ("{ }", "events"),
    ("y", "copy fix"),
    ("e", "export"),
    ("esc", "back"),
)


def events_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, framed=_framed)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    selected = model.log.selected() if model.newest is not None else None
    title, keys = _title(model), f"/ filter · g {'unfold' if model.log.folds else 'fold'} · enter shows that time"
    if selected is None:
        return panel(title, _list(model, width - 4, height - 2), width, height, glyphs, keys)
    about = f"{selected.kind} at {time_in_words(model, selected)}"
    if width >= _LEAST_BESIDE:
        left = width * 3 // 5
        log = panel(title, _list(model, left - 4, height - 2), left, height, glyphs, keys)
        beside = event_rows(model, selected, width - left - 4, glyphs)
        beside += _culprits(model, selected, width - left - 4, height - 3 - len(beside), glyphs)
        return side_by_side(log, panel(about, beside, width - left, height, glyphs))
    below = event_rows(model, selected, width - 4, glyphs)
    lower = min(len(below), height - 3 - _LEAST_LIST)
    lower = max(lower, height - 3 - len(_list(model, width - 4, height)))
    log = panel(title, _list(model, width - 4, height - lower - 3), width, height - lower - 1, glyphs, keys)
    return joined(log, panel(about, below[:lower], width, lower + 2, glyphs), glyphs)


def _culprits(model: ScreenModel, event: Event, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Of all CPUs, in the interval of the event."""
    frame = frame_of(model, event)
    found = frame.culprits[: max(height - 1, 0)] if frame is not None else ()
    if not found:
        return []
    return [[], *culprit_table(Listing(found, len(found), is_chosen=False), "who was there", width, height, glyphs)]


def _title(model: ScreenModel) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    count, lines = len(model.log.events), len(model.log.listed())
    told = f"{count} event{'' if count == 1 else 's'}{f' in {lines} lines' if lines < count else ''}"
    return f"{told}, filter: {model.log.filter}" if model.log.filter else told


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The log, and in the rows that it leaves what was then."""
    rows = _list(model, width, height)
    selected = model.log.selected() if model.newest is not None else None
    left = height - len(rows) - 1
    if selected is None or left < _LEAST_PANEL:
        return rows
    about = f" {selected.kind} at {time_in_words(model, selected)}"
    return [*rows, [(fitted(about, width), "heading")], *event_rows(model, selected, width, glyphs)[:left]]


def _list(model: ScreenModel, width: int, height: int) -> list[Row]:
    """A heading, and as many events as find room, the selected one among them."""
    columns = columns_of_events(model, width)
    rows: list[Row] = [[(columns + _heading(model), "heading")]]
    if model.log.silence is not None:
        rows.append([(f"             no device events: {model.log.silence}", "doubt")])
    listed, at, room = model.log.listed(), model.log.row(), max(height - len(rows), 0)
    if model.newest is None or not listed:
        said = "no event matches" if model.log.events else "no events"
        return [*rows, [(f"             {said}", "faint")]]
    whole = _whole(event_row(model, listed[at], width), len(columns), width)[:room]
    room -= len(whole) - 1
    first = max(min(at - room // 2, len(listed) - room), 0)
    for number, event in enumerate(listed[first : first + room], start=first):
        rows += whole if number == at else [cut(event_row(model, event, width), width)]
    return rows


def _whole(row: Row, text_at: int, width: int) -> list[Row]:
    """The selected row, on as many lines as it takes; its text begins at that column."""
    line = "".join(text for text, _ in row)
    first, *others = textwrap.wrap(line[text_at:], max(width - text_at, 10)) or [""]
    lines = [line[:text_at] + first, *(" " * text_at + other for other in others)]
    return [[(fitted(line, width), "selected")] for line in lines]


def _heading(model: ScreenModel) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    if model.log.filter:
        return f"filter: {model.log.filter}"
    since = "in the recording" if model.is_recorded else "since start"
    return f"{since}; letters as on the timeline, {SEVERAL}: several"
