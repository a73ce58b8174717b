"""Follows one command after the other with a continuous trace, and sums the time of each source during each command.

The trace is continuous because switching events on and off would interrupt all CPUs each time, and because earlier
events show the owner of a CPU without events during a command. There is one sum for the command's own threads, and one
for each other source.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure
from noisewatch.kernel.trace.buffers import TraceBuffers
from noisewatch.kernel.trace.events import BIRTHS
from noisewatch.kernel.trace.own_threads import OwnPlaces, OwnStates, OwnThreads, is_end, is_ready
from noisewatch.kernel.trace.runs import (
    Parent,
    Thread,
    TracedSource,
    TracedTime,
    TraceWindow,
    describe_thread,
    parse_source,
    parse_thread,
)
from noisewatch.kernel.trace.sends import Birth, Sends
from noisewatch.kernel.trace.symbols import KernelFunctions, addresses_in, function_of
from noisewatch.kernel.trace.timeline import CpuTrace, Source
from noisewatch.kinds import Kind, Tracer
from noisewatch.text import clean

_LEAVING_NS = 1_000_000  # CPU time within which an ended thread certainly leaves its CPU for good
_Key = tuple[int, Source, bool]  # CPU, source, whether it is an interrupt that the command has sent


class _Total(Struct):
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
    """The sums of each source's time during one command. Threads are looked up in /proc while they exist."""

    def __init__(self, own: OwnThreads, began_ns: int, functions: KernelFunctions) -> None:
        self.own = own
        self.places = OwnPlaces()
        self.states = OwnStates()
        self.began_ns = began_ns
        self._ended_ns: dict[int, int] = {}  # when each ended thread of the command's first process ended
        # When each such thread last left a CPU before it ended or was reaped, and whether it could have continued.
        self._last_leaves: dict[int, tuple[int, bool]] = {}
        self._busy_until_ns: dict[int, int] = {}  # end of the last run, by CPU
        self.cut_cpus: frozenset[int] = frozenset()  # CPUs with more events than could be kept
        self._functions = functions
        self._own_ns: Counter[int] = Counter()
        self._doubt_ns = 0
        self._totals: dict[_Key, _Total] = {}
        self._threads: dict[int, Thread] = {}

    @property
    def own_ns(self) -> int:
        """How long (ns) the command's threads ran on all traced CPUs."""
        return self._own_ns.total()

    @property
    def left_ns(self) -> int | None:
        """When (ns) the last thread of the first process left its CPU for good; None if a thread may still run."""
        return max(self._ended_ns.values()) if self.own.group <= self._ended_ns.keys() else None

    @property
    def is_ending(self) -> bool:
        """Whether a thread of the first process, which has been reaped, may still have to leave its CPU for good.

        The kernel may preempt an ending thread after it has reported its end.
        """
        return any(is_ready and tid not in self._ended_ns for tid, (_, is_ready) in self._last_leaves.items())

    def find_ends(self, traces: Collection[CpuTrace], reaped_ns: int | None) -> None:
        """Record which threads of the first process have ended. Call it before `add_events` for the same traces.

        `reaped_ns` is when the process was reaped, or None while it runs. A thread may have ended before this time, and
        leave its CPU for good only after it: the thread counts as ended when it last ran before this time. If that
        was on a CPU that is not traced, its end is unknown.
        """
        if reaped_ns is not None:
            for tid, start_ns, end_ns in self._runs_in(traces):
                if start_ns < reaped_ns <= end_ns and self._is_of_group(tid, reaped_ns):
                    self._note_leave(tid, reaped_ns, True)
        leaves = (leave for trace in traces for leave in trace.leaves if self._is_of_group(leave[1], leave[0]))
        for at_ns, tid, state in sorted(leaves):
            is_late = reaped_ns is not None and at_ns > reaped_ns
            left_ns, was_ready = self._last_leaves.get(tid, (0, False))
            if is_end(state) and is_late and was_ready:
                self._ended_ns[tid] = left_ns
            elif is_end(state) and not is_late and at_ns >= left_ns:
                self._ended_ns[tid] = at_ns
            elif not is_end(state):
                if not is_late:
                    self._note_leave(tid, at_ns, is_ready(state))
                if at_ns > self._ended_ns.get(tid, at_ns):  # another thread has called execve
                    del self._ended_ns[tid]

    def _is_of_group(self, tid: int, at_ns: int) -> bool:
        return tid in self.own.group and at_ns >= self.began_ns and self.own.is_own(tid, at_ns)

    def _note_leave(self, tid: int, at_ns: int, was_ready: bool) -> None:
        self._last_leaves[tid] = max((at_ns, was_ready), self._last_leaves.get(tid, (0, False)))

    def _runs_in(self, traces: Iterable[CpuTrace]) -> Iterator[tuple[int, int, int]]:
        """Yield the tid, start and end of each run of a thread of the command."""
        for trace in traces:
            pieces = trace.pieces
            for start_ns, end_ns, number in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
                source = trace.sources[number]
                if source.kind == Kind.THREAD and self.own.is_own(source.number, start_ns):
                    yield source.number, start_ns, end_ns

    def end_doubt_ns(self, traces: Iterable[CpuTrace]) -> int | None:
        """Return how much (ns) before `left_ns` the first process may have ended; None if its end is not in the trace.

        If another thread of the command preempted the process's last thread, which then ran only briefly before it left
        its CPU for good, the process may have ended before the preemption. Time of foreign threads is noise in any
        case.
        """
        left_ns = self.left_ns
        if left_ns is None:
            return None
        last = max(self._ended_ns, key=self._ended_ns.__getitem__)
        since_ns, was_preempted = self._last_leaves.get(last, (0, False))
        if not was_preempted:
            return 0
        ran_ns = others_ns = 0
        for tid, start_ns, end_ns in self._runs_in(traces):
            ns = max(min(end_ns, left_ns) - max(start_ns, since_ns), 0)
            ran_ns += ns * (tid == last)
            others_ns += ns * (tid != last)
        return min(left_ns - since_ns - ran_ns, others_ns) if ran_ns < _LEAVING_NS else 0

    def add_events(self, trace: CpuTrace, sends: Sends, until_ns: int | None) -> None:
        """Add a CPU's new events up to `until_ns` (None: all). Earlier births must have been added to `own`."""
        pieces, sources = trace.pieces, trace.sources
        if trace.lost_pieces:
            self.cut_cpus |= {trace.cpu}
        self._own_ns[trace.cpu] += 0
        self._add_states(trace, until_ns)
        for start_ns, end_ns, number in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            begin_ns = max(start_ns, self.began_ns)
            stop_ns = end_ns if until_ns is None else min(end_ns, until_ns)
            if begin_ns >= stop_ns:
                continue
            source = sources[number]
            is_own = source.kind in (Kind.THREAD, Kind.IPI) and self.own.is_own(source.number, begin_ns)
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

    def _add_states(self, trace: CpuTrace, until_ns: int | None) -> None:
        """Add the threads that left the CPU, and its idle times, in which a ready thread could have run."""
        for at_ns, tid, state in trace.leaves:
            if self.began_ns <= at_ns and (until_ns is None or at_ns < until_ns) and self.own.is_own(tid, at_ns):
                self.states.leave(tid, trace.cpu, at_ns, state)
        before_ns = self._busy_until_ns.get(trace.cpu, self.began_ns)
        for start_ns, end_ns in zip(trace.pieces[::3], trace.pieces[1::3], strict=True):
            if start_ns > before_ns:
                self.states.mark_idle(trace.cpu, before_ns)
                self.states.mark_busy(trace.cpu, start_ns)
            before_ns = max(before_ns, end_ns)
        self._busy_until_ns[trace.cpu] = before_ns
        if not trace.tid:
            self.states.mark_idle(trace.cpu, before_ns)

    def window(self, end_ns: int, uncovered: tuple[str, ...], end_doubt_ns: int | None) -> TraceWindow:
        """Return all sums of the command, which ended at `end_ns`; the doubt is as in TraceWindow."""
        self.places.settle(end_ns)
        self.states.settle(end_ns)
        names = self._functions.names_of(addresses_in(source for _, source, _ in self._totals))
        return TraceWindow(
            begin_ns=self.began_ns,
            end_ns=end_ns,
            own_ns_by_cpu=dict(self._own_ns),
            times=tuple(
                TracedTime(
                    cpu=cpu,
                    source=self._describe(source, function_of(source, names)),
                    ns=total.ns,
                    count=total.count,
                    begin_ns=total.begin_ns,
                    end_ns=total.end_ns,
                    is_own=is_own,
                    doubt_ns=total.doubt_ns,
                )
                for (cpu, source, is_own), total in self._totals.items()
            ),
            uncovered=uncovered,
            doubt_ns=self._doubt_ns,
            threads=self.places.threads,
            other_threads_ns=self.places.other_ns,
            states=self.states.times_until(end_ns),
            end_doubt_ns=end_doubt_ns,
        )

    def _is_other(self, before: Source, is_own: bool, at_ns: int) -> bool:
        """Return whether only one of the sources `before` and after a switch belongs to the command.

        If the source after the switch does not, idleness before the switch counts as the command's, because one of its
        threads may have run unnoticed.
        """
        was_own = before.kind == Kind.THREAD and self.own.is_own(before.number, at_ns)
        return not was_own if is_own else was_own or before.kind == Kind.IDLE

    def _total_of(self, key: _Key, begin_ns: int, sends: Sends) -> _Total:
        total = self._totals.get(key)
        if total is None:
            _, source, is_own = key
            total = self._totals[key] = _Total(begin_ns, begin_ns)
            if source.kind in (Kind.THREAD, Kind.IPI) and not is_own:
                self._remember_thread(source.number, source.name if source.kind == Kind.THREAD else "", sends)
        return total

    def _remember_thread(self, tid: int, name: str, sends: Sends) -> None:
        if not tid or tid in self._threads:
            return
        thread = parse_thread(str(tid), describe_thread(tid, ""))
        if thread.pid is None:
            thread = parse_thread(str(tid), describe_thread(tid, name))
            thread = replace(thread, parent=_parent_of(tid, sends))
        elif not thread.is_kernel:
            thread = replace(thread, name=clean(name) or thread.name)
        self._threads[tid] = thread

    def _describe(self, source: Source, function: str | None) -> TracedSource:
        """Describe a source and its function. Name a kernel thread as /proc does: a worker's name shows its work."""
        threads = {str(tid): thread for tid, thread in self._threads.items() if tid == source.number}
        traced = parse_source([source.kind, clean(source.name), source.number, function], threads)
        thread = traced.thread
        is_worker = thread is not None and thread.is_kernel and traced.kind != Kind.IPI
        return replace(traced, name=thread.name) if is_worker and thread is not None else traced


def _parent_of(tid: int, sends: Sends) -> Parent | None:
    """Return the thread's nearest living ancestor, or None if none is known."""
    for ancestor, is_process in sends.ancestors(tid):
        parent = parse_thread(str(ancestor), describe_thread(ancestor, ""))
        if parent.pid is not None:
            return Parent(parent.pid, parent.name, is_process)
    return None


_MOST_PENDING = 500  # pages, usually of 4 kB
_NOT_FOLLOWED = "no command was followed"
_BIRTHS_LOST = "events were lost: parent processes are unknown"
_SWITCHED_OFF = "the trace was switched off or changed during the command"
_END_MISSING = "{}: a thread's end is missing from the trace, so events were lost"
_END_DEADLINE_NS = 20_000_000  # time that an ended thread may need to leave its CPU, even after it is reaped
_NOT_BEGUN = "the command's start is missing from the trace"


class TraceFollower:
    """A context manager that traces commands. Call `drain` some ten times a second, from a CPU that is not traced."""

    def __init__(
        self,
        cpus: CpuSet,
        online: CpuSet,
        tracer: Tracer = Tracer.EVENTS,
        buffering: type[TraceBuffers] = TraceBuffers,
        read_functions: Callable[[], KernelFunctions] = KernelFunctions,
    ) -> None:
        self._cpus, self._online = cpus, online
        self._buffers = buffering(cpus, online, tracer)
        self._read_functions = read_functions
        self._stack = ExitStack()
        self._pending: dict[int, list[bytes]] = {cpu: [] for cpu in cpus}
        self._births: list[Birth] = []
        self._times: CommandTimes | None = None
        self._known_until_ns = 0  # all events of traced CPUs up to this time have been fetched
        self._read_ns = 0  # all starts of threads up to this time have been fetched

    def __enter__(self) -> Self:
        """Begin the trace. Raise CannotMeasure if that is impossible.

        Enabling the last event usually interrupts all CPUs, so the first event of each CPU shows its owner at once.
        """
        with self._stack:
            buffers = self._stack.enter_context(self._buffers)
            self._functions = self._read_functions()
            self._sends = Sends(buffers.events_of_senders, self._births)
            begin_ns = time.monotonic_ns()
            self._traces = {cpu: CpuTrace(cpu, buffers.events, self._sends, begin_ns) for cpu in sorted(self._cpus)}
            buffers.start()
            if not buffers.trace_births():
                raise CannotMeasure(f"this kernel cannot trace {BIRTHS}")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def follow(self, pid: int, began_ns: int) -> None:
        """Follow the command that began at `began_ns`; the previous one has ended."""
        self._times = CommandTimes(OwnThreads(pid), began_ns, self._functions)

    def drain(self) -> None:
        """Fetch the new pages. Most are parsed later, to disturb the measurement less.

        Traced CPUs' pages are fetched first, then the senders' pages. So the senders' pages contain the cause, which is
        recorded earlier, of each event on a traced CPU: a call, or the start of a thread.
        """
        self._fetch()
        if sum(map(len, self._pending.values())) > _MOST_PENDING:
            self._parse_pending(None)
            self._count_parsed(None)

    def _fetch(self) -> None:
        self._known_until_ns = time.monotonic_ns()
        for cpu, pages in self._pending.items():
            pages.extend(self._buffers.target.pages(cpu))
        self._read_ns = time.monotonic_ns()
        for cpu in self._online:
            for page in self._buffers.senders.pages(cpu):
                self._sends.feed(page)
        self._sends.sort()

    def look(self) -> None:
        """Fetch and parse the new pages, while the threads still exist and have names."""
        self.drain()
        self._parse_pending(None)
        self._count_parsed(None)
        self._lose_if_off()

    def end(self, end_ns: int) -> TraceWindow | str:
        """Return the trace of the command, which ended by `end_ns`, or the reason why there is none."""
        self._fetch()
        self._parse_pending(end_ns)
        times = self._times
        unended = self._wait_for_ends(times, end_ns) if times is not None else []
        end_doubt_ns = times.end_doubt_ns(self._traces.values()) if times is not None else None
        self._count_parsed(end_ns)
        if times is None:
            return _NOT_FOLLOWED
        trouble = _SWITCHED_OFF if self._lose_if_off() else self._trouble(times) or self._missing_end(unended)
        self._times = None
        self._sends.is_damaged = False
        if trouble is not None:
            return trouble
        return times.window(_earliest(end_ns, times.left_ns), tuple(self._buffers.uncovered), end_doubt_ns)

    def _lose_if_off(self) -> bool:
        """Return whether tracing was switched off or changed; if so, forget every CPU's owner."""
        is_off = not (self._buffers.target.is_writing and self._buffers.senders.is_writing)
        if is_off:
            for trace in self._traces.values():
                trace.lose()
        return is_off

    def _wait_for_ends(self, times: CommandTimes, end_ns: int) -> list[CpuTrace]:
        """Wait until ended threads have left their CPUs; return CPUs on which the trace still shows an ended thread."""
        until_ns = time.monotonic_ns() + _END_DEADLINE_NS
        while (unended := self._find_unended(times.own, end_ns)) or times.is_ending:
            if time.monotonic_ns() >= until_ns:
                break
            time.sleep(0.001)
            self._fetch()
            self._parse_pending(end_ns, adds_births=False)
        return unended

    def _missing_end(self, unended: list[CpuTrace]) -> str | None:
        """Return a message if the trace still shows ended threads of the command on CPUs, or None."""
        for trace in unended:
            trace.lose()
        return _END_MISSING.format(name_cpus([trace.cpu for trace in unended])) if unended else None

    def _find_unended(self, own: OwnThreads, end_ns: int) -> list[CpuTrace]:
        return [
            trace
            for trace in self._traces.values()
            if own.is_own(trace.tid, end_ns) and not os.path.exists(f"/proc/{trace.tid}")
        ]

    def _parse_pending(self, end_ns: int | None, adds_births: bool = True) -> None:
        """Parse the fetched pages. Between two counts, births may be added only once."""
        if adds_births:
            births = self._births_until(self._read_ns)
            if self._times is not None:
                self._times.own.add_births(births)
        for cpu, trace in self._traces.items():
            for page in self._pending[cpu]:
                trace.feed(page)
            self._pending[cpu] = []
            if end_ns is not None:
                trace.settle(end_ns)
        if self._times is not None:
            self._times.find_ends(self._traces.values(), end_ns)

    def _count_parsed(self, end_ns: int | None) -> None:
        """Add the parsed events to the command's sums, and forget them."""
        left_ns = self._times.left_ns if self._times is not None else None
        if left_ns is not None and end_ns is not None:
            left_ns = min(left_ns, end_ns)
        for trace in self._traces.values():
            if self._times is not None:
                self._times.add_events(trace, self._sends, end_ns if left_ns is None else left_ns)
            trace.forget()
        if self._times is not None:
            until_ns = _earliest(self._known_until_ns, end_ns, left_ns)
            self._times.places.settle(until_ns)
            self._times.states.settle(until_ns)
        self._sends.forget(self._read_ns)

    def _births_until(self, until_ns: int) -> list[Birth]:
        """Remove and return the births up to `until_ns`, in order of time. Some later births may not be fetched yet."""
        births = sorted(self._births)
        self._births[:] = [birth for birth in births if birth.at_ns > until_ns]
        return births[: len(births) - len(self._births)]

    def _trouble(self, times: CommandTimes) -> str | None:
        """Return the reason why the command's trace is incomplete, or None if it is complete."""
        if self._sends.is_damaged or (self._sends.lost_ns or 0) > times.began_ns:
            return _BIRTHS_LOST
        traces = self._traces.values()
        unknown = times.cut_cpus | {trace.cpu for trace in traces if not trace.has_owner_since(times.began_ns)}
        if unknown:
            return f"events on {name_cpus(unknown)} were lost, or there were none yet"
        return None if times.own.has_begun and times.own_ns else _NOT_BEGUN


def _earliest(first_ns: int, *others_ns: int | None) -> int:
    """Return the earliest time; any but the first may be None, unknown."""
    return min([first_ns, *(ns for ns in others_ns if ns is not None)])
