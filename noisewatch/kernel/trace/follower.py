"""Follow one command after the other with a continuous trace: what had the CPUs while each one ran.

Switching events on and off would interrupt all CPUs each time, and the owner of a CPU without events is known from
before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure
from noisewatch.kernel.trace.buffers import TraceBuffers
from noisewatch.kernel.trace.command_times import CommandTimes
from noisewatch.kernel.trace.events import BIRTHS
from noisewatch.kernel.trace.own_threads import OwnThreads
from noisewatch.kernel.trace.sends import Birth, Sends
from noisewatch.kernel.trace.symbols import KernelFunctions
from noisewatch.kernel.trace.timeline import CpuTrace
from noisewatch.kernel.trace.window import TraceWindow
from noisewatch.kinds import Tracer

_MOST_PENDING = 500  # pages, of 4 kB as a rule
_NOT_FOLLOWED = "no command was followed"
_BIRTHS_LOST = "events were lost: who was started by whom is not known"
_SWITCHED_OFF = "somebody has switched the trace off, or changed it, meanwhile"
_SILENT = "{}: the trace has not seen a thread of the command end, so events are missing"
_ENDS_WITHIN_NS = 20_000_000  # a reaped thread has yet to leave its CPU
_NOT_BEGUN = "the trace has not seen the command begin"


class TraceFollower:
    """A context manager on a CPU that is not traced. Call `drain` some ten times a second."""

    def __init__(
        self,
        cpus: CpuSet,
        online: CpuSet,
        tracer: Tracer = Tracer.EVENTS,
        buffering: type[TraceBuffers] = TraceBuffers,
    ) -> None:
        self._cpus, self._online = cpus, online
        self._buffers = buffering(cpus, online, tracer)
        self._stack = ExitStack()
        self._pending: dict[int, list[bytes]] = {cpu: [] for cpu in cpus}
        self._births: list[Birth] = []
        self._times: CommandTimes | None = None
        self._known_until_ns = 0  # what happened on all CPUs has been fetched
        self._read_ns = 0

    def __enter__(self) -> Self:
        """Begin the trace. Raise CannotMeasure if this kernel, or our rights, do not allow it.

        Enabling the last event usually interrupts all CPUs, which shows what has them.
        """
        with self._stack:
            buffers = self._stack.enter_context(self._buffers)
            self._functions = KernelFunctions()
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
        """Follow the command that began at `began_ns`, after the last one had ended."""
        self._times = CommandTimes(OwnThreads(pid), began_ns, self._functions)

    def drain(self) -> None:
        """Fetch the new pages; most are parsed later, as something is being measured meanwhile.

        Pages of starters and callers come after those of started threads and called CPUs, so that both sides are known.
        """
        self._known_until_ns = time.monotonic_ns()
        for cpu, pages in self._pending.items():
            pages.extend(self._buffers.target.pages(cpu))
        self._read_ns = time.monotonic_ns()
        for cpu in self._online:
            for page in self._buffers.senders.pages(cpu):
                self._sends.feed(page)
        self._sends.sort()
        if sum(map(len, self._pending.values())) > _MOST_PENDING:
            self._take_in(None)

    def look(self) -> None:
        """Fetch and parse the new pages, while the threads still exist and have names."""
        self.drain()
        self._take_in(None)
        self._lose_if_off()

    def end(self, ended_ns: int) -> TraceWindow | str:
        """Return what happened until the command ended, or why that is unknown."""
        self.drain()
        self._take_in(ended_ns)
        times = self._times
        if times is None:
            return _NOT_FOLLOWED
        trouble = _SWITCHED_OFF if self._lose_if_off() else self._trouble(times) or self._silence(times.own, ended_ns)
        self._times = None
        self._sends.is_damaged = False
        if trouble is not None:
            return trouble
        return times.window(_earliest(ended_ns, times.left_ns), tuple(self._buffers.untold))

    def _lose_if_off(self) -> bool:
        """Forget the owner of every CPU if tracing was switched off: until the next event it is unknown."""
        is_off = not (self._buffers.target.is_writing and self._buffers.senders.is_writing)
        if is_off:
            for trace in self._traces.values():
                trace.lose()
        return is_off

    def _silence(self, own: OwnThreads, ended_ns: int) -> str | None:
        """Return a message if the trace still has an ended thread of the command on a CPU."""
        until_ns = time.monotonic_ns() + _ENDS_WITHIN_NS
        while (gone := self._gone_but_running(own, ended_ns)) and time.monotonic_ns() < until_ns:
            time.sleep(0.001)
            self.drain()
            self._take_in(ended_ns)
        for trace in gone:
            trace.lose()
        return _SILENT.format(name_cpus([trace.cpu for trace in gone])) if gone else None

    def _gone_but_running(self, own: OwnThreads, ended_ns: int) -> list[CpuTrace]:
        return [
            trace
            for trace in self._traces.values()
            if own.had(trace.tid, ended_ns) and not os.path.exists(f"/proc/{trace.tid}")
        ]

    def _take_in(self, ended_ns: int | None) -> None:
        births = self._births_until(self._read_ns)
        if self._times is not None:
            self._times.own.take_in(births)
        for cpu, trace in self._traces.items():
            for page in self._pending[cpu]:
                trace.feed(page)
            self._pending[cpu] = []
            if ended_ns is not None:
                trace.settle(ended_ns)
            if self._times is not None:
                self._times.find_ends(trace)
        left_ns = self._times.left_ns if self._times is not None else None
        if left_ns is not None and ended_ns is not None:
            left_ns = min(left_ns, ended_ns)
        for trace in self._traces.values():
            if self._times is not None:
                self._times.take_in(trace, self._sends, ended_ns if left_ns is None else left_ns)
            trace.forget()
        if self._times is not None:
            until_ns = _earliest(self._known_until_ns, ended_ns, left_ns)
            self._times.places.settle(until_ns)
            self._times.states.settle(until_ns)
        self._sends.forget(self._read_ns)

    def _births_until(self, until_ns: int) -> list[Birth]:
        """Return the births until then, in order of time. Some later ones may not have been fetched yet."""
        births = sorted(self._births)
        self._births[:] = [birth for birth in births if birth.at_ns > until_ns]
        return births[: len(births) - len(self._births)]

    def _trouble(self, times: CommandTimes) -> str | None:
        """Return why the trace is incomplete, or None."""
        if self._sends.is_damaged or (self._sends.lost_ns or 0) > times.began_ns:
            return _BIRTHS_LOST
        unknown = times.cut_cpus | _unknown(self._traces.values(), times.began_ns)
        if unknown:
            return f"events on {name_cpus(unknown)} were lost, or none was seen yet"
        return None if times.own.has_begun and times.own_ns else _NOT_BEGUN


def _earliest(known_ns: int, *others_ns: int | None) -> int:
    """Return the earliest of several moments, of which all but the first may be unknown."""
    return min([known_ns, *(ns for ns in others_ns if ns is not None)])


def _unknown(traces: Iterable[CpuTrace], began_ns: int) -> set[int]:
    return {trace.cpu for trace in traces if not trace.is_known_since(began_ns)}
