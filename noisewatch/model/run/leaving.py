"""A command's CPU time outside the target CPUs, by the allowed CPUs of its first thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from noisewatch.errors import Malformed
from noisewatch.kernel.tasks.files import parse_schedstat

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet
    from noisewatch.machine.command.ending import AffinitySpan


class TimeOutside(Struct, frozen=True):
    """Bounds of the CPU time (ns) outside the target CPUs, and the other CPUs that were allowed then.

    `max_ns` includes the time with an affinity that allows other CPUs as well as target CPUs, and the time between the
    polls of one affinity and of the next one. None means unknown: the kernel does not count the thread's time.
    """

    ns: int = 0
    max_ns: int | None = 0
    cpus: CpuSet = frozenset()


NEVER_OUTSIDE = TimeOutside()


def time_outside(spans: Sequence[AffinitySpan], target: CpuSet) -> TimeOutside:
    """Return the bounds of the first thread's time outside the target CPUs, by the spans of its affinity."""
    cpus = frozenset[int]().union(*(span.allowed for span in spans)) - target
    if not cpus:
        return NEVER_OUTSIDE
    try:
        firsts = [parse_schedstat(span.first_scheduling)[0] for span in spans]
        lasts = [parse_schedstat(span.last_scheduling)[0] for span in spans]
    except Malformed:
        return TimeOutside(0, None, cpus)
    if not lasts[-1]:  # a row of zeros: the kernel counts nothing
        return TimeOutside(0, None, cpus)
    ns = max_ns = 0
    for at, span in enumerate(spans):
        if not span.allowed & target:
            ns += max(lasts[at] - firsts[at], 0)
        if not span.allowed <= target:
            max_ns += max([*firsts, lasts[-1]][at + 1] - [0, *lasts][at], 0)
    return TimeOutside(ns, max_ns, cpus)
