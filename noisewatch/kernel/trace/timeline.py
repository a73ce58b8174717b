"""The timeline of one CPU: which source had the CPU when, from the pages of the trace's ring buffer.

Time belongs to the innermost source: if an interrupt within a thread's slice runs a softirq, the softirq's time is
neither the interrupt's nor the thread's. The runs of a source are also counted by rounded length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.kernel.trace.events import (
    ENTER,
    EXIT,
    EXPIRE,
    NMI,
    NOISE,
    SWITCH,
    WAKE,
    TraceEvent,
    is_after_loss,
    kind_of_vector,
    records,
    text_at,
)
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kinds import Kind


class RunCounter(Struct):
    """The number of one source's runs, and their total and longest time (ns)."""

    count: int = 0
    own_ns: int = 0
    max_ns: int = 0
    lengths: dict[int, int] = {}  # number of runs by rounded length (ns)

    def add(self, ns: int) -> None:
        """Add one run."""
        self.count += 1
        self.own_ns += ns
        if ns > self.max_ns:
            self.max_ns = ns
        rounded = round_ns(ns)
        self.lengths[rounded] = self.lengths.get(rounded, 0) + 1


def round_ns(ns: int) -> int:
    """Round a length down by less than a quarter, so similar lengths are counted together."""
    shift = max(ns.bit_length() - 3, 0)
    return ns >> shift << shift


IDLE = 0  # the number of the idle source
_MOST_PIECES = _MOST_LEAVES = 400_000
_COMM_WORDS = 4
_TIMED = (Kind.TICK, Kind.IRQ)  # interrupts in which timers expire; on some architectures the timer has a numbered IRQ


class Source(Struct, frozen=True):
    """A possible owner of a CPU. `number` is an IRQ or softirq number, or the tid of the thread or IPI's sender."""

    kind: Kind
    name: str
    number: int = 0
    function: int = 0  # address of the function that an IPI calls
    timers: tuple[int, ...] = ()  # addresses of the functions that a timer interrupt ran, in order


class CpuTrace:
    """The timeline of one CPU. `pieces` are the uninterrupted runs of single sources, without idleness."""

    def __init__(self, cpu: int, events: Mapping[int, TraceEvent], sends: Sends, begin_ns: int) -> None:
        """Begin at `begin_ns`. The thread of the first event has run since then, because a switch is an event too."""
        self.cpu = cpu
        self.sources: list[Source] = [Source(Kind.IDLE, "idle")]
        self.stats: list[RunCounter] = [RunCounter()]
        self.pieces: list[int] = []  # start, end and source of the first run, then of the second, …
        self.lost_pages = 0
        self.lost_pieces = 0  # number of runs beyond the limit, which are only in `stats`
        self.unseen_switches = 0  # how often a thread ran without a switch to it, as some idle loops have no events
        self.unseen_ns = 0  # time between the events around such a switch, in which either thread may have run
        self.leaves: list[tuple[int, int, int]] = []  # time, tid and state of threads that left the CPU
        # By start of a time in `unseen_ns`: its end, and the source before the switch.
        self.unseen: dict[int, tuple[int, int]] = {}
        self.last_ns: int | None = begin_ns  # time of the last event; None if events were lost
        # Since when the owner has been known without a break; None: unknown since events were lost.
        self._known_since_ns: int | None = begin_ns
        self._events = events
        self._sends = sends
        self._number_by_source: dict[Source, int] = {self.sources[0]: IDLE}
        self._number_by_word: dict[tuple[str, str, int], int] = {}  # numbers of sources other than threads
        self._named: dict[int, tuple[bytes, int]] = {}  # by tid: the name at the last switch to it, and the source
        self._stack: list[int] = []  # sources that interrupt the thread, innermost last
        self._frames: list[tuple[Kind, str]] = []  # kind and name of each interrupting source
        self._own: list[int] = []  # time (ns) of each interrupting source
        self._thread: int | None = None  # None until an event shows the owner
        self.tid = 0  # the running thread; 0 if idle or unknown
        self._thread_ns = 0
        self._since_ns = begin_ns  # when the thread got the CPU
        # Threads woken on the idle CPU; the first of them to run has had the CPU since the last event.
        self._woken: set[int] = set()

    def feed(self, page: bytes) -> None:
        """Parse the next page; unparsable parts count as lost events."""
        try:
            if is_after_loss(page):
                self.lose()
            self._parse_page(page)
        except (IndexError, struct.error):
            self.lose()

    def _parse_page(self, page: bytes) -> None:
        events = self._events
        for now, at, words in records(page):
            event = events.get(words[at] & 0xFFFF)
            if event is None:
                continue
            action = event.action
            if action == NMI:
                self._interrupt(event, words, at, now)
                continue
            if words[at + 1] != self.tid or self._thread is None:
                self._correct(words[at + 1], now)
            self._step(now)
            if action == ENTER:
                self._stack.append(self._entered_source(event, words, at, now))
                self._frames.append((event.kind, event.name))
                self._own.append(0)
            elif action == EXIT:
                self._leave(event)
            elif action == SWITCH:
                self._switch(event, words, at)
            elif action == WAKE and event.word is not None:
                self._woken.add(words[at + event.word])
            elif action == EXPIRE and event.second is not None:
                self._expire(words[at + event.second] | words[at + event.second + 1] << 32)
            elif action == NOISE and event.second is not None:
                ns = words[at + event.second] | words[at + event.second + 1] << 32
                self._take_back(self._noise_source(event, words, at, now - ns), ns, now)

    def finish(self, end_ns: int) -> None:
        """End the trace: the current source has the CPU until `end_ns`."""
        if self._thread is not None:
            self._step(end_ns)
        self._unwind()
        if self._thread and self._thread_ns:
            self.stats[self._thread].add(self._thread_ns)
        self._thread, self._thread_ns = None, 0

    def settle(self, until_ns: int) -> None:
        """Count the current source's time until `until_ns`; all earlier events must have been parsed."""
        if self._thread is not None and (self.last_ns is None or self.last_ns < until_ns):
            self._step(until_ns)

    def has_owner_since(self, began_ns: int) -> bool:
        """Return whether the CPU's owner has been known since `began_ns`."""
        has_owner = self._thread is not None and self._known_since_ns is not None
        return has_owner and (self._known_since_ns or 0) <= began_ns and not self.lost_pieces

    def forget(self) -> None:
        """Forget all results. Keep only the sources that have the CPU now."""
        sources, thread = self.sources, self._thread
        self.sources, self.stats, self.pieces = [sources[IDLE]], [RunCounter()], []
        self._number_by_source, self._number_by_word, self._named = {sources[IDLE]: IDLE}, {}, {}
        self.leaves, self.unseen = [], {}
        self._stack = [self._number(sources[number]) for number in self._stack]
        self._thread = self._number(sources[thread]) if thread is not None else None
        self.lost_pages = self.lost_pieces = self.unseen_switches = self.unseen_ns = 0

    def _step(self, now: int) -> None:
        """Count the time since the last event for the innermost source."""
        last, self.last_ns = self.last_ns, now
        if last is None or now <= last:
            return
        if self._stack:
            self._own[-1] += now - last
            self._add_piece(self._stack[-1], last, now)
        elif self._thread is not None:
            self._thread_ns += now - last
            if self._thread != IDLE:
                self._add_piece(self._thread, last, now)

    def _add_piece(self, source: int, start_ns: int, end_ns: int) -> None:
        pieces = self.pieces
        if pieces and pieces[-1] == source and pieces[-2] == start_ns:
            pieces[-2] = end_ns
        elif len(pieces) < 3 * _MOST_PIECES:
            pieces += (start_ns, end_ns, source)
        else:
            self.lost_pieces += 1

    def _add_leave(self, at_ns: int, tid: int, state: int) -> None:
        if len(self.leaves) < _MOST_LEAVES:
            self.leaves.append((at_ns, tid, state))
        else:
            self.lost_pieces += 1

    def _entered_source(self, event: TraceEvent, words: memoryview, at: int, now: int) -> int:
        """Return the number in `sources` of the source that begins."""
        if event.kind == Kind.IPI:
            return self._number(Source(Kind.IPI, event.name, *self._sends.take(self.cpu, event.name, now)))
        key = (event.kind, event.name, words[at + event.word] if event.word is not None else 0)
        number = self._number_by_word.get(key)
        if number is None:
            number = self._number_by_word[key] = self._number(Source(*key))
        return number

    def _expire(self, function: int) -> None:
        """Attribute the innermost interrupt, including its time so far, to this timer function."""
        if not self._frames or self._frames[-1][0] not in _TIMED:
            return
        number = self._stack[-1]
        source = self.sources[number]
        if function not in source.timers:
            self._stack[-1] = self._number(replace(source, timers=(*source.timers, function)))
            if self.pieces and self.pieces[-1] == number and self.pieces[-2] == self.last_ns:
                self.pieces[-1] = self._stack[-1]

    def _noise_source(self, event: TraceEvent, words: memoryview, at: int, start_ns: int) -> int:
        """Return the number in `sources` of the interruption that has ended.

        Its kind is taken from its name if possible, because the CPU's own interrupts have IRQ numbers as well.
        """
        name = text_at(words, at, event.text) if event.text is not None else event.name
        kind = kind_of_vector(name) or event.kind
        if kind == Kind.IPI:
            return self._number(Source(kind, name, *self._sends.take(self.cpu, name, start_ns)))
        number = words[at + event.word] if event.word is not None and kind == event.kind else 0
        return self._number(Source(kind, name if kind != event.kind or event.word is None else "", number))

    def _take_back(self, number: int, ns: int, now: int) -> None:
        """Move the last `ns` nanoseconds before `now` from the thread to the source that has just ended."""
        self.stats[number].add(ns)
        if not self.lost_pieces:
            self._thread_ns -= take_back(self.pieces, number, ns, now, self._thread, self._since_ns)

    def _leave(self, event: TraceEvent) -> None:
        """End the event's source and sources in it. Ignore an exit without an entry (at the start, after a loss)."""
        frame = (event.kind, event.name)
        if frame in self._frames:
            while self._frames.pop() != frame:
                self.stats[self._stack.pop()].add(self._own.pop())
            self.stats[self._stack.pop()].add(self._own.pop())

    def _switch(self, event: TraceEvent, words: memoryview, at: int) -> None:
        """Switch to the event's next thread. Interrupts whose exit event is missing have ended by now."""
        if self._stack:
            self._unwind()
        if event.state is not None and self.last_ns is not None and words[at + 1]:
            self._add_leave(self.last_ns, words[at + 1], words[at + event.state])
        tid = words[at + event.word] if event.word is not None else 0
        if not tid or event.second is None:
            self._run(tid, self._number(Source(Kind.THREAD, "", tid)) if tid else IDLE)
            return
        begin = at + event.second
        raw = words[begin : begin + _COMM_WORDS].tobytes()
        named = self._named.get(tid)
        if named is None or named[0] != raw:
            name = raw.partition(b"\0")[0].decode("utf-8", "replace")
            named = self._named[tid] = (raw, self._number(Source(Kind.THREAD, name, tid)))
        self._run(tid, named[1])

    def _correct(self, tid: int, now: int) -> None:
        """Make thread `tid` the owner since the last event: it wrote the record, so a switch to it was not traced."""
        was_woken = self._thread == IDLE and tid in self._woken
        if self._thread is not None and not was_woken:
            self.unseen_switches += 1
            if self.last_ns is not None and now > self.last_ns:
                self.unseen_ns += now - self.last_ns
                self.unseen[self.last_ns] = now, self._thread
        elif self._thread is None and self._known_since_ns is None:
            self._known_since_ns = now
        self._run(tid, self._number(Source(Kind.THREAD, "", tid)) if tid else IDLE)

    def _run(self, tid: int, number: int) -> None:
        """Set the thread that has had the CPU since the last event, and the number of its source in `sources`."""
        if self._thread and self._thread_ns:
            self.stats[self._thread].add(self._thread_ns)
        self.tid, self._thread, self._thread_ns = tid, number, 0
        self._woken.clear()
        self._since_ns = self.last_ns or 0

    def _unwind(self) -> None:
        self._frames = []
        while self._stack:
            self.stats[self._stack.pop()].add(self._own.pop())

    def _interrupt(self, event: TraceEvent, words: memoryview, at: int, now: int) -> None:
        """Add an interrupt with a single event, which is written when the interrupt ends and contains its length."""
        if event.second is None:
            return
        ns = words[at + event.second] | words[at + event.second + 1] << 32
        if self._thread is None:
            self._known_since_ns = None  # until an event shows which thread the interrupt interrupted
        start_ns = max(now - ns, self.last_ns or 0)
        self._step(start_ns)
        number = self._number(Source(event.kind, event.name))
        self.stats[number].add(ns)
        self._add_piece(number, start_ns, max(now, start_ns))
        self.last_ns = now

    def _number(self, source: Source) -> int:
        number = self._number_by_source.get(source)
        if number is None:
            number = self._number_by_source[source] = len(self.sources)
            self.sources.append(source)
            self.stats.append(RunCounter())
        return number

    def lose(self) -> None:
        """Record a loss of events: the CPU's owner is unknown until the next event shows it."""
        self.lost_pages += 1
        self._stack, self._frames, self._own = [], [], []
        self.tid, self._thread, self._thread_ns = 0, None, 0
        self._woken.clear()
        self.last_ns = self._known_since_ns = None


def take_back(pieces: list[int], number: int, ns: int, end_ns: int, giver: int | None, since_ns: int) -> int:
    """Move `ns` nanoseconds before `end_ns` to source `number`. Return how much (ns) could be moved.

    The osnoise tracer reports an interruption only when it ends. Until then its time is counted as idleness, or for the
    source `giver`, which has had the CPU since `since_ns`, so it is taken from both. Runs of other sources in
    between are kept, because they interrupted the interruption.
    """
    later: list[tuple[int, int, int]] = []
    rest = ns
    while rest > 0 and end_ns > since_ns:
        free_from = max(pieces[-2], since_ns) if pieces else since_ns
        if free_from < end_ns:
            part_ns = min(end_ns - free_from, rest)
        elif pieces[-1] == giver:
            part_ns = min(end_ns - max(pieces[-3], since_ns), rest)
            pieces[-2] -= part_ns
            if pieces[-2] == pieces[-3]:
                del pieces[-3:]
        else:
            later.append((pieces[-3], pieces[-2], pieces[-1]))
            end_ns = pieces[-3]
            del pieces[-3:]
            continue
        later.append((end_ns - part_ns, end_ns, number))
        end_ns -= part_ns
        rest -= part_ns
    for piece in reversed(later):
        pieces += piece
    return ns - rest
