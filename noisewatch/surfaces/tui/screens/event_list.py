"""Events as rows, and the latest ones of all where another screen has rows left."""

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
    """Of what `latest_events` returns."""
    if is_single(model):
        return "what the checks say of a single snapshot"
    is_there = any(_is_told(model, event) for event in model.log.events)
    return "events, the newest first" if is_there else "no events"


def with_latest(model: ScreenModel, above: list[Row], events: Sequence[Row], width: int, glyphs: Glyphs) -> list[Row]:
    """Below a frame another one with these rows, that shares an edge with it; without any there is none."""
    if not events:
        return above
    name, screen = ("all checks", Screen.PREFLIGHT) if is_single(model) else ("all events", Screen.EVENTS)
    key = f"{SCREENS.index(screen) + 1} {name}"
    return joined(above, panel(title_of_latest(model), events, width, len(events) + 2, glyphs, key), glyphs)


def with_headed_latest(model: ScreenModel, rows: list[Row], width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The same without frames: what these rows leave."""
    latest = latest_events(model, width, height - len(rows) - 1, glyphs)
    return [*rows, [(fitted(f" {title_of_latest(model)}", width), "heading")], *latest] if latest else rows


def is_single(model: ScreenModel) -> bool:
    """Whether it is a copied tree, in which nothing happens."""
    return model.is_recorded and not model.history.count


def latest_events(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """A heading and the newest of all events; where not all find room, what came again and again is one; where they
    leave room, what else would be told.

    Of an earlier interval they are those around it in a recording, and those up to it in what goes on meanwhile.
    In a single snapshot nothing happens: there it is what the checks say.
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
    """Not what happens meanwhile while an earlier interval is shown."""
    return model.cursor is None or model.is_recorded or event.number <= model.number


def _findings(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The gravest first; none where few of them find room."""
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
    """Rows that these could take."""
    if is_single(model):
        return len(_told_findings(model))
    return 1 + len(model.log.events) + 1 + len(TOLD)


def _headed_kinds(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    rows = kind_rows(model, events, width, height - 1)
    return [[(fitted(f"{'':{_before_kind(model, width)}}{KINDS}", width), "heading")], *rows] if rows else []


def kind_rows(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    """What an event of each kind tells, in the columns of events, and how many there are of it, if any; all, or none
    where not all find room. A copied tree is one snapshot, and tells none.
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
    """Columns before the letter of an event."""
    return len(columns_of_events(model, width)) - _KIND


def _why_unheard(model: ScreenModel) -> str | None:
    """Of devices only the kernel of this host tells, while the monitor runs."""
    return "a recording has none" if model.is_recorded else model.log.silence


def columns_of_events(model: ScreenModel, width: int) -> str:
    """The heading, up to where the texts begin."""
    when = " at" if model.is_recorded else "ago"
    if width < _NARROW:
        return f"   {when}   "
    clock = f" {'time':<8}" if _has_clock(model, width) else ""
    return f"{clock}       {when}   what      "


def event_row(model: ScreenModel, event: Event, width: int, then_ns: int | None = None) -> Row:
    """When, the letter that it has on the timeline, and what it was; strong where it is what is shown.

    A live time is counted back from `then_ns`, or else from the newest interval.
    On a narrow screen the letter has to do for the kind.
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
    """Whether the time of day has a column."""
    return width >= _LEAST_WITH_CLOCK - 4 and model.newest is not None and model.wall_clock(model.newest) is not None
