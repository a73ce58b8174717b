"""Collects a trace of some CPUs on this host while something else goes on, and puts it into JSON.

What is called by address is named by /proc/kallsyms, threads by /proc as long as they are there.
"""

from __future__ import annotations

import bisect
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure, Malformed
from noisewatch.kernel.tasks.files import parse_stat
from noisewatch.kernel.trace.events import (
    BIRTHS,
    ESSENTIAL,
    ON_ALL,
    ON_TARGET,
    ON_TARGET_BY_OSNOISE,
    chosen_function,
    events_of_senders,
    events_on_target,
    untold,
)
from noisewatch.kernel.trace.records import TraceFormat, parse_trace_format
from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.kernel.trace.sends import Sends
from noisewatch.kernel.trace.timeline import CpuTrace, Source
from noisewatch.kinds import Kind, Tracer
from noisewatch.machine import Json
from noisewatch.machine.tracefs.instance import OSNOISE, Instance, how_to_follow
from noisewatch.machine.tracefs.watcher import (
    MOUNTS,
    Watcher,
    find_tracefs,
    numbers_threads_as_we_do,
    remove_stale_where_mounted,
)
from noisewatch.text import clean

_BUFFERS_KB, _MOST_KB, _LEAST_KB = 65_536, 16_384, 256  # of all CPUs together, and of each
_MOST_NAMED = 24  # CPUs in a filter: beyond, all senders are traced
_MOST_PENDING = 500  # pages, of 4 kB as a rule: taking them in must not last until the buffer is full
_AT_WORK = threading.Lock()
_ENDS_WITHIN_S = 5.0  # to take in what was collected last is a matter of a second
_OTHER_NUMBERS = "in a container a trace names threads by the host's PIDs, which differ here"
_NOT_MOUNTED = "tracefs is not mounted (sudo mount -t tracefs tracefs /sys/kernel/tracing)"


class TraceCollector:
    """A context manager. `drain` has to be called some ten times a second, from a CPU that is not traced."""

    def __init__(self, cpus: CpuSet, online: CpuSet, tracer: Tracer = Tracer.EVENTS) -> None:
        self._cpus, self._online = cpus, online
        self._tracer, self._by_osnoise = tracer, tracer == Tracer.OSNOISE
        self._stack = ExitStack()
        self._begin_ns = self._end_ns = 0
        self._is_on = False

    def __enter__(self) -> Self:
        """Begins. Raises CannotMeasure where this kernel, or our rights, do not allow it."""
        with self._stack:
            remove_stale_where_mounted()
            if self._tracer == Tracer.NONE:
                raise CannotMeasure(NOT_TRACED)
            if not numbers_threads_as_we_do():
                raise CannotMeasure(_OTHER_NUMBERS)
            tracefs = _tracefs()
            self._wait_for_the_one_before()
            own = self._instance(tracefs)
            if os.access(tracefs / "instances", os.W_OK):  # else nothing can be made there, which `own` tells
                self._stack.enter_context(Watcher(tracefs))
            self._target = self._stack.enter_context(own)
            self._all = self._stack.enter_context(Instance(tracefs, "senders", self._online, _size_kb(self._online)))
            wanted = ON_TARGET_BY_OSNOISE if self._by_osnoise else ON_TARGET
            traced = [name for name in wanted if self._target.enable(name)]
            if not set(traced).issuperset(ESSENTIAL):
                raise CannotMeasure(f"this kernel cannot trace {', '.join(ESSENTIAL)}")
            condition = " || ".join(f"cpu == {cpu}" for cpu in sorted(self._cpus))
            is_short = len(self._cpus) <= _MOST_NAMED
            traced += [name for name in ON_ALL if self._all.enable(name, condition if is_short else None)]
            self._all.enable(BIRTHS)
            self.untold = untold(traced)

            @cache
            def formats(name: str) -> TraceFormat | None:
                return _read_format(tracefs, name)

            self._events, self._events_of_senders = events_on_target(formats), events_of_senders(formats)
            self._begin()
            self._stack = self._stack.pop_all()
        return self

    def begin_again(self) -> None:
        """Forgets what was told. Nothing is switched on or off for it, which would interrupt all CPUs."""
        self.stop()
        self._begin()

    def _begin(self) -> None:
        self._threads: dict[int, dict[str, Json]] = {}
        self._pending: dict[int, list[bytes]] = {cpu: [] for cpu in self._cpus}
        self._lost_before = {cpu: self._target.lost(cpu) for cpu in self._cpus}
        self._sends = Sends(self._events_of_senders)
        self._begin_ns = time.monotonic_ns()
        self._traces = {cpu: CpuTrace(cpu, self._events, self._sends, self._begin_ns) for cpu in sorted(self._cpus)}
        self._all.start()
        self._target.start()
        self._is_on = True

    def _wait_for_the_one_before(self) -> None:
        """Instances have their process's name, and so are one collector's at a time: of the monitor's threads too."""
        if not _AT_WORK.acquire(timeout=_ENDS_WITHIN_S):
            raise CannotMeasure("another trace of this process is still running")
        self._stack.callback(_AT_WORK.release)

    def _instance(self, tracefs: Path) -> Instance:
        if not self._by_osnoise:
            return Instance(tracefs, "target", self._cpus, _size_kb(self._cpus))
        purpose, prepare = how_to_follow(tracefs)
        return Instance(tracefs, purpose, self._cpus, _size_kb(self._cpus), OSNOISE, prepare)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def drain(self) -> None:
        """Fetches what has happened. Who calls comes after who is called: a call is written before it arrives.

        Most of it is kept as it is for later, as there is something to be measured meanwhile.
        """
        for cpu, pages in self._pending.items():
            pages.extend(self._target.pages(cpu))
        senders = [page for cpu in self._online for page in self._all.pages(cpu)]
        for page in senders:
            self._sends.feed(page)
        if senders:
            self._sends.sort()
            for tid in self._sends.tids:
                self._know(tid)
        if sum(map(len, self._pending.values())) > _MOST_PENDING:
            self._take_in()

    def _take_in(self) -> None:
        for cpu, trace in self._traces.items():
            for page in self._pending[cpu]:
                trace.feed(page)
            self._pending[cpu] = []

    def stop(self) -> None:
        """Ends the trace; what was written until then is taken in."""
        if self._is_on:
            self._is_on = False
            self._end_ns = time.monotonic_ns()
            self._target.stop()
            self._all.stop()
            self.drain()
            self._take_in()
            for trace in self._traces.values():
                trace.finish(self._end_ns)

    def result(self) -> Json:
        """All of it; times are ns, those of pieces since the beginning."""
        self.stop()
        sources = [source for trace in self._traces.values() for source in trace.sources]
        called = {function for source in sources for function in (source.function, *source.timers)}
        names = _function_names(called - {0})
        for trace in self._traces.values():
            for source in trace.sources:
                if source.kind in (Kind.THREAD, Kind.IPI):
                    self._know(source.number, source.name)
                if source.kind == Kind.THREAD and source.name and self._threads[source.number]["pid"] is None:
                    self._threads[source.number]["name"] = clean(
                        source.name
                    )  # what it has become, and not its parent's
        self._tell_parents()
        return {
            "begin_ns": self._begin_ns,
            "length_ns": self._end_ns - self._begin_ns,
            "tracer": self._tracer,
            "untold": self.untold,
            "threads": {str(tid): known for tid, known in self._threads.items()},
            "cpus": [self._describe(trace, names) for trace in self._traces.values()],
        }

    def _describe(self, trace: CpuTrace, names: Mapping[int, str]) -> Json:
        begin_ns = self._begin_ns
        before, after = self._lost_before[trace.cpu], self._target.lost(trace.cpu)
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
                [each.kind, clean(each.name), each.number, _function_of(each, names)] for each in trace.sources
            ],
            "spells": [
                [each.count, each.own_ns, each.max_ns, [word for pair in sorted(each.lengths.items()) for word in pair]]
                for each in trace.stats
            ],
            "pieces": pieces,
        }

    def _know(self, tid: int, name: str = "") -> None:
        if tid and tid not in self._threads:
            self._threads[tid] = _describe_thread(tid, name)

    def _tell_parents(self) -> None:
        """Of each thread that has ended the nearest one that has started it, or its parents, and lives."""
        alive: dict[int, dict[str, Json]] = {}
        for tid, known in self._threads.items():
            for ancestor, is_process in self._sends.ancestors(tid) if known["pid"] is None else ():
                if ancestor not in alive:
                    alive[ancestor] = self._threads.get(ancestor) or _describe_thread(ancestor, "")
                parent = alive[ancestor]
                if parent["pid"] is not None:
                    known["parent"] = {"pid": parent["pid"], "name": parent["name"], "is_process": is_process}
                    break


def _tracefs() -> Path:
    try:
        tracefs = find_tracefs(Path(MOUNTS).read_text(errors="replace"))
    except OSError as error:
        raise CannotMeasure(f"{MOUNTS}: {(error.strerror or str(error)).lower()}") from error
    if tracefs is None:
        raise CannotMeasure(_NOT_MOUNTED)
    return tracefs


def _size_kb(cpus: Iterable[int]) -> int:
    return max(min(_BUFFERS_KB // max(len(list(cpus)), 1), _MOST_KB), _LEAST_KB)


def _read_format(tracefs: Path, name: str) -> TraceFormat | None:
    try:
        return parse_trace_format((tracefs / "events" / name / "format").read_text())
    except (OSError, Malformed):
        return None


def _describe_thread(tid: int, name: str) -> dict[str, Json]:
    """Its name, its process and whether it is the kernel's, as far as it is still there."""
    known: dict[str, Json] = {"name": clean(name), "pid": None, "is_kernel": None}
    try:
        stat = parse_stat(Path(f"/proc/{tid}/stat").read_text(errors="replace"))
        status = Path(f"/proc/{tid}/status").read_text(errors="replace")
    except (OSError, Malformed):
        return known
    process = [line.split()[1] for line in status.splitlines() if line.startswith("Tgid:\t")]
    known["name"] = known["name"] or stat.name
    known["is_kernel"] = stat.is_kernel
    known["pid"] = int(process[0]) if process and process[0].isdecimal() else None
    return known


def _function_of(source: Source, names: Mapping[int, str]) -> str | None:
    """What it calls; of the timers of one interrupt the one to name it after."""
    if source.timers:
        return chosen_function(tuple(names[address] for address in source.timers if address in names))
    return names.get(source.function)


def _function_names(addresses: Iterable[int]) -> Mapping[int, str]:
    """The names of the kernel's functions that hold the addresses; only root is told addresses other than 0."""
    wanted = sorted(addresses)
    if not wanted:
        return {}
    symbols: list[tuple[int, str]] = []
    try:
        with open("/proc/kallsyms", encoding="utf-8", errors="replace") as file:
            for line in file:
                fields = line.split()
                if len(fields) >= 3 and fields[1] in "tTwW":
                    symbols.append((int(fields[0], 16), fields[2]))
    except (OSError, ValueError):
        return {}
    symbols.sort()
    starts = [address for address, _ in symbols]
    if not starts or not starts[-1]:
        return {}
    places = ((address, bisect.bisect_right(starts, address) - 1) for address in wanted)
    return {address: clean(symbols[place][1]) for address, place in places if place >= 0}
