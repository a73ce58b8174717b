"""Traces the target CPUs for a while: by the kernel's trace if possible, otherwise by its counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import CannotMeasure, UsageError
from noisewatch.judgement.case import Case
from noisewatch.kernel.snapshot.snapshot import Snapshot, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kernel.trace.runs import Trace, failed_trace, read_trace
from noisewatch.kinds import Kind, Tracer
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.threads import main_thread_signals_blocked, signal_of_interrupt
from noisewatch.model.calibration.gap_causes import Interruption, longest_interruptions
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of, identified
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.model.trace.culprits import MOSTLY, MeasuredCulprit, TracedCpu, culprits_of, with_kinds
from noisewatch.operations.machines import MachineOptions, snapshot_options
from noisewatch.operations.pinning import pin_with_remark
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.replaying import culprits_at_each_snapshot

_LOOK_S = 0.1


class TraceOptions(Struct, frozen=True, kw_only=True):
    """The CPUs to trace, the duration, and the tracer."""

    machine: MachineOptions = field(default_factory=MachineOptions)
    seconds: float = 5.0
    tracer: Tracer = Tracer.EVENTS


class TraceRun(Struct, frozen=True):
    """The result of tracing.

    If tracing was not possible, `trace` is None, `reason` explains why, and the interval's counters are used.
    """

    interval: Interval
    trace: Trace | None
    cpus: tuple[TracedCpu, ...]
    reason: str | None
    ended_by: int | None = None  # the signal that ended the trace early

    @property
    def case(self) -> Case:
        """The case for which remedies are computed."""
        return Case(self.interval.after, self.interval)

    @property
    def target(self) -> list[int]:
        return sorted(self.interval.after.target.cpus)

    def working_thread(self, cpu: int) -> Disturbance | None:
        """Return the thread that uses the CPU most of the time, or None. It suffers the noise and is not a culprit."""
        if self.trace is not None:
            return next(
                (traced.main_thread.disturbance for traced in self.cpus if traced.cpu == cpu and traced.main_thread),
                None,
            )
        threads = (
            disturbance
            for disturbance in disturbances_of(self.interval, cpu)
            if disturbance.kind == Kind.THREAD and disturbance.tid is not None
        )
        return next((thread for thread in threads if (thread.share or 0.0) >= MOSTLY), None)

    def other_culprits(self, cpu: int) -> list[Disturbance]:
        """Return all culprits on the CPU but its working thread, by the counters alone, the costliest first."""
        works = self.working_thread(cpu)
        return [disturbance for disturbance in disturbances_of(self.interval, cpu) if disturbance != works]

    @property
    def at_work(self) -> frozenset[int]:
        """The processes that use a target CPU most of the time; they are not culprits."""
        works = [self.working_thread(cpu) for cpu in self.target]
        return frozenset(work.pid for work in works if work is not None and work.pid is not None)

    def interruptions(self, cpu: int, most: int) -> tuple[Interruption, ...]:
        """Return at most `most` interruptions of the CPU's working thread, the longest first; none without a trace."""
        if self.trace is None:
            return ()
        works = self.working_thread(cpu)
        irqs = self.interval.after.irqs
        cpu_trace = next(candidate for candidate in self.trace.cpus if candidate.cpu == cpu)
        pieces = with_kinds(cpu_trace, irqs, self.trace.length_ns, self.interval.after.platform.tick_hz)
        return longest_interruptions(pieces, works.tid if works is not None else None, irqs, most)

    @property
    def seconds(self) -> float:
        return self.trace.length_ns / 1e9 if self.trace is not None else self.interval.seconds


class KeptTrace:
    """A trace collector that is kept between traces.

    Switching a trace's events on and off patches the kernel's code, which interrupts each CPU: 570 times on Linux 6.18.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._collector: TraceCollector | None = None
        self._of: tuple[CpuSet, CpuSet] | None = None

    def begin(self, cpus: CpuSet, online: CpuSet, tracer: Tracer) -> TraceCollector:
        """Return a collector whose trace begins now. Raise CannotMeasure if tracing is impossible."""
        if self._collector is not None and self._of == (cpus, online):
            self._collector.begin_again()
            return self._collector
        self.close()
        self._collector = self._stack.enter_context(TraceCollector(cpus, online, tracer))
        self._of = cpus, online
        return self._collector

    def close(self) -> None:
        """Switch the events off."""
        self._collector = None
        self._stack.close()


def follow(
    machine: Machine, options: TraceOptions, listener: ProgressListener, kept: KeptTrace | None = None
) -> TraceRun:
    """Trace the target CPUs from now on, or read the trace of the recording.

    `kept` keeps the collector for another call; the caller closes it. Ctrl-C and SIGTERM end the trace early.
    Raise UsageError for a copied tree, and CannotMeasure if there is nothing to trace.
    """
    if not machine.is_live and not isinstance(machine, Recording):
        raise UsageError("a copied tree of /proc and /sys is a single snapshot, so there is nothing to trace")
    read_options = replace(snapshot_options(options.machine, machine), is_discreet=True)  # a benchmark may run there
    task_reader = TaskReader()
    before = read_snapshot(machine, read_options, task_reader)
    pin_with_remark(before, listener)
    if not before.target.cpus:
        raise CannotMeasure("there is no target CPU to trace")
    if isinstance(machine, Recording):
        between = list(culprits_at_each_snapshot(machine, before, past_asides=True))
        after = read_snapshot(machine, read_options, task_reader, before)
        return _traced_run(before, after, read_trace(machine, lambda: None), between)
    before = read_snapshot(machine, read_options, task_reader, before)
    with ExitStack() as stack:
        if kept is None:
            kept = KeptTrace()
            stack.callback(kept.close)
        stack.callback(listener.on_done)
        trace, ended_by = _trace(machine, before, options, listener, kept)
    followed = _traced_run(before, read_snapshot(machine, read_options, task_reader, before), trace)
    return replace(followed, ended_by=ended_by)


def _traced_run(before: Snapshot, after: Snapshot, trace: Trace | str, between: Sequence[Snapshot] = ()) -> TraceRun:
    if after.taken_at_ns <= before.taken_at_ns:
        raise CannotMeasure("the recording has only one snapshot, so there is nothing to trace")
    interval = interval_between(before, after, between)
    if isinstance(trace, str):
        return TraceRun(interval, None, (), trace)
    traceable = after.target.cpus & (after.online.online or after.target.cpus)
    missing = traceable - {cpu_trace.cpu for cpu_trace in trace.cpus}
    if missing:
        return TraceRun(interval, None, (), f"{name_cpus(missing)} {'was' if len(missing) == 1 else 'were'} not traced")
    cpus = tuple(
        _identified(traced, interval)
        for traced in culprits_of(trace, after.irqs, after.platform.tick_hz)
        if traced.cpu in after.target.cpus
    )
    return TraceRun(interval, trace, cpus, None)


def _identified(traced: TracedCpu, interval: Interval) -> TracedCpu:
    """Return the CPU's sources with the identities of their processes."""

    def identify(culprit: MeasuredCulprit) -> MeasuredCulprit:
        return replace(culprit, disturbance=identified(culprit.disturbance, interval))

    main_thread = identify(traced.main_thread) if traced.main_thread is not None else None
    return replace(traced, main_thread=main_thread, culprits=tuple(map(identify, traced.culprits)))


def _trace(
    machine: Machine, before: Snapshot, options: TraceOptions, listener: ProgressListener, kept: KeptTrace
) -> tuple[Trace | str, int | None]:
    """Return the trace, or why there is none, and the signal that ended it early.

    Even without a trace this takes `options.seconds`, because the counters need the time.
    """
    online = before.online.online or before.target.cpus
    try:
        collector = kept.begin(before.target.cpus & online, online, options.tracer)
    except CannotMeasure as error:
        kept.close()
        reason = str(error)
        ended_by = _wait(options.seconds, listener, lambda: None)
        return read_trace(machine, lambda: failed_trace(reason)), ended_by
    ended_by = _wait(options.seconds, listener, collector.drain)
    return read_trace(machine, collector.result), ended_by


def _wait(seconds: float, listener: ProgressListener, look: Callable[[], object]) -> int | None:
    """Wait, calling `look` ten times a second with signals blocked; return the signal that ended the wait early."""
    started = time.monotonic()
    try:
        while (done_s := time.monotonic() - started) < seconds:
            time.sleep(min(_LOOK_S, seconds - done_s))
            with main_thread_signals_blocked():
                look()
                listener.on_sampling("tracing", min(time.monotonic() - started, seconds), seconds)
    except KeyboardInterrupt as error:
        return signal_of_interrupt(error)
    return None
