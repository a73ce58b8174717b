"""The CPUs on which each thread of a command ran, and its moves between them, by the trace of thread switches.

A thread that the scheduler puts elsewhere before it runs there has not moved: what counts is where it ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from noisewatch.records import dataclass
from noisewatch.text import clean

MOST_THREADS = 1024  # listed individually; beyond that, those that ran least are added up


@dataclass(frozen=True, slots=True)
class TracedThread:
    """One thread: its time on each CPU in ns, and its moves between CPUs. Threads that reused a tid count as one."""

    tid: int
    name: str
    ns_by_cpu: Mapping[int, int]
    moves: Mapping[tuple[int, int], int]

    @property
    def ran_ns(self) -> int:
        """The time on all CPUs."""
        return sum(self.ns_by_cpu.values())


@dataclass(slots=True)
class _Thread:
    name: str = ""
    cpu: int | None = None  # where it ran last
    ns_by_cpu: Counter[int] = field(default_factory=Counter)
    moves: Counter[tuple[int, int]] = field(default_factory=Counter)


class OwnPlaces:
    """The places of one command's threads. CPUs are added one after the other, each in order of time."""

    def __init__(self) -> None:
        self.other_ns = 0  # of threads that are not listed
        self._threads: dict[int, _Thread] = {}
        self._runs: list[tuple[int, int, int]] = []  # not in order yet: begin, thread, CPU

    def add(self, tid: int, name: str, cpu: int, begin_ns: int, end_ns: int) -> None:
        """Add a run of the thread on the CPU."""
        thread = self._threads.get(tid)
        if thread is None:
            thread = self._threads[tid] = _Thread()
        thread.name = name or thread.name
        thread.ns_by_cpu[cpu] += end_ns - begin_ns
        self._runs.append((begin_ns, tid, cpu))

    def settle(self, until_ns: int) -> None:
        """Count the moves of runs that began by then; the runs of all CPUs are known until then."""
        later = []
        for run in sorted(self._runs):
            begin_ns, tid, cpu = run
            if begin_ns > until_ns:
                later.append(run)
                continue
            thread = self._threads[tid]
            if thread.cpu not in (None, cpu):
                thread.moves[thread.cpu, cpu] += 1
            thread.cpu = cpu
        self._runs = later
        if len(self._threads) > 2 * MOST_THREADS:
            self._add_up_the_least()

    def _add_up_the_least(self) -> None:
        awaited = {tid for _, tid, _ in self._runs}
        by_time = sorted(self._threads, key=lambda tid: -self._threads[tid].ns_by_cpu.total())
        for tid in by_time[MOST_THREADS:]:
            if tid not in awaited:
                self.other_ns += self._threads.pop(tid).ns_by_cpu.total()

    @property
    def threads(self) -> tuple[TracedThread, ...]:
        """The threads that are listed individually."""
        return tuple(
            TracedThread(tid, clean(each.name), dict(each.ns_by_cpu), dict(each.moves))
            for tid, each in self._threads.items()
        )
