"""Calls of CPUs by threads, and births of threads, from the buffers of all CPUs.

A call that an interrupt makes, as common_flags shows, is not attributed to the interrupted thread.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from noisewatch.kernel.trace.events import BORN, TraceEvent, begin_of, is_after_loss, records

_IN_INTERRUPT = 0x58  # TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI in linux/trace_events.h
_IN_PROCESS = 0x10000  # CLONE_THREAD in linux/sched.h
_SOON_NS = 2_000_000  # time after which a call has certainly arrived, even in a virtual machine
_IS_CALL = {"call_function": (True,), "call_function_single": (True,), "reschedule": (False,), "ipi": (True, False)}


class Birth(NamedTuple):
    """The start of a thread or process. `parent` is the tid of the thread that started it."""

    at_ns: int
    tid: int
    parent: int
    is_thread: bool = False  # whether it is a thread of its parent's process


class Sends:
    """The calls of CPUs by threads, and the threads' ancestors, from the buffers of all CPUs."""

    def __init__(self, events: Mapping[int, TraceEvent], births: list[Birth] | None = None) -> None:
        """Begin without calls. Each birth is also appended to `births`."""
        self._events = events
        self._births = births
        self.lost_ns: int | None = None  # events before this time were lost; None if none were
        self.is_damaged = False  # whether events were lost at an unknown time
        # By called CPU, and whether a function is called: time, thread (0: an interrupt), address of the function.
        self._sent: dict[tuple[int, bool], deque[tuple[int, int, int]]] = {}
        # By thread: the thread that started it, and whether they share a process.
        self._started_by: dict[int, tuple[int, bool]] = {}

    @property
    def tids(self) -> set[int]:
        """The threads whose calls have not arrived yet."""
        return {tid for sent in self._sent.values() for _, tid, _ in sent}

    def feed(self, page: bytes) -> None:
        """Parse a page of one CPU. After the pages of several CPUs, call `sort`."""
        try:
            if is_after_loss(page):
                self.lost_ns = max(self.lost_ns or 0, begin_of(page))
            self._parse_page(page)
        except (IndexError, struct.error):  # the rest of the page cannot be parsed
            self.is_damaged = True

    def _parse_page(self, page: bytes) -> None:
        for now, at, words in records(page):
            event = self._events.get(words[at] & 0xFFFF)
            if event is None or event.word is None or event.second is None:
                continue
            if event.action == BORN:
                tid, parent = words[at + event.word], words[at + 1]
                is_thread = bool(words[at + event.second] & _IN_PROCESS)
                self._started_by[tid] = parent, is_thread
                if self._births is not None:
                    self._births.append(Birth(now, tid, parent, is_thread))
                continue
            function = words[at + event.second] | words[at + event.second + 1] << 32
            tid = 0 if words[at] >> 16 & _IN_INTERRUPT else words[at + 1]
            self._sent.setdefault((words[at + event.word], bool(function)), deque()).append((now, tid, function))

    def ancestors(self, tid: int) -> Iterator[tuple[int, bool]]:
        """Yield each known ancestor of the thread, nearest first, and whether it belongs to the thread's process."""
        is_same_process, visited = True, {tid}
        while tid in self._started_by:
            tid, is_thread = self._started_by[tid]
            is_same_process = is_same_process and is_thread
            if tid in visited:  # a reused number
                return
            visited.add(tid)
            yield tid, is_same_process

    def forget(self, until_ns: int) -> None:
        """Forget all births, and the calls that must have arrived by `until_ns`."""
        recent = {to: deque(call for call in sent if call[0] > until_ns - _SOON_NS) for to, sent in self._sent.items()}
        self._sent = {to: sent for to, sent in recent.items() if sent}
        self._started_by = {}

    def sort(self) -> None:
        """Sort the calls by time, because pages are added CPU by CPU."""
        self._sent = {to: deque(sorted(sent)) for to, sent in self._sent.items()}

    def take(self, cpu: int, vector: str, until_ns: int) -> tuple[int, int]:
        """Return the thread whose call interrupted the CPU at `until_ns`, and the called function; 0 if unknown.

        A reschedule calls no function. All calls of the CPU up to this time are removed: they are done, even without an
        interrupt, because an idle CPU may poll for them.
        """
        arrived: list[tuple[int, int, int]] = []
        for is_call in _IS_CALL.get(vector, ()):
            sent = self._sent.get((cpu, is_call))
            while sent and sent[0][0] <= until_ns:
                arrived.append(sent.popleft())
        recent = [sent for sent in arrived if until_ns - sent[0] <= _SOON_NS] or arrived
        _, tid, function = min(recent, default=(0, 0, 0))
        return tid, function
