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

    `max_ns` includes the time with an affinity that allows other CPUs as well as target CPUs, and the time from the
    last poll of one affinity to the first poll of the next. None means unknown: the kernel does not count the thread's
    time.
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
        counts = [parse_schedstat(text)[0] for span in spans for text in (span.first_scheduling, span.last_scheduling)]
    except Malformed:
        return TimeOutside(0, None, cpus)
    # All zeros if the kernel counts nothing. After execve by another thread, the count is that thread's, maybe lower.
    if not counts[-1] or counts != sorted(counts):
        return TimeOutside(0, None, cpus)
    ns = max_ns = 0
    for at, span in enumerate(spans):
        before_ns, first_ns, last_ns, after_ns = [0, *counts, counts[-1]][2 * at : 2 * at + 4]
        if not span.allowed & target:
            ns += last_ns - first_ns
        if not span.allowed <= target:
            max_ns += after_ns - before_ns
    return TimeOutside(ns, max_ns, cpus)
