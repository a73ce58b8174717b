"""A command's CPU time outside the target CPUs, by the allowed CPUs of its first thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.files import parse_schedstat

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.machine.command.ending import AffinitySpan


class TimeOutside(Struct, frozen=True):
    """Bounds of the CPU time (ns) outside the target CPUs, and the CPUs that were allowed then.

    `max_ns` includes the time between the last poll of the old affinity and the first poll of the new one.
    """

    ns: int = 0
    max_ns: int = 0
    cpus: CpuSet = frozenset()


NEVER_OUTSIDE = TimeOutside()


def time_outside(spans: Iterable[AffinitySpan], target: CpuSet) -> TimeOutside:
    """Return the first thread's time while its affinity excluded all target CPUs."""
    ns, max_ns, before_ns, cpus = 0, 0, 0, set[int]()
    for span in spans:
        try:
            (first_ns, _), (last_ns, _) = parse_schedstat(span.first_scheduling), parse_schedstat(span.last_scheduling)
        except Malformed:
            return NEVER_OUTSIDE
        if not span.allowed & target:
            ns += max(last_ns - first_ns, 0)
            max_ns += max(last_ns - before_ns, 0)
            cpus |= span.allowed
        before_ns = last_ns
    return TimeOutside(ns, max_ns, frozenset(cpus))
