"""The CPU time that other work takes from a benchmark on a target CPU, averaged over sample and calibration by length.

The calibration's loops have the benchmark's priority, so the time that they lost outranks time that other work used
without competition. A thread that got hardly any time against the loops (SCHED_IDLE, nice 19, a group of low weight)
is judged by that time, whatever the reason, not by what it takes from an otherwise idle CPU.

The kernel's trace contains everything that ran during the calibration. Without a trace, only these are known: threads
that exist before and after it; ended threads, by their parents' counters, if the loops measure their loss; and device
interrupts. Unattributed time proves nothing because it may be the loops'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from noisewatch.judgement.answer import Answer, Limit
from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.budget import DEFAULT_MAX_CV
from noisewatch.judgement.terms import Status
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of, threads_of
from noisewatch.model.interval.interval import Interval

BLOCKS_AT, WARNS_AT = 0.5, 0.2  # shares of the budget
_VISIBLE = 0.0005  # smaller shares would be printed as 0.0%
_YIELDS = 0.25  # a thread that gets a smaller share of the time it wants cannot compete with the loops
_ABOUT = 1.05  # 5% tolerance for the loops' pauses, and for waits that straddle a snapshot


class TakenShares(NamedTuple):
    """The shares of a CPU that other work took in the sample and during the calibration."""

    sampled: float
    later: float


def taken_limits(takers: str, prefix: str = "") -> tuple[Limit, Limit]:
    """Return limits on the share of a target CPU that `takers` may take, for warnings and failures.

    Their keys begin with `prefix`.
    """
    share = f"share of a target CPU that {takers} may take"
    return (
        Limit(
            *(f"{prefix}passes", f"{share} without a warning", WARNS_AT * DEFAULT_MAX_CV, "share"),
            reason="a fifth of the budget",
            of_budget=WARNS_AT,
        ),
        blocking_limit(f"{prefix}fails", share),
    )


def blocking_limit(key: str, name: str) -> Limit:
    """Return a limit on a share of a target CPU: half of the budget."""
    return Limit(
        *(key, name, BLOCKS_AT * DEFAULT_MAX_CV, "share"),
        reason="half of the budget: results with and without this loss of time would differ by that much",
        of_budget=BLOCKS_AT,
    )


def effect(case: Case, sampled: float, later: float | None) -> float:
    """Return the mean share over sample and calibration, but at least the calibration's share (`later`).

    If `later` is None (unknown), the sample's share counts in full.
    """
    if case.interval is None or case.under_load is None or later is None:
        return max(sampled, later or 0.0)
    sample_ns, load_ns = case.interval.length_ns, case.under_load.length_ns
    together = (sampled * sample_ns + later * load_ns) / (sample_ns + load_ns)
    return max(together, later)


def scale_culprit(culprit: Disturbance, part: float) -> Disturbance:
    """Return the culprit with its time multiplied by `part` (0 to 1)."""
    if part == 1 or culprit.share is None:
        return culprit
    return replace(culprit, share=culprit.share * part, stolen_ns=round((culprit.stolen_ns or 0) * part))


def describe_observed(share: float, observed: float, is_later: bool) -> str:
    """Return ` (20.0% in the sample)` if the observed share is larger, else ` during the calibration` or nothing."""
    if observed - share > _VISIBLE:
        return f" ({observed:.1%} {WHEN if is_later else 'in the sample'})"
    return f" {WHEN}" if is_later else ""


def effect_of_thread(case: Case, cpu: int, tid: int | None, taken: TakenShares) -> float:
    """Return the share of the CPU that the thread (or, without a `tid`, the crowd) takes from a benchmark."""
    return effect(case, *_claimed_shares(case, cpu, tid, taken)) if _is_loss_known(case, cpu) else max(taken)


def effect_of_all(case: Case, cpu: int, busy: float | None) -> float | None:
    """Return the share of the CPU that all other work takes from a benchmark, or None if unknown.

    `busy` is the share in the sample.
    """
    later = share_while_calibrating(case, cpu)
    if busy is None and not later:
        return None
    if not _is_loss_known(case, cpu):
        return max(busy or 0.0, later or 0.0)
    calibrating = [culprit for culprit in threads_while_calibrating(case) if culprit.cpu == cpu]
    sampling = threads_of(case.interval, cpu) if case.interval else []
    later_by_tid = {culprit.tid: culprit.share or 0.0 for culprit in calibrating}
    sampled_by_tid = {culprit.tid: culprit.share or 0.0 for culprit in sampling}
    total = TakenShares(busy or 0.0, later or 0.0)
    for tid in (sampled_by_tid.keys() | later_by_tid.keys()) - {None}:
        taken = TakenShares(sampled_by_tid.get(tid, 0.0), later_by_tid.get(tid, 0.0))
        claim = _claimed_shares(case, cpu, tid, taken)
        total = TakenShares(*(whole - old + new for whole, old, new in zip(total, taken, claim, strict=True)))
    lost = _lost_share_by_cpu(case).get(cpu, 0.0)  # includes unobserved threads
    return effect(case, max(total.sampled, 0.0), max(total.later, lost))


def _claimed_shares(case: Case, cpu: int, tid: int | None, taken: TakenShares) -> TakenShares:
    """Return the shares that the thread could take from a benchmark, given the shares that it took.

    If a thread cannot compete with the loops, its share in the sample is reduced too. The reduction applies to at most
    the share that the thread wanted while the loops ran; any larger share counts in full.
    """
    contest = _contest(case, cpu, tid)
    if contest is None or contest.won > _YIELDS:
        return taken
    later = min(taken.later, contest.got)
    tested = min(taken.sampled, contest.wanted * _ABOUT)
    return TakenShares(taken.sampled - tested + tested * contest.won, later)


def _is_loss_known(case: Case, cpu: int) -> bool:
    """Return whether the calibration shows the time that threads took from the loops.

    If it does not, the sample counts in full. Loops with real-time priority do not show it, because they lose no time
    to threads with which a benchmark would share the CPU.
    """
    calibrated, load = case.calibrated, case.under_load
    if calibrated is None or calibrated.calibration.samples.is_realtime:
        return False
    if cpu in calibrated.attribution.others_by_cpu:
        return True
    are_tasks_read = load is not None and load.before.tasks is not None and load.after.tasks is not None
    return are_tasks_read and cpu in _lost_share_by_cpu(case)


def _lost_share_by_cpu(case: Case) -> Mapping[int, float]:
    return case.calibrated.calibration.samples.lost_share_by_cpu if case.calibrated is not None else {}


class _Contest(NamedTuple):
    """The shares of the loops' time that a thread wanted and got; `won` is got / wanted."""

    wanted: float
    got: float
    won: float


def _contest(case: Case, cpu: int, tid: int | None) -> _Contest | None:
    """Return how the thread competed with the loops, or None if unknown.

    It is unknown for a thread that changed CPUs, because the thread may have waited elsewhere. The time that the thread
    got while the loops ran is the larger of two lower bounds, but at most the thread's run time: the time that the
    loops lost, and the thread's run time minus the time in which the loops paused.
    """
    load = case.under_load
    if tid is None or load is None or load.before.tasks is None or load.after.tasks is None:
        return None
    before, after = load.before.tasks.by_tid.get(tid), load.after.tasks.by_tid.get(tid)
    if before is None or after is None or before.started_ticks != after.started_ticks:
        return None
    has_stayed = after.is_confined or (after.migrations is not None and before.migrations == after.migrations)
    if not has_stayed or before.cpu != cpu or after.cpu != cpu:
        return None
    if before.waited_ns is None or after.waited_ns is None:
        return None
    ran_ns, waited_ns = after.ran_ns - before.ran_ns, after.waited_ns - before.waited_ns
    looped_ns = _looped_ns(case, cpu, load)
    if ran_ns <= 0 or waited_ns <= 0 or not looped_ns:
        return None
    lost_ns = _lost_share_by_cpu(case).get(cpu, 1.0) * looped_ns
    got_ns = min(ran_ns, max(lost_ns, ran_ns - (load.length_ns - looped_ns)))
    wanted_ns = got_ns + waited_ns
    return _Contest(min(wanted_ns / looped_ns, 1.0), got_ns / looped_ns, got_ns / wanted_ns)


def _looped_ns(case: Case, cpu: int, load: Interval) -> float:
    """Return how long (ns) the CPU's loops ran, which is less than the interval around the calibration."""
    if case.calibrated is None:
        return 0.0
    samples = case.calibrated.calibration.samples
    return samples.looped_ns_by_cpu.get(cpu, 0) * min(load.length_ns / samples.length_ns, 1.0)


WHEN = "during the calibration"
_GRAVITY = {Status.FAIL: 2, Status.WARN: 1}  # an unknown answer for the calibration does not outrank the sample's


def threads_while_calibrating(case: Case) -> tuple[Disturbance, ...]:
    """Return the threads that ran on target CPUs during the calibration, the costliest first.

    Their time is a lower bound or an estimate.
    """
    threads = [thread for cpu in sorted(case.target) for thread in _threads_on(case, cpu)]
    return tuple(sorted(threads, key=lambda culprit: -(culprit.share or 0.0)))


def _threads_on(case: Case, cpu: int) -> Iterable[Disturbance]:
    others = case.attribution.others_by_cpu.get(cpu) if case.attribution is not None else None
    if others is None:
        return _threads_by_counters(case, cpu)
    return _lower_bounds((culprit for culprit in others.disturbances if culprit.kind in THREADS), others.doubt_ns)


def timers_while_calibrating(case: Case) -> tuple[Disturbance, ...]:
    """Return the timers of target CPUs during the calibration, without the tick, the costliest first.

    There are none without a trace.
    """
    others = case.attribution.others_by_cpu if case.attribution is not None else {}
    timers = [
        culprit
        for cpu in case.target & others.keys()
        for culprit in others[cpu].disturbances
        if culprit.kind == Kind.TIMER
    ]
    return tuple(sorted(timers, key=lambda culprit: (-(culprit.share or 0.0), culprit.cpu)))


def _lower_bounds(threads: Iterable[Disturbance], doubt_ns: int) -> Iterator[Disturbance]:
    for thread in threads:
        stolen_ns = (thread.stolen_ns or 0) - doubt_ns
        if stolen_ns > 0 and thread.stolen_ns and thread.share is not None:
            yield replace(thread, stolen_ns=stolen_ns, share=thread.share * stolen_ns / thread.stolen_ns)


def _threads_by_counters(case: Case, cpu: int) -> list[Disturbance]:
    """Return the threads that ran on the CPU during the calibration, by counters instead of a trace.

    Ended threads are included only if the loop's loss was measured: otherwise their time may be the loop's.
    """
    if case.under_load is None:
        return []
    calibration = case.calibrated.calibration if case.calibrated is not None else None
    is_loss_known = calibration is not None and cpu in calibration.samples.lost_share_by_cpu
    threads = (culprit for culprit in disturbances_of(case.under_load, cpu) if culprit.kind in THREADS)
    return [thread for thread in threads if thread.tid is not None or is_loss_known]


def graver_answer(case: Case, answer: Callable[[Case], Answer]) -> Answer:
    """Return the answer for the sample, or the answer for the calibration if it is worse."""
    sampled = answer(case)
    if case.under_load is None:
        return sampled
    later = answer(replace(case, interval=case.under_load))
    is_worse = _GRAVITY.get(later.status, 0) > _GRAVITY.get(sampled.status, 0)
    return replace(later, said=f"{later.said} {WHEN}") if is_worse else sampled


def share_while_calibrating(case: Case, cpu: int) -> float | None:
    """Return the share of the CPU that other threads used during the calibration, or None if it was not observed."""
    is_traced = case.attribution is not None and cpu in case.attribution.others_by_cpu
    if not is_traced and case.under_load is None:
        return None
    return sum(culprit.share or 0.0 for culprit in threads_while_calibrating(case) if culprit.cpu == cpu)


def shares_while_calibrating(case: Case) -> dict[int, float | None]:
    """Return the share that other threads used during the calibration, by target CPU; None if it was not observed."""
    cpus = sorted(case.target)
    if case.calibrated is None and case.under_load is None:
        return dict.fromkeys(cpus)
    return {cpu: share_while_calibrating(case, cpu) for cpu in cpus}
