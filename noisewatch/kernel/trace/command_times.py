"""Sums of what had the traced CPUs while a command ran: its own threads together, each of the others by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from noisewatch.kernel.trace.own_places import OwnPlaces
from noisewatch.kernel.trace.own_states import OwnStates, is_end
from noisewatch.kernel.trace.own_threads import OwnThreads
from noisewatch.kernel.trace.runs import Parent, Thread, TracedSource, parse_source, parse_thread
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kernel.trace.symbols import KernelFunctions, addresses_in, function_of
from noisewatch.kernel.trace.threads import describe_thread
from noisewatch.kernel.trace.timeline import CpuTrace, Source
from noisewatch.kernel.trace.window import TracedTime, TraceWindow
from noisewatch.kinds import Kind
from noisewatch.records import dataclass
from noisewatch.text import clean

_Key = tuple[int, Source, bool]  # CPU, source, whether the command has sent it


@dataclass(slots=True)
class _Total:
    begin_ns: int
    end_ns: int
    ns: int = 0
    doubt_ns: int = 0
    count: int = 0

    def add(self, start_ns: int, end_ns: int, doubt_ns: int) -> None:
        self.count += 1
        self.doubt_ns += doubt_ns
        self.ns += end_ns - start_ns
        self.end_ns = end_ns


class CommandTimes:
    """The sums of one command, since it began. Threads are described while they exist."""

    def __init__(self, own: OwnThreads, began_ns: int, functions: KernelFunctions) -> None:
        self.own = own
        self.places = OwnPlaces()
        self.states = OwnStates()
        self.began_ns = began_ns
        self._ended_ns: dict[int, int] = {}  # by thread of the command's first process
        self._busy_until_ns: dict[int, int] = {}  # by CPU
        self.cut_cpus: frozenset[int] = frozenset()  # of which more happened than could be kept
        self._functions = functions
        self._own_ns: Counter[int] = Counter()
        self._doubt_ns = 0
        self._totals: dict[_Key, _Total] = {}
        self._threads: dict[int, Thread] = {}

    @property
    def own_ns(self) -> int:
        """The time that the command's threads had on all the CPUs."""
        return self._own_ns.total()

    @property
    def left_ns(self) -> int | None:
        """When the last thread of the command's first process left its CPU for good; None if one may still run."""
        return max(self._ended_ns.values()) if self.own.group <= self._ended_ns.keys() else None

    def find_ends(self, trace: CpuTrace) -> None:
        """Note which threads of the command's first process have ended on the CPU, before its other events."""
        for at_ns, tid, state in trace.leaves:
            if tid in self.own.group and at_ns >= self.began_ns and self.own.had(tid, at_ns):
                if is_end(state):
                    self._ended_ns[tid] = at_ns
                elif at_ns > self._ended_ns.get(tid, at_ns):  # another thread has executed a program in its place
                    del self._ended_ns[tid]

    def take_in(self, trace: CpuTrace, sends: Sends, until_ns: int | None) -> None:
        """Add the new events of a CPU, after the births until then have been added."""
        pieces, sources = trace.pieces, trace.sources
        if trace.lost_pieces:
            self.cut_cpus |= {trace.cpu}
        self._own_ns[trace.cpu] += 0
        self._take_in_states(trace, until_ns)
        for start_ns, end_ns, number in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            begin_ns = max(start_ns, self.began_ns)
            stop_ns = end_ns if until_ns is None else min(end_ns, until_ns)
            if begin_ns >= stop_ns:
                continue
            source = sources[number]
            is_own = source.kind in (Kind.THREAD, Kind.IPI) and self.own.had(source.number, begin_ns)
            doubt_ns = 0
            if start_ns in trace.unseen:
                sure_ns, before = trace.unseen[start_ns]
                if self._is_other(sources[before], is_own, start_ns):
                    doubt_ns = max(min(sure_ns, stop_ns) - begin_ns, 0)
            if is_own and source.kind == Kind.THREAD:
                self._own_ns[trace.cpu] += stop_ns - begin_ns
                self.places.add(source.number, source.name, trace.cpu, begin_ns, stop_ns)
                self.states.run(source.number, trace.cpu, begin_ns)
                self._doubt_ns += doubt_ns
            else:
                key = trace.cpu, replace(source, number=0) if is_own else source, is_own
                self._total_of(key, begin_ns, sends).add(begin_ns, stop_ns, doubt_ns)

    def _take_in_states(self, trace: CpuTrace, until_ns: int | None) -> None:
        """Add the threads that left the CPU, and when it was idle while one of them could have run."""
        for at_ns, tid, state in trace.leaves:
            if self.began_ns <= at_ns and (until_ns is None or at_ns < until_ns) and self.own.had(tid, at_ns):
                self.states.leave(tid, trace.cpu, at_ns, state)
        before_ns = self._busy_until_ns.get(trace.cpu, self.began_ns)
        for start_ns, end_ns in zip(trace.pieces[::3], trace.pieces[1::3], strict=True):
            if start_ns > before_ns:
                self.states.idle(trace.cpu, before_ns)
                self.states.busy(trace.cpu, start_ns)
            before_ns = max(before_ns, end_ns)
        self._busy_until_ns[trace.cpu] = before_ns
        if not trace.tid:
            self.states.idle(trace.cpu, before_ns)

    def window(self, ended_ns: int, untold: tuple[str, ...]) -> TraceWindow:
        """Return all sums."""
        self.places.settle(ended_ns)
        self.states.settle(ended_ns)
        names = self._functions.names_of(addresses_in(source for _, source, _ in self._totals))
        return TraceWindow(
            begin_ns=self.began_ns,
            end_ns=ended_ns,
            own_ns_by_cpu=dict(self._own_ns),
            times=tuple(
                TracedTime(
                    cpu=cpu,
                    source=self._described(source, function_of(source, names)),
                    ns=total.ns,
                    count=total.count,
                    begin_ns=total.begin_ns,
                    end_ns=total.end_ns,
                    is_own=is_own,
                    doubt_ns=total.doubt_ns,
                )
                for (cpu, source, is_own), total in self._totals.items()
            ),
            untold=untold,
            doubt_ns=self._doubt_ns,
            threads=self.places.threads,
            other_threads_ns=self.places.other_ns,
            states=self.states.times_until(ended_ns),
            has_seen_end=self.left_ns is not None,
        )

    def _is_other(self, before: Source, is_own: bool, at_ns: int) -> bool:
        """Return whether the two differ in being the command's; after idleness a foreign thread may have run unseen."""
        was_own = before.kind == Kind.THREAD and self.own.had(before.number, at_ns)
        return not was_own if is_own else was_own or before.kind == Kind.IDLE

    def _total_of(self, key: _Key, begin_ns: int, sends: Sends) -> _Total:
        total = self._totals.get(key)
        if total is None:
            _, source, is_own = key
            total = self._totals[key] = _Total(begin_ns, begin_ns)
            if source.kind in (Kind.THREAD, Kind.IPI) and not is_own:
                self._know(source.number, source.name if source.kind == Kind.THREAD else "", sends)
        return total

    def _know(self, tid: int, name: str, sends: Sends) -> None:
        if not tid or tid in self._threads:
            return
        thread = parse_thread(str(tid), describe_thread(tid, ""))
        if thread.pid is None:
            thread = parse_thread(str(tid), describe_thread(tid, name))
            thread = replace(thread, parent=_parent_of(tid, sends))
        elif not thread.is_kernel:
            thread = replace(thread, name=clean(name) or thread.name)
        self._threads[tid] = thread

    def _described(self, source: Source, function: str | None) -> TracedSource:
        """Return the source; a kernel thread has the name in /proc, which contains a worker's work."""
        threads = {str(tid): thread for tid, thread in self._threads.items() if tid == source.number}
        traced = parse_source([source.kind, clean(source.name), source.number, function], threads)
        thread = traced.thread
        is_worker = thread is not None and thread.is_kernel and traced.kind != Kind.IPI
        return replace(traced, name=thread.name) if is_worker and thread is not None else traced


def _parent_of(tid: int, sends: Sends) -> Parent | None:
    """Return the nearest living ancestor."""
    for ancestor, is_process in sends.ancestors(tid):
        parent = parse_thread(str(ancestor), describe_thread(ancestor, ""))
        if parent.pid is not None:
            return Parent(parent.pid, parent.name, is_process)
    return None
