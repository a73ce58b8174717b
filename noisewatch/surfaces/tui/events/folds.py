"""What comes and goes again and again as one event: on a busy host a verdict changes every few seconds."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.units import short_seconds, short_share

_LEAST_FOLDED = 3  # what came, went and came again
_WORDS = {EventKind.VERDICT: ("failed", "still failing", "recovered")}


@dataclass(frozen=True, slots=True, eq=False)
class FoldedEvent(Event):
    """All events of one thing, at the place of the last; `events` are those, the newest first; `beside` are they and
    those that were about more than it, which have lines of their own.
    """

    events: tuple[Event, ...] = ()
    beside: tuple[Event, ...] = ()


def folded(events: Sequence[Event]) -> list[Event]:
    """The events, the newest first; those of one thing that came again and again are one, where the newest was."""
    groups: dict[tuple[EventKind, str], list[Event]] = {}
    for event in events:
        if event.about:
            groups.setdefault((event.kind, event.about), []).append(event)
    lines: list[Event] = []
    for event in events:
        group = groups.get((event.kind, event.about), [])
        if len(group) < _LEAST_FOLDED:
            lines.append(event)
        elif event is group[0]:
            lines.append(_one(group, _beside(group, events)))
    return lines


def _beside(group: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """They, and each change of the verdict that is about all that they are about, and maybe more."""
    alike, checks = {id(each) for each in group}, group[0].failed | group[0].recovered
    return [
        each for each in events if id(each) in alike or (checks and (checks <= each.failed or checks <= each.recovered))
    ]


def begins(event: Event, of: Event) -> bool:
    """Whether what the other event is about began in it."""
    checks = of.failed | of.recovered
    return checks <= event.failed if checks else event.begins


def _one(group: Sequence[Event], beside: Sequence[Event]) -> FoldedEvent:
    last = group[0]
    times = sum(begins(event, last) for event in beside) or len(group)  # a filter may leave only the ends
    over = short_seconds((beside[0].at_ns - beside[-1].at_ns) / 1e9)
    most = max((event.share for event in group if event.share is not None), default=None)
    peak = f" (peak {short_share(most)})" if most is not None else ""
    verb, lasts, is_over = _WORDS.get(last.kind, ("came", "still there", "gone"))
    said = f"{last.about} {verb} {times} times in {over}{peak}, {lasts if begins(beside[0], last) else is_over}"
    if last.kind == EventKind.RUN:
        said = f"{last.about} {times} times in {over}, last: {last.text}"
    return FoldedEvent(
        at_ns=last.at_ns,
        kind=last.kind,
        text=said,
        number=last.number,
        about=last.about,
        begins=last.begins,
        events=tuple(group),
        beside=tuple(beside),
    )


def is_same_event(one: Event, other: Event) -> bool:
    """Whether one is the other, or what is folded into it."""
    if isinstance(one, FoldedEvent) and isinstance(other, FoldedEvent):
        return (one.kind, one.about) == (other.kind, other.about)
    return one is other or any(
        isinstance(fold, FoldedEvent) and single in fold.events for fold, single in ((one, other), (other, one))
    )
