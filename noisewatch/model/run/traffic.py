"""The memory traffic of resctrl's groups during a series."""

from __future__ import annotations

from msgspec import Struct

from noisewatch.kernel.memory.resctrl import TrafficReading
from noisewatch.units import NS_PER_S


class GroupTraffic(Struct, frozen=True):
    """The memory traffic of a group (bytes per second); None if unknown, with the reason."""

    group: str
    bytes_per_s: float | None
    unknown: str | None = None


def traffic_between(first: TrafficReading | None, last: TrafficReading | None) -> tuple[GroupTraffic, ...]:
    """Return each group's traffic, the largest first; empty if resctrl counted none. New groups are left out."""
    if first is None or last is None:
        return ()
    passed_ns = max(last.taken_at_ns - first.taken_at_ns, 1)
    groups = [
        _traffic_of(group, first.bytes_by_group[group], counted, passed_ns)
        for group, counted in last.bytes_by_group.items()
        if group in first.bytes_by_group
    ]
    return tuple(sorted(groups, key=lambda traffic: -(traffic.bytes_per_s or 0.0)))


def _traffic_of(group: str, before: int | str, after: int | str, passed_ns: int) -> GroupTraffic:
    if isinstance(before, str) or isinstance(after, str):
        return GroupTraffic(group, None, before if isinstance(before, str) else str(after))
    if after < before:
        return GroupTraffic(group, None, "the counter was reset")
    return GroupTraffic(group, (after - before) * NS_PER_S / passed_ns)
