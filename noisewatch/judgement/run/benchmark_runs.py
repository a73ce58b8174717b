"""The verdicts of a benchmark tool's own runs, each by what the machine did during the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.run.allowance import Allowance, OwnWork, allowance_for
from noisewatch.judgement.run.foreign_time import find_foreign_time
from noisewatch.judgement.run.left_target import LeftTarget, traced_outside_ns
from noisewatch.judgement.run.placement import unknown_placement_reason, weighty_threads
from noisewatch.judgement.run.reasons import ALL_OUTSIDE, ReasonKind, RepetitionVerdict, RunOutcome, RunReason
from noisewatch.judgement.run.repetition_verdict import judge_repetition
from noisewatch.model.run.benchmark_run import BenchmarkRun, HookedRun
from noisewatch.model.run.part import part_of
from noisewatch.model.run.placement import Placement
from noisewatch.model.run.repetition import Repetition
from noisewatch.text import printable
from noisewatch.units import describe_ns, describe_share

_CLOCKS_NS = 1_000_000  # after a larger step of the clock, a time of day cannot be converted to CLOCK_MONOTONIC
_CLOCKS_DRIFT_NS = 10_000_000  # the run's end and duration are not taken at the same moments as the hook's times
_NO_DATE = "the file has no end time of this run (no `date` in its metadata)"
_NO_LENGTH = "the file has no duration of this run (no `duration` in its metadata)"
_NOT_WATCHED = "this run did not take place while the command was watched"
_CLOCKS_MOVED = "the clock was set or the machine was suspended: cannot tell when this run took place"
_NO_LOOKS = "the machine was not read before or after this run"
_MOVED = "{} moved to another memory node or kind of core: cannot tell whether it did so during this run"
_LEFT = "{}, for {} of its CPU time: cannot tell whether it did so during this run"
_MAY_HAVE_LEFT = (
    "a thread of the command was on a CPU other than the target CPUs, for up to {}: cannot tell whether it was there "
    "during this run"
)
_MOSTLY_OUTSIDE = 0.5  # of the command's CPU time
_MATTERS = 0.1  # share of a run's length; a thread that ran for longer may have been measured by the run


class WatchedCommand(Struct, frozen=True, kw_only=True):
    """The observations while a command wrote its result file: its repetitions, and the placement of their threads.

    `floors` (of interruptions alone) and `khz_by_cpu` come from the opening calibration. `left_by_number` has, by
    repetition, the command's time outside the target CPUs if it exceeds, or may exceed, the repetition's allowance.
    """

    repetitions: Sequence[tuple[Repetition, Placement]]
    siblings: CpuSet = frozenset()
    floors: Sequence[NoiseFloor] = ()
    khz_by_cpu: Mapping[int, float] | None = None
    left_by_number: Mapping[int, LeftTarget] = {}


class MarkedRun(Struct, frozen=True):
    """A run with its verdict, and its time on CLOCK_MONOTONIC; if that is None, the verdict is unknown too."""

    run: BenchmarkRun
    verdict: RepetitionVerdict
    began_ns: int | None = None
    ended_ns: int | None = None


def mark_run(run: BenchmarkRun, watched: WatchedCommand) -> MarkedRun:
    """Return the run with its verdict, which is unknown if the run cannot be placed in one of the repetitions."""
    if not run.ended_wall_ns:
        return _unknown(run, _NO_DATE)
    if run.length_ns is None:
        return _unknown(run, _NO_LENGTH)
    shifts = [repetition.shift for repetition, _ in watched.repetitions]
    if any(max(abs(shift.stepped_ns), shift.suspended_ns) > _CLOCKS_NS for shift in shifts):
        return _unknown(run, _CLOCKS_MOVED)
    for repetition, placement in watched.repetitions:
        for ended_wall_ns in run.ended_wall_ns:
            ended_ns = repetition.began_ns + ended_wall_ns - repetition.began_wall_ns
            began_ns = ended_ns - run.length_ns
            if repetition.began_ns <= began_ns and ended_ns <= repetition.ended_ns:
                marked = _mark(run, repetition, began_ns, ended_ns, watched)
                left = watched.left_by_number.get(repetition.number)
                if left is not None and left.reason is not None:
                    marked = _judge_leaving(marked, left.reason)
                allowed_ns = allowance_for(run.length_ns, watched.floors).ns(run.length_ns)
                absence = _unknown_absence_reason(left, repetition, placement, allowed_ns)
                return _add_unknowns(marked, absence, _unknown_moves_reason(placement, run.length_ns))
    return _unknown(run, _NOT_WATCHED)


def _mark(
    run: BenchmarkRun, repetition: Repetition, began_ns: int, ended_ns: int, watched: WatchedCommand
) -> MarkedRun:
    hooked = run.hooked
    earliest_ns, latest_ns = began_ns - _CLOCKS_DRIFT_NS, ended_ns + _CLOCKS_DRIFT_NS
    if hooked is not None and not earliest_ns <= hooked.began_ns < hooked.ended_ns <= latest_ns:
        hooked = None  # the hooked times are from another boot or another machine
    if hooked is not None:
        began_ns, ended_ns = hooked.began_ns, hooked.ended_ns
    part = part_of(repetition, began_ns, ended_ns)
    if part is None:
        return _unknown(run, _NO_LOOKS)
    allowance = allowance_for(part.length_ns, watched.floors)
    verdict = judge_repetition(part, watched.siblings, allowance, watched.khz_by_cpu)
    if hooked is not None:
        verdict = _apply_own_waits(verdict, hooked, part, allowance)
    return MarkedRun(run, verdict, began_ns, ended_ns)


def _judge_leaving(marked: MarkedRun, left: RunReason) -> MarkedRun:
    """Return the run judged by the time of the whole command outside the target CPUs.

    If the command was mostly elsewhere, noise on the target CPUs did not disturb the run, or may not have done so.
    """
    share, verdict = left.share or 0.0, marked.verdict
    if share >= ALL_OUTSIDE:
        return replace(marked, verdict=replace(verdict, outcome=RunOutcome.DISTURBED, reasons=(left,)))
    reasons = () if share >= _MOSTLY_OUTSIDE else verdict.reasons
    outcome = RunOutcome.DISTURBED if reasons else RunOutcome.UNKNOWN
    unknowns = (_LEFT.format(printable(left.name), describe_share(share, 0)), *verdict.unknowns)
    return replace(marked, verdict=replace(verdict, outcome=outcome, reasons=reasons, unknowns=unknowns))


def _add_unknowns(marked: MarkedRun, *reasons: str | None) -> MarkedRun:
    """Return the run with further reasons why its verdict is unknown, without those that are None."""
    unknowns = tuple(reason for reason in reasons if reason is not None)
    if not unknowns:
        return marked
    outcome = RunOutcome.DISTURBED if marked.verdict.reasons else RunOutcome.UNKNOWN
    unknowns = (*marked.verdict.unknowns, *unknowns)
    return replace(marked, verdict=replace(marked.verdict, outcome=outcome, unknowns=unknowns))


def _unknown_absence_reason(
    left: LeftTarget | None, repetition: Repetition, placement: Placement, allowed_ns: float
) -> str | None:
    """Return why the command may have been outside the target CPUs during a run with this allowance, or None.

    All of the repetition's time outside may have been in the run. A short run allows less of it than the repetition.
    """
    if left is not None and left.reason is not None:
        return None  # judged by `_judge_leaving`
    is_traced = not isinstance(repetition.trace, str)
    outside_ns = traced_outside_ns(repetition) if is_traced else placement.max_outside_ns
    if outside_ns > allowed_ns:
        return _MAY_HAVE_LEFT.format(describe_ns(outside_ns))
    return None if left is None else left.unknown


def _unknown_moves_reason(placement: Placement, length_ns: int) -> str | None:
    """Return why a thread may have moved during the run, or None; the time of a move is unknown."""
    weighty = {thread.tid for thread in weighty_threads(placement)}
    for thread in placement.threads:
        is_weighty = thread.tid in weighty or thread.ran_ns >= _MATTERS * length_ns
        if is_weighty and (thread.node_moves or thread.kind_moves):
            return _MOVED.format(f"{printable(thread.name)} (tid {thread.tid})")
    return unknown_placement_reason(placement)


def _apply_own_waits(
    verdict: RepetitionVerdict, hooked: HookedRun, part: Repetition, allowance: Allowance
) -> RepetitionVerdict:
    """Return the verdict combined with the run's own measurement of its waits.

    That measurement replaces the books if they are too imprecise. It does not show on which CPU the run was.
    """
    if hooked.verdict == RunOutcome.DISTURBED:
        reason = RunReason(kind=ReasonKind.FOREIGN, name=hooked.reasons)
        return replace(verdict, outcome=RunOutcome.DISTURBED, reasons=(*verdict.reasons, reason))
    if hooked.verdict != RunOutcome.UNDISTURBED or verdict.outcome != RunOutcome.UNKNOWN:
        return verdict
    foreign_time = find_foreign_time(part, allowance, OwnWork.of(part))
    settled = foreign_time.unknown if foreign_time.is_imprecise else None
    unknowns = tuple(unknown for unknown in verdict.unknowns if unknown != settled)
    return replace(verdict, outcome=RunOutcome.UNKNOWN if unknowns else RunOutcome.UNDISTURBED, unknowns=unknowns)


def _unknown(run: BenchmarkRun, reason: str) -> MarkedRun:
    return MarkedRun(run, RepetitionVerdict(RunOutcome.UNKNOWN, unknowns=(reason,)))
