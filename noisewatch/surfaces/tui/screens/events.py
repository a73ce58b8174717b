"""The sixth screen: the events, newest first, and the state of the machine at the time of the selected one."""

from __future__ import annotations

from functools import reduce

from noisewatch.surfaces.reports.parts.wraps import wrap_after
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, columns_of, scale_label, tall_rows
from noisewatch.surfaces.tui.draw.panel import joined, panel, side_by_side
from noisewatch.surfaces.tui.draw.text_row import Row, cut, first_that_fits, fitted
from noisewatch.surfaces.tui.draw.timeline import LABEL, axis_of
from noisewatch.surfaces.tui.events.kinds import SEVERAL, Event
from noisewatch.surfaces.tui.screens.culprits import hint
from noisewatch.surfaces.tui.screens.event_list import (
    KINDS,
    columns_of_events,
    event_row,
    event_rows,
    frame_of,
    is_single,
    kind_rows,
    latest_events,
    time_in_words,
    with_latest,
)
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count

_LEAST_SIDE_BY_SIDE = 200  # columns, from which on the panel is next to the log
_LEAST_LIST, _LEAST_PANEL, _LEAST_WHO = 6, 4, 12  # rows
_LEAST_NOISE, _TALLEST_NOISE = 6, 32  # rows
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
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, framed=_framed)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the list, and below it the selected event, the kinds of events, and the noise around the event."""
    selected = model.log.selected() if model.newest is not None else None
    if selected is not None and width >= _LEAST_SIDE_BY_SIDE:
        return _side_by_side_frames(model, selected, width, height, glyphs)
    listed = _list(model, width - 4, height)
    if is_single(model):
        latest = latest_events(model, width - 4, height - 3 - len(listed), glyphs)
        high = height - (len(latest) + 1 if latest else 0)
        return with_latest(
            model, panel(_title(model), listed, width, high, glyphs, _keys(model)), latest, width, glyphs
        )
    event_lines = event_rows(model, selected, width - 4, glyphs) if selected is not None else []
    event_lines += _culprits(model, selected, width - 4, height - 3 - len(listed) - len(event_lines), glyphs)
    left = max(height - 3 - len(listed) - len(event_lines), 0)
    others = _others(model, selected, width, left, glyphs)
    left -= sum(len(panel_rows) - 1 for panel_rows in others)
    below = min(len(event_lines), height - 3 - _LEAST_LIST) + left if selected is not None else -1
    above = height - below - 1 - sum(len(panel_rows) - 1 for panel_rows in others)
    listed = listed if len(listed) <= above - 2 else _list(model, width - 4, above - 2)
    frames = [panel(_title(model), listed, width, above, glyphs, _keys(model))]
    if selected is not None:
        frames.append(panel(_about(model, selected), event_lines[:below], width, below + 2, glyphs))
    return reduce(lambda one, other: joined(one, other, glyphs), [*frames, *others])


def _side_by_side_frames(model: ScreenModel, selected: Event, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the event next to the list, and below both the noise around it, if rows are left."""
    left = width * 3 // 5
    right = width - left
    listed, event_lines = _list(model, left - 4, height - 2), event_rows(model, selected, right - 4, glyphs)
    needed = max(len(listed), len(event_lines) + _LEAST_WHO) + 2
    chart = _noise_panel(model, selected, width, height - needed, glyphs)
    high = height - len(chart)
    kinds = kind_rows(model, model.log.events, left - 4, high - 3 - len(listed))
    above = high - (len(kinds) + 1 if kinds else 0)
    log = panel(_title(model), listed, left, above, glyphs, _keys(model))
    log = joined(log, panel(KINDS, kinds, left, len(kinds) + 2, glyphs), glyphs) if kinds else log
    event_lines += _culprits(model, selected, right - 4, high - 2 - len(event_lines), glyphs)
    return [*side_by_side(log, panel(_about(model, selected), event_lines, right, high, glyphs)), *chart]


def _others(model: ScreenModel, selected: Event | None, width: int, height: int, glyphs: Glyphs) -> list[list[Row]]:
    """Return the frames that fit, each sharing an edge with the one before."""
    kinds = kind_rows(model, model.log.events, width - 4, height - 1)
    frames = [panel(KINDS, kinds, width, len(kinds) + 2, glyphs)] if kinds else []
    chart = _noise_panel(model, selected, width, height + 1 - (len(kinds) + 1 if kinds else 0), glyphs)
    return [*frames, chart] if chart else frames


def _noise_panel(model: ScreenModel, selected: Event | None, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the lane of the timeline, as high as fits, with a mark below the selected event."""
    room = min(height - 3, _TALLEST_NOISE)
    axis = axis_of(model, width - 4)
    if room < _LEAST_NOISE or not axis.numbers:
        return []
    lane = axis.spread(columns_of(model.history.worst(axis.numbers), axis.zoom))
    bars = tall_rows(lane, room, glyphs)
    rows: list[Row] = [
        [(f"{scale_label(room - at, room):>{LABEL - 1}} {'':{axis.before}}", "faint"), *bar]
        for at, bar in enumerate(bars)
    ]
    if selected is not None and selected.number in axis.numbers:
        rows.append([(f"{'':{LABEL + axis.column(selected.number)}}{glyphs.cursor}", "strong")])
    around = ", around the selected event" if selected is not None else ""
    return panel(f"noise of the worst target CPU{around}", rows, width, len(rows) + 2, glyphs)


def _about(model: ScreenModel, selected: Event) -> str:
    return f"{selected.kind} at {time_in_words(model, selected)}"


def _keys(model: ScreenModel) -> str:
    return f"/ filter · g {'unfold' if model.log.folds else 'fold'} · enter shows that time"


def _culprits(model: ScreenModel, event: Event | None, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprits on all CPUs in the interval of the event."""
    frame = frame_of(model, event) if event is not None and height >= _LEAST_PANEL else None
    culprits = frame.culprits[: height - 1] if frame is not None else ()
    if not culprits:
        return []
    return culprit_table(Listing(culprits, len(culprits), is_chosen=False), "who was there", width, height, glyphs)


def _title(model: ScreenModel) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    count, lines = len(model.log.events), len(model.log.listed())
    on_lines = f" in {describe_count(lines, 'line')}" if lines < count else ""
    title = f"{describe_count(count, 'event')}{on_lines}"
    return f"{title}, filter: {model.log.filter}" if model.log.filter else title


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the log, and in the remaining rows the selected event."""
    rows = _list(model, width, height)
    selected = model.log.selected() if model.newest is not None else None
    left = height - len(rows) - 1
    if selected is None or left < _LEAST_PANEL:
        return rows
    event_lines = event_rows(model, selected, width, glyphs)[:left]
    event_lines += _culprits(model, selected, width, left - len(event_lines), glyphs)
    return [*rows, [(fitted(f" {_about(model, selected)}", width), "heading")], *event_lines]


def _list(model: ScreenModel, width: int, height: int) -> list[Row]:
    """Return a heading, and as many events as fit, the selected one among them."""
    columns = columns_of_events(model, width)
    rows: list[Row] = [[(columns + _heading(model, width - len(columns)), "heading")]]
    if model.log.silence is not None:
        rows.append([(f"             no device events: {model.log.silence}", "doubt")])
    listed, at, room = model.log.listed(), model.log.row(), max(height - len(rows), 0)
    if model.newest is None or not listed:
        single = ": a copied tree is a single snapshot" if is_single(model) else ""
        note = "no event matches" if model.log.events else f"no events{single}"
        return [*rows, [(f"             {note}", "faint")]]
    whole = _wrapped_row(event_row(model, listed[at], width), len(columns), width)[:room]
    room -= len(whole) - 1
    first = max(min(at - room // 2, len(listed) - room), 0)
    for number, event in enumerate(listed[first : first + room], start=first):
        rows += whole if number == at else [cut(event_row(model, event, width), width)]
    return rows


def _wrapped_row(row: Row, text_at: int, width: int) -> list[Row]:
    """Return the selected row on as many lines as needed; its text begins at column `text_at`."""
    line = "".join(text for text, _ in row)
    return [[(fitted(part, width), "selected")] for part in wrap_after(line[:text_at], line[text_at:], width)]


def _heading(model: ScreenModel, width: int) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    if model.log.filter:
        return f"filter: {model.log.filter}"
    since = "in the recording" if model.is_recorded else "since start"
    choices = (
        f"{since}; letters as on the timeline, {SEVERAL}: several",
        f"{since}; letters as on the timeline",
        since,
    )
    return first_that_fits(choices, width)
