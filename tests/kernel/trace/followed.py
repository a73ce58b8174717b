"""A trace that is followed, in pages as the kernel writes them. By default only CPU 1 is traced."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

from noisewatch.kernel.trace.buffers import TraceBuffers
from noisewatch.kernel.trace.events import events_of_senders, events_on_target
from noisewatch.kernel.trace.follower import TraceFollower
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.kernel.trace.symbols import KernelFunctions
from noisewatch.kinds import Tracer
from noisewatch.machine.tracefs.instance import Instance
from tests.kernel.trace.ring_buffer import event_format, page, record

US = 1000
HOG, COMMAND, CHILD = 4_199_001, 4_199_002, 4_199_003  # numbers of no process on this host
BEFORE = os.getpid()
_Events = Iterable[tuple[int, bytes]]
_NO_FUNCTIONS = KernelFunctions(os.devnull)  # reading the kernel's functions takes a tenth of a second


class _WrittenInstance(Instance):
    def __init__(self) -> None:
        super().__init__(Path("/nowhere"), "target", (1,), 256)
        self.written: dict[int, list[bytes]] = {}
        self.later: list[Callable[[], None]] = []  # each writes pages once the earlier ones have been read
        self.is_on = True

    @property
    def is_writing(self) -> bool:
        return self.is_on

    def pages(self, cpu: int) -> Iterable[bytes]:
        if self.later and not self.written.get(cpu):
            self.later.pop(0)()
        return self.written.pop(cpu, [])

    def enable(self, event: str, condition: str | None = None) -> bool:
        return True


class _WrittenBuffers(TraceBuffers):
    made: ClassVar[list[_WrittenBuffers]] = []

    def __enter__(self) -> Self:
        self.happened, self.started = _WrittenInstance(), _WrittenInstance()
        self.target, self.senders, self.uncovered = self.happened, self.started, []
        self.events, self.events_of_senders = events_on_target(event_format), events_of_senders(event_format)
        _WrittenBuffers.made.append(self)
        return self

    def start(self) -> None:
        """Do nothing; there is no trace to switch on."""


class FollowedTrace:
    """A followed trace, with times in µs since shortly after its start."""

    def __init__(self, follower: TraceFollower) -> None:
        self.follower = follower
        self.buffers = _WrittenBuffers.made.pop()
        self.began_ns = time.monotonic_ns()

    def on_target(self, *events: tuple[int, bytes], cpu: int = 1, is_after_loss: bool = False) -> None:
        self._put(self.buffers.happened, cpu, events, is_after_loss)

    def on_others(self, *events: tuple[int, bytes], cpu: int = 0, is_after_loss: bool = False) -> None:
        self._put(self.buffers.started, cpu, events, is_after_loss)

    def begin(self, at_us: int) -> None:
        self.follower.follow(COMMAND, self.at(at_us))

    def end(self, at_us: int) -> TraceWindow | str:
        return self.follower.end(self.at(at_us))

    def at(self, at_us: int) -> int:
        return self.began_ns + at_us * US

    def _put(self, instance: _WrittenInstance, cpu: int, events: _Events, is_after_loss: bool) -> None:
        timed = [(self.at(at_us), written) for at_us, written in events]
        pages = instance.written.setdefault(cpu, [])
        pages.append(page(timed, is_after_loss=is_after_loss, begin_ns=timed[0][0]))


@contextmanager
def followed_trace(*cpus: int) -> Iterator[FollowedTrace]:
    traced = frozenset(cpus or {1})
    with TraceFollower(traced, traced | {0}, Tracer.EVENTS, _WrittenBuffers, lambda: _NO_FUNCTIONS) as follower:
        followed = FollowedTrace(follower)
        until_ns = followed.at(5000)
        while time.monotonic_ns() < until_ns:  # all written events are in the past
            time.sleep(0.001)
        yield followed


def birth(tid: int, parent: int) -> bytes:
    return record("task/task_newtask", parent, pid=tid)


def times_of_others(window: TraceWindow | str) -> dict[str, int]:
    """Return the times of other threads in µs."""
    assert isinstance(window, TraceWindow), window
    return {time.source.name: time.ns // US for time in window.times}


def own_us(window: TraceWindow | str) -> int:
    assert isinstance(window, TraceWindow), window
    return window.own_ns_by_cpu[1] // US
