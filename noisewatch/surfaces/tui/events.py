"""What changed from one frame to the next, and what the kernel said of its devices meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from noisewatch.sources.cpulist import CpuSet, format_cpu_list, name_cpus
from noisewatch.surfaces.frame import OFFLINE, Frame

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """`at_ns` is when it was seen, by the clock of the frames."""

    at_ns: int
    kind: str
    text: str


@dataclass(slots=True)
class EventLog:
    """The last events, the newest last."""

    events: deque[Event] = field(default_factory=lambda: deque(maxlen=_MOST))
    silence: str | None = None  # why nothing is heard of devices

    def add(self, event: Event) -> None:
        self.events.append(event)

    def compare(self, before: Frame | None, after: Frame) -> None:
        """Takes in what changed between two frames."""
        if before is not None:
            self.events.extend(changes(before, after))


def changes(before: Frame, after: Frame) -> Iterator[Event]:
    """CPUs that came and went, clocks and governors that were set, another target, another verdict."""
    at_ns = after.taken_at_ns
    gone, come = _online(before) - _online(after), _online(after) - _online(before)
    if gone:
        yield Event(at_ns, "hot-plug", f"{name_cpus(gone)} went offline")
    if come:
        yield Event(at_ns, "hot-plug", f"{name_cpus(come)} came online")
    if before.target != after.target:
        chosen = f"{format_cpu_list(after.target) or 'none'} ({after.target_chosen_by})"
        yield Event(
            at_ns, "target", f"the target CPUs are now {chosen}, were {format_cpu_list(before.target) or 'none'}"
        )
    if before.turbo != after.turbo:
        yield Event(at_ns, "clock", f"turbo is now {after.turbo or 'unknown'}, was {before.turbo or 'unknown'}")
    yield from _governors(before, after)
    if before.failed != after.failed and None not in (before.verdict, after.verdict):
        fails, passes = set(after.failed) - set(before.failed), set(before.failed) - set(after.failed)
        if fails:
            yield Event(at_ns, "check", f"fails now: {', '.join(sorted(fails))}")
        if passes:
            yield Event(at_ns, "check", f"fails no more: {', '.join(sorted(passes))}")


def _online(frame: Frame) -> CpuSet:
    return frozenset(line.cpu for line in frame.cpus if line.role != OFFLINE)


def _governors(before: Frame, after: Frame) -> Iterator[Event]:
    was = {line.cpu: line.governor for line in before.cpus}
    cpus_by_change: dict[tuple[str, str], list[int]] = {}
    for line in after.cpus:
        old = was.get(line.cpu)
        if old is not None and line.governor is not None and old != line.governor:
            cpus_by_change.setdefault((old, line.governor), []).append(line.cpu)
    for (old, new), cpus in cpus_by_change.items():
        yield Event(after.taken_at_ns, "clock", f"the governor of {name_cpus(cpus)} is now {new}, was {old}")
