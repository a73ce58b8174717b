"""Calibrating a machine that has been looked at: which CPUs, and from where; and who disturbed it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure
from noisewatch.kernel.calibration import CalibrationSamples, CalibrationWish, read_calibration
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace, read_trace, untraced
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.calibration.run import Progress, Watch
from noisewatch.model.calibration.attribution import Meanwhile
from noisewatch.model.interval.interval import Interval, interval_between

_NO_CPUS = "there is no target CPU to calibrate"


@dataclass(frozen=True, slots=True)
class Measured:
    """A calibration, and what else is known of the same time."""

    samples: CalibrationSamples
    meanwhile: Meanwhile


def calibrate_cpus(
    machine: Machine,
    snapshot: Snapshot,
    cpus: CpuSet,
    wish: CalibrationWish,
    watch: Watch,
    look_again: Callable[[], Snapshot] | None = None,
) -> Measured | str:
    """The calibration; the reason where there is none. This process should have moved aside before.

    `look_again` reads the machine after it: what happened since the snapshot is known then.
    """
    if not cpus:
        return _NO_CPUS
    with ExitStack() as stack:
        follower = _Follower(watch)
        if machine.is_live:
            online = snapshot.online.online or cpus
            follower.begin(stack, TraceCollector(cpus & online, online, wish.tracer))
        try:
            samples = read_calibration(machine, cpus, snapshot.topology, wish, follower)
        except CannotMeasure as error:
            return str(error)
        if isinstance(samples, str):
            return samples
        trace = follower.trace(machine)
    return Measured(samples, Meanwhile(trace, snapshot, _interval(machine, snapshot, samples, look_again)))


def _interval(
    machine: Machine, before: Snapshot, samples: CalibrationSamples, look_again: Callable[[], Snapshot] | None
) -> Interval | None:
    """From the snapshot until now, or until the next moment of a recording."""
    is_over = isinstance(machine, Recording) and not machine.advance()
    after = look_again() if look_again is not None and not is_over else None
    if after is None or after.taken_at_ns <= before.taken_at_ns:
        return None
    return interval_between(before, after, loop_lost_share_by_cpu=samples.lost_share_by_cpu)


class _Follower:
    """Watches a calibration, and fetches the trace each time."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._collector: TraceCollector | None = None
        self._reason = NOT_TRACED

    def begin(self, stack: ExitStack, collector: TraceCollector) -> None:
        """Where that is not possible the gaps have to do."""
        try:
            self._collector = stack.enter_context(collector)
        except CannotMeasure as error:
            self._reason = str(error)

    def __call__(self, progress: Progress) -> None:
        try:
            if self._collector is not None:
                self._collector.drain()
        except CannotMeasure as error:  # the gaps have to do, here as well
            self._collector, self._reason = None, str(error)
        self._watch(progress)

    def trace(self, machine: Machine) -> Trace | str:
        """What was traced now, or when the machine was recorded."""
        collector = self._collector
        return read_trace(machine, collector.result if collector is not None else lambda: untraced(self._reason))
