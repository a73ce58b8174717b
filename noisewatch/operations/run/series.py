"""Runs a command one or more times, with a verdict on each repetition.

A listener receives the state before the first repetition, and each repetition once it is judged.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import CannotMeasure, CannotStart, NoisewatchError, UsageError
from noisewatch.judgement.case import Calibrated, Case, calibrated_with
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.run.reasons import failure_words
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.kernel.cgroup.freezing import quotas_of
from noisewatch.kernel.memory.resctrl import read_traffic
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.mounts import find_served_type
from noisewatch.kernel.tasks.files import read_processes_ns
from noisewatch.kernel.tasks.run_status import RunStage
from noisewatch.kinds import Tracer
from noisewatch.machine import Machine
from noisewatch.machine.command.counting import CommandCounter
from noisewatch.machine.command.ending import EndedCommand
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import InheritedState, inherited_state
from noisewatch.machine.status_files import StatusFile
from noisewatch.machine.threads import signal_of_interrupt
from noisewatch.model.interval.disturbance import LOUD_SHARE, main_culprit_names, threads_of
from noisewatch.model.interval.interval import Interval
from noisewatch.model.run.layout import RUNS_PER_LAYOUT, Layout, LayoutTurn, draw_layout, draw_turns
from noisewatch.model.run.mean_difference import draw_order
from noisewatch.model.run.traffic import GroupTraffic, traffic_between
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.machines import snapshot_options
from noisewatch.operations.pinning import pin_with_remark, read_allowed_cpus
from noisewatch.operations.progress import ProgressListener
from noisewatch.operations.quota_room import QuotaRoom
from noisewatch.operations.run.energy import EnergyMeter
from noisewatch.operations.run.judging import (
    JudgedRepetition,
    PendingRepetition,
    judge_pending,
    status_of,
    without_snapshots,
)
from noisewatch.operations.run.load import RunningLoad, SeriesLoad, running_load
from noisewatch.operations.run.options import (
    RunOptions,
    command_plan,
    refuse_impossible_layout,
    side_command_plan,
    usual_paths,
)
from noisewatch.operations.run.placement_watch import LOOK_EVERY_NS as SAMPLE_EVERY_NS
from noisewatch.operations.run.placement_watch import PlacementWatch
from noisewatch.operations.run.side_commands import (
    CONCLUDE,
    PREPARE,
    SideCommandResult,
    SideOption,
    run_side_command,
)
from noisewatch.operations.run.status import RunStatusWriter
from noisewatch.operations.run.tracing import UNTRACED, RunTrace, TraceLevel
from noisewatch.operations.run.watch import FreezeWatch, RunWatch, WakeUps
from noisewatch.units import NS_PER_S

if TYPE_CHECKING:
    from noisewatch.cpus import CpuSet


class WatchingCost(Struct, frozen=True):
    """The CPU time of noisewatch itself before the first repetition, and its CPUs from then on.

    Its calibrating processes are not included.
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
    load: SeriesLoad | None = None


class RunListener(ProgressListener, Protocol):
    """A progress listener of a series."""

    def on_begin(self, beginning: RunBeginning) -> None:
        """Show that the first repetition is about to begin."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        """Show one more repetition, or a warm-up, with its verdict."""


_KEPT = 50  # repetitions that keep their snapshots
_QUIET_CHECK_NS = NS_PER_S // 4
_MOST_NAMED = 3
# When to poll the first thread's affinity before the first regular look, and from when on to look at all threads too.
# This takes some 2 ms of CPU time for a command that runs for 50 ms or longer.
_FIRST_POLLS_NS = (5_000_000, 12_000_000, 25_000_000, 50_000_000)
_FIRST_LOOK_NS = 12_000_000


class RunSeries(Struct, frozen=True, kw_only=True):
    """All repetitions, in order; two commands are repeated in pairs, whose order is drawn with `seed`.

    `machine` is the first snapshot. The last 50 repetitions keep their snapshots; with the option
    `has_frequent_snapshots`, all do. `failed` is the repetition whose exit status ended the series, or whose side
    command did, the `failed_side_command`; `ended_by` is the signal that ended it. `side_commands` are those that
    failed or left processes running.
    """

    options: RunOptions
    seed: int
    machine: Snapshot
    repetitions: tuple[JudgedRepetition, ...]
    end: EndedCommand  # of the last repetition
    own_cost: WatchingCost
    own_cpu_s: float  # between the calibrations
    opening: Calibrated | None = None  # before the first repetition, and after the last; None: missing
    closing: Calibrated | None = None
    not_calibrated: str | None = None  # which requested calibration is missing, and why
    level: TraceLevel = UNTRACED  # at the start
    failed: int | None = None
    ended_by: int | None = None
    warm_ups: tuple[JudgedRepetition, ...] = ()  # left out of the statistics
    side_commands: tuple[SideCommandResult, ...] = ()
    failed_side_command: SideCommandResult | None = None
    load: SeriesLoad | None = None
    traffic: tuple[GroupTraffic, ...] = ()  # to and from memory between the calibrations, as far as resctrl counts it

    @property
    def has_ended_early(self) -> bool:
        """Whether a failed command or a signal ended the series, even if that was at or after the last repetition."""
        return self.failed is not None or self.ended_by is not None

    def of_command(self, command: int) -> list[JudgedRepetition]:
        """Return the repetitions of command 0 or 1."""
        return [judged for judged in self.repetitions if judged.repetition.command == command]


def failure_hint(options: RunOptions, side: SideCommandResult | None) -> str:
    """Return the options that help after a failed run, or a failed side command, has ended the series."""
    is_shown = options.shows_output if side is None else options.shows_side_output or not side.has_started
    return ("" if is_shown else "--show-output shows its output, and ") + "--ignore-failure continues"


def run_series(
    machine: Machine, options: RunOptions, listener: RunListener, recorder: Machine | None = None
) -> RunSeries:
    """Run the series; `recorder`, if any, records all readings except for the counters around repetitions.

    Raise UsageError for invalid options, and CannotMeasure if there is no target CPU, or the load cannot be started.
    Raise CannotStart if a command cannot be started, or a warm-up or side command fails before the first repetition.
    """
    if not machine.is_live:
        raise UsageError("a command can only run on this host, not with a copied tree or a recording")
    inherited = inherited_state()  # before this process is pinned
    content = replace(snapshot_options(options.machine, machine), asks_inventory=True)
    watch = RunWatch(recorder or machine, content, machine)
    first = watch.last_snapshot
    pin_with_remark(first, listener)
    if not first.target.cpus:
        raise CannotMeasure("there is no target CPU to run on")
    command_plan(options, options.argv, first)  # refuse invalid options before anything takes time
    refuse_impossible_layout(options)
    status = RunStatusWriter.of(machine, options, first.target.cpus, StatusFile())
    if recorder is not None:
        watch.record_status(status.texts)
    try:
        with running_load(options.load, first, listener) as load:
            series = _run_calibrated_series(watch, recorder or machine, options, listener, inherited, status, load)
            return series if load is None else replace(series, load=load.end())
    finally:
        status.end()
        if recorder is not None:
            with suppress(NoisewatchError):
                watch.take_snapshot()  # so that a replay contains the verdicts on the last repetitions


def _run_calibrated_series(
    watch: RunWatch,
    machine: Machine,
    options: RunOptions,
    listener: RunListener,
    inherited: InheritedState,
    status: RunStatusWriter,
    load: RunningLoad | None,
) -> RunSeries:
    """Run the series between two calibrations of the machine."""
    status.enter(RunStage.CALIBRATING)
    opening, trouble = _calibrate(machine, watch.last_snapshot, options, listener)
    traffic = read_traffic(Reader(watch.counting))
    series = None
    try:
        with (
            RunTrace(options.tracer, watch.last_snapshot) as trace,
            Commands(inherited) as commands,
            CommandCounter(options.counts_events) as counter,
        ):
            begun_load = None if load is None else load.begun
            series = _Series(watch, options, listener, commands, status, opening, trace, counter, begun_load).run()
        ended_by = series.ended_by or commands.ended_by  # a signal after the last repetition
        groups = traffic_between(traffic, read_traffic(Reader(watch.counting)))
        series = replace(series, ended_by=ended_by, traffic=groups)
        if trouble is not None:
            series = replace(series, not_calibrated=f"before the series: {trouble}")
        if opening is None or series.has_ended_early:
            return series
        status.enter(RunStage.CALIBRATING)
        closing, trouble = _calibrate(machine, watch.last_snapshot, options, listener)
        after = None if trouble is None else f"after the series: {trouble}"
        return replace(series, closing=closing, not_calibrated=after)
    except KeyboardInterrupt as error:
        if series is None:
            raise
        return replace(series, ended_by=signal_of_interrupt(error))  # all repetitions are finished


def _calibrate(
    machine: Machine, snapshot: Snapshot, options: RunOptions, listener: RunListener
) -> tuple[Calibrated | None, str | None]:
    """Calibrate the machine for the requested time, without a command; if that fails, report and return the reason."""
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
    counter: CommandCounter
    load: SeriesLoad | None
    seed: int = field(default_factory=lambda: int.from_bytes(os.urandom(4), "big"))  # for pairs' order and layouts
    _turns: Sequence[LayoutTurn] = ()  # of the layouts, if they vary
    _pending: list[PendingRepetition] = field(default_factory=list)
    _judged: list[JudgedRepetition] = field(default_factory=list)
    _dropped_count: int = 0
    _warm_ups: list[JudgedRepetition] = field(default_factory=list)
    _side_commands: list[SideCommandResult] = field(default_factory=list)
    _failed: int | None = None
    _failed_side_command: SideCommandResult | None = None
    _placement: PlacementWatch = field(init=False)
    _freezes: FreezeWatch = field(init=False)
    _quotas: FreezeWatch = field(init=False)
    _rooms: list[QuotaRoom] = field(init=False)  # by command
    _energy: EnergyMeter = field(init=False)
    _served: list[str | None] = field(init=False)  # by command, as in Repetition
    _end: EndedCommand = field(init=False)

    def run(self) -> RunSeries:
        used_before_s = time.process_time()
        self.watch.begin()
        target, topology = self.watch.last_snapshot.target.cpus, self.watch.last_snapshot.topology
        self._placement = PlacementWatch(self.watch.counting, target, topology)
        self._rooms = [QuotaRoom(self.watch.last_snapshot) for _ in self.options.commands]
        machine = self.watch.counting
        self._energy = EnergyMeter(machine, self.options.measures_energy, topology)
        self._served = [find_served_type(Reader(machine), usual_paths(argv)) for argv in self.options.commands]
        with FreezeWatch(machine, quotas_of) as self._quotas, FreezeWatch(machine) as self._freezes:
            return self._run_all(used_before_s)

    def _run_all(self, used_before_s: float) -> RunSeries:
        first = self.watch.last_snapshot
        if self.options.varies_layout:
            self._turns = draw_turns(self.options.runs, self.options.most_retries, self.seed)
        begun = RunBeginning(
            options=self.options,
            seed=self.seed,
            machine=first,
            opening=self.opening,
            level=self.trace.level,
            own_cost=WatchingCost(time.process_time(), read_allowed_cpus()),
            load=self.load,
        )
        self.listener.on_begin(begun)
        warm_ups = list(range(len(self.options.commands))) * self.options.warm_ups
        self._run_in_turn(warm_ups, is_warm_up=True)
        self._run_in_turn(turns(self.options, self.seed, self._all_judged))
        self._close_window()
        if not self._judged:
            self._raise_without_result()
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
            warm_ups=tuple(self._warm_ups),
            side_commands=tuple(self._side_commands),
            failed_side_command=self._failed_side_command,
        )

    def _run_in_turn(self, commands: Iterable[int], is_warm_up: bool = False) -> None:
        """Run the commands one after the other, until the series has to end."""
        for number, command in enumerate(commands, start=1):
            if self._has_ended():
                return
            self._run_side_command(PREPARE, number, is_warm_up)
            if not (self._has_ended() or is_warm_up):
                self._wait_for_quiet()
            if not self._has_ended() and self._run_once(number, command, is_warm_up):
                self._run_side_command(CONCLUDE, number, is_warm_up)

    def _run_side_command(self, option: SideOption, number: int, is_warm_up: bool) -> None:
        argv = self.options.prepare if option == PREPARE else self.options.conclude
        if argv is None:
            return
        self._close_window()
        self.status.enter(RunStage.PREPARING if option == PREPARE else RunStage.CONCLUDING)
        if option == PREPARE and self._has_ended():  # since the last check
            return
        plan = side_command_plan(self.options, argv)
        result = run_side_command(option, plan, number, is_warm_up, self.watch, self.commands)
        if result is None:
            return
        is_first = not any(earlier.trouble for earlier in self._side_commands)
        self._side_commands.append(result)
        if result.trouble is not None and self.options.stops_at_failure and self._failed is None:
            self._failed, self._failed_side_command = number, result
        elif result.trouble is not None and is_first:  # the report has the others
            self.listener.on_remark(f"{result.name}: {result.trouble}")

    def _raise_without_result(self) -> NoReturn:
        """Raise the error of a series without a repetition: a failure ended it before the first one, or a signal."""
        if self.commands.asked_to_end is not None or self._failed is None:
            raise KeyboardInterrupt(self.commands.asked_to_end)
        side, hint = self._failed_side_command, failure_hint(self.options, self._failed_side_command)
        if side is not None:
            raise CannotStart(side.status, f"{side.name}: {side.trouble}; {hint}")
        words = failure_words(status_of(self._end))
        raise CannotStart(self._end.shell_status, f"warm-up {self._failed} {words}; {hint}")

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

    def _run_once(self, number: int, command: int, is_warm_up: bool) -> bool:
        """Run the command once; return False if a signal ended the series before the command could start.

        The signal would not reach the command: the terminal sends it only to processes that exist.
        """
        argv = self.options.commands[command]
        layout = self._layout_of(number, argv[0])
        plan = command_plan(self.options, argv, self.watch.last_snapshot, layout)
        if is_warm_up:
            self.status.enter(RunStage.WARMING_UP)
        else:
            self.status.begin(number, command)
        self.trace.prepare()
        self._freezes.prepare(plan.cgroup)
        self._quotas.prepare()
        room = self._rooms[command]
        no_looks_reason = None
        if plan.cgroup is None and not self.options.spreads:  # in another group it has a quota of its own
            no_looks_reason = room.reason
        if no_looks_reason is not None:
            self.commands.pause(time.monotonic_ns() + room.period_ns)
        if self._has_ended():
            return False
        wakeups = WakeUps()
        self._energy.begin()
        began = self.watch.read_edge()
        self.counter.begin()
        started = self.commands.start(plan)
        with wakeups.working(started):
            self.trace.begin(started)
            self._placement.begin(started.pid, self.options.spreads)
        pending = PendingRepetition(number, command, began, started, wakeups, is_warm_up)
        pending.no_looks_reason = no_looks_reason
        end = self._watch_to_the_end(pending)
        self._end = end
        pending.left_ns = read_processes_ns(self.watch.counting, end.left_pids or ())
        ended = self.watch.read_edge()
        pending.energy = self._energy.end()
        pending.finish(end, ended, self._placement, self.trace.end(end.ended_ns))
        pending.counts = self.counter.end()
        pending.freezing = self._freezes.end(end.ended_ns - started.began_ns)
        pending.quota = self._quotas.end(end.ended_ns - started.began_ns)
        room.end(pending.use, end.ended_ns - started.began_ns)
        pending.served = self._served[command]
        pending.layout = layout
        pending.is_cut_short = self.commands.asked_to_end is not None
        self._pending.append(pending)
        if status_of(end) != 0 and self.options.stops_at_failure and self.options.may_repeat:
            self._failed = number
        if self.watch.is_due(end.ended_ns - started.began_ns):
            self._close_window()
        return True

    def _layout_of(self, number: int, argv0: str) -> Layout | None:
        """Return the layout of a repetition; if there are more warm-ups than turns, the turns start again."""
        if not self._turns:
            return None
        turn = self._turns[(number - 1) // len(self.options.commands) % len(self._turns)]
        return draw_layout(self.seed, turn.layout, argv0)

    def _watch_to_the_end(self, pending: PendingRepetition) -> EndedCommand:
        """Wait for the end of the command; meanwhile take snapshots, and look at the command's threads more often.

        Do neither while the command uses up the CPU quota that it shares with noisewatch.
        """
        began_ns, sampled_ns = pending.started.began_ns, pending.started.began_ns
        for poll_ns in _FIRST_POLLS_NS if pending.no_looks_reason is None else ():
            end = pending.wakeups.wait(pending.started, began_ns + poll_ns)
            if end is not None:
                return end
            if poll_ns >= _FIRST_LOOK_NS:
                with pending.wakeups.working(pending.started):
                    self._placement.sample_early()
        while True:
            snapshot_ns = self.watch.next_snapshot_ns(began_ns, self.options.has_frequent_snapshots)
            until_ns = min(snapshot_ns, sampled_ns + SAMPLE_EVERY_NS) if pending.no_looks_reason is None else None
            end = pending.wakeups.wait(pending.started, until_ns)
            if end is not None:
                return end
            sampled_ns = time.monotonic_ns()
            with pending.wakeups.working(pending.started):
                self.trace.drain()
                if sampled_ns >= snapshot_ns:
                    self.trace.look()
                    pending.windows.append(self._take_snapshot())
                self._placement.sample(self.watch.last_snapshot.tasks)
                self._freezes.sample(pending.started.pid)
                self._quotas.sample(pending.started.pid)
                self._energy.look()

    def _take_snapshot(self) -> Interval:
        """Take a snapshot, which ends the window of all pending repetitions; judge them, and return the window."""
        window = self.watch.take_snapshot()
        for pending in self._pending:
            pending.windows.append(window)
        self._judge_pending()
        return window

    def _close_window(self) -> None:
        if self._pending:
            self._take_snapshot()

    def _judge_pending(self) -> None:
        for pending in self._pending:
            judged = judge_pending(pending, self.opening)
            if pending.is_warm_up:
                first = self._warm_ups[0] if self._warm_ups else judged
                self._warm_ups.append(without_snapshots(judged, first.repetition.span))
            else:
                self._judged.append(judged)
                self.status.add(judged)
            self.listener.on_repetition(judged)
        self._pending.clear()
        if not self.options.has_frequent_snapshots:
            self._drop_old_snapshots()

    def _drop_old_snapshots(self) -> None:
        """Drop the snapshots of old repetitions, because thousands would fill the memory."""
        while self._dropped_count < len(self._judged) - _KEPT:
            judged = self._judged[self._dropped_count]
            self._judged[self._dropped_count] = without_snapshots(judged, self._judged[0].repetition.span)
            self._dropped_count += 1


def wait_for_quiet(watch: RunWatch, commands: Commands, wait_s: float, listener: RunListener) -> None:
    """Wait until the target CPUs and their siblings are quiet, the time is up, or the series has to end."""
    until_ns = time.monotonic_ns() + round(wait_s * NS_PER_S)
    watch.take_snapshot()
    while commands.pause(watch.last_snapshot.taken_at_ns + _QUIET_CHECK_NS):
        busy_threads = list(_busy_threads(watch.take_snapshot()))
        left_ns = until_ns - time.monotonic_ns()
        if not busy_threads:
            return
        who = ", ".join(busy_threads[:_MOST_NAMED])
        if left_ns <= 0:
            listener.on_remark(f"not quiet after {wait_s:g} s: {who}")
            return
        listener.on_waiting(who, left_ns / NS_PER_S)


def _busy_threads(window: Interval) -> Iterator[str]:
    """Yield the threads that kept target CPUs or siblings busy, CPU by CPU, the costliest first."""
    case = Case(window.after)
    for cpu in sorted(case.target | case.siblings):
        share = window.busy_share(cpu)
        if share is None or share > LOUD_SHARE:
            yield from main_culprit_names(threads_of(window, cpu)) or [f"an unknown task on CPU {cpu}"]


def turns(options: RunOptions, seed: int, judged: Callable[[], Sequence[JudgedRepetition]]) -> Iterator[int]:
    """Yield each repetition's command number; two commands come in pairs, whose order is drawn by the seed.

    Further repetitions, pairs or layouts follow until enough are undisturbed, but at most `most_retries` of them.
    `judged` returns all finished repetitions.
    """
    required, further = _drawn_orders(options, seed)
    for is_first in required:
        yield from _commands_in_order(options, is_first)
    for is_first in further:
        if undisturbed_count(options, judged()) >= options.runs:
            return
        yield from _commands_in_order(options, is_first)


def _drawn_orders(options: RunOptions, seed: int) -> tuple[Sequence[bool], Sequence[bool]]:
    """Return whether the first command runs first, for each requested turn and for each retry."""
    if not options.varies_layout:
        return draw_order(options.runs, seed), draw_order(options.most_retries, seed + 1)
    orders = [turn.is_a_first for turn in draw_turns(options.runs, options.most_retries, seed)]
    requested = options.runs * RUNS_PER_LAYOUT
    return orders[:requested], orders[requested:]


def _commands_in_order(options: RunOptions, is_first: bool) -> tuple[int, ...]:
    return (0,) if len(options.commands) == 1 else (0, 1) if is_first else (1, 0)


def undisturbed_count(options: RunOptions, judged: Sequence[JudgedRepetition]) -> int:
    """Return the number of undisturbed repetitions, pairs or layouts; all repetitions of one have to be undisturbed."""
    counts: Counter[int] = Counter()
    for at, one in enumerate(judged):
        layout = one.repetition.layout
        counts[at // len(options.commands) if layout is None else layout.number] += one.is_undisturbed
    return sum(count == options.runs_per_unit for count in counts.values())
