"""The panel of the selected event: the state of the machine at its time."""

from __future__ import annotations

import textwrap

from noisewatch.operations.frame.frame import CauseLine, Frame
from noisewatch.patterns import regex
from noisewatch.surfaces.tui.draw.glyphs import Glyphs, style_of
from noisewatch.surfaces.tui.draw.text_row import Row, Style, cut
from noisewatch.surfaces.tui.events.folds import FoldedEvent, begins
from noisewatch.surfaces.tui.events.kinds import MARKS, Event, EventKind
from noisewatch.surfaces.tui.state.filters import worst_cpu
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_noise

_NAME = 10  # columns of a fact's name
_IRQ = regex(r"IRQ (\d+)")
_OF_CLOCKS = ("governor", "turbo", "frequency", "clock")  # in the ids of checks
_MOST_CULPRITS, _MOST_BESIDE = 6, 4


def event_rows(model: ScreenModel, event: Event, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the event's time, the culprits, concurrent events, its fix and the legend of letters."""
    frame = frame_of(model, event)
    rows = _times(model, event, width)
    if frame is not None:
        rows += _verdict(frame, width)
        rows += _worst(frame, width, glyphs)
    beside = [each.text for each in model.log.within(range(event.number, event.number + 1)) if not _is_in(each, event)]
    for text in beside[:_MOST_BESIDE]:
        rows += _fact("also then", text, width)
    if frame is not None:
        rows += _fix(frame, event, width)
    return rows + _fact("letters", legend(), width, "faint")


def legend() -> str:
    """Return the letter of each kind of event, as on the timeline."""
    return "  ".join(f"{mark} {kind}" for kind, mark in MARKS.items())


def times_of(model: ScreenModel, event: Event, then_ns: int | None = None) -> tuple[str | None, float]:
    """Return the event's time of day, if known, and its seconds into a recording or before `then_ns`.

    Without `then_ns`, seconds are before the newest frame.
    """
    if model.is_recorded:
        return model.wall_clock(event.at_ns), (event.at_ns - (model.begin_ns or 0)) / 1e9
    newest_ns = model.newest.taken_at_ns if model.newest is not None else event.at_ns
    return model.wall_clock(event.at_ns), ((newest_ns if then_ns is None else then_ns) - event.at_ns) / 1e9


def time_in_words(model: ScreenModel, event: Event) -> str:
    """Return the event's time as `14:01:01, 25 s` or `14:01:01, 12 s ago`."""
    wall_clock, seconds = times_of(model, event)
    relative = f"{seconds:.0f} s{'' if model.is_recorded else ' ago'}"
    return relative if wall_clock is None else f"{wall_clock}, {relative}"


def _fact(name: str, said: str, width: int, style: Style = "plain") -> list[Row]:
    lines = textwrap.wrap(said, max(width - _NAME - 1, 10)) or [""]
    names = (name, *("" for _ in lines[1:]))
    return [
        cut([(f" {each:<{_NAME}}", "faint"), (line, style)], width) for each, line in zip(names, lines, strict=True)
    ]


def _times(model: ScreenModel, event: Event, width: int) -> list[Row]:
    """Return the event's time; of a folded event the times at which it began last."""
    if not isinstance(event, FoldedEvent):
        return _fact("when", time_in_words(model, event), width)
    began = [each for each in event.beside if begins(each, event.events[0])]
    times = [model.wall_clock(each.at_ns) or f"{times_of(model, each)[1]:.0f} s" for each in began]
    shown = times[: max((width - _NAME) // 10, 1)]
    more = f" and {len(times) - len(shown)} more" if len(times) > len(shown) else ""
    return _fact("began", f"{', '.join(shown)}{more}", width) + _fact("last", event.beside[0].text, width)


def _is_in(one: Event, event: Event) -> bool:
    return one is event or (isinstance(event, FoldedEvent) and one in event.events)


def frame_of(model: ScreenModel, event: Event) -> Frame | None:
    """Return the frame of the event's interval, or None if not kept; a recent device event uses the newest frame."""
    number = min(event.number, model.history.count - 1)
    return model.history.frame(number) if model.history.first <= number < model.history.count else None


def _verdict(frame: Frame, width: int) -> list[Row]:
    if frame.verdict is None:
        return []
    checks = frame.failed or frame.unknown
    named = f": {', '.join(checks[:3])}{' …' if len(checks) > 3 else ''}" if checks else ""
    return _fact("verdict", f"{frame.verdict}{named}", width, "grave" if frame.failed else "plain")


def _worst(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """Return the worst target CPU in the frame, and its culprits."""
    worst = worst_cpu(frame.cpus)
    line = next((line for line in frame.cpus if line.cpu == worst), None)
    if line is None:
        return []
    noise = f"{short_noise(line.stolen_ns_per_s)}" if line.stolen_ns_per_s is not None else "noise unknown"
    rows: list[Row] = [
        [
            (f" {'worst':<{_NAME}}", "faint"),
            (f"CPU {line.cpu}: ", "strong"),
            (noise, style_of(line.stolen_ns_per_s)),
        ]
    ]
    found = sorted((each for each in frame.culprits if each.cpu == worst), key=lambda each: -each.stolen_ns_per_s)
    for at, each in enumerate(found[:_MOST_CULPRITS]):
        name = each.kind.with_name(each.name) + each.process_mark
        lead = f"{glyphs.cause} " if at == 0 else "  "
        noise = f"{short_noise(each.stolen_ns_per_s)}"
        row: Row = [(f" {'':<{_NAME}}{lead}", "faint"), (f"{name}  ", "plain"), (noise, style_of(each.stolen_ns_per_s))]
        rows.append(cut(row, width))
    return rows


def _fix(frame: Frame, event: Event, width: int) -> list[Row]:
    cause = fix_of(frame, event)
    if cause is None:
        return []
    rows = []
    for purpose, line in cause.steps:
        rows.append(cut([(f" {purpose:<{_NAME}}", "faint"), (line, "plain")], width))
    return rows


def fix_of(frame: Frame, event: Event) -> CauseLine | None:
    """Return the frame's fix for what the event reports as moved, changed or failed, or None."""
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
