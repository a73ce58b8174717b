"""The kernel's trace of a series: it is always on, and evaluated for each repetition."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct

from noisewatch.errors import CannotMeasure
from noisewatch.judgement.case import Case
from noisewatch.kernel.trace.runs import NOT_TRACED
from noisewatch.kinds import Tracer
from noisewatch.machine.command.running import StartedCommand

if TYPE_CHECKING:
    from noisewatch.kernel.snapshot.snapshot import Snapshot
    from noisewatch.kernel.trace.follower import TraceFollower
    from noisewatch.kernel.trace.runs import TraceWindow

_FULL_AFTER_NS = 100_000_000  # the buffers are not read between repetitions


class TraceLevel(Struct, frozen=True):
    """The tracer of a series; `reason` is why only the kernel's counters are used, or None."""

    tracer: Tracer
    reason: str | None


_T = TypeVar("_T")
UNTRACED = TraceLevel(Tracer.NONE, NOT_TRACED)


class RunTrace:
    """A context manager that traces target CPUs and their siblings; enter it before any command is started.

    If tracing fails, `level` has the reason. Starting and ending take a fifth of a second, and interrupt all CPUs.
    """

    def __init__(self, tracer: Tracer, snapshot: Snapshot) -> None:
        online = snapshot.online.online or snapshot.target.cpus
        self._cpus = (snapshot.target.cpus | Case(snapshot).siblings) & online
        self._online = online
        self._tracer = tracer
        self._reason: str | None = NOT_TRACED if tracer == Tracer.NONE else None
        self._stack = ExitStack()
        self._follower: TraceFollower | None = None
        self._drained_ns = 0

    def __enter__(self) -> Self:
        if self._tracer != Tracer.NONE:
            from noisewatch.kernel.trace.follower import TraceFollower  # most single runs have no trace

            try:
                self._follower = self._stack.enter_context(TraceFollower(self._cpus, self._online, self._tracer))
            except CannotMeasure as error:
                self._reason = str(error)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._follower = None
        self._stack.close()

    @property
    def level(self) -> TraceLevel:
        """The current tracer; another process may have disabled the trace."""
        return TraceLevel(self._tracer if self._follower is not None else Tracer.NONE, self._reason)

    def prepare(self) -> None:
        """Empty the buffers right before a repetition, unless they were read within the last 100 ms."""
        if time.monotonic_ns() - self._drained_ns > _FULL_AFTER_NS:
            self._do(lambda follower: follower.look())

    def begin(self, started: StartedCommand) -> None:
        """Follow the command that has been started."""
        self._do(lambda follower: follower.follow(started.pid, started.began_ns))

    def drain(self) -> None:
        """Read the buffers; call it about ten times a second while the command runs."""
        self._do(lambda follower: follower.drain())

    def look(self) -> None:
        """Read the names of short-lived threads; call it now and then while the command runs."""
        self._do(lambda follower: follower.look())

    def end(self, ended_ns: int) -> TraceWindow | str:
        """Return the trace until the command's end, or why there is none."""
        return self._do(lambda follower: follower.end(ended_ns)) or self._reason or NOT_TRACED

    def _do(self, step: Callable[[TraceFollower], _T]) -> _T | None:
        """Run a step of the follower and return its result, or None without a trace. A failure ends the tracing."""
        if self._follower is None:
            return None
        self._drained_ns = time.monotonic_ns()
        try:
            return step(self._follower)
        except CannotMeasure as error:
            self._follower, self._reason = None, str(error)
            return None
