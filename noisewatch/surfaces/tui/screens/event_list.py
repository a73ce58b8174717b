"""Events as rows, and the latest events for free rows of other screens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from noisewatch.operations.frame.frame import FindingLine
from noisewatch.surfaces.reports.parts.marks import MEANINGS, mark_of
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import joined, panel
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut, fitted
from noisewatch.surfaces.tui.events.folds import folded
from noisewatch.surfaces.tui.events.kinds import MARKS, Event, EventKind
from noisewatch.surfaces.tui.events.watches import TOLD
from noisewatch.surfaces.tui.screens.event_panel import times_of
from noisewatch.surfaces.tui.state.screen_model import SCREENS, Screen, ScreenModel

KINDS = "what is told, where it can be read"
_LEAST = 4  # rows: a heading and what it takes to be worth an edge
_KIND = 12  # columns
_NARROW, _LEAST_WITH_CLOCK = 60, 80  # columns


def title_of_latest(model: ScreenModel) -> str:
    """Return the title for the rows of `latest_events`."""
    if is_single(model):
        return "what the checks say of a single snapshot"
    is_there = any(_is_told(model, event) for event in model.log.events)
    return "events, the newest first" if is_there else "no events"


def with_latest(model: ScreenModel, above: list[Row], events: Sequence[Row], width: int, glyphs: Glyphs) -> list[Row]:
    """Append a panel with the latest events below `above`, sharing an edge, if there are any."""
    if not events:
        return above
    name, screen = ("all checks", Screen.PREFLIGHT) if is_single(model) else ("all events", Screen.EVENTS)
    key = f"{SCREENS.index(screen) + 1} {name}"
    return joined(above, panel(title_of_latest(model), events, width, len(events) + 2, glyphs, key), glyphs)


def with_headed_latest(model: ScreenModel, rows: list[Row], width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Append the latest events below a heading in the free rows, on a screen without frames."""
    latest = latest_events(model, width, height - len(rows) - 1, glyphs)
    return [*rows, [(fitted(f" {title_of_latest(model)}", width), "heading")], *latest] if latest else rows


def is_single(model: ScreenModel) -> bool:
    """Return whether the machine is a copied tree: a single snapshot without events."""
    return model.is_recorded and not model.history.count


def latest_events(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return a heading and the newest events.

    Repeated events are folded if not all fit; kinds of events are explained if rows are left. At an earlier interval
    of a recording these are the events around it, of a running machine the events up to it. A single snapshot has no
    events: the findings of its checks are returned.
    """
    if is_single(model):
        return _findings(model, width, height, glyphs)
    if model.frame is None or height < _LEAST:
        return []
    events = [event for event in reversed(model.log.events) if _is_told(model, event)]
    if not events:
        return _headed_kinds(model, (), width, height)
    room = height - 1
    shown = folded(events) if len(events) > room and model.cursor is None else events
    at = next((at for at, event in enumerate(shown) if event.number <= model.number), len(shown) - 1)
    first = max(min(at - room // 2, len(shown) - room), 0)
    then_ns = model.frame.taken_at_ns
    rows = [cut(event_row(model, event, width, then_ns), width) for event in shown[first : first + room]]
    kinds = _headed_kinds(model, events, width, room - len(rows))
    newer = f"   {first} newer above" if first else ""
    return [cut([(columns_of_events(model, width) + newer, "heading")], width), *rows, *kinds]


def _is_told(model: ScreenModel, event: Event) -> bool:
    """Return whether the event is listed: events after the shown interval are not, except in a recording."""
    return model.cursor is None or model.is_recorded or event.number <= model.number


def _findings(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the findings, the gravest first; none if too few of them fit."""
    findings = _told_findings(model)
    if height < min(len(findings), _LEAST):
        return []
    widest = max((len(each.id) for each in findings), default=0)
    return [
        cut(
            [
                (f" {mark_of(each.gravity, glyphs.has_braille)} ", MEANINGS[each.gravity] or "plain"),
                (f"{each.id:<{widest}}  ", "strong"),
                (each.said, "plain"),
            ],
            width,
        )
        for each in findings[:height]
    ]


def _told_findings(model: ScreenModel) -> list[FindingLine]:
    return [each for each in (model.frame.findings if model.frame is not None else ()) if each.said]


def most_latest(model: ScreenModel) -> int:
    """Return the most rows that the latest events can take."""
    if is_single(model):
        return len(_told_findings(model))
    return 1 + len(model.log.events) + 1 + len(TOLD)


def _headed_kinds(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    rows = kind_rows(model, events, width, height - 1)
    return [[(fitted(f"{'':{_before_kind(model, width)}}{KINDS}", width), "heading")], *rows] if rows else []


def kind_rows(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    """Return a row for each kind of event with its meaning and count, or no row if not all fit.

    A copied tree is a single snapshot, and has none.
    """
    if height < len(TOLD) or width < _NARROW or is_single(model):
        return []
    count_of = Counter(event.kind for event in events)
    before = _before_kind(model, width)
    rows: list[Row] = []
    for kind, told in TOLD.items():
        count = f"{count_of[kind]} times " if count_of[kind] > 1 else "once " if count_of[kind] else ""
        unheard = _why_unheard(model) if kind == EventKind.DEVICE else None
        said = told if unheard is None else f"{told}: {unheard}"
        row: Row = [(f"{count:>{before}}", "plain"), (f"{MARKS[kind]} {kind:<9} ", "strong"), (said, "faint")]
        rows.append(cut(row, width))
    return rows


def _before_kind(model: ScreenModel, width: int) -> int:
    return len(columns_of_events(model, width)) - _KIND


def _why_unheard(model: ScreenModel) -> str | None:
    """Return why there are no device events; they come only from this host's kernel while the monitor runs."""
    return "a recording has none" if model.is_recorded else model.log.silence


def columns_of_events(model: ScreenModel, width: int) -> str:
    """Return the heading of events, up to the column of their texts."""
    when = " at" if model.is_recorded else "ago"
    if width < _NARROW:
        return f"   {when}   "
    clock = f" {'time':<8}" if _has_clock(model, width) else ""
    return f"{clock}       {when}   what      "


def event_row(model: ScreenModel, event: Event, width: int, then_ns: int | None = None) -> Row:
    """Return the event's time, its letter on the timeline, and its text; strong if its interval is shown.

    A live time is counted back from `then_ns`, or else from the newest interval. On a narrow screen only the letter
    shows the kind.
    """
    is_narrow = width < _NARROW
    is_shown = model.cursor is not None and event.number == model.number
    style: Style = "strong" if is_shown else "plain"
    kind = MARKS[event.kind] + ("" if is_narrow else f" {event.kind:<9}")
    wall_clock, seconds = times_of(model, event, then_ns)
    clock = f" {wall_clock or '':<8}" if _has_clock(model, width) else ""
    return [
        (f"{clock}{seconds:{4 if is_narrow else 7}.0f} s ", "faint"),
        (f"{'' if is_narrow else ' '}{kind} {event.text}", style),
    ]


def _has_clock(model: ScreenModel, width: int) -> bool:
    return width >= _LEAST_WITH_CLOCK - 4 and model.newest is not None and model.wall_clock(model.newest) is not None
