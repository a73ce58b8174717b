"""What the kernel's trace has told of some CPUs while one command ran there."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.trace.events import INTERRUPTS
from noisewatch.kernel.trace.own_places import TracedThread
from noisewatch.kernel.trace.own_states import StateTimes
from noisewatch.kernel.trace.runs import TracedSource
from noisewatch.kinds import THREADS
from noisewatch.records import dataclass

_USE_DOUBT_NS = 100_000  # what a process does before and after the kernel counts its time
_CLOCKS_SHARE = 0.001  # CPU time and CLOCK_MONOTONIC, which is slewed, may run apart by half of that


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
    """Nothing was lost of it. `times` is what others had, `own_ns_by_cpu` what the command's threads had: each of the
    `threads`, and `other_threads_ns` of those that are not told apart.

    `states` is how long threads of the command were kept from running.

    For `doubt_ns` of the command's time it may have been others: some kernels do not tell of all switches. `untold` is
    what this one has no events for.
    """

    begin_ns: int
    end_ns: int
    own_ns_by_cpu: Mapping[int, int]
    times: tuple[TracedTime, ...]
    untold: tuple[str, ...] = ()
    doubt_ns: int = 0
    threads: tuple[TracedThread, ...] = ()
    other_threads_ns: int = 0
    states: StateTimes = StateTimes()
    has_seen_end: bool = False  # of the command's first process, at `end_ns`

    @property
    def traced(self) -> CpuSet:
        """The CPUs that it is of."""
        return frozenset(self.own_ns_by_cpu)

    def own_ns(self, cpus: CpuSet) -> int:
        """What the command's threads had there."""
        return sum(self.own_ns_by_cpu.get(cpu, 0) for cpu in cpus)

    def interrupted_ns(self, cpus: CpuSet) -> int:
        """Interruptions there; the kernel may have counted them as the command's time."""
        return sum(time.ns for time in self.times if time.source.kind not in THREADS and time.cpu in cpus)

    def elsewhere_ns(self, used_ns: int, cpus: CpuSet) -> int:
        """What of the command's CPU time it did not have there, for sure."""
        doubt_ns = _USE_DOUBT_NS + round(used_ns * _CLOCKS_SHARE)
        return max(used_ns - self.own_ns(cpus) - self.interrupted_ns(cpus) - doubt_ns, 0)

    @property
    def tells_all_interrupts(self) -> bool:
        """Whether a time in which nobody was seen was not the kernel's."""
        return not set(INTERRUPTS).intersection(self.untold)
