"""Judges repetitions: turns the observations of one into its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.errors import Malformed
from noisewatch.judgement.case import Calibrated, Case
from noisewatch.judgement.noise.budget import ALONE, LOSES_TOO_MUCH, NoiseFloor
from noisewatch.judgement.run.allowance import Allowance, allowance_for
from noisewatch.judgement.run.clock_speed import calibrated_khz
from noisewatch.judgement.run.foreign_time import insufficient_trace_reason, unusable_trace_reason
from noisewatch.judgement.run.left_target import LeftTarget, find_left_target
from noisewatch.judgement.run.reasons import RepetitionVerdict, RunStanding
from noisewatch.judgement.run.repetition_verdict import judge_repetition, with_placement
from noisewatch.kernel.tasks.files import parse_schedstat
from noisewatch.kernel.trace.runs import TraceWindow
from noisewatch.machine.command.counting import UNCOUNTED, CommandCounts
from noisewatch.machine.command.ending import EndedCommand, ResourceUsage
from noisewatch.machine.command.running import StartedCommand
from noisewatch.model.interval.clock_shift import shift_between
from noisewatch.model.interval.interval import Interval, interval_between
from noisewatch.model.run.books import balance
from noisewatch.model.run.energy import UNMEASURED, RunEnergy
from noisewatch.model.run.freezing import NOT_FROZEN, Freezing
from noisewatch.model.run.layout import Layout
from noisewatch.model.run.leaving import time_outside
from noisewatch.model.run.placement import Placement, idle_shares
from noisewatch.model.run.repetition import CommandUse, Repetition
from noisewatch.operations.run.placement_watch import PlacementWatch
from noisewatch.operations.run.watch import RepetitionEdge, WakeUps

_INEXACT_NS = 1_000_000  # CPU time by which looks may exceed the kernel's sum
_MOSTLY = 0.99  # a first thread that used this share of its command's time ran alone; a shell's forks use a little


class JudgedRepetition(Struct, frozen=True):
    """A repetition with its verdict, its noise allowance, its threads' placement, and its time outside the target."""

    repetition: Repetition
    allowance: Allowance
    verdict: RepetitionVerdict
    placement: Placement
    left: LeftTarget | None = None

    @property
    def is_undisturbed(self) -> bool:
        """Whether it is an undisturbed measurement; a repetition that failed or was cut short is not a measurement."""
        return self.standing == RunStanding.UNDISTURBED

    @property
    def standing(self) -> RunStanding:
        """The class in which reports count the repetition."""
        if self.repetition.is_cut_short:
            return RunStanding.CUT_SHORT
        return RunStanding(self.verdict.outcome) if self.repetition.is_measurement else RunStanding.FAILED


@dataclass(slots=True)
class PendingRepetition:
    """A repetition that is still running, or whose last window is still open."""

    number: int
    command: int
    began: RepetitionEdge
    started: StartedCommand
    wakeups: WakeUps
    is_warm_up: bool = False
    windows: list[Interval] = field(default_factory=list)
    left_ns: int = 0
    is_cut_short: bool = False
    served: str | None = None
    no_looks_reason: str | None = None
    freezing: Freezing = NOT_FROZEN
    quota: Freezing = NOT_FROZEN
    counts: CommandCounts = UNCOUNTED
    energy: RunEnergy = UNMEASURED
    layout: Layout | None = None
    ended: RepetitionEdge = field(init=False)
    end: EndedCommand = field(init=False)
    use: CommandUse = field(init=False)
    placement: Placement = field(init=False)  # by the looks
    placement_by_trace: Placement = field(init=False)
    trace: TraceWindow | str = field(init=False)

    def finish(self, end: EndedCommand, ended: RepetitionEdge, watch: PlacementWatch, trace: TraceWindow | str) -> None:
        """Add what was observed at the end of the command."""
        self.end, self.ended, self.trace = end, ended, trace
        self.use = _resource_use(self.started, end, self.left_ns)
        before, after = self.began.snapshot, ended.snapshot
        self.placement = watch.end(self.use.cpu_ns, idle_shares(before, after, before.target.cpus))
        if not end.may_be_others and _exceeds_kernel_sum(self.placement, self.use.cpu_ns + self.started.launch_cpu_ns):
            most_ns = (end.ended_ns - self.started.began_ns) * len(before.target.cpus)
            self.use = replace(self.use, ran_alone=False, unsure_ns=self.use.unsure_ns + most_ns)
        self.placement_by_trace = watch.by_trace(self.placement, trace)
        traced_ns = 0 if isinstance(trace, str) else trace.states.stopped_ns
        if traced_ns < LOSES_TOO_MUCH * (end.ended_ns - self.started.began_ns):
            traced_ns = 0  # too short to matter: strace, for example, stops a child of its own to test ptrace
        # The kernel does not report that a descendant was stopped.
        stopped_ns = max(self.use.stopped_ns, traced_ns or self.placement.stopped_ns)
        self.use = replace(self.use, stopped_ns=stopped_ns)


def _exceeds_kernel_sum(placement: Placement, used_ns: int) -> bool:
    """Return whether looks at the command's threads found more CPU time than the kernel's sum.

    The sum lacks children of a parent that ignores SIGCHLD, because it never waits for them (wait(2), NOTES).
    """
    observed_ns = sum(thread.ran_ns for thread in placement.threads) + placement.other_ns
    return observed_ns * _MOSTLY > used_ns + _INEXACT_NS


def judge_pending(pending: PendingRepetition, opening: Calibrated | None) -> JudgedRepetition:
    """Judge the repetition by the opening calibration: its clocks, and its noise floors of interruptions alone."""
    before, after = pending.began.snapshot, pending.ended.snapshot
    ended_ns, seen_late_ns = pending.end.ended_ns, pending.wakeups.seen_late_ns
    doubt_ns = None if isinstance(pending.trace, str) else pending.trace.end_doubt_ns
    if not isinstance(pending.trace, str) and doubt_ns is not None:
        ended_ns = pending.trace.end_ns
        seen_late_ns = doubt_ns if seen_late_ns is None else min(doubt_ns, seen_late_ns)
    repetition = Repetition(
        number=pending.number,
        command=pending.command,
        began_ns=pending.started.began_ns,
        ended_ns=ended_ns,
        began_wall_ns=pending.started.began_ns + pending.began.clocks.wall_ns,
        status=status_of(pending.end),
        use=pending.use,
        shift=shift_between(pending.began.clocks, pending.ended.clocks),
        span=interval_between(before, after),
        books=balance(before, after, before.target.cpus, pending.use.cpu_ns, pending.use.unsure_ns),
        windows=tuple(pending.windows),
        allowed=pending.end.allowed,
        first_outside=time_outside(pending.end.affinities, before.target.cpus),
        name_by_left_pid=None if pending.end.left_pids is None else _names_of(pending.end.left_pids, pending.windows),
        thread_waits=tuple(
            (thread.ran_ns, thread.waited_ns) for thread in pending.placement.threads if thread.waited_ns is not None
        ),
        earlier_pids=pending.started.earlier_pids,
        trace=pending.trace,
        held_up_ns=pending.wakeups.held_up_ns,
        served=pending.served,
        no_looks_reason=pending.no_looks_reason,
        is_cut_short=pending.is_cut_short,
        is_warm_up=pending.is_warm_up,
        freezing=pending.freezing,
        quota=pending.quota,
        counts=pending.counts,
        energy=pending.energy,
        layout=pending.layout,
        own_cpu_ns=pending.ended.own_cpu_ns - pending.began.own_cpu_ns,
        seen_late_ns=seen_late_ns,
    )
    allowance, siblings = allowance_for(repetition.length_ns, floors_of(opening)), Case(after).siblings
    is_believed = unusable_trace_reason(repetition, allowance) is None
    placement = pending.placement_by_trace if is_believed else pending.placement
    unsettled = insufficient_trace_reason(repetition, siblings, allowance)
    if unsettled is not None:
        repetition = replace(repetition, trace=unsettled)
    left = find_left_target(repetition, placement, allowance)
    verdict = judge_repetition(repetition, siblings, allowance, calibrated_khz(opening), left)
    placed = with_placement(verdict, placement, repetition.length_ns)
    return JudgedRepetition(repetition, allowance, placed, placement, left)


def _names_of(pids: Iterable[int], windows: Sequence[Interval]) -> dict[int, str | None]:
    """Return the names of the processes; None for a process that the last snapshot does not contain."""
    last = windows[-1].after.tasks if windows else None
    tasks = last.by_tid if last is not None else {}
    return {pid: tasks[pid].name if pid in tasks else None for pid in sorted(pids)}


def floors_of(opening: Calibrated | None) -> Sequence[NoiseFloor]:
    """Return the noise floors of interruptions alone; none without a calibration."""
    return opening.floors_by_work[ALONE].floors if opening is not None else ()


def without_snapshots(judged: JudgedRepetition, span: Interval) -> JudgedRepetition:
    """Return the repetition without its windows and the trace's threads, which take 20 kB on a small machine.

    `span`, of another repetition, replaces its own span.
    """
    trace = judged.repetition.trace
    kept = trace if isinstance(trace, str) else replace(trace, times=(), threads=())
    return replace(judged, repetition=replace(judged.repetition, windows=(), span=span, trace=kept))


def status_of(end: EndedCommand) -> int:
    """Return the exit status as in subprocess: negative for a signal."""
    return end.exit_status if end.exit_status is not None else -(end.signal_number or 0)


def _resource_use(started: StartedCommand, end: EndedCommand, left_ns: int) -> CommandUse:
    """Return the command's resource use, with unreaped descendants if they are certainly its own."""
    adopted = end.adopted_usage or ResourceUsage()
    usage = end.usage if end.may_be_others else end.usage.plus(adopted)
    waited_ns, first_thread_ns = _first_thread_times(started, end)
    own_left_ns = 0 if end.may_be_others else left_ns
    return CommandUse(
        user_ns=usage.user_ns,
        system_ns=usage.system_ns,
        waited_ns=waited_ns,
        ran_alone=first_thread_ns is not None and first_thread_ns >= (usage.cpu_ns + own_left_ns) * _MOSTLY,
        stopped_ns=end.stopped_ns,
        minor_faults=usage.minor_faults,
        major_faults=usage.major_faults,
        blocks_in=usage.blocks_in,
        blocks_out=usage.blocks_out,
        switches=usage.voluntary_switches,
        preemptions=usage.involuntary_switches,
        most_resident_bytes=end.max_rss_bytes,
        left_ns=own_left_ns,
        unsure_ns=adopted.cpu_ns + left_ns if end.may_be_others else 0,
    )


def _first_thread_times(started: StartedCommand, end: EndedCommand) -> tuple[int | None, int | None]:
    """Return how long (ns) the first thread waited for a CPU, and how long it ran; None if not reported."""
    try:
        began, ended = (parse_schedstat(text) for text in (started.scheduling_at_begin, end.scheduling))
    except Malformed:
        return None, None
    return ended[1] - began[1], ended[0] - began[0]
