"""Runs a command one or more times, with a verdict on each repetition.

A listener receives the state before the first repetition, and each repetition once it is judged.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import CannotMeasure, NoisewatchError, UsageError
from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.cgroup.freezing import quotas_of
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.mounts import find_served
from noisewatch.kernel.tasks.files import read_processes_ns
from noisewatch.kernel.tasks.run_status import RunStage
from noisewatch.kinds import Tracer
from noisewatch.machine import Machine
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import InheritedState, inherited_state
from noisewatch.machine.status_files import StatusFile
from noisewatch.model.interval.disturbance import LOUD_SHARE, main_culprit_names, threads_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.mean_difference import draw_order
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import snapshot_options
from noisewatch.operations.pinning import allowed_now, pin_with_remark
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.run.judging import (
    JudgedRepetition,
    PendingRepetition,
    judge_pending,
    status_of,
    without_looks,
)
from noisewatch.operations.run.options import RunOptions, command_plan, folders_of
from noisewatch.operations.run.placement_watch import LOOK_EVERY_NS as SAMPLE_EVERY_NS
from noisewatch.operations.run.placement_watch import PlacementWatch
from noisewatch.operations.run.status import RunStatusWriter
from noisewatch.operations.run.tracing import UNTRACED, RunTrace, TraceLevel
from noisewatch.operations.run.watch import FreezeWatch, RunWatch, WakeUps
from noisewatch.units import NS_PER_S

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet


class WatchingCost(Struct, frozen=True):
    """The CPU time of noisewatch itself before the first repetition, and its CPUs from then on.

    The processes that calibrate are not included.
    """

    cpu_s: float
    cpus: CpuSet


class RunBeginning(Struct, frozen=True, kw_only=True):
    """The state before the first repetition; `opening` is None if no calibration was requested or it failed."""

    options: RunOptions
    seed: int
    machine: Snapshot
    opening: Calibrated | None
    level: TraceLevel
    own_cost: WatchingCost


class RunListener(ProgressListener, Protocol):
    """A progress listener of a series."""

    def on_begin(self, beginning: RunBeginning) -> None:
        """Show that the first repetition is about to begin."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        """Show one more repetition, with its verdict."""


_KEPT = 50  # repetitions with all of their looks
_LOOK_NS = NS_PER_S // 4
_MOST_NAMED = 3


class RunSeries(Struct, frozen=True, kw_only=True):
    """All repetitions, in order; those of two commands in pairs, in an order drawn by `seed`.

    `machine` is the first look. Looks are kept for the last 50 repetitions, or for all if `looks_often` was requested.
    `failed` is the number of the repetition whose status ended the series, `ended_by` is the signal that ended it.
    """

    options: RunOptions
    seed: int
    machine: Snapshot
    repetitions: tuple[JudgedRepetition, ...]
    end: EndedCommand  # of the last one
    own_cost: WatchingCost
    own_cpu_s: float  # between the calibrations
    opening: Calibrated | None = None  # before the first repetition, and after the last; None if not requested
    closing: Calibrated | None = None
    not_calibrated: str | None = None  # when and why a requested calibration is missing
    level: TraceLevel = UNTRACED  # at the start
    failed: int | None = None
    ended_by: int | None = None

    @property
    def has_ended_early(self) -> bool:
        """Whether fewer repetitions ran than were requested."""
        return self.failed is not None or self.ended_by is not None

    def of_command(self, command: int) -> list[JudgedRepetition]:
        """Return the repetitions of one of two commands."""
        return [judged for judged in self.repetitions if judged.repetition.command == command]


def run_series(
    machine: Machine, options: RunOptions, listener: RunListener, recorder: Machine | None = None
) -> RunSeries:
    """Run the series; `recorder`, if any, records all readings except for the counters around repetitions.

    Raise UsageError for invalid options, CannotMeasure if there is no target CPU, and CannotStart if a command cannot
    be started.
    """
    if not machine.is_live:
        raise UsageError("a command can only run on this host, not with a copied tree or a recording")
    inherited = inherited_state()  # before this process is pinned
    looked_at = replace(snapshot_options(options.machine, machine), asks_inventory=True)
    watch = RunWatch(recorder or machine, looked_at, machine)
    first = watch.last
    pin_with_remark(first, listener)
    if not first.target.cpus:
        raise CannotMeasure("there is no target CPU to run on")
    command_plan(options, options.argv, first)  # refuse invalid options before anything takes time
    status = RunStatusWriter.of(machine, options, first.target.cpus, StatusFile())
    if recorder is not None:
        watch.record_status(status.texts)
    try:
        return _calibrated_series(watch, recorder or machine, options, listener, inherited, status)
    finally:
        status.end()
        if recorder is not None:
            with suppress(NoisewatchError):
                watch.look()  # so that a replay has the verdicts on the last repetitions


def _calibrated_series(
    watch: RunWatch,
    machine: Machine,
    options: RunOptions,
    listener: RunListener,
    inherited: InheritedState,
    status: RunStatusWriter,
) -> RunSeries:
    """Run the series between two calibrations of the machine."""
    status.enter(RunStage.CALIBRATING)
    opening, trouble = _calibrated(machine, watch.last, options, listener)
    series = None
    try:
        with RunTrace(options.tracer, watch.last) as trace, Commands(inherited) as commands:
            series = _Series(watch, options, listener, commands, status, opening, trace).run()
        series = replace(series, ended_by=series.ended_by or commands.ended_by)  # after the last repetition
        if trouble is not None:
            series = replace(series, not_calibrated=f"before the series: {trouble}")
        if opening is None or series.has_ended_early:
            return series
        status.enter(RunStage.CALIBRATING)
        closing, trouble = _calibrated(machine, watch.last, options, listener)
        after = None if trouble is None else f"after the series: {trouble}"
        return replace(series, closing=closing, not_calibrated=after)
    except KeyboardInterrupt as error:  # its argument is the signal, if it was not SIGINT
        if series is None:
            raise
        return replace(series, ended_by=next(iter(error.args), signal.SIGINT))  # all repetitions are finished


def _calibrated(
    machine: Machine, snapshot: Snapshot, options: RunOptions, listener: RunListener
) -> tuple[Calibrated | None, str | None]:
    """Calibrate the machine alone for the requested time; if that fails, remark and return the reason."""
    if not options.calibration_s:
        return None, None
    cpus = snapshot.target.cpus
    asked = CalibrationOptions(options.calibration_s, tracer=Tracer.NONE)
    measured = calibrate_cpus(machine, snapshot, cpus, asked, listener.on_calibrating)
    listener.on_done()
    if isinstance(measured, str):
        listener.on_remark(f"not calibrated: {measured}")
        return None, measured
    return calibrated_with(measured.samples, Budget(), cpus, measured.observations), None


@dataclass(slots=True)
class _Series:
    watch: RunWatch
    options: RunOptions
    listener: RunListener
    commands: Commands
    status: RunStatusWriter
    opening: Calibrated | None
    trace: RunTrace
    seed: int = field(default_factory=lambda: int.from_bytes(os.urandom(4), "big"))  # of the order of pairs
    _pending: list[PendingRepetition] = field(default_factory=list)
    _judged: list[JudgedRepetition] = field(default_factory=list)
    _let_go_count: int = 0
    _failed: int | None = None
    _placement: PlacementWatch = field(init=False)
    _freezes: FreezeWatch = field(init=False)
    _quotas: FreezeWatch = field(init=False)
    _served: list[str | None] = field(init=False)  # by command, as in Repetition
    _end: EndedCommand = field(init=False)

    def run(self) -> RunSeries:
        used_before_s = time.process_time()
        self.watch.begin()
        target, topology = self.watch.last.target.cpus, self.watch.last.topology
        self._placement = PlacementWatch(self.watch.counting, target, topology)
        machine = self.watch.counting
        self._served = [find_served(Reader(machine), folders_of(argv)) for argv in self.options.commands]
        with FreezeWatch(machine, quotas_of) as self._quotas, FreezeWatch(machine) as self._freezes:
            return self._run_all(used_before_s)

    def _run_all(self, used_before_s: float) -> RunSeries:
        first = self.watch.last
        begun = RunBeginning(
            options=self.options,
            seed=self.seed,
            machine=first,
            opening=self.opening,
            level=self.trace.level,
            own_cost=WatchingCost(time.process_time(), allowed_now()),
        )
        self.listener.on_begin(begun)
        for number, command in enumerate(turns(self.options, self.seed, self._all_judged), start=1):
            self._wait_for_quiet()
            if not self._has_ended:
                self._run_once(number, command)
            if self._has_ended:
                break
        self._close_window()
        if not self._judged:
            raise KeyboardInterrupt(self.commands.asked_to_end)
        self.listener.on_done()
        return RunSeries(
            options=self.options,
            seed=self.seed,
            machine=first,
            repetitions=tuple(self._judged),
            end=self._end,
            own_cost=begun.own_cost,
            own_cpu_s=time.process_time() - used_before_s,
            opening=self.opening,
            level=begun.level,
            failed=self._failed,
            ended_by=self.commands.asked_to_end,
        )

    @property
    def _has_ended(self) -> bool:
        return self._failed is not None or self.commands.asked_to_end is not None

    def _all_judged(self) -> list[JudgedRepetition]:
        self._close_window()
        return self._judged

    def _wait_for_quiet(self) -> None:
        if self.options.wait_s:
            self._close_window()
            self.status.enter(RunStage.WAITING)
            wait_for_quiet(self.watch, self.commands, self.options.wait_s, self.listener)

    def _run_once(self, number: int, command: int) -> None:
        plan = command_plan(self.options, self.options.commands[command], self.watch.last)
        self.status.begin(number, command)
        self.trace.prepare()
        self._freezes.prepare(plan.cgroup)
        self._quotas.prepare()
        wakeups = WakeUps()
        began = self.watch.mark()
        started = self.commands.start(plan)
        self.trace.begin(started)
        self._placement.begin(started.pid, self.options.spreads)
        pending = PendingRepetition(number, command, began, started, wakeups)
        end = self._watched_to_the_end(pending)
        self._end = end
        pending.left_ns = read_processes_ns(self.watch.counting, end.left_pids or ())
        pending.finish(end, self.watch.mark(), self._placement, self.trace.end(end.ended_ns))
        pending.freezing = self._freezes.end(end.ended_ns - started.began_ns)
        pending.quota = self._quotas.end(end.ended_ns - started.began_ns)
        pending.served = self._served[command]
        pending.is_cut_short = self.commands.asked_to_end is not None
        self._pending.append(pending)
        if status_of(end) != 0 and self.options.stops_at_failure and self.options.may_repeat:
            self._failed = number
        if self.watch.is_due(end.ended_ns - started.began_ns):
            self._close_window()

    def _watched_to_the_end(self, pending: PendingRepetition) -> EndedCommand:
        """Wait for the end of the command, looking at the machine, and more often at the command's threads."""
        began_ns, sampled_ns = pending.started.began_ns, pending.started.began_ns
        while True:
            look_ns = self.watch.next_look_ns(began_ns, self.options.looks_often)
            end = pending.wakeups.wait(pending.started, min(look_ns, sampled_ns + SAMPLE_EVERY_NS))
            if end is not None:
                return end
            sampled_ns = time.monotonic_ns()
            with pending.wakeups.working(pending.started):
                self.trace.drain()
                if sampled_ns >= look_ns:
                    self.trace.look()
                    pending.windows.append(self._look())
                self._placement.sample(self.watch.last.tasks)
                self._freezes.sample(pending.started.pid)
                self._quotas.sample(pending.started.pid)

    def _look(self) -> Interval:
        """Return the window until now, and judge all pending repetitions with it."""
        window = self.watch.look()
        for pending in self._pending:
            pending.windows.append(window)
        self._judge_pending()
        return window

    def _close_window(self) -> None:
        if self._pending:
            self._look()

    def _judge_pending(self) -> None:
        for pending in self._pending:
            judged = judge_pending(pending, self.opening)
            self._judged.append(judged)
            self.status.add(judged)
            self.listener.on_repetition(judged)
        self._pending.clear()
        if not self.options.looks_often:
            self._let_go()

    def _let_go(self) -> None:
        """Drop the looks of old repetitions, because thousands would fill the memory."""
        while self._let_go_count < len(self._judged) - _KEPT:
            judged = self._judged[self._let_go_count]
            self._judged[self._let_go_count] = without_looks(judged, self._judged[0].repetition.span)
            self._let_go_count += 1


def wait_for_quiet(watch: RunWatch, commands: Commands, wait_s: float, listener: RunListener) -> None:
    """Wait until target CPUs and their siblings are quiet, the time is up, or the series has to end."""
    until_ns = time.monotonic_ns() + round(wait_s * NS_PER_S)
    watch.look()
    while commands.pause(watch.last.taken_at_ns + _LOOK_NS):
        busy_threads = list(_busy_threads(watch.look()))
        left_ns = until_ns - time.monotonic_ns()
        if not busy_threads:
            return
        who = ", ".join(busy_threads[:_MOST_NAMED])
        if left_ns <= 0:
            listener.on_remark(f"not quiet after {wait_s:g} s: {who}")
            return
        listener.on_waiting(who, left_ns / NS_PER_S)


def _busy_threads(window: Interval) -> Iterator[str]:
    """Yield the threads that used CPUs that have to be quiet, the costliest first."""
    case = Case(window.after)
    for cpu in sorted(case.target | case.siblings):
        share = window.busy_share(cpu)
        if share is None or share > LOUD_SHARE:
            yield from main_culprit_names(threads_of(window, cpu)) or [f"an unknown task on CPU {cpu}"]


def turns(options: RunOptions, seed: int, judged: Callable[[], Sequence[JudgedRepetition]]) -> Iterator[int]:
    """Yield the number of the command of each repetition; two commands come in pairs, in an order drawn by the seed.

    Retries follow for repetitions (or pairs) that were not undisturbed, up to the requested number. `judged` returns
    all finished repetitions.
    """
    count = len(options.commands)
    for is_first in draw_order(options.runs, seed):
        yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)
    for is_first in draw_order(options.most_retries, seed + 1):
        if _undisturbed_count(judged(), count) >= options.runs:
            return
        yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)


def _undisturbed_count(judged: Sequence[JudgedRepetition], count: int) -> int:
    """Return the number of undisturbed repetitions, or of undisturbed pairs of two commands."""
    are_undisturbed = [one.is_undisturbed for one in judged]
    return sum(all(are_undisturbed[at : at + count]) for at in range(0, len(are_undisturbed), count))
