"""Calibrates CPUs: runs the microbenchmark, reports its gaps as they occur, and observes culprits meanwhile."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.errors import NOT_RECORDED, CannotMeasure, Malformed, Unreadable, UsageError
from noisewatch.judgement.case import Calibrated, calibrated_with, rules_for
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.rules import Rules
from noisewatch.kernel.calibration import (
    BusyLoad,
    CalibrationOptions,
    CalibrationSamples,
    describe_load,
    read_busy_load,
    read_calibration,
    read_settling,
)
from noisewatch.kernel.snapshot.snapshot import Snapshot, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kernel.trace.collector import TraceCollector
from noisewatch.kernel.trace.runs import NOT_TRACED, Trace, failed_trace, read_trace
from noisewatch.machine import Json, Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.calibration.buffer import CalibrationBuffer
from noisewatch.machine.spinning.calibration.run import Progress, Watch
from noisewatch.machine.spinning.load.run import BusyProcesses, busy_processes
from noisewatch.machine.spinning.loops.python_loops import COUNT, GAP_WORDS, SPUN_NS
from noisewatch.model.calibration.attribution import ConcurrentObservations
from noisewatch.model.calibration.settling import Settling, are_level, settling_of
from noisewatch.model.calibration.statistics import Histogram, bucket_of
from noisewatch.model.history.entries import Past
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.operations.history import CalibrationHistory, drift_in, until_accurate
from noisewatch.operations.machines import MachineOptions, parse_cpus, snapshot_options
from noisewatch.operations.pinning import pin_with_remark, read_allowed_cpus
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.quota_room import is_tight
from noisewatch.units import describe_busy_processes

_TIGHT_S = 5.0  # the longest automatic calibration that noisewatch cannot end early, because it sleeps
_NO_CPUS = "there is no target CPU to calibrate"
_DOING = "warming up until the clocks are stable:"


class CalibrateOptions(Struct, frozen=True, kw_only=True):
    """The CPUs to calibrate, the method, and the benchmark's requirements."""

    machine: MachineOptions = field(default_factory=MachineOptions)
    against: str | None = None  # the CPUs to compare the target CPUs with, in the user's words
    # Number of busy processes; 0: one on each CPU for ordinary processes; None: no calibration under load.
    busy_processes: int | None = None
    calibration: CalibrationOptions = field(default_factory=lambda: CalibrationOptions(5.0))
    budget: Budget = field(default_factory=Budget)
    settle_s: float | None = None  # maximum warm-up until the clocks are stable; None: no warm-up
    history: Path | None = None  # the history file; None: no history


class CalibratedUnderLoad(Struct, frozen=True):
    """A calibration of the target CPUs next to busy processes; `not_isolated` are target CPUs that are not isolated."""

    calibrated: Calibrated
    load: BusyLoad
    not_isolated: CpuSet


class CalibratedTarget(Struct, frozen=True):
    """The calibration of the target CPUs, and a second one `under_load`, if requested.

    `calibrated` also has the CPUs in `against`, if any, with which the target CPUs are compared.
    """

    target: CpuSet
    against: CpuSet | None
    calibrated: Calibrated
    under_load: CalibratedUnderLoad | None = None
    settling: Settling | None = None
    machine: Snapshot | None = None  # before the calibration


class CalibrationRun(Struct, frozen=True):
    """A calibration, and what was observed while it ran."""

    samples: CalibrationSamples
    observations: ConcurrentObservations


def calibrate(machine: Machine, options: CalibrateOptions, listener: ProgressListener) -> CalibratedTarget:
    """Calibrate the machine, or read the calibration from its recording.

    Raise UsageError for invalid options, and CannotMeasure if no CPU could be calibrated, or if the requested warm-up
    or load failed.
    """
    if options.against is not None and options.busy_processes is not None:
        raise UsageError("--against and --under-load exclude each other")
    history = CalibrationHistory(machine, options.history)
    history.remark_damage(listener)
    against = parse_cpus("--against", options.against, machine) if options.against is not None else None
    read_options = replace(snapshot_options(options.machine, machine), asks_inventory=True)
    task_reader = TaskReader()
    if isinstance(machine, Recording):
        machine.go_to_aside()
    snapshot = read_snapshot(machine, read_options, task_reader)
    target = snapshot.target.cpus
    budget = rules_for(Rules(is_profile_given=False, budget=options.budget), snapshot).budget
    options = replace(options, budget=budget)
    cpus = target | (against or frozenset())
    _stay_off(snapshot, against, listener)

    def look(previous: Snapshot) -> Snapshot:
        return read_snapshot(machine, read_options, task_reader, previous)

    settling = settle_clocks(machine, cpus, options.settle_s, listener)
    past = history.recall()
    calibrated = _calibrate(machine, snapshot, cpus, options, past, listener, lambda: look(snapshot))
    history.remember(calibrated, snapshot, listener)
    under_load = None
    if options.busy_processes is not None:
        if isinstance(machine, Recording):
            machine.go_to_aside()
        as_long = replace(options, calibration=with_length_of(calibrated, options.calibration))
        under_load = _calibrate_under_load(machine, look(snapshot), as_long, past, listener, look)
    return CalibratedTarget(target, against, calibrated, under_load, settling, snapshot)


def with_length_of(calibrated: Calibrated, options: CalibrationOptions) -> CalibrationOptions:
    """Return the options of a second calibration: it takes as long as the first one, unless the user gave a length."""
    if not options.is_auto:
        return options
    return replace(options, seconds=calibrated.calibration.samples.length_ns / 1e9, is_auto=False)


def _calibrate(
    machine: Machine,
    snapshot: Snapshot,
    cpus: CpuSet,
    options: CalibrateOptions,
    past: Past,
    listener: ProgressListener,
    look_again: Callable[[], Snapshot],
) -> Calibrated:
    """Calibrate and evaluate the CPUs. Raise CannotMeasure if no CPU has a complete measurement."""
    asked = until_accurate(past, options.calibration, options.budget)
    try:
        measured = calibrate_cpus(machine, snapshot, cpus, asked, listener.on_calibrating, look_again)
    finally:
        listener.on_done()
    if isinstance(measured, str):
        raise CannotMeasure("the recording has no calibration" if measured == NOT_RECORDED else measured)
    drift = drift_in(past, measured.samples)
    calibrated = calibrated_with(measured.samples, options.budget, cpus, measured.observations, drift)
    if not calibrated.complete:
        troubles = "; ".join(f"CPU {cpu}: {trouble}" for cpu, trouble in list(calibrated.troubles.items())[:3])
        raise CannotMeasure(troubles or _NO_CPUS)
    return calibrated


def _calibrate_under_load(
    machine: Machine,
    snapshot: Snapshot,
    options: CalibrateOptions,
    past: Past,
    listener: ProgressListener,
    look: Callable[[Snapshot], Snapshot],
) -> CalibratedUnderLoad:
    """Calibrate the target CPUs next to busy processes.

    Raise CannotMeasure if the busy processes did not run throughout.
    """
    target = snapshot.target.cpus
    with ExitStack() as stack:
        load = LoadBeside(machine, stack, snapshot, options.busy_processes or 0, listener)

        def look_again() -> Snapshot:
            load.end()
            return look(snapshot)

        calibrated = _calibrate(machine, snapshot, target, options, past, listener, look_again)
        outcome = load.end()
    return CalibratedUnderLoad(calibrated, outcome, target - (snapshot.isolation.isolated or frozenset()))


def _stay_off(snapshot: Snapshot, against: CpuSet | None, listener: ProgressListener) -> None:
    pin_with_remark(snapshot, listener)
    shared = (against or frozenset()) & read_allowed_cpus() if snapshot.is_live else frozenset()
    if shared:
        listener.on_remark(f"noisewatch itself runs on {name_cpus(shared)}, which it measures")


def calibrate_cpus(
    machine: Machine,
    snapshot: Snapshot,
    cpus: CpuSet,
    options: CalibrationOptions,
    watch: Watch,
    look_again: Callable[[], Snapshot] | None = None,
    tracing: type[TraceCollector] = TraceCollector,
) -> CalibrationRun | str:
    """Calibrate the CPUs, or return the reason why they cannot be calibrated.

    The caller pins this process to other CPUs first. `look_again` takes a snapshot after the calibration; `snapshot`
    was taken before it. If this process shares a tight CPU quota with the loops, it sleeps while they run, because its
    wake-ups would stop them.
    """
    if not cpus:
        return _NO_CPUS
    if machine.is_live and is_tight(snapshot, len(cpus)):
        seconds = min(options.seconds, _TIGHT_S) if options.is_auto else options.seconds
        options = replace(options, seconds=seconds, sleeps=True)
    with ExitStack() as stack:
        follower = TraceBeside(watch)
        if machine.is_live:
            online = snapshot.online.online or cpus
            follower.begin(stack, tracing(cpus & online, online, options.tracer))
        try:
            samples = read_calibration(machine, cpus, snapshot.topology, options, follower)
        except CannotMeasure as error:
            return str(error)
        if isinstance(samples, str):
            return samples
        trace = follower.trace(machine)
    return CalibrationRun(
        samples, ConcurrentObservations(trace, snapshot, _interval(machine, snapshot, samples, look_again))
    )


def _interval(
    machine: Machine, before: Snapshot, samples: CalibrationSamples, look_again: Callable[[], Snapshot] | None
) -> Interval | None:
    """Return the interval from `before` until now (in a recording: the next snapshot), or None without a later one."""
    is_over = isinstance(machine, Recording) and not machine.advance()
    after = look_again() if look_again is not None and not is_over else None
    if after is None or after.taken_at_ns <= before.taken_at_ns:
        return None
    return interval_between(before, after, loop_lost_share_by_cpu=samples.lost_share_by_cpu)


class LiveCpu(Struct):
    """The gaps of one CPU so far."""

    cpu: int
    counts: dict[int, int] = {}
    gap_count: int = 0
    stolen_ns: int = 0
    spun_ns: int = 0
    longest_ns: int = 0

    @property
    def histogram(self) -> Histogram:
        return Histogram(self.counts)

    @property
    def stolen_share(self) -> float | None:
        return min(self.stolen_ns / self.spun_ns, 1.0) if self.spun_ns else None

    def take(self, buffer: CalibrationBuffer, together: dict[int, int]) -> None:
        """Add the new gaps to this CPU and to the counts in `together`."""
        count = buffer.totals[COUNT]
        lengths = buffer.gaps[self.gap_count * GAP_WORDS + 1 : count * GAP_WORDS : GAP_WORDS]
        for length_ns in lengths:
            bucket = bucket_of(max(length_ns, 0))
            self.counts[bucket] = self.counts.get(bucket, 0) + 1
            together[bucket] = together.get(bucket, 0) + 1
            self.stolen_ns += length_ns
            self.longest_ns = max(self.longest_ns, length_ns)
        self.gap_count = count
        self.spun_ns = buffer.totals[SPUN_NS]


class LiveGaps(Struct):
    """The gaps of all CPUs so far. The common histogram is drawn often, so it is updated incrementally."""

    done_s: float = 0.0
    total_s: float = 0.0
    by_cpu: dict[int, LiveCpu] = {}
    counts: dict[int, int] = {}

    def take(self, progress: Progress) -> None:
        """Add the new gaps of all CPUs."""
        self.done_s, self.total_s = progress.done_s, progress.total_s
        for cpu, buffer in progress.buffers.items():
            self.by_cpu.setdefault(cpu, LiveCpu(cpu)).take(buffer, self.counts)

    @property
    def together(self) -> Histogram:
        return Histogram(self.counts)

    def worst(self, most: int) -> list[LiveCpu]:
        """Return the CPUs that lost most time, the worst first: at most `most`."""
        return heapq.nlargest(most, self.by_cpu.values(), key=lambda cause: cause.stolen_ns)


def settle_clocks(machine: Machine, cpus: CpuSet, most_s: float | None, listener: ProgressListener) -> Settling | None:
    """Run fixed work on the CPUs until their clocks are stable, so that no turbo budget ends during the calibration.

    Return how the clocks changed within at most `most_s` seconds (for a recording, the recorded change). Return None
    if no warm-up was requested, or recorded. Raise CannotMeasure if a requested warm-up failed.
    """
    if most_s is None and machine.is_live:
        return None
    at_most_s = most_s or 0.0

    def answer() -> Json:
        from noisewatch.machine.spinning.settling import settle  # the spinning code

        return settle(cpus, at_most_s, are_level, lambda done_s, of_s: listener.on_sampling(_DOING, done_s, of_s))

    try:
        return settling_of(read_settling(machine, answer))
    except (Unreadable, Malformed) as error:
        if most_s is None:
            return None  # the recording has no usable warm-up, and none was requested for the replay
        raise CannotMeasure(f"--settle: {error.reason}") from error
    finally:
        listener.on_done()


class TraceBeside:
    """A calibration's watch function that also drains the trace at each call."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._collector: TraceCollector | None = None
        self._reason = NOT_TRACED

    def begin(self, stack: ExitStack, collector: TraceCollector) -> None:
        """Start the trace; if that fails, the calibration continues without it."""
        try:
            self._collector = stack.enter_context(collector)
        except CannotMeasure as error:
            self._reason = str(error)

    def __call__(self, progress: Progress) -> None:
        try:
            if self._collector is not None:
                self._collector.drain()
        except CannotMeasure as error:  # the calibration continues without a trace
            self._collector, self._reason = None, str(error)
        self._watch(progress)

    def trace(self, machine: Machine) -> Trace | str:
        """Return the trace of this calibration, or the trace in the recording."""
        collector = self._collector
        return read_trace(machine, collector.result if collector is not None else lambda: failed_trace(self._reason))


def cpus_for_load(snapshot: Snapshot) -> CpuSet:
    """Return the CPUs that ordinary processes may use: all online CPUs except for isolated target CPUs."""
    online = snapshot.online.online or frozenset()
    return online - (snapshot.target.cpus & (snapshot.isolation.isolated or frozenset()))


class LoadBeside:
    """The busy processes during one calibration, or the load in a recording. Closing `stack` ends the processes."""

    def __init__(
        self, machine: Machine, stack: ExitStack, snapshot: Snapshot, count: int, listener: ProgressListener
    ) -> None:
        """Start `count` busy processes; if it is 0, one on each CPU that ordinary processes may use.

        Raise CannotMeasure if there is no such CPU.
        """
        self._machine = machine
        self._busy: BusyProcesses | None = None
        self._ended: BusyLoad | None = None
        if not machine.is_live:
            return
        cpus = sorted(cpus_for_load(snapshot))
        if not cpus:
            raise CannotMeasure("no CPU for the load: all online CPUs are isolated target CPUs")
        places = list(islice(cycle(cpus), count or len(cpus)))
        self._busy = stack.enter_context(busy_processes(places))
        where = name_cpus(frozenset(self._busy.cpus))
        listener.on_remark(f"calibrating again, alongside {describe_busy_processes(len(self._busy.cpus))} on {where}")
        if len(self._busy.cpus) < len(places):
            listener.on_remark(
                f"{describe_busy_processes(len(places) - len(self._busy.cpus))} could not be pinned to their CPUs"
            )

    def end(self) -> BusyLoad:
        """End the load at the first call, and return it. Raise CannotMeasure if it ended early or was not recorded."""
        if self._ended is None:
            try:
                self._ended = read_busy_load(self._machine, self._answer)
            except (Unreadable, Malformed) as error:
                raise CannotMeasure(f"a calibration under load: {error.reason}") from error
        return self._ended

    def _answer(self) -> Json:
        assert self._busy is not None
        cpus, share = self._busy.cpus, self._busy.end()
        return describe_load(BusyLoad(frozenset(cpus), len(cpus), share))
