"""Who has called which CPU, from the buffers of all CPUs."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from noisewatch.sources.trace_records import Event, records


class Sends:
    """Which threads have called which CPUs, and for what: from the buffers of all CPUs, in order of time."""

    def __init__(self, events: Mapping[int, Event]) -> None:
        self._events = events
        self.by_cpu: dict[int, deque[tuple[int, int, int]]] = {}

    def feed(self, page: bytes) -> None:
        """Takes in a page; the pages of several CPUs have to be sorted afterwards."""
        with suppress(IndexError, struct.error):  # of a page that makes no sense
            self._take_in(page)

    def _take_in(self, page: bytes) -> None:
        for now, at, words in records(page):
            event = self._events.get(words[at] & 0xFFFF)
            if event is None or event.word is None or event.second is None:
                continue
            function = words[at + event.second] | words[at + event.second + 1] << 32
            self.by_cpu.setdefault(words[at + event.word], deque()).append((now, words[at + 1], function))

    def sort(self) -> None:
        """Into the order of time, after the pages of each CPU have been taken in one after the other."""
        self.by_cpu = {cpu: deque(sorted(sent)) for cpu, sent in self.by_cpu.items()}

    def take(self, cpu: int, until_ns: int) -> tuple[int, int]:
        """The thread that has caused an interrupt at that time, and the function; 0 where nobody is known."""
        sent = self.by_cpu.get(cpu)
        found = (0, 0)
        while sent and sent[0][0] <= until_ns:
            _, pid, function = sent.popleft()
            found = found if found[0] else (pid, function)
        return found
