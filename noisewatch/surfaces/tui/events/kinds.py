"""An event, and the kinds of them, each with the letter that marks it on the timeline: no colour is needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HOT_PLUG, TARGET_SET, POWER, CLOCK, HEAT, STEAL, BUSY, DEVICE, VERDICT, MONITOR = (
    "hot-plug", "target", "power", "clock", "heat", "steal", "busy", "device", "verdict", "monitor",
)  # fmt: skip
MARKS = {
    HOT_PLUG: "x",
    TARGET_SET: "T",
    POWER: "p",
    CLOCK: "c",
    HEAT: "h",
    STEAL: "s",
    BUSY: "b",
    DEVICE: "d",
    VERDICT: "v",
    MONITOR: "m",
}
SEVERAL = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """`number` is the interval that it belongs to, and `at_ns` the time of the frame that was the newest then."""

    at_ns: int
    kind: str
    text: str
    number: int = 0


def kind_of_device(subsystem: str) -> str:
    """The kind of what the kernel says of a device."""
    return {"cpu": HOT_PLUG, "power_supply": POWER, "thermal": HEAT}.get(subsystem, DEVICE)


def mark_of(kinds: Iterable[str]) -> str:
    """The letter of what happened; a verdict is the consequence of something, and gives way to it."""
    found = set(kinds)
    causes = found - {VERDICT} or found
    return MARKS[min(causes)] if len(causes) == 1 else SEVERAL
