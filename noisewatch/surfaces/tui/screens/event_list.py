"""Events as rows, the latest events for spare rows on other screens, and the selected event in detail.

The detail is the machine's state at the event's time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from noisewatch.operations.frame.frame import CauseLine, FindingLine, Frame
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.panel import Section, Space
from noisewatch.surfaces.drawing.table import Column, Table, first_row_around
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, cut, fact, facts, fit_text
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.tui.draw.levels import style_of
from noisewatch.surfaces.tui.draw.side_panel import mark
from noisewatch.surfaces.tui.events.kinds import Event, EventKind, FoldedEvent, begins, fold_events
from noisewatch.surfaces.tui.state.filters import worst_cpu
from noisewatch.surfaces.tui.state.screen_model import Screen, ScreenModel
from noisewatch.units import describe_names, short_noise

_NAME = 11  # columns of a fact's name
_IRQ = regex(r"IRQ (\d+)")
_OF_CLOCKS = ("governor", "turbo", "frequency", "clock")  # words in the ids of the checks on clocks
_MOST_CULPRITS, _MOST_CONCURRENT = 6, 4


def event_rows(model: ScreenModel, event: Event, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the event in detail: time, verdict, culprits and concurrent events, its fix, and the legend of letters."""
    frame = frame_of(model, event)
    rows = _times(model, event, width)
    if frame is not None:
        rows += _verdict(frame, width)
        rows += _worst(frame, width, glyphs)
    concurrent = [
        other.text
        for other in model.log.in_intervals(range(event.number, event.number + 1))
        if not _is_in(other, event)
    ]
    for text in concurrent[:_MOST_CONCURRENT]:
        rows += _fact("also then", text, width)
    if frame is not None:
        rows += _fix(frame, event, width)
    return rows + _fact("letters", legend(), width, "faint")


def legend() -> str:
    """Return the letter of each kind of event, as on the timeline."""
    return "  ".join(f"{kind.mark} {kind}" for kind in EventKind)


def seconds_of(model: ScreenModel, event: Event, then_ns: int | None = None) -> float:
    """Return the event's time in a recording (s); on a live machine, how long before `then_ns` or the newest frame."""
    if model.is_recorded:
        return (event.at_ns - (model.begin_ns or 0)) / 1e9
    newest_ns = model.newest.taken_at_ns if model.newest is not None else event.at_ns
    return ((newest_ns if then_ns is None else then_ns) - event.at_ns) / 1e9


def time_in_words(model: ScreenModel, event: Event) -> str:
    """Return the event's time as `14:01:01, 25 s` or `14:01:01, 12 s ago`."""
    wall_clock = model.wall_clock(event.at_ns)
    relative = f"{seconds_of(model, event):.0f} s{'' if model.is_recorded else ' ago'}"
    return relative if wall_clock is None else f"{wall_clock}, {relative}"


def _fact(name: str, text: str, width: int, style: Style = "plain") -> list[Row]:
    lines = wrap(text, width - _NAME) or [""]
    return [cut(row, width) for row in facts(f" {name}", lines, _NAME, style)]


def _times(model: ScreenModel, event: Event, width: int) -> list[Row]:
    """Return the event's time; for a folded event, its last start times, and the text of its last event."""
    if not isinstance(event, FoldedEvent):
        return _fact("when", time_in_words(model, event), width)
    began = [earlier for earlier in event.related if begins(earlier, event.events[0])]
    times = [model.wall_clock(start.at_ns) or f"{seconds_of(model, start):.0f} s" for start in began]
    shown = describe_names(times, max((width - _NAME + 1) // 10, 1))
    return _fact("began", shown, width) + _fact("last", event.related[0].text, width)


def _is_in(candidate: Event, event: Event) -> bool:
    return candidate is event or (isinstance(event, FoldedEvent) and candidate in event.events)


def frame_of(model: ScreenModel, event: Event) -> Frame | None:
    """Return the frame of the event's interval, or the newest frame for a newer event; None if it is not kept."""
    number = min(event.number, model.history.count - 1)
    return model.history.frame(number) if model.history.first <= number < model.history.count else None


def _verdict(frame: Frame, width: int) -> list[Row]:
    if frame.verdict is None:
        return []
    checks = frame.failed or frame.unknown
    named = f": {', '.join(checks[:3])}{' …' if len(checks) > 3 else ''}" if checks else ""
    return _fact("verdict", f"{frame.verdict}{named}", width, "grave" if frame.failed else "plain")


def _worst(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the frame's worst target CPU (or, without target CPUs, its worst CPU), and that CPU's culprits."""
    worst = worst_cpu(frame.cpus)
    line = next((line for line in frame.cpus if line.cpu == worst), None)
    if line is None:
        return []
    noise = f"{short_noise(line.stolen_ns_per_s)}" if line.stolen_ns_per_s is not None else "noise unknown"
    rows: list[Row] = [
        [
            *fact(" worst", f"CPU {line.cpu}: ", _NAME, "strong"),
            (noise, style_of(line.stolen_ns_per_s, glyphs, line.role)),
        ]
    ]
    culprits = sorted(
        (culprit for culprit in frame.culprits if culprit.cpu == worst), key=lambda culprit: -culprit.stolen_ns_per_s
    )
    for index, culprit in enumerate(culprits[:_MOST_CULPRITS]):
        name = culprit.label_with_kind
        lead = f"{glyphs.cause} " if index == 0 else "  "
        noise = f"{short_noise(culprit.stolen_ns_per_s)}"
        row: Row = [
            (f"{'':<{_NAME}}{lead}", "faint"),
            (f"{name}  ", "plain"),
            (noise, style_of(culprit.stolen_ns_per_s, glyphs, culprit.role)),
        ]
        rows.append(cut(row, width))
    return rows


def _fix(frame: Frame, event: Event, width: int) -> list[Row]:
    cause = fix_of(frame, event)
    if cause is None:
        return []
    return [cut(fact(f" {purpose}", line, _NAME), width) for purpose, line in cause.steps]


def fix_of(frame: Frame, event: Event) -> CauseLine | None:
    """Return the frame's fix for what the event reports (a moved IRQ, changed clock or failed check), or None."""
    return next((cause for cause in frame.causes if cause.steps and _settles(cause, event)), None)


def _settles(cause: CauseLine, event: Event) -> bool:
    if event.kind == EventKind.IRQ:
        moved = _IRQ.search(event.text)
        return moved is not None and any(f"/irq/{moved[1]}/" in line for _, line in cause.steps)
    if event.kind == EventKind.CLOCK:
        return any(word in check for check in cause.settles for word in _OF_CLOCKS)
    if event.kind == EventKind.VERDICT:
        return any(check in event.text for check in cause.settles)
    return False


KINDS = "kinds of events, logged if they can be read"
_LEAST = 4  # rows: a heading and enough events to be worth an edge
_KIND = 12  # columns
_NARROW, _LEAST_WITH_CLOCK = 60, 80  # columns


def title_of_latest(model: ScreenModel) -> str:
    """Return the title for the rows of `latest_events`."""
    if is_single(model):
        return "checks of a single snapshot"
    is_there = any(_is_listed(model, event) for event in model.log.events)
    return "events, the newest first" if is_there else "no events"


def latest_section(model: ScreenModel, space: Space, used_rows: int) -> list[Section]:
    """Return the section of the latest events, below `used_rows` rows; empty if too few events fit."""
    events = latest_events(model, space.inside, space.room - used_rows - 1, space.glyphs)
    if not events:
        return []
    name, screen = ("all checks", Screen.PREFLIGHT) if is_single(model) else ("all events", Screen.EVENTS)
    return [Section(title_of_latest(model), events, f"{screen.number} {name}")]


def is_single(model: ScreenModel) -> bool:
    """Return whether the machine is a copied tree: a single snapshot without events."""
    return model.is_recorded and not model.history.count


def latest_events(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return a heading and the newest events.

    Repeated events are folded if not all fit while the newest interval is followed; kinds of events are explained if
    rows are left. If an earlier interval is shown, events are listed up to it, and in a recording also after it. A
    single snapshot has no events, so its checks' findings are returned.
    """
    if is_single(model):
        return _findings(model, width, height, glyphs)
    if model.frame is None or height < _LEAST:
        return []
    events = [event for event in reversed(model.log.events) if _is_listed(model, event)]
    if not events:
        return _headed_kinds(model, (), width, height)
    room = height - 1
    shown = fold_events(events) if len(events) > room and model.cursor is None else events
    at = next((at for at, event in enumerate(shown) if event.number <= model.number), len(shown) - 1)
    first = first_row_around(at, len(shown), room)
    table = event_table(model, width, model.frame.taken_at_ns)
    rows = [cut(table.row(event), width) for event in shown[first : first + room]]
    kinds = _headed_kinds(model, events, width, room - len(rows))
    newer = f"   {first} newer above" if first else ""
    return [cut([(table.heading + newer, "heading")], width), *rows, *kinds]


def _is_listed(model: ScreenModel, event: Event) -> bool:
    """Return whether the event is listed: events after the shown interval are listed only for a recording."""
    return model.cursor is None or model.is_recorded or event.number <= model.number


def _findings(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the findings, the gravest first, or nothing if too few of them fit."""
    findings = _explained_findings(model)
    if height < min(len(findings), _LEAST):
        return []
    widest = max((len(finding.id) for finding in findings), default=0)
    rows: list[Row] = []
    for finding in findings[:height]:
        sign, style = mark(finding.gravity, glyphs)
        rows.append(
            cut([(f" {sign} ", style), (f"{finding.id:<{widest}}  ", "strong"), (finding.said, "plain")], width)
        )
    return rows


def _explained_findings(model: ScreenModel) -> list[FindingLine]:
    return [finding for finding in (model.frame.findings if model.frame is not None else ()) if finding.said]


def most_latest(model: ScreenModel) -> int:
    """Return the maximum number of rows that the latest events can take."""
    if is_single(model):
        return len(_explained_findings(model))
    return 1 + len(model.log.events) + 1 + len(EventKind)


def _headed_kinds(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    rows = kind_rows(model, events, width, height - 1)
    return [[(fit_text(f"{'':{_before_kind(model, width)}}{KINDS}", width), "heading")], *rows] if rows else []


def kind_rows(model: ScreenModel, events: Sequence[Event], width: int, height: int) -> list[Row]:
    """Return a row for each kind of event with its meaning and count; no row if not all fit, or for a copied tree."""
    if height < len(EventKind) or width < _NARROW or is_single(model):
        return []
    count_of = Counter(event.kind for event in events)
    before = _before_kind(model, width)
    silence = "a recording has none" if model.is_recorded else model.log.silence  # only live kernels report devices
    rows: list[Row] = []
    for kind in EventKind:
        count = f"{count_of[kind]} times " if count_of[kind] > 1 else "once " if count_of[kind] else ""
        unheard = silence if kind == EventKind.DEVICE else None
        text = kind.meaning if unheard is None else f"{kind.meaning}: {unheard}"
        row: Row = [(f"{count:>{before}}", "plain"), (f"{kind.mark} {kind:<9} ", "strong"), (text, "faint")]
        rows.append(cut(row, width))
    return rows


def _before_kind(model: ScreenModel, width: int) -> int:
    return event_table(model, width).width - _KIND


def event_table(model: ScreenModel, width: int, then_ns: int | None = None) -> Table[Event]:
    """Return the table of events: time, letter on the timeline, kind, text. The shown interval's events are strong.

    Live times are counted back from `then_ns`, or else from the newest interval. A narrow screen shows a kind only as
    its letter.
    """

    def style(event: Event) -> Style:
        return "strong" if model.cursor is not None and event.number == model.number else "plain"

    def ago(event: Event) -> Piece:
        return f"{seconds_of(model, event, then_ns):.0f} s ", "faint"

    when = " at" if model.is_recorded else "ago"
    text = Column[Event]("", 0, lambda event: (event.text, style(event)))
    if width < _NARROW:
        mark = Column[Event]("", 2, lambda event: (event.kind.mark, style(event)), is_left=True)
        return Table([Column(f"{when} ", 7, ago), mark, text])
    kind = Column[Event](
        "   what", _KIND + 1, lambda event: (f" {event.kind.mark} {event.kind}", style(event)), is_left=True
    )
    clock = Column[Event](" time", 9, lambda event: (f" {model.wall_clock(event.at_ns) or ''}", "faint"), is_left=True)
    has_clock = width >= _LEAST_WITH_CLOCK - 4 and model.newest is not None
    has_clock = has_clock and model.wall_clock(model.newest) is not None
    return Table([*([clock] if has_clock else []), Column(when, 10, ago), kind, text])
