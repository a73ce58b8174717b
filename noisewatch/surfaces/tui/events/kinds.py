"""Events and their kinds, each with the letter that marks it on the timeline, so that no colour is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from noisewatch.records import dataclass


class EventKind(StrEnum):
    """The kind of an event."""

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
    """An event in interval `number`; `at_ns` is the time of the frame that was the newest then.

    `about` names what began, or ended if `begins` is false, so that events about one thing can be folded; or is empty.
    `share` is the highest share of a CPU taken until then. A change of the verdict has the checks that `failed` then,
    and those that `recovered`.
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
    """Return the kind of a device event of the kernel."""
    return _KIND_BY_SUBSYSTEM.get(subsystem, EventKind.DEVICE)


def mark_of(kinds: Iterable[EventKind]) -> str:
    """Return the letter of these kinds; a verdict is the consequence of another event, and gives way to it."""
    found = set(kinds)
    if len(found) == 1:
        return MARKS[next(iter(found))]
    causes = found - {EventKind.VERDICT} or found
    return MARKS[min(causes)] if len(causes) == 1 else SEVERAL
