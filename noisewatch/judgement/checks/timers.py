"""Area `interrupts`: what else than the kernel's tick the timers of the target CPUs are armed for."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.counted import why_uncounted
from noisewatch.judgement.declaration import (
    BLOCKING,
    FAIL,
    PASS,
    UNKNOWN,
    WARN,
    WARNING,
    Answer,
    Limit,
    check,
    unknown,
)
from noisewatch.model.disturbance import Disturbance, disturbances_of, kind_of_row, timer_interrupts_per_s
from noisewatch.model.timers import LARGEST_HZ, SMALLEST_HZ, TIMER
from noisewatch.sources.cpulist import CpuSet, name_cpus
from noisewatch.sources.interrupt_kinds import TICK
from noisewatch.sources.interrupts import PATH
from noisewatch.sources.kernel_config import PACKED

_FEW = Limit(
    "passes",
    "timer interrupts of one target CPU beyond its tick that pass",
    100.0,
    "per second",
    "programs that sleep there for ten milliseconds at a time come to that: below 0.1 % of the CPU",
)
_MANY = Limit(
    "fails",
    "timer interrupts of one target CPU beyond its tick that fail",
    1000.0,
    "per second",
    "2 µs each, and up to 16 µs with a profiler's sample on a virtual machine: 0.2 to 1.6 % of the CPU",
)
_MOST_CULPRITS = 3


@check(
    id="timers-on-target",
    area="interrupts",
    question="Do the timers of the target CPUs serve nothing but the tick?",
    severity=WARNING,
    reads=(f"{PATH} over the sample and the calibration", f"{PACKED} (CONFIG_HZ)"),
    limits=(_FEW, _MANY),
    why=(
        "The tick comes CONFIG_HZ times a second at the most. A profiler that samples by the clock, or a program that "
        "sleeps for microseconds, arms the same timer of the CPU, and counts in the same row. A failure blocks."
    ),
    remedy="Stop the profiler, or move what sleeps there; noisewatch trace, as root, tells which timers expire.",
    sources=("https://docs.kernel.org/timers/highres.html", "https://perfwiki.github.io/main/tutorial/"),
    asks_rates=True,
)
def timers_on_target(case: Case) -> Answer:
    if case.interval is None:
        return unknown(case.no_sample_reason or "no sample was taken")
    rates = _rates(case)
    hz = case.snapshot.platform.tick_hz
    beyond = {cpu: max(rate - (hz or LARGEST_HZ), 0.0) for cpu, rate in rates.items()}
    worst = max(beyond.values(), default=0.0)
    evidence = {"timer_interrupts_per_s_by_cpu": {str(cpu): rate for cpu, rate in rates.items()}, "tick_hz": hz}
    limit = case.bound(_MANY)
    if worst > case.bound(_FEW):
        over = frozenset(cpu for cpu, rate in beyond.items() if rate > case.bound(_FEW))
        culprits = _culprits(case, over)
        said = f"{name_cpus(over)}: up to {max(rates[cpu] for cpu in over):.0f} timer interrupts/s; {_tick_said(hz)}"
        many = worst > limit
        status, severity = (FAIL, BLOCKING) if many else (WARN, None)
        return Answer(status, said, worst, limit, "per second", over, None, evidence, culprits, severity=severity)
    reason = _why_unknown(case)
    if reason is not None:
        return Answer(UNKNOWN, "unknown", reason=reason, evidence=evidence)
    most = max(rates.values())
    if hz is None and most > SMALLEST_HZ + case.bound(_FEW):
        reason = f"{most:.0f} timer interrupts/s, which may be the tick: {case.why_unknown(PACKED)}"
        severity = BLOCKING if most > SMALLEST_HZ + limit else None
        return Answer(UNKNOWN, "unknown", reason=reason, evidence=evidence, severity=severity)
    return Answer(PASS, f"{most:.0f} timer interrupts/s at most", worst, limit, "per second", evidence=evidence)


def _rates(case: Case) -> dict[int, float]:
    """How often each target CPU's timer interrupted it, in the worse of sample and calibration; where it is known."""
    found: dict[int, float] = {}
    for interval in case.intervals:
        for cpu in sorted(case.target):
            rate = timer_interrupts_per_s(interval, cpu)
            if rate is not None:
                found[cpu] = max(found.get(cpu, 0.0), rate)
    return found


def _tick_said(hz: int | None) -> str:
    return f"the tick comes {hz} times" if hz is not None else f"no tick comes more than {LARGEST_HZ} times"


def _why_unknown(case: Case) -> str | None:
    for interval in case.intervals:
        reason = why_uncounted(case, interval, case.target)
        if reason is not None:
            return reason
        table = interval.after.interrupts
        if table is None or all(kind_of_row(row) != TICK for row in table.rows):
            return f"{PATH}: no row counts the timer's interrupts"
    return None


def _culprits(case: Case, cpus: CpuSet) -> tuple[Disturbance, ...]:
    """Each timer of each CPU once, as it was in the worse of sample and calibration."""
    worst: dict[tuple[int, str, str], Disturbance] = {}
    for interval in case.intervals:
        for each in (each for cpu in sorted(cpus) for each in disturbances_of(interval, cpu)):
            key = (each.cpu, each.kind, each.name)
            if each.kind in (TIMER, TICK) and (key not in worst or _rate(each) > _rate(worst[key])):
                worst[key] = each
    return tuple(sorted(worst.values(), key=lambda each: -_rate(each))[:_MOST_CULPRITS])


def _rate(each: Disturbance) -> float:
    return each.rate_per_s or 0.0


CHECKS = (timers_on_target,)
