"""Cgroups that ran out of their CPU quota between two moments, and for how long their threads were stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisewatch.kernel.cgroup.bandwidth import NS_PER_US, CgroupLevel

_FEWEST_PERIODS = 2  # each is counted at its end, if the group has run in it


@dataclass(frozen=True, slots=True)
class Throttle:
    """One group that was stopped. `ns` is over all CPUs together, and None where the kernel does not tell."""

    level: CgroupLevel
    periods: int
    ns: int | None

    @property
    def name(self) -> str:
        return f"CPU quota of {self.level.described}"


def throttles_between(before: Iterable[CgroupLevel], after: Iterable[CgroupLevel]) -> tuple[Throttle, ...]:
    """The groups that a process was in at both moments, and that were stopped meanwhile; the longest first."""
    earlier = {level.folder: level for level in before}
    pairs = [(earlier[level.folder], level) for level in after if level.folder in earlier]
    found = [throttle for pair in pairs if (throttle := _throttle(*pair)) is not None]
    return tuple(sorted(found, key=lambda each: -(each.ns or 0)))


def uncounted_between(
    before: Iterable[CgroupLevel], after: Iterable[CgroupLevel], length_ns: int
) -> tuple[CgroupLevel, ...]:
    """The groups that a process ran in, under a quota, without a period being counted: nor would a stop have been."""
    earlier = {level.folder: level.throttling for level in before}
    return tuple(
        level
        for level in after
        if level.period_us is not None
        and length_ns > _FEWEST_PERIODS * level.period_us * NS_PER_US
        and (level.throttling is not None and level.throttling.enforced is not None)
        and level.throttling == earlier.get(level.folder)
    )


def _throttle(before: CgroupLevel, after: CgroupLevel) -> Throttle | None:
    """A long stop shows in the periods at once, and in the time when it is over."""
    first, last = before.throttling, after.throttling
    if first is None or last is None or last.periods < first.periods:
        return None
    ns = last.ns - first.ns if first.ns is not None and last.ns is not None else None
    periods = last.periods - first.periods
    if ns is not None and ns < 0:
        return None
    return Throttle(after, periods, ns) if periods or ns else None
