"""The result of the kernel's trace for some CPUs while one command ran there."""

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
    """The time of one source on a CPU, without interruptions of its own: total, count, begin and end.

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
    """A complete trace of one command: `times` of others, `own_ns_by_cpu` of the command's threads.

    `threads` are listed individually, `other_threads_ns` is the rest. `states` is how long threads of the command were
    kept from running. For `doubt_ns` of the command's time it may have been others: some kernels do not report all
    switches. `untold` is what this kernel has no events for.
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
        """The traced CPUs."""
        return frozenset(self.own_ns_by_cpu)

    def own_ns(self, cpus: CpuSet) -> int:
        """Return the time that the command's threads had there."""
        return sum(self.own_ns_by_cpu.get(cpu, 0) for cpu in cpus)

    def interrupted_ns(self, cpus: CpuSet) -> int:
        """Return the interruptions there; the kernel may have counted them as the command's time."""
        return sum(time.ns for time in self.times if time.source.kind not in THREADS and time.cpu in cpus)

    def elsewhere_ns(self, used_ns: int, cpus: CpuSet) -> int:
        """Return the least CPU time that the command had on other CPUs."""
        doubt_ns = _USE_DOUBT_NS + round(used_ns * _CLOCKS_SHARE)
        return max(used_ns - self.own_ns(cpus) - self.interrupted_ns(cpus) - doubt_ns, 0)

    @property
    def tells_all_interrupts(self) -> bool:
        """Whether the trace covers all interrupts: unaccounted time was then not the kernel's."""
        return not set(INTERRUPTS).intersection(self.untold)
