"""Area `interrupts`: how often the timer interrupts a target CPU that works."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.counted import why_uncounted
from noisewatch.judgement.grading import not_calibrated, why_incomplete
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import kind_of_row
from noisewatch.model.interval.interval import Interval
from noisewatch.units import NS_PER_S

_LEAST_BUSY_NS = 300_000_000  # thirty of the 10 ms that /proc/stat counts in

_STOPPED = Limit(
    key="passes",
    name="timer interrupts of a working nohz_full CPU that pass",
    value=15.0,
    unit="per busy second",
    reason="the microbenchmark sleeps and is woken up to ten times a second; 6 were seen where the tick does stop",
)
_TICKING = Limit(
    key="fails",
    name="timer interrupts of a working nohz_full CPU that fail",
    value=30.0,
    unit="per busy second",
    reason="the slowest tick comes 100 times a second; beside another task it goes on only while both can run",
)


@check(
    id="tick-not-stopped",
    area="interrupts",
    question="Does the tick stop where nohz_full promises it?",
    severity=Severity.INFORMATION,
    reads=(f"{INTERRUPTS} over the calibration", "/proc/stat over the calibration", f"{CPUS}/nohz_full"),
    limits=(_STOPPED, _TICKING),
    why=(
        "A working CPU is interrupted by its timer 100 to 1000 times a second, unless nohz_full stops the tick for a "
        "task that is alone. A second task, a CPU-time limit, perf events or an unsteady clock bring it back, and "
        "nothing says so: only a CPU that works can show it. Without nohz_full the rate is told, and not judged."
    ),
    remedy="See that one task is alone on the CPU, that the clock source is tsc, and that no perf event is open.",
    sources=("https://docs.kernel.org/timers/no_hz.html",),
    asks_calibration=True,
)
def tick_not_stopped(case: Case) -> Answer:
    calibrated, interval = case.calibrated, case.under_load
    if calibrated is None:
        return not_calibrated(case)
    promised = case.snapshot.isolation.nohz_full
    if promised is None:
        return unknown(case.why_unknown(f"{CPUS}/nohz_full"))
    if interval is None:
        return unknown("the counters after the calibration were not read")
    rates = {cpu: _ticks_per_busy_s(interval, cpu) for cpu in sorted(case.target)}
    known = {cpu: rate for cpu, rate in rates.items() if rate is not None}
    evidence = {
        "ticks_per_busy_s_by_cpu": {str(cpu): rate for cpu, rate in rates.items()},
        "nohz_full": sorted(promised),
    }
    ticking = frozenset(cpu for cpu, rate in known.items() if cpu in promised and rate > case.bound(_STOPPED))
    if ticking:
        worst = max(known[cpu] for cpu in ticking)
        status = Status.FAIL if worst > case.bound(_TICKING) else Status.WARN
        said = f"{name_cpus(ticking)}: nohz_full, and yet {worst:.0f} timer interrupts a second of work"
        limit = case.bound(_TICKING)
        return Answer(
            status,
            said,
            measured=worst,
            limit=limit,
            unit="per busy second",
            cpus=ticking,
            reason=None,
            evidence=evidence,
            severity=Severity.WARNING,
        )
    reason = why_incomplete(calibrated) or _why_unmeasured(case, interval, frozenset(rates) - frozenset(known))
    if reason is not None:
        return unknown(reason)
    worst = max(known.values())
    said = f"{worst:.0f} timer interrupts a second of work"
    if not case.target <= promised:
        said += f" ({name_cpus(case.target - promised)}: nohz_full promises nothing)"
    judged = max((rate for cpu, rate in known.items() if cpu in promised), default=None)
    most = case.bound(_TICKING) if judged is not None else None
    return Answer(Status.PASS, said, measured=judged, limit=most, unit="per busy second", evidence=evidence)


def _ticks_per_busy_s(interval: Interval, cpu: int) -> float | None:
    """The timer's interrupts by the time that the CPU worked: an idle CPU has few whatever its settings.

    The spinners take turns, so that a CPU works for a part of the time only.
    """
    before, after = interval.before.interrupts, interval.after.interrupts
    load = interval.load_by_cpu.get(cpu)
    rows = interval.interrupts.rows
    if load is None or rows is None or before is None or after is None:
        return None
    if not (cpu in before.cpus and cpu in after.cpus):
        return None
    if not any(kind_of_row(row) == Kind.TICK for row in after.rows):
        return None
    worked_ns = load.busy_ns - (load.steal_ns or 0)
    if worked_ns < _LEAST_BUSY_NS:
        return None
    ticks = sum(row.count_by_cpu.get(cpu, 0) for row in rows if kind_of_row(row) == Kind.TICK)
    return ticks * NS_PER_S / worked_ns


def _why_unmeasured(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Why the rate of some target CPU is not known; None where all are."""
    if not case.target:
        return "there is no CPU to judge"
    if not cpus:
        return None
    reason = why_uncounted(case, interval, cpus)
    if reason is not None:
        return reason
    if any(cpu not in interval.load_by_cpu for cpu in cpus):
        return case.why_unknown("/proc/stat")
    return f"{name_cpus(cpus)}: hardly worked during the calibration, or has no row of its timer"
