"""Area `interrupts`: work of the kernel on the target CPUs for other CPUs, in softirqs and calls between CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.answer import Answer, Limit, not_applicable, passing_and_failing, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import uncounted_reason, uncounted_softirqs_reason
from noisewatch.judgement.effect import graver_answer
from noisewatch.judgement.grading import by_cpu, grade_cpus
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Severity, Status
from noisewatch.kernel.cpus.cpu_time import TICK_NS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.interrupts.table import SOFTIRQS
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of, kind_of_row
from noisewatch.model.interval.interrupt_counts import RowCount
from noisewatch.model.interval.interval import Interval
from noisewatch.model.interval.softirq_causes import device_work, explained_ns, unexplained_work
from noisewatch.units import describe_rate

_PER_CPU_WORK_DOC = "https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html"
_MAX_CULPRITS = 3

_MIN_TICKS = 3  # ticks of 10 ms: one or two of them may hit a softirq by chance

_WORK_PASSES = Limit(
    key="passes",
    name="device softirqs on one target CPU that pass",
    value=10.0,
    unit="per second",
    reason="the same limit as for device interrupts",
)
_TIME_FAILS = Limit(
    key="fails",
    name="share of a target CPU taken by softirqs that fails",
    value=0.01,
    unit="share",
    reason="benchmarks try to detect changes of this size",
)


@check(
    id="softirqs-on-target",
    area=Area.INTERRUPTS,
    question="Are the target CPUs free of softirqs from other work?",
    severity=Severity.WARNING,
    reads=(f"{SOFTIRQS}, /proc/stat and {INTERRUPTS} over the sample and the calibration",),
    limits=(_WORK_PASSES, _TIME_FAILS),
    why=(
        "Softirqs (received packets, finished disk requests, expired timers) interrupt whatever runs on the CPU, or "
        "run in ksoftirqd. Softirqs that follow a device interrupt on the same CPU are attributed to that device: "
        "packets to the network card, finished requests to the disk."
    ),
    remedy="Move the work: change packet steering, move the owner of the timers, or boot with rcu_nocbs and nohz_full.",
    sources=(_PER_CPU_WORK_DOC,),
    asks_rates=True,
    covers_calibration=True,
)
def softirqs_on_target(case: Case) -> Answer:
    return graver_answer(case, _softirqs)


def _softirqs(case: Case) -> Answer:
    interval = case.sample
    counts, seconds = device_work(interval), interval.seconds
    rates = {cpu: counts.get(cpu, 0) / seconds for cpu in sorted(case.target)}
    shares = {cpu: _softirq_share(interval, cpu) for cpu in sorted(case.target)}
    evidence = {
        "for_devices_per_s_by_cpu": by_cpu(rates),
        "share_by_cpu": by_cpu(shares),
    }
    share_by_cpu = {cpu: share for cpu, share in shares.items() if share is not None}
    untimed = case.unread_reason("/proc/stat") if len(share_by_cpu) < len(shares) else None
    by_time = grade_cpus(
        case,
        {cpu: _unexplained_share(interval, cpu, share) for cpu, share in share_by_cpu.items()},
        _TIME_FAILS,
        _TIME_FAILS,
        describe=lambda over: f"softirqs took {max(share_by_cpu[cpu] for cpu in over):.1%} of {name_cpus(over)}",
        calm=_calm_text(case, rates),
        evidence=evidence,
        unknown_reason=uncounted_softirqs_reason(case, interval) or untimed,
        culprits=lambda over: _disturbances_of_kind(interval, over, Kind.SOFTIRQ),
    )
    if by_time.status == Status.FAIL:
        return replace(by_time, measured=max(share_by_cpu[cpu] for cpu in by_time.cpus))
    return _too_often(case, interval, rates, untimed, evidence) or by_time


def _too_often(
    case: Case, interval: Interval, rates: Mapping[int, float], untimed: str | None, evidence: dict[str, Any]
) -> Answer | None:
    """Return the warning if softirqs come more often than device interrupts explain, else None."""
    limit = case.bound(_WORK_PASSES)
    unexplained = {cpu: unexplained_work(interval, cpu) for cpu, rate in rates.items() if rate > limit}
    often = frozenset(cpu for cpu, counts in unexplained.items() if counts.total() / interval.seconds > limit)
    if not often:
        return None
    worst = max(unexplained[cpu].total() for cpu in often) / interval.seconds
    culprits = _disturbances_of_kind(
        interval, often, Kind.SOFTIRQ, frozenset().union(*(unexplained[cpu] for cpu in often))
    )
    text = f"{culprits[0].name}: up to {describe_rate(worst)} on {name_cpus(often)}"
    graded = case.graded(cpus=often, evidence=evidence, culprits=culprits).by(_WORK_PASSES, worst)
    return graded.warns(f"{text}, more than its device interrupts explain", reason=untimed)


def _calm_text(case: Case, rates: dict[int, float]) -> str:
    if not any(rates.values()):
        return "no softirqs for devices"
    busiest = max(rates, key=lambda cpu: rates[cpu])
    text = f"up to {describe_rate(rates[busiest])} for devices"
    behind = rates[busiest] > case.bound(_WORK_PASSES)
    return f"{text} on CPU {busiest}, explained by its device interrupts" if behind else text


def _softirq_share(interval: Interval, cpu: int) -> float | None:
    load = interval.load_by_cpu.get(cpu)
    return None if load is None or load.softirq_ns is None else load.softirq_ns / interval.length_ns


def _unexplained_share(interval: Interval, cpu: int, share: float) -> float:
    """Return the softirq share without the part that device interrupts may have caused; 0 for too few ticks."""
    if share * interval.length_ns < _MIN_TICKS * TICK_NS:
        return 0.0
    return max(0.0, share - explained_ns(interval, cpu, round(share * interval.length_ns)) / interval.length_ns)


def _disturbances_of_kind(
    interval: Interval, cpus: CpuSet, kind: Kind, names: frozenset[str] | None = None
) -> tuple[Disturbance, ...]:
    culprits = [
        disturbance
        for cpu in sorted(cpus)
        for disturbance in disturbances_of(interval, cpu)
        if disturbance.kind == kind
    ]
    culprits = [culprit for culprit in culprits if names is None or culprit.name in names]
    return tuple(sorted(culprits, key=lambda culprit: -(culprit.rate_per_s or 0))[:_MAX_CULPRITS])


_CALLS_PASS, _CALLS_FAIL = passing_and_failing(
    "IPIs to one target CPU",
    "per second",
    passes=(10.0, "less is typical when a service wakes up now and then"),
    fails=(100.0, "as often as a slow tick, so something keeps using this CPU"),
    is_plural=True,
)


@check(
    id="ipis-on-target",
    area=Area.INTERRUPTS,
    question="Are the target CPUs free of IPIs from other CPUs?",
    severity=Severity.INFORMATION,
    reads=(f"{INTERRUPTS} over the sample",),
    limits=(_CALLS_PASS, _CALLS_FAIL),
    why=(
        "A CPU interrupts another to wake a task there, to flush stale address translations (TLB shootdown), or to "
        "run a function on every CPU, for example when a module is loaded or code is patched. Isolation does not "
        "prevent IPIs."
    ),
    remedy="Find the caller with perf trace -e 'ipi:*', then stop it or move it to other CPUs.",
    sources=("https://docs.kernel.org/filesystems/proc.html", "https://docs.kernel.org/timers/no_hz.html"),
    asks_rates=True,
    severity_in={LATENCY: Severity.WARNING, STRICT: Severity.WARNING},
)
def ipis_on_target(case: Case) -> Answer:
    interval = case.sample
    reason = uncounted_reason(case, interval, case.target)
    if interval.interrupts.rows is None or interval.after.interrupts is None:
        return unknown(reason or "unknown")
    if len(case.running) == 1:
        return not_applicable("there is no other CPU")
    if not any(kind_of_row(row) == Kind.IPI for row in interval.after.interrupts.rows):
        return unknown(f"{INTERRUPTS}: no row counts IPIs")
    calls = [row for row in interval.interrupts.rows if kind_of_row(row) == Kind.IPI]
    rates = {
        cpu: sum(row.count_by_cpu.get(cpu, 0) for row in calls) / interval.seconds
        for cpu in sorted(case.target & interval.interrupts.cpus)
    }
    worst = max(rates.values(), default=0.0)
    return grade_cpus(
        case,
        rates,
        _CALLS_FAIL,
        _CALLS_PASS,
        describe=lambda over: _calls_text(worst, over, _disturbances_of_kind(interval, over, Kind.IPI)),
        calm=f"{describe_rate(worst)} at most",
        evidence={
            "rate_per_s_by_cpu": by_cpu(rates),
            "rate_per_s_by_row": {row.label: _highest_count(row, case.target) / interval.seconds for row in calls},
        },
        unknown_reason=reason if worst <= case.bound(_CALLS_PASS) else None,
        culprits=lambda over: _disturbances_of_kind(interval, over, Kind.IPI),
    )


def _calls_text(worst: float, over: CpuSet, culprits: tuple[Disturbance, ...]) -> str:
    return f"{name_cpus(over)}: up to {describe_rate(worst)}" + (f", mostly {culprits[0].name}" if culprits else "")


def _highest_count(row: RowCount, cpus: CpuSet) -> int:
    return max((row.count_by_cpu.get(cpu, 0) for cpu in cpus), default=0)
