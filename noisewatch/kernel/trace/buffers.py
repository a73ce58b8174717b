"""A trace's two buffers: events on some CPUs, and on all CPUs the senders of calls and the parents of new threads.

A process has at most one trace at a time, because the instances are named after the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure, Malformed, system_reason
from noisewatch.kernel.trace.events import (
    BIRTHS,
    CONDITIONS,
    ESSENTIAL,
    ON_ALL,
    ON_TARGET,
    ON_TARGET_BY_OSNOISE,
    TraceFormat,
    events_of_senders,
    events_on_target,
    list_uncovered,
    parse_trace_format,
)
from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.kinds import Tracer
from noisewatch.machine.tracefs.instance import OSNOISE, Instance, osnoise_setup
from noisewatch.machine.tracefs.watcher import (
    MOUNTS,
    Watcher,
    find_tracefs,
    numbers_threads_as_we_do,
    remove_stale_where_mounted,
)

_BUFFERS_KB, _MOST_KB, _LEAST_KB = 65_536, 16_384, 256  # total for all CPUs, then maximum and minimum for one CPU
_MOST_NAMED = 24  # most target CPUs in a filter; if there are more, calls to all CPUs are traced
_AT_WORK = threading.Lock()
_END_DEADLINE_S = 5.0  # wait for the end of another trace, whose last pages take about a second to parse
_OTHER_NUMBERS = "a trace contains the host's PIDs, which differ from those of this container"
_NOT_MOUNTED = "tracefs is not mounted (sudo mount -t tracefs tracefs /sys/kernel/tracing)"


class TraceBuffers:
    """A context manager for the two buffers, which record nothing before `start`.

    `target` is the instance for the traced CPUs, and `senders` the one for all CPUs; `events` and `events_of_senders`
    describe how to parse their records. `uncovered` names what this kernel has no events for.
    """

    def __init__(self, cpus: CpuSet, online: CpuSet, tracer: Tracer) -> None:
        self._cpus, self._online = cpus, online
        self._tracer, self._by_osnoise = tracer, tracer == Tracer.OSNOISE
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Create the instances. Raise CannotMeasure if that is impossible."""
        with self._stack:
            remove_stale_where_mounted()
            if self._tracer == Tracer.NONE:
                raise CannotMeasure(NOT_TRACED)
            if not numbers_threads_as_we_do():
                raise CannotMeasure(_OTHER_NUMBERS)
            tracefs = _tracefs()
            self._wait_for_slot()
            own = self._instance(tracefs)
            if os.access(tracefs / "instances", os.W_OK):  # otherwise entering `own` raises CannotMeasure
                self._stack.enter_context(Watcher(tracefs))
            self.target = self._stack.enter_context(own)
            self.senders = self._stack.enter_context(Instance(tracefs, "senders", self._online, _size_kb(self._online)))
            self.uncovered = list_uncovered(self._enable_events())

            @cache
            def formats(name: str) -> TraceFormat | None:
                return _read_format(tracefs, name)

            self.events, self.events_of_senders = events_on_target(formats), events_of_senders(formats)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def start(self) -> None:
        """Start recording events. Raise CannotMeasure if the kernel refuses."""
        self.senders.start()
        self.target.start()

    def stop(self) -> None:
        """Stop recording; recorded events can still be read. Raise CannotMeasure if the kernel refuses."""
        self.target.stop()
        self.senders.stop()

    def trace_births(self) -> bool:
        """Trace the starts of threads and their parents too. Return whether this kernel can."""
        return self.senders.enable(BIRTHS)

    def _enable_events(self) -> list[str]:
        """Enable the events that this kernel has, and return their names. Raise CannotMeasure without sched_switch."""
        events = ON_TARGET_BY_OSNOISE if self._by_osnoise else ON_TARGET
        traced = [name for name in events if self.target.enable(name, CONDITIONS.get(name))]
        if not set(traced).issuperset(ESSENTIAL):
            raise CannotMeasure(f"this kernel cannot trace {', '.join(ESSENTIAL)}")
        condition = " || ".join(f"cpu == {cpu}" for cpu in sorted(self._cpus))
        is_short = len(self._cpus) <= _MOST_NAMED
        return traced + [name for name in ON_ALL if self.senders.enable(name, condition if is_short else None)]

    def _wait_for_slot(self) -> None:
        """Wait until no other thread of this process is tracing. Raise CannotMeasure after 5 s."""
        if not _AT_WORK.acquire(timeout=_END_DEADLINE_S):
            raise CannotMeasure("another trace of this process is still running")
        self._stack.callback(_AT_WORK.release)

    def _instance(self, tracefs: Path) -> Instance:
        if not self._by_osnoise:
            return Instance(tracefs, "target", self._cpus, _size_kb(self._cpus))
        purpose, prepare = osnoise_setup(tracefs)
        return Instance(tracefs, purpose, self._cpus, _size_kb(self._cpus), OSNOISE, prepare)


def _tracefs() -> Path:
    try:
        tracefs = find_tracefs(Path(MOUNTS).read_text(errors="replace"))
    except OSError as error:
        raise CannotMeasure(f"{MOUNTS}: {system_reason(error)}") from error
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
