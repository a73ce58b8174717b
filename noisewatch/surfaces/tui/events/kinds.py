"""Events and their kinds, and a function that folds repeated events into one.

A kind's letter marks its events on the timeline without colour. Events are folded because a busy host's verdict changes
every few seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Self

from msgspec import Struct

from noisewatch.units import short_seconds, short_share

BUSY_BEGINS = 0.2  # share of a CPU
STEAL_BEGINS = 0.02  # share of a CPU: two ticks of 10 ms in a second
NEAR_CRITICAL = 5  # °C below the critical temperature


class EventKind(StrEnum):
    """A kind of event, with its letter on the timeline and its meaning."""

    mark: str
    meaning: str

    def __new__(cls, name: str, mark: str, meaning: str) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.mark, kind.meaning = name, mark, meaning
        return kind

    HOT_PLUG = "hot-plug", "x", "a CPU goes offline, or comes online"
    TARGET_SET = "target", "T", "the target CPUs change"
    POWER = "power", "p", "mains power is lost, or comes back"
    CLOCK = "clock", "c", "a governor, turbo or a limit of the clock changes"
    HEAT = "heat", "h", f"a processor is throttled, or within {NEAR_CRITICAL} °C of critical"
    STEAL = "steal", "s", f"the hypervisor takes at least {short_share(STEAL_BEGINS)} of a target CPU"
    BUSY = "busy", "b", f"a process takes at least {short_share(BUSY_BEGINS)} of a target CPU"
    DEVICE = "device", "d", "a device is added, removed or changed"
    VERDICT = "verdict", "v", "the verdict changes, or a check fails or recovers"
    MONITOR = "monitor", "m", "noisewatch itself missed intervals"
    IRQ = "irq", "i", "an IRQ moves to other CPUs, or is allowed on others"
    RUN = "run", "r", "a run begins, ends, is disturbed or unknown"


SEVERAL = "*"
_KIND_BY_SUBSYSTEM = {"cpu": EventKind.HOT_PLUG, "power_supply": EventKind.POWER, "thermal": EventKind.HEAT}


class Event(Struct, frozen=True, eq=False):
    """An event at `at_ns` (CLOCK_MONOTONIC), in interval `number`.

    `about` names what began or, if `begins` is false, ended; events with the same `about` can be folded, unless it is
    empty. `share` is the highest share of a CPU taken up to `at_ns`. `failed` and `recovered` are the checks of a
    changed verdict.
    """

    at_ns: int
    kind: EventKind
    text: str
    number: int = 0
    about: str = ""
    begins: bool = True
    share: float | None = None
    failed: frozenset[str] = frozenset()
    recovered: frozenset[str] = frozenset()


def kind_of_device(subsystem: str) -> EventKind:
    """Return the kind of a kernel's device event."""
    return _KIND_BY_SUBSYSTEM.get(subsystem, EventKind.DEVICE)


def event_mark(kinds: Iterable[EventKind]) -> str:
    """Return the letter of these kinds. Next to another kind, a changed verdict is ignored as its consequence."""
    distinct = set(kinds)
    if len(distinct) == 1:
        return next(iter(distinct)).mark
    causes = distinct - {EventKind.VERDICT} or distinct
    return min(causes).mark if len(causes) == 1 else SEVERAL


_LEAST_FOLDED = 3  # events: a beginning, an end, and another beginning
_WORDS = {EventKind.VERDICT: ("failed", "still failing", "recovered")}


class FoldedEvent(Event, frozen=True, eq=False):
    """Repeated events in one line, at the place of the newest; `events` contains all of them, the newest first.

    `related` also contains changes of the verdict that include the repeated checks but keep their own lines.
    """

    events: tuple[Event, ...] = ()
    related: tuple[Event, ...] = ()


def fold_events(events: Sequence[Event]) -> list[Event]:
    """Return the events, the newest first, with repeated events folded into the newest of them."""
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
            lines.append(_fold(group, _related_events(group, events)))
    return lines


def _related_events(group: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """Return the group's events, and each change of the verdict that includes all the group's checks."""
    alike, checks = {id(member) for member in group}, group[0].failed | group[0].recovered
    return [
        event
        for event in events
        if id(event) in alike or (checks and (checks <= event.failed or checks <= event.recovered))
    ]


def begins(event: Event, of: Event) -> bool:
    """Return whether the condition that `of` reports began (or began again) with `event`."""
    checks = of.failed | of.recovered
    return checks <= event.failed if checks else event.begins


def _fold(group: Sequence[Event], related: Sequence[Event]) -> FoldedEvent:
    last = group[0]
    times = sum(begins(event, last) for event in related) or len(group)  # a filter may have hidden all beginnings
    over = short_seconds((related[0].at_ns - related[-1].at_ns) / 1e9)
    highest_share = max((event.share for event in group if event.share is not None), default=None)
    peak = f" (peak {short_share(highest_share)})" if highest_share is not None else ""
    verb, lasts, is_over = _WORDS.get(last.kind, ("came", "still there", "gone"))
    text = f"{last.about} {verb} {times} times in {over}{peak}, {lasts if begins(related[0], last) else is_over}"
    if last.kind == EventKind.RUN:
        text = f"{last.about} {times} times in {over}, last: {last.text}"
    return FoldedEvent(
        at_ns=last.at_ns,
        kind=last.kind,
        text=text,
        number=last.number,
        about=last.about,
        begins=last.begins,
        events=tuple(group),
        related=tuple(related),
    )


def is_same_event(event: Event, other: Event) -> bool:
    """Return whether the events are the same, or one is folded into the other."""
    if isinstance(event, FoldedEvent) and isinstance(other, FoldedEvent):
        return (event.kind, event.about) == (other.kind, other.about)
    return event is other or any(
        isinstance(fold, FoldedEvent) and single in fold.events for fold, single in ((event, other), (other, event))
    )
