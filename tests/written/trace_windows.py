"""Written results of the kernel's trace for a repetition on CPU 2."""

from __future__ import annotations

from msgspec.structs import replace

from noisewatch.kernel.trace.own_threads import StateTimes
from noisewatch.kernel.trace.runs import Parent, Thread, TracedSource, TracedTime, TraceWindow
from noisewatch.kinds import Kind
from noisewatch.model.run.repetition import Repetition

MS = 1_000_000


def traced(
    repetition: Repetition,
    *times: TracedTime,
    own_ms: float = 0.0,
    doubt_ms: float = 0.0,
    untold: tuple[str, ...] = (),
    held_ms: float = 0.0,
    blocked_ms: float = 0.0,
    debugged_ms: float = 0.0,
    waits: int = 0,
) -> Repetition:
    """Return the repetition with a trace of all its target CPUs; the command ran for `own_ms` on the first one."""
    target = repetition.target
    own = {cpu: round(own_ms * MS) if cpu == min(target) else 0 for cpu in target}
    states = StateTimes(
        held_ns=round(held_ms * MS),
        blocked_ns=round(blocked_ms * MS),
        debugged_ns=round(debugged_ms * MS),
        waits=waits,
    )
    window = TraceWindow(
        repetition.began_ns, repetition.ended_ns, own, times, untold, round(doubt_ms * MS), states=states
    )
    return replace(repetition, trace=window)


def thread_time(
    name: str,
    tid: int,
    ms: float,
    *,
    cpu: int = 2,
    pid: int | None = -1,
    is_kernel: bool = False,
    parent: Parent | None = None,
    at_ms: float = 0.0,
    doubt_ms: float = 0.0,
) -> TracedTime:
    """Return one period of a thread on the CPU. `pid` is None for a thread that has exited, and `tid` by default."""
    thread = Thread(tid, name, tid if pid == -1 else pid, is_kernel, parent)
    source = TracedSource(Kind.KERNEL_THREAD if is_kernel else Kind.THREAD, name, thread=thread)
    return _once(cpu, source, ms, at_ms=at_ms, doubt_ms=doubt_ms)


def interruption_time(
    kind: Kind,
    name: str,
    ms: float,
    count: int = 1,
    *,
    cpu: int = 2,
    irq: int | None = None,
    function: str | None = None,
    sender: Thread | None = None,
    is_own: bool = False,
) -> TracedTime:
    """Return `count` interruptions that took `ms` in total."""
    source = TracedSource(kind, name, irq=irq, thread=sender, function=function, vector=name)
    return replace(_once(cpu, source, ms), count=count, is_own=is_own)


def _once(cpu: int, source: TracedSource, ms: float, at_ms: float = 0.0, doubt_ms: float = 0.0) -> TracedTime:
    begin_ns = round(at_ms * MS)
    return TracedTime(
        cpu=cpu,
        source=source,
        ns=round(ms * MS),
        count=1,
        begin_ns=begin_ns,
        end_ns=begin_ns + round(ms * MS),
        doubt_ns=round(doubt_ms * MS),
    )
