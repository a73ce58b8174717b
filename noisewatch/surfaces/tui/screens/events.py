"""The sixth screen: the events, the newest first, and the machine's state at the time of the selected event."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space, count_rows, side_by_side
from noisewatch.surfaces.drawing.table import first_row_with
from noisewatch.surfaces.drawing.text_row import Row, cut, first_that_fits, fit_text, text_of
from noisewatch.surfaces.drawing.wraps import wrap_after
from noisewatch.surfaces.tui.draw.culprit_panel import culprit_table
from noisewatch.surfaces.tui.draw.levels import scale_label, tall_rows
from noisewatch.surfaces.tui.draw.timeline import LABEL, axis_of
from noisewatch.surfaces.tui.events.kinds import SEVERAL, Event
from noisewatch.surfaces.tui.screens.culprits import hint
from noisewatch.surfaces.tui.screens.event_list import (
    KINDS,
    event_rows,
    event_table,
    frame_of,
    is_single,
    kind_rows,
    latest_section,
    time_in_words,
)
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.noise import columns_of
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_count

_LEAST_SIDE_BY_SIDE = 200  # columns; on a narrower screen the panel is below the log
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
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    """Return the list, the selected event next to it or below, the kinds of events, and the noise around the event."""
    selected = model.log.selected() if model.newest is not None else None
    if selected is not None and space.is_framed and space.width >= _LEAST_SIDE_BY_SIDE:
        return _side_by_side(model, selected, space)
    width = space.inside
    listed = _list(model, width, space.height)
    if selected is None:
        used_rows = len(listed)
        rest = latest_section(model, space, used_rows) if is_single(model) else _others(model, None, space, used_rows)
        return space.draw([_log_section(model, listed, space.room - count_rows(rest)), *rest])
    event_lines = event_rows(model, selected, width, space.glyphs)
    event_lines += _culprits(model, selected, width, space.room - 1 - len(listed) - len(event_lines), space.glyphs)
    others = _others(model, selected, space, len(listed) + 1 + len(event_lines))
    room = space.room - 1 - count_rows(others)
    least = _LEAST_LIST if space.is_framed else len(listed)
    below = max(min(len(event_lines), room - least), room - len(listed))
    if below < _LEAST_PANEL:
        return space.draw([_log_section(model, listed, space.room)])
    if len(listed) > room - below:
        listed = _list(model, width, room - below)
    event_section = Section(_about(model, selected), event_lines, height=below)
    return space.draw([_log_section(model, listed, room - below), event_section, *others])


def _log_section(model: ScreenModel, listed: Sequence[Row], height: int) -> Section:
    keys = f"/ filter · g {'unfold' if model.log.folds else 'fold'} · enter shows that time"
    return Section(_title(model), listed, keys, height, has_heading=True, is_active=True)


def _side_by_side(model: ScreenModel, selected: Event, space: Space) -> list[Row]:
    """Return the list next to the event, and below both the noise around the event if rows are left."""
    left = replace(space, width=space.width * 3 // 5)
    right = replace(space, width=space.width - left.width)
    listed = _list(model, left.inside, space.room)
    event_lines = event_rows(model, selected, right.inside, space.glyphs)
    needed = max(len(listed), len(event_lines) + _LEAST_WHO) + 2
    chart = space.draw(_noise_section(model, selected, space, needed - 1))
    high = space.height - len(chart)
    kinds = _kinds_section(model, left, high - 3 - len(listed))
    log = left.draw([_log_section(model, listed, high - 2 - count_rows(kinds)), *kinds])
    event_lines += _culprits(model, selected, right.inside, high - 2 - len(event_lines), space.glyphs)
    event = right.draw([Section(_about(model, selected), event_lines, height=high - 2)])
    return [*side_by_side(log, event), *chart]


def _others(model: ScreenModel, selected: Event | None, space: Space, used_rows: int) -> list[Section]:
    """Return the kinds of events and the noise around the selected event, if they fit below `used_rows` rows."""
    kinds = _kinds_section(model, space, space.room - used_rows - 1)
    return [*kinds, *_noise_section(model, selected, space, used_rows + count_rows(kinds))]


def _kinds_section(model: ScreenModel, space: Space, height: int) -> list[Section]:
    kinds = kind_rows(model, model.log.events, space.inside, height)
    return [Section(KINDS, kinds)] if kinds else []


def _noise_section(model: ScreenModel, selected: Event | None, space: Space, used_rows: int) -> list[Section]:
    """Return the timeline's noise, as high as fits below `used_rows` rows, with a mark below the selected event."""
    room = min(space.room - used_rows - 2, _TALLEST_NOISE)
    axis = axis_of(model, space.inside)
    if room < _LEAST_NOISE or not axis.numbers:
        return []
    lane = axis.spread(columns_of(model.history.worst(axis.numbers), axis.zoom))
    bars = tall_rows(lane, room, space.glyphs)
    rows: list[Row] = [
        [(f"{scale_label(room - index, room):>{LABEL - 1}} {'':{axis.before}}", "faint"), *bar]
        for index, bar in enumerate(bars)
    ]
    if selected is not None and selected.number in axis.numbers:
        rows.append([(f"{'':{LABEL + axis.column(selected.number)}}{space.glyphs.cursor}", "strong")])
    around = ", around the selected event" if selected is not None else ""
    return [Section(f"noise of the worst target CPU{around}", rows)]


def _about(model: ScreenModel, selected: Event) -> str:
    return f"{selected.kind} at {time_in_words(model, selected)}"


def _culprits(model: ScreenModel, event: Event | None, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the culprits, on all CPUs, in the event's interval."""
    frame = frame_of(model, event) if event is not None and height >= _LEAST_PANEL else None
    culprits = frame.culprits[: height - 1] if frame is not None else ()
    if not culprits:
        return []
    listing = Listing(culprits, len(culprits))
    return culprit_table(listing, "culprits then", width, height, glyphs, frame=frame)


def _title(model: ScreenModel) -> str:
    if model.is_typing:
        return f"filter: {model.log.filter}_  {hint(model)}"
    count, lines = len(model.log.events), len(model.log.listed())
    on_lines = f" in {describe_count(lines, 'line')}" if lines < count else ""
    title = f"{describe_count(count, 'event')}{on_lines}"
    return f"{title}, filter: {model.log.filter}" if model.log.filter else title


def _list(model: ScreenModel, width: int, height: int) -> list[Row]:
    """Return a heading and as many events as fit, the selected event among them."""
    table = event_table(model, width)
    rows: list[Row] = [[(table.heading + _heading(model, width - table.width), "heading")]]
    if model.log.silence is not None:
        rows.append([(f"             no device events: {model.log.silence}", "doubt")])
    listed, at, room = model.log.listed(), model.log.row(), max(height - len(rows), 0)
    if model.newest is None or not listed:
        single = ": a copied tree is a single snapshot of /proc and /sys" if is_single(model) else ""
        note = "no event matches" if model.log.events else f"no events{single}"
        return [*rows, [(f"             {note}", "faint")]]
    whole = _wrapped_row(table.row(listed[at]), table.width, width)[:room]
    room -= len(whole) - 1
    first = first_row_with(at, len(listed), room)
    for number, event in enumerate(listed[first : first + room], start=first):
        rows += whole if number == at else [cut(table.row(event), width)]
    return rows


def _wrapped_row(row: Row, text_at: int, width: int) -> list[Row]:
    """Return the selected row on as many lines as needed; its text begins at column `text_at`."""
    line = text_of(row)
    return [[(fit_text(part, width), "selected")] for part in wrap_after(line[:text_at], line[text_at:], width)]


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
