"""Running a command, once or again and again, and saying of each repetition what it met."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import field, replace

from noisewatch.cpus import CpuSet
from noisewatch.errors import CannotMeasure, Malformed, UsageError
from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.noise.budget import ALONE, Budget
from noisewatch.judgement.run.allowance import Allowance, allowance_for
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunOutcome
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.kinds import Tracer
from noisewatch.machine import Machine
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.plan import inherited_state
from noisewatch.machine.command.running import Commands, StartedCommand
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.model.run.books import balance
from noisewatch.model.run.mean_difference import drawn_order
from noisewatch.model.run.repetition import CommandUse, Repetition
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import snapshot_options
from noisewatch.operations.pinning import pin_to_housekeeping
from noisewatch.operations.run.options import RunOptions
from noisewatch.operations.run.plan import command_plan
from noisewatch.operations.run.progress import RunBeginning, RunListener
from noisewatch.operations.run.quiet import wait_for_quiet
from noisewatch.operations.run.watch import Mark, RunWatch, shift_between
from noisewatch.records import dataclass

_MOSTLY = 0.99  # of a command's time its first thread had: the rest is what the shell in it forked


@dataclass(frozen=True, slots=True)
class JudgedRepetition:
    """A repetition, what it was allowed to meet, and the verdict."""

    repetition: Repetition
    allowance: Allowance
    verdict: RepetitionVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """All repetitions, in order; of two commands in pairs, whose order `seed` gave. `machine` is the first look.

    `failed` is the number of the repetition whose status ended the series, `ended_by` the signal that did.
    """

    options: RunOptions
    seed: int
    machine: Snapshot
    repetitions: tuple[JudgedRepetition, ...]
    end: EndedCommand  # of the last one
    own_cpu_s: float
    opening: Calibrated | None = None  # before the first repetition, and after the last; None where none was wanted
    closing: Calibrated | None = None
    failed: int | None = None
    ended_by: int | None = None

    @property
    def has_ended_early(self) -> bool:
        """Whether fewer repetitions ran than were wanted."""
        return self.failed is not None or self.ended_by is not None

    def of_command(self, command: int) -> list[JudgedRepetition]:
        """Those of one of two commands."""
        return [each for each in self.repetitions if each.repetition.command == command]


def run_series(
    machine: Machine, options: RunOptions, listener: RunListener, recorder: Machine | None = None
) -> RunSeries:
    """Runs it; the `recorder` of the machine is asked for all but the counters around repetitions.

    Raises UsageError, CannotMeasure where there is no target CPU, and CannotStart.
    """
    if not machine.is_live:
        raise UsageError("run: a command runs on this host only, not in a copied tree or a recording")
    inherited = inherited_state()  # before this process is pinned
    watch = RunWatch(recorder or machine, snapshot_options(options.machine, machine), machine)
    first = watch.last
    remark = pin_to_housekeeping(first)
    if remark is not None:
        listener.on_remark(remark)
    if not first.target.cpus:
        raise CannotMeasure("there is no target CPU to run on")
    opening = _calibrated(recorder or machine, first, options, listener)
    with Commands(inherited) as commands:
        series = _Series(watch, options, listener, commands, opening).run()
    if opening is None or series.has_ended_early:
        return series
    try:
        return replace(series, closing=_calibrated(recorder or machine, watch.last, options, listener))
    except KeyboardInterrupt:  # the repetitions are over, and known
        return replace(series, ended_by=signal.SIGINT)


def _calibrated(machine: Machine, snapshot: Snapshot, options: RunOptions, listener: RunListener) -> Calibrated | None:
    """The machine alone, for as long as was wanted; None, with a remark, where it could not be measured."""
    if not options.calibration_s:
        return None
    cpus = snapshot.target.cpus
    asked = CalibrationOptions(options.calibration_s, tracer=Tracer.NONE)
    measured = calibrate_cpus(machine, snapshot, cpus, asked, listener.on_calibrating)
    listener.on_done()
    if isinstance(measured, str):
        listener.on_remark(f"not calibrated: {measured}")
        return None
    return calibrated_with(measured.samples, Budget(), cpus, measured.meanwhile)


@dataclass(slots=True)
class _Pending:
    """A repetition whose last window is still open."""

    number: int
    command: int
    began: Mark
    ended: Mark
    started: StartedCommand
    end: EndedCommand
    windows: list[Interval]


@dataclass(slots=True)
class _Series:
    watch: RunWatch
    options: RunOptions
    listener: RunListener
    commands: Commands
    opening: Calibrated | None
    seed: int = field(default_factory=lambda: int.from_bytes(os.urandom(4), "big"))  # of the order of pairs
    _pending: list[_Pending] = field(default_factory=list)
    _judged: list[JudgedRepetition] = field(default_factory=list)
    _failed: int | None = None
    _end: EndedCommand = field(init=False)

    def run(self) -> RunSeries:
        used_before_s = os.times()
        self.watch.begin()
        first = self.watch.last
        begun = RunBeginning(options=self.options, seed=self.seed, machine=first, opening=self.opening)
        self.listener.on_begin(begun)
        for number, command in enumerate(self._turns(), start=1):
            self._run_once(number, command)
            if self._has_ended:
                break
        self._close_window()
        self.listener.on_done()
        used_s = os.times()
        return RunSeries(
            options=self.options,
            seed=self.seed,
            machine=first,
            repetitions=tuple(self._judged),
            end=self._end,
            own_cpu_s=used_s.user + used_s.system - used_before_s.user - used_before_s.system,
            opening=self.opening,
            failed=self._failed,
            ended_by=self.commands.asked_to_end,
        )

    @property
    def _has_ended(self) -> bool:
        return self._failed is not None or self.commands.asked_to_end is not None

    def _turns(self) -> Iterator[int]:
        """The number of the command, turn after turn: the same of one, of two in pairs, whose order is drawn.

        Then again for those that were not undisturbed, as often as that is wanted; of two commands as pairs.
        """
        count = len(self.options.commands)
        for is_first in drawn_order(self.options.runs, self.seed):
            yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)
        for is_first in drawn_order(self.options.most_retries, self.seed + 1):
            self._close_window()
            if self._undisturbed_count >= self.options.runs:
                return
            yield from (0,) if count == 1 else (0, 1) if is_first else (1, 0)

    @property
    def _undisturbed_count(self) -> int:
        """Of the repetitions, or of the pairs of two."""
        count = len(self.options.commands)
        are_undisturbed = [each.verdict.outcome == RunOutcome.UNDISTURBED for each in self._judged]
        return sum(all(are_undisturbed[at : at + count]) for at in range(0, len(are_undisturbed), count))

    def _run_once(self, number: int, command: int) -> None:
        if self.options.wait_s:
            self._close_window()
            wait_for_quiet(self.watch, self.commands, self.options.wait_s, self.listener)
        plan = command_plan(self.options, self.options.commands[command], self.watch.last)
        began = self.watch.mark()
        started = self.commands.start(plan)
        windows: list[Interval] = []
        is_often = self.options.looks_often
        while (end := started.wait(self.watch.next_look_ns(started.began_ns, is_often))) is None:
            self._open_and_close(windows)
        ended = self.watch.mark()
        self._end = end
        self._pending.append(_Pending(number, command, began, ended, started, end, windows))
        if _status_of(end) != 0 and self.options.stops_at_failure and self.options.runs > 1:
            self._failed = number
        if self.watch.is_due(end.ended_ns - started.began_ns):
            self._close_window()

    def _open_and_close(self, windows: list[Interval]) -> None:
        """A window that ends within a repetition; the first one also covers all that were pending."""
        window = self.watch.look()
        windows.append(window)
        for each in self._pending:
            each.windows.append(window)
        self._judge_pending()

    def _close_window(self) -> None:
        if self._pending:
            window = self.watch.look()
            for each in self._pending:
                each.windows.append(window)
            self._judge_pending()

    def _judge_pending(self) -> None:
        for each in self._pending:
            judged = self._judged_of(each)
            self._judged.append(judged)
            self.listener.on_repetition(judged)
        self._pending.clear()

    def _judged_of(self, pending: _Pending) -> JudgedRepetition:
        before, after = pending.began.snapshot, pending.ended.snapshot
        use = _use_of(pending.started, pending.end)
        repetition = Repetition(
            number=pending.number,
            command=pending.command,
            began_ns=pending.started.began_ns,
            ended_ns=pending.end.ended_ns,
            began_wall_ns=pending.started.began_ns + pending.began.wall_ahead_ns,
            status=_status_of(pending.end),
            use=use,
            shift=shift_between(pending.began, pending.ended),
            span=interval_between(before, after),
            books=balance(before, after, before.target.cpus, use.cpu_ns),
            windows=tuple(pending.windows),
            left_pids=pending.end.left_pids,
        )
        floors = self.opening.floors_by_work[ALONE].floors if self.opening is not None else ()
        allowance = allowance_for(repetition.length_ns, floors)
        return JudgedRepetition(repetition, allowance, judge_repetition(repetition, _siblings(after), allowance))


def _siblings(snapshot: Snapshot) -> CpuSet:
    return Case(snapshot).siblings


def _status_of(end: EndedCommand) -> int:
    """As subprocess has it: negative for a signal."""
    return end.exit_status if end.exit_status is not None else -(end.signal_number or 0)


def _use_of(started: StartedCommand, end: EndedCommand) -> CommandUse:
    """With what its descendants used that it did not wait for, and that have ended."""
    usage = end.usage if end.adopted_usage is None else end.usage.plus(end.adopted_usage)
    waited_ns, first_thread_ns = _first_thread(started, end)
    return CommandUse(
        user_ns=usage.user_ns,
        system_ns=usage.system_ns,
        waited_ns=waited_ns,
        ran_alone=first_thread_ns is not None and first_thread_ns >= usage.cpu_ns * _MOSTLY,
        stopped_ns=end.stopped_ns,
        major_faults=usage.major_faults,
        blocks_in=usage.blocks_in,
        blocks_out=usage.blocks_out,
        switches=usage.voluntary_switches,
        preemptions=usage.involuntary_switches,
        most_resident_bytes=end.max_rss_bytes,
    )


def _first_thread(started: StartedCommand, end: EndedCommand) -> tuple[int | None, int | None]:
    """How long it waited for a CPU, and how long it ran; None where the kernel does not tell."""
    try:
        began, ended = (parse_schedstat(text) for text in (started.scheduling_at_begin, end.scheduling))
    except Malformed:
        return None, None
    return ended[1] - began[1], ended[0] - began[0]
