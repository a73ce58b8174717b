"""Spreading of a command's busy threads, one a CPU, on isolated CPUs (isolcpus) where the scheduler does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_look import CommandLook, ThreadLook
from noisewatch.machine.live import reason_of
from noisewatch.model.run.spread import SpreadThread, SpreadThreads

_Affinity = Callable[[int], Collection[int]]
_SetAffinity = Callable[[int, Iterable[int]], None]


class ThreadSpreader:
    """A spreader that pins busy threads as they appear, one a CPU.

    CPUs of free cores come first, then a thread's present CPU. A thread that has set its own affinity is left alone. A
    pinned thread that rests is unpinned if another one needs its CPU. If there are more busy threads than CPUs, the
    rest stay where they were. A thread inherits the CPU of the one that started it: one that lives for less than a look
    stays there.
    """

    def __init__(
        self,
        target: CpuSet,
        topology: Mapping[int, CpuPlace],
        affinity: _Affinity = os.sched_getaffinity,
        set_affinity: _SetAffinity = os.sched_setaffinity,
    ) -> None:
        self._target = target
        self._topology = topology
        self._affinity, self._set_affinity = affinity, set_affinity
        self._cpu_by_tid: dict[int, int] = {}
        self._given: set[int] = set()  # CPUs, which what the pinned threads start inherits
        self._left: set[int] = set()
        self._last: Mapping[int, ThreadLook] = {}
        self._pinned_count = 0
        self._left_by_reason: dict[str, int] = {}

    @property
    def outcome(self) -> SpreadThreads:
        """The counts of pinned threads and of threads left alone so far."""
        return SpreadThreads(self._pinned_count, dict(self._left_by_reason))

    def spread(self, look: CommandLook) -> list[SpreadThread]:
        """Pin threads after the look, and return what was done; nothing if all busy threads have a CPU."""
        last, self._last = self._last, look.threads
        for tid in self._cpu_by_tid.keys() - look.threads.keys():
            del self._cpu_by_tid[tid]
        self._left &= look.threads.keys()
        read = sorted(self._cpu_by_tid.keys() - look.without_turn)
        resting = [tid for tid in read if look.threads[tid] is last.get(tid) and not look.threads[tid].is_ready]
        done: list[SpreadThread] = []
        for tid, thread in sorted(look.threads.items()):
            if not thread.is_ready or tid in self._cpu_by_tid or tid in self._left:
                continue
            if not self._free and resting:
                done.append(self._let_go(look.threads[resting.pop(0)]))
            if self._free:
                done.append(self._pin(thread))
        return done

    @property
    def _free(self) -> CpuSet:
        return self._target - frozenset(self._cpu_by_tid.values())

    def _pin(self, thread: ThreadLook) -> SpreadThread:
        cpu = self._best(thread.cpu)
        reason = self._why_not_pinned(thread.tid, cpu)
        if reason is not None:
            self._left.add(thread.tid)
            self._left_by_reason[reason] = self._left_by_reason.get(reason, 0) + 1
            return SpreadThread(thread.tid, thread.name, None, reason)
        self._cpu_by_tid[thread.tid] = cpu
        self._pinned_count += 1
        self._given.add(cpu)
        return SpreadThread(thread.tid, thread.name, cpu)

    def _let_go(self, thread: ThreadLook) -> SpreadThread:
        del self._cpu_by_tid[thread.tid]
        reason: str | None = None
        try:
            self._set_affinity(thread.tid, self._target)
        except OSError as error:
            reason = reason_of(error)
        return SpreadThread(thread.tid, thread.name, None, reason)

    def _best(self, now: int) -> int:
        """Return the best free CPU: with a free core, then the present one, then the first."""
        used = frozenset(self._cpu_by_tid.values())
        return min(self._free, key=lambda cpu: (bool(self._siblings(cpu) & used), cpu != now, cpu))

    def _siblings(self, cpu: int) -> CpuSet:
        place = self._topology.get(cpu)
        return place.siblings if place is not None and place.siblings is not None else frozenset({cpu})

    def _why_not_pinned(self, tid: int, cpu: int) -> str | None:
        """Pin the thread to the CPU, or return why it is left alone."""
        try:
            allowed = frozenset(self._affinity(tid))
            is_inherited = len(allowed) == 1 and allowed <= self._given
            if allowed != self._target and not is_inherited:
                return "it chose its CPUs itself"
            self._set_affinity(tid, {cpu})
        except OSError as error:
            return reason_of(error)
        return None
