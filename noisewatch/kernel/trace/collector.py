"""Collects a trace of some CPUs on this host while a measurement runs, and converts it to JSON.

Function addresses are looked up in /proc/kallsyms; threads are looked up in /proc while they exist.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from noisewatch.cpus import CpuSet
from noisewatch.kernel.trace.buffers import TraceBuffers
from noisewatch.kernel.trace.runs import describe_thread
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kernel.trace.symbols import KernelFunctions, addresses_in, function_of
from noisewatch.kernel.trace.timeline import CpuTrace
from noisewatch.kinds import Kind, Tracer
from noisewatch.machine import Json
from noisewatch.text import clean

_MOST_PENDING = 500  # pages, usually of 4 kB; parsing them must not take so long that the buffer fills up


class TraceCollector:
    """A context manager that traces. Call `drain` some ten times a second, from a CPU that is not traced."""

    def __init__(self, cpus: CpuSet, online: CpuSet, tracer: Tracer = Tracer.EVENTS) -> None:
        self._cpus, self._online = cpus, online
        self._tracer = tracer
        self._stack = ExitStack()
        self._begin_ns = self._end_ns = 0
        self._is_on = False

    def __enter__(self) -> Self:
        """Begin the trace. Raise CannotMeasure if that is impossible."""
        with self._stack:
            self._buffers = self._stack.enter_context(TraceBuffers(self._cpus, self._online, self._tracer))
            self._buffers.trace_births()
            self._begin()
            self._stack = self._stack.pop_all()
        return self

    def begin_again(self) -> None:
        """Discard the trace so far. Events stay enabled, because switching them would interrupt all CPUs."""
        self.stop()
        self._begin()

    def _begin(self) -> None:
        self._threads: dict[int, dict[str, Json]] = {}
        self._pending: dict[int, list[bytes]] = {cpu: [] for cpu in self._cpus}
        self._lost_before = {cpu: self._buffers.target.lost(cpu) for cpu in self._cpus}
        self._sends = Sends(self._buffers.events_of_senders)
        self._begin_ns = time.monotonic_ns()
        events = self._buffers.events
        self._traces = {cpu: CpuTrace(cpu, events, self._sends, self._begin_ns) for cpu in sorted(self._cpus)}
        self._buffers.start()
        self._is_on = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def drain(self) -> None:
        """Fetch the new pages. Most are parsed later, to disturb the measurement less.

        The traced CPUs' pages are fetched before the senders' pages. A call's sender is recorded before its arrival, so
        the senders' pages contain the sender of each call that has arrived.
        """
        for cpu, pages in self._pending.items():
            pages.extend(self._buffers.target.pages(cpu))
        senders = [page for cpu in self._online for page in self._buffers.senders.pages(cpu)]
        for page in senders:
            self._sends.feed(page)
        if senders:
            self._sends.sort()
            for tid in self._sends.tids:
                self._remember_thread(tid)
        if sum(map(len, self._pending.values())) > _MOST_PENDING:
            self._parse_pending()

    def _parse_pending(self) -> None:
        for cpu, trace in self._traces.items():
            for page in self._pending[cpu]:
                trace.feed(page)
            self._pending[cpu] = []

    def stop(self) -> None:
        """End the trace, and parse its remaining pages."""
        if self._is_on:
            self._is_on = False
            self._end_ns = time.monotonic_ns()
            self._buffers.stop()
            self.drain()
            self._parse_pending()
            for trace in self._traces.values():
                trace.finish(self._end_ns)

    def result(self) -> Json:
        """End the trace, and return it as JSON. Times are in ns; times of pieces are since the start of the trace."""
        self.stop()
        sources = [source for trace in self._traces.values() for source in trace.sources]
        called = addresses_in(sources)
        names = KernelFunctions().names_of(called) if called else {}
        for trace in self._traces.values():
            for source in trace.sources:
                if source.kind in (Kind.THREAD, Kind.IPI):
                    self._remember_thread(source.number, source.name)
                if source.kind == Kind.THREAD and source.name and self._threads[source.number]["pid"] is None:
                    # Until now, the name may have been its parent's.
                    self._threads[source.number]["name"] = clean(source.name)
        self._add_parents()
        return {
            "begin_ns": self._begin_ns,
            "length_ns": self._end_ns - self._begin_ns,
            "tracer": self._tracer,
            "untold": self._buffers.uncovered,
            "threads": {str(tid): thread for tid, thread in self._threads.items()},
            "cpus": [self._describe(trace, names) for trace in self._traces.values()],
        }

    def _describe(self, trace: CpuTrace, names: Mapping[int, str]) -> Json:
        begin_ns = self._begin_ns
        before, after = self._lost_before[trace.cpu], self._buffers.target.lost(trace.cpu)
        lost = None if before is None or after is None else after - before
        pieces = trace.pieces
        pieces[::3] = [start - begin_ns for start in pieces[::3]]
        pieces[1::3] = [end - begin_ns for end in pieces[1::3]]
        return {
            "cpu": trace.cpu,
            "lost_events": None if lost is None else lost + trace.lost_pages,
            "lost_pieces": trace.lost_pieces,
            "unseen_switches": trace.unseen_switches,
            "unseen_ns": trace.unseen_ns,
            "sources": [
                [source.kind, clean(source.name), source.number, function_of(source, names)] for source in trace.sources
            ],
            "spells": [
                [
                    stats.count,
                    stats.own_ns,
                    stats.max_ns,
                    [word for pair in sorted(stats.lengths.items()) for word in pair],
                ]
                for stats in trace.stats
            ],
            "pieces": pieces,
        }

    def _remember_thread(self, tid: int, name: str = "") -> None:
        if tid and tid not in self._threads:
            self._threads[tid] = describe_thread(tid, name)

    def _add_parents(self) -> None:
        """Add the nearest living ancestor to each ended thread."""
        alive: dict[int, dict[str, Json]] = {}
        for tid, thread in self._threads.items():
            for ancestor, is_process in self._sends.ancestors(tid) if thread["pid"] is None else ():
                if ancestor not in alive:
                    alive[ancestor] = self._threads.get(ancestor) or describe_thread(ancestor, "")
                parent = alive[ancestor]
                if parent["pid"] is not None:
                    thread["parent"] = {"pid": parent["pid"], "name": parent["name"], "is_process": is_process}
                    break
