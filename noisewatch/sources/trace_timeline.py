"""What ran when on one CPU, from the pages of the trace's ring buffer.

A page is a time stamp (8 bytes), how many bytes follow (a long, with two flags: events were lost before this page, and
their number stands behind the last one), and events: 5 bits of length or kind, 27 bits of ns since the event before,
and the record, whose layout `trace_format` tells. https://docs.kernel.org/trace/ring-buffer-design.html, and
/sys/kernel/tracing/events/header_event.

Whatever is innermost has the time: a softirq within an interrupt within a thread's slice is counted once.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

SWITCH, ENTER, EXIT, NMI, SEND = range(5)
IDLE = 0  # the number of the source that is none
_LOST, _SIZE = 1 << 31, (1 << 30) - 1
_LONGEST_RECORD, _PADDING, _EXTEND, _ABSOLUTE = 28, 29, 30, 31
_ABSOLUTE_BITS = (1 << 59) - 1
_MOST_PIECES = 400_000
_COMM_BYTES = 16
_HEADER = struct.Struct("=QQ")  # of a 64-bit kernel


@dataclass(frozen=True, slots=True)
class Event:
    """What to do with the records of one event: the words of a record that matter, counted from its beginning."""

    action: int
    kind: str = ""  # of the source that it begins or ends
    name: str = ""
    word: int | None = None  # of the number that tells sources of one kind apart: IRQ, softirq, next thread
    second: int | None = None  # next thread's name, the NMI's length, the function that is to be called


@dataclass(frozen=True, slots=True)
class Source:
    """Who may have a CPU. `number` is the IRQ, the softirq, the thread; of an IPI the thread that sent it."""

    kind: str
    name: str
    number: int = 0
    function: int = 0  # the address of what an IPI calls


@dataclass(slots=True)
class Spell:
    """All times that one source had the CPU: how often, for how long, and at the most."""

    count: int = 0
    own_ns: int = 0
    max_ns: int = 0
    lengths: dict[int, int] = field(default_factory=dict)  # how many of about each length

    def add(self, ns: int) -> None:
        """One more."""
        self.count += 1
        self.own_ns += ns
        self.max_ns = max(self.max_ns, ns)
        rounded = rounded_ns(ns)
        self.lengths[rounded] = self.lengths.get(rounded, 0) + 1


def rounded_ns(ns: int) -> int:
    """Down by less than a quarter, so that like lengths can be counted together."""
    shift = max(ns.bit_length() - 3, 0)
    return ns >> shift << shift


def records(page: bytes) -> Iterator[tuple[int, int, memoryview]]:
    """Time, place (in words) and words of each record of a page."""
    now, commit = _HEADER.unpack_from(page)
    begin_ns = now
    size = min(commit & _SIZE, len(page) - _HEADER.size) // 4 * 4
    words = memoryview(page)[_HEADER.size : _HEADER.size + size].cast("I")
    at, end = 0, len(words)
    while at < end:
        head = words[at]
        kind = head & 31
        if 0 < kind <= _LONGEST_RECORD:
            now += head >> 5
            yield now, at + 1, words
            at += 1 + kind
        elif kind == _EXTEND:
            now += (words[at + 1] << 27) + (head >> 5)
            at += 2
        elif kind == 0:
            now += head >> 5
            yield now, at + 2, words
            at += 1 + (words[at + 1] >> 2)
        elif kind == _PADDING:
            if not head >> 5:
                return
            at += 1 + (words[at + 1] >> 2)
        else:
            now = begin_ns & ~_ABSOLUTE_BITS | (words[at + 1] << 27) + (head >> 5)
            at += 2


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


class CpuTrace:
    """One CPU's time. `pieces` are stretches without a break of one source, idleness left out."""

    def __init__(self, cpu: int, events: Mapping[int, Event], sends: Sends) -> None:
        self.cpu = cpu
        self.sources: list[Source] = [Source("idle", "idle")]
        self.spells: list[Spell] = [Spell()]
        self.pieces: list[int] = []  # start, end, source, one after the other
        self.lost_pages = 0
        self.unseen_switches = 0  # somebody else ran than was switched to: on some machines the idle loop tells nothing
        self.first_ns: int | None = None
        self.last_ns = 0
        self._events = events
        self._sends = sends
        self._number_by_source: dict[Source, int] = {self.sources[0]: IDLE}
        self._stack: list[int] = []
        self._own: list[int] = []
        self._thread: int | None = None  # None until an event tells
        self._tid = 0
        self._thread_ns = 0

    def feed(self, page: bytes) -> None:
        """Takes in the next page; what makes no sense in it counts as lost."""
        try:
            if _HEADER.unpack_from(page)[1] & _LOST:
                self._lose()
            self._take_in(page)
        except (IndexError, struct.error):
            self._lose()

    def _take_in(self, page: bytes) -> None:
        events = self._events
        for now, at, words in records(page):
            event = events.get(words[at] & 0xFFFF)
            if event is None:
                continue
            action = event.action
            if action == NMI:
                self._interrupt(event, words, at, now)
                continue
            if words[at + 1] != self._tid or self._thread is None:
                self._correct(words[at + 1])
            self._step(now)
            if action == ENTER:
                self._stack.append(self._number(self._source_of(event, words, at, now)))
                self._own.append(0)
            elif action == EXIT:
                self._leave(event, words, at)
            elif action == SWITCH:
                self._switch(event, words, at)

    def finish(self, end_ns: int) -> None:
        """Whatever has the CPU has it to the end."""
        if self._thread is not None:
            self._step(end_ns)
        while self._stack:
            self.spells[self._stack.pop()].add(self._own.pop())
        if self._thread:
            self.spells[self._thread].add(self._thread_ns)
        self._thread, self._thread_ns = None, 0

    def _step(self, now: int) -> None:
        """The time since the event before belongs to whatever is innermost."""
        if self.first_ns is None:
            self.first_ns = self.last_ns = now
            return
        passed = now - self.last_ns
        if passed <= 0:
            return
        if self._stack:
            self._own[-1] += passed
            self._add_piece(self._stack[-1], now)
        elif self._thread is not None:
            self._thread_ns += passed
            if self._thread != IDLE:
                self._add_piece(self._thread, now)
        self.last_ns = now

    def _add_piece(self, source: int, until_ns: int) -> None:
        pieces = self.pieces
        if pieces and pieces[-1] == source and pieces[-2] == self.last_ns:
            pieces[-2] = until_ns
        elif len(pieces) < 3 * _MOST_PIECES:
            pieces += (self.last_ns, until_ns, source)

    def _source_of(self, event: Event, words: memoryview, at: int, now: int) -> Source:
        if event.kind == "ipi":
            return Source("ipi", event.name, *self._sends.take(self.cpu, now))
        return Source(event.kind, event.name, words[at + event.word] if event.word is not None else 0)

    def _leave(self, event: Event, words: memoryview, at: int) -> None:
        """An exit whose entry was not seen, at the beginning or after a loss, ends nothing."""
        kinds = [(self.sources[number].kind, self.sources[number].name) for number in self._stack]
        if (event.kind, event.name) not in kinds:
            return
        while kinds:
            self.spells[self._stack.pop()].add(self._own.pop())
            if kinds.pop() == (event.kind, event.name):
                return

    def _switch(self, event: Event, words: memoryview, at: int) -> None:
        """What was not seen to end has ended by now."""
        while self._stack:
            self.spells[self._stack.pop()].add(self._own.pop())
        self._run(words[at + event.word] if event.word is not None else 0, self._comm(event, words, at))

    def _correct(self, tid: int) -> None:
        """Each record tells who ran when it was written: the time since the one before is that thread's."""
        if self._thread is not None:
            self.unseen_switches += 1
        self._run(tid, "")

    def _run(self, tid: int, name: str) -> None:
        """From now on; the name is empty where only the number was told."""
        if self._thread:
            self.spells[self._thread].add(self._thread_ns)
        self._tid, self._thread_ns = tid, 0
        self._thread = self._number(Source("thread", name, tid)) if tid else IDLE

    def _comm(self, event: Event, words: memoryview, at: int) -> str:
        if event.second is None:
            return ""
        begin = at + event.second
        return bytes(words[begin : begin + _COMM_BYTES // 4]).partition(b"\0")[0].decode("utf-8", "replace")

    def _interrupt(self, event: Event, words: memoryview, at: int, now: int) -> None:
        """Its event comes when it is over, and tells how long it took."""
        if event.second is None:
            return
        ns = words[at + event.second] | words[at + event.second + 1] << 32
        self._step(max(now - ns, self.last_ns))
        number = self._number(Source(event.kind, event.name))
        self.spells[number].add(ns)
        self._add_piece(number, now)
        self.last_ns = now

    def _number(self, source: Source) -> int:
        number = self._number_by_source.get(source)
        if number is None:
            number = self._number_by_source[source] = len(self.sources)
            self.sources.append(source)
            self.spells.append(Spell())
        return number

    def _lose(self) -> None:
        """Nobody knows what is running until the next switch says so."""
        self.lost_pages += 1
        self._stack, self._own = [], []
        self._thread, self._thread_ns = None, 0
