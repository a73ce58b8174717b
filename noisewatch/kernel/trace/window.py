"""What the kernel's trace has told of some CPUs while one command ran there."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.kernel.trace.events import INTERRUPTS
from noisewatch.kernel.trace.runs import TracedSource
from noisewatch.records import dataclass


@dataclass(frozen=True, slots=True)
class TracedTime:
    """What one source had of a CPU, interruptions of its own left out, so many times, from the first to the last.

    Times are on CLOCK_MONOTONIC, in ns. For `doubt_ns` of `ns` the CPU may have been idle, or the command's. `is_own`:
    an interrupt that a thread of the command has sent.
    """

    cpu: int
    source: TracedSource
    ns: int
    count: int
    begin_ns: int
    end_ns: int
    is_own: bool = False
    doubt_ns: int = 0


@dataclass(frozen=True, slots=True)
class TraceWindow:
    """Nothing was lost of it. `times` is what others had, `own_ns_by_cpu` what the command's threads had.

    For `doubt_ns` of the latter it may have been others: some kernels do not tell of all switches. `untold` is what
    this one has no events for.
    """

    begin_ns: int
    end_ns: int
    own_ns_by_cpu: Mapping[int, int]
    times: tuple[TracedTime, ...]
    untold: tuple[str, ...] = ()
    doubt_ns: int = 0

    @property
    def tells_all_interrupts(self) -> bool:
        """Whether a time in which nobody was seen was not the kernel's."""
        return not set(INTERRUPTS).intersection(self.untold)
