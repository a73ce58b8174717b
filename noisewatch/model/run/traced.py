"""The sources on the CPUs while a command ran, by the kernel's trace: threads and interruptions, with exact times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from noisewatch.cpus import CpuSet
from noisewatch.kernel.interrupts.irqs import Irqs
from noisewatch.kernel.trace.runs import Thread
from noisewatch.kernel.trace.window import TracedTime, TraceWindow
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.trace.culprits import crowds_of, kind_of_source, name_of_source
from noisewatch.records import dataclass

_WAKING = frozenset({"sched_ttwu_pending", "__ttwu_queue_wakelist"})  # functions that an interrupt calls
_RESCHEDULE = "reschedule"


@dataclass(frozen=True, slots=True)
class TracedCulprit:
    """One source on one CPU within a repetition. Times are as in TracedTime.

    `is_own`: the command has sent it. `wakes`: an interrupt that only starts a thread, whatever thread requested that.
    """

    cpu: int
    kind: Kind
    name: str
    pid: int | None
    irq: int | None
    ns: int
    count: int
    begin_ns: int
    end_ns: int
    is_own: bool = False
    wakes: bool = False
    doubt_ns: int = 0


def threads_in(window: TraceWindow, cpus: CpuSet) -> list[TracedCulprit]:
    """Return the threads that are not the command's, the costliest first.

    Ended threads of one name and parent are one source.
    """
    times = [time for time in window.times if time.source.kind in THREADS and time.cpu in cpus]
    crowds = crowds_of([time.source for time in times], lambda source: source.name)
    named = [(crowd.name, crowd.pid) if (crowd := crowds.get(at)) else _name(time) for at, time in enumerate(times)]
    culprits = (_culprit(time, time.source.kind, name, pid) for time, (name, pid) in zip(times, named, strict=True))
    return _added_up(culprits)


def interruptions_in(window: TraceWindow, cpu: int, irqs: Irqs | None) -> list[TracedCulprit]:
    """Return all interruptions on the CPU, the tick included, the costliest first."""
    return _added_up(_interruptions(window.times, cpu, irqs))


def _interruptions(times: Iterable[TracedTime], cpu: int, irqs: Irqs | None) -> Iterator[TracedCulprit]:
    for time in times:
        source = time.source
        if source.kind in THREADS or time.cpu != cpu:
            continue
        kind = kind_of_source(source, irqs)
        name = name_of_source(replace(source, kind=kind), irqs)
        is_nobodys = source.function is None and source.thread is None
        wakes = kind == Kind.IPI and (source.name == _RESCHEDULE or source.function in _WAKING or is_nobodys)
        pid = source.thread.pid if source.thread is not None else None
        yield replace(_culprit(time, kind, name, pid), wakes=wakes)


def _name(time: TracedTime) -> tuple[str, int | None]:
    thread = time.source.thread
    return (thread.name, _pid_of(thread)) if thread is not None else (time.source.name, None)


def _pid_of(thread: Thread) -> int | None:
    """Return the thread's process; that of an ended thread is known if its start was traced."""
    if thread.pid is not None or thread.parent is None:
        return thread.pid
    return thread.parent.pid if thread.parent.is_process else thread.tid


def _culprit(time: TracedTime, kind: Kind, name: str, pid: int | None) -> TracedCulprit:
    return TracedCulprit(
        cpu=time.cpu,
        kind=kind,
        name=name,
        pid=pid,
        irq=time.source.irq,
        ns=time.ns,
        count=time.count,
        begin_ns=time.begin_ns,
        end_ns=time.end_ns,
        is_own=time.is_own,
        doubt_ns=time.doubt_ns,
    )


def _added_up(culprits: Iterable[TracedCulprit]) -> list[TracedCulprit]:
    """Merge culprits of the same name."""
    alike: Mapping[object, list[TracedCulprit]] = defaultdict(list)
    for each in culprits:
        alike[each.cpu, each.kind, each.name, each.pid, each.irq, each.is_own, each.wakes].append(each)
    return sorted(map(_sum, alike.values()), key=lambda each: -each.ns)


def _sum(culprits: Sequence[TracedCulprit]) -> TracedCulprit:
    return reduce(
        lambda one, other: replace(
            one,
            ns=one.ns + other.ns,
            count=one.count + other.count,
            begin_ns=min(one.begin_ns, other.begin_ns),
            end_ns=max(one.end_ns, other.end_ns),
            doubt_ns=one.doubt_ns + other.doubt_ns,
        ),
        culprits,
    )
