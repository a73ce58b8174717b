"""An event, and the kinds of them, each with the letter that marks it on the timeline: no colour is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from noisewatch.records import dataclass


class EventKind(StrEnum):
    """What an event is about."""

    HOT_PLUG = "hot-plug"
    TARGET_SET = "target"
    POWER = "power"
    CLOCK = "clock"
    HEAT = "heat"
    STEAL = "steal"
    BUSY = "busy"
    DEVICE = "device"
    VERDICT = "verdict"
    MONITOR = "monitor"
    IRQ = "irq"
    RUN = "run"


MARKS: Mapping[EventKind, str] = {
    EventKind.HOT_PLUG: "x",
    EventKind.TARGET_SET: "T",
    EventKind.POWER: "p",
    EventKind.CLOCK: "c",
    EventKind.HEAT: "h",
    EventKind.STEAL: "s",
    EventKind.BUSY: "b",
    EventKind.DEVICE: "d",
    EventKind.VERDICT: "v",
    EventKind.MONITOR: "m",
    EventKind.IRQ: "i",
    EventKind.RUN: "r",
}
SEVERAL = "*"
_KIND_BY_SUBSYSTEM = {"cpu": EventKind.HOT_PLUG, "power_supply": EventKind.POWER, "thermal": EventKind.HEAT}


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """`number` is the interval that it belongs to, and `at_ns` the time of the frame that was the newest then.

    `about` names what began, or ended where `begins` is false, so that all of one thing can be folded; or is empty.
    `share` is the most of a CPU that it took up to then. A change of the verdict has the checks that `failed` then, and
    those that `recovered`.
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
    """The kind of what the kernel says of a device."""
    return _KIND_BY_SUBSYSTEM.get(subsystem, EventKind.DEVICE)


def mark_of(kinds: Iterable[EventKind]) -> str:
    """The letter of what happened; a verdict is the consequence of something, and gives way to it."""
    found = set(kinds)
    if len(found) == 1:
        return MARKS[next(iter(found))]
    causes = found - {EventKind.VERDICT} or found
    return MARKS[min(causes)] if len(causes) == 1 else SEVERAL
