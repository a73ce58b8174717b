"""What ran on the target CPUs during the calibration, next to noisewatch's loops, and may be missing in the sample.

The kernel's trace contains all of it. Without one, these are known: threads observed before and after, ended threads by
their parents' counters, as far as the loops measure their loss, and device interrupts. Unattributed time proves
nothing, as it may be that of the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer
from noisewatch.judgement.terms import Status
from noisewatch.kinds import THREADS, Kind
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of

WHEN = "during the calibration"
_GRAVITY = {Status.FAIL: 2, Status.WARN: 1}  # an unknown of the calibration does not count against the sample


def threads_while_calibrating(case: Case) -> tuple[Disturbance, ...]:
    """Return the threads on target CPUs, the costliest first, with their least or approximate time."""
    found = [each for cpu in sorted(case.target) for each in _threads(case, cpu)]
    return tuple(sorted(found, key=lambda each: -(each.share or 0.0)))


def _threads(case: Case, cpu: int) -> Iterable[Disturbance]:
    attribution = case.calibrated.attribution if case.calibrated is not None else None
    others = attribution.others_by_cpu.get(cpu) if attribution is not None else None
    if others is None:
        return _by_counters(case, cpu)
    return _for_certain((each for each in others.disturbances if each.kind in THREADS), others.doubt_ns)


def timers_while_calibrating(case: Case) -> tuple[Disturbance, ...]:
    """Return the timers other than the tick that ran on the target CPUs, the costliest first; empty without a trace."""
    others = case.calibrated.attribution.others_by_cpu if case.calibrated is not None else {}
    found = [
        each for cpu in case.target & others.keys() for each in others[cpu].disturbances if each.kind == Kind.TIMER
    ]
    return tuple(sorted(found, key=lambda each: (-(each.share or 0.0), each.cpu)))


def _for_certain(threads: Iterable[Disturbance], doubt_ns: int) -> Iterator[Disturbance]:
    for each in threads:
        stolen_ns = (each.stolen_ns or 0) - doubt_ns
        if stolen_ns > 0 and each.stolen_ns and each.share is not None:
            yield replace(each, stolen_ns=stolen_ns, share=each.share * stolen_ns / each.stolen_ns)


def _by_counters(case: Case, cpu: int) -> list[Disturbance]:
    """Return the threads on the CPU by counters. Ended threads are included only if the loop's own loss is measured.

    Otherwise the missing time may be that of the loop.
    """
    if case.under_load is None:
        return []
    calibration = case.calibrated.calibration if case.calibrated is not None else None
    is_loss_known = calibration is not None and cpu in calibration.samples.lost_share_by_cpu
    found = (each for each in disturbances_of(case.under_load, cpu) if each.kind in THREADS)
    return [each for each in found if each.tid is not None or is_loss_known]


def graver_while_calibrating(case: Case, answer: Callable[[Case], Answer]) -> Answer:
    """Return the check's answer for the sample, or for the calibration where that is worse or there is no sample."""
    sampled = answer(case)
    if case.under_load is None:
        return sampled
    later = answer(replace(case, interval=case.under_load))
    is_worse = _GRAVITY.get(later.status, 0) > _GRAVITY.get(sampled.status, 0)
    return replace(later, said=f"{later.said} {WHEN}") if is_worse else sampled


def share_while_calibrating(case: Case, cpu: int) -> float | None:
    """Return the share of the CPU that other threads had, or None if it was not observed."""
    is_traced = case.calibrated is not None and cpu in case.calibrated.attribution.others_by_cpu
    if not is_traced and case.under_load is None:
        return None
    return sum(each.share or 0.0 for each in threads_while_calibrating(case) if each.cpu == cpu)


def shares_while_calibrating(case: Case) -> dict[int, float | None]:
    """Return for each target CPU, in order, the share that other threads had; None if it was not observed."""
    cpus = sorted(case.target)
    if case.calibrated is None and case.under_load is None:
        return dict.fromkeys(cpus)
    return {cpu: share_while_calibrating(case, cpu) for cpu in cpus}
