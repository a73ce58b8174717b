"""Area `interrupts`: how often the tick and other armed timers interrupt the target CPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.answer import Answer, Limit, passing_and_failing, unknown
from noisewatch.judgement.case import NO_TARGET, NOT_READ_AFTER, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import uncounted_reason
from noisewatch.judgement.effect import WHEN, taken_limits, timers_while_calibrating
from noisewatch.judgement.fixes.actions import write_all
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import by_cpu, incomplete_reason, not_calibrated
from noisewatch.judgement.rules import LATENCY, STRICT
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.isolation import runtime_path
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.interrupts.table import PATH as INTERRUPTS
from noisewatch.kernel.system.build_options import PACKED
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import (
    LARGEST_HZ,
    SMALLEST_HZ,
    TIMER_INTERRUPTS,
    Disturbance,
    counts_of,
    disturbances_of,
    kind_of_row,
)
from noisewatch.model.interval.interval import Interval
from noisewatch.units import NS_PER_S, describe_count, describe_ns

_MIN_BUSY_NS = 300_000_000  # thirty ticks of 10 ms, the unit of /proc/stat

_STOPPED, _TICKING = passing_and_failing(
    "timer interrupts of a busy nohz_full CPU",
    "per busy second",
    passes=(
        15.0,
        "the microbenchmark itself wakes at most ten times a second; without a tick, 6 per second were measured",
    ),
    fails=(
        30.0,
        "the slowest tick comes 100 times a second, and less often if other tasks bring it back only now and then",
    ),
    is_plural=True,
)


@check(
    id="tick-not-stopped",
    area=Area.INTERRUPTS,
    question="Does the tick really stop on nohz_full CPUs?",
    severity=Severity.INFORMATION,
    reads=(
        f"{INTERRUPTS} over the calibration",
        "/proc/stat over the calibration",
        f"{CPUS}/nohz_full",
        f"{runtime_path(0).replace('cpu0', 'cpuN')} (as root)",
    ),
    limits=(_STOPPED, _TICKING),
    why=(
        "The timer interrupts a busy CPU 100 to 1000 times a second, unless nohz_full stops the tick for a task that "
        "runs alone. A second task, a CPU-time limit, perf events, an unstable clock source or, since Linux 6.12, "
        "the scheduler's deadline server bring it back silently. Only on a busy CPU can the tick be observed. Without "
        "nohz_full, the rate is reported but not judged."
    ),
    remedy=(
        "Let one task run alone on the CPU, set the clock source to tsc, close perf events, and switch off the "
        "CPU's deadline server (which keeps real-time tasks from starving all others)."
    ),
    sources=(
        "https://docs.kernel.org/timers/no_hz.html",
        "https://lkml.iu.edu/hypermail/linux/kernel/2601.0/07693.html",
    ),
    asks_calibration=True,
    covers_calibration=True,
)
def tick_not_stopped(case: Case) -> Answer:
    calibrated, interval = case.calibrated, case.under_load
    if calibrated is None:
        return not_calibrated(case)
    promised = case.snapshot.isolation.nohz_full
    if promised is None:
        return case.unread(f"{CPUS}/nohz_full")
    if interval is None:
        return unknown(NOT_READ_AFTER)
    rates = {cpu: _ticks_per_busy_s(interval, cpu) for cpu in sorted(case.target)}
    rate_by_cpu = {cpu: rate for cpu, rate in rates.items() if rate is not None}
    graded = case.graded(
        evidence={
            "ticks_per_busy_s_by_cpu": by_cpu(rates),
            "nohz_full": sorted(promised),
            "deadline_server_ns_by_cpu": by_cpu(case.snapshot.settings.fair_servers),
        }
    )
    ticking = frozenset(cpu for cpu, rate in rate_by_cpu.items() if cpu in promised and rate > case.bound(_STOPPED))
    if ticking:
        worst = max(rate_by_cpu[cpu] for cpu in ticking)
        status = Status.FAIL if worst > case.bound(_TICKING) else Status.WARN
        text = f"{name_cpus(ticking)}: nohz_full, but {worst:.0f} timer interrupts per busy second"
        servers = {cpu: ns for cpu, ns in case.snapshot.settings.fair_servers.items() if ns and cpu in ticking}
        if servers:
            reserved = describe_ns(max(servers.values()))
            text += (
                f"; the deadline server, which has {reserved} of {name_cpus(servers)} in each period, may cause them"
            )
        fix = _switch_off_server(servers) if servers else None
        return graded.by(_TICKING, worst).answer(status, text, cpus=ticking, fix=fix, severity=Severity.WARNING)
    reason = incomplete_reason(calibrated) or _unmeasured_rate_reason(
        case, interval, frozenset(rates) - frozenset(rate_by_cpu)
    )
    if reason is not None:
        return unknown(reason)
    worst = max(rate_by_cpu.values())
    text = f"{describe_count(round(worst), 'timer interrupt')} per busy second"
    if not case.target <= promised:
        text += f" ({name_cpus(case.target - promised)}: not nohz_full)"
    judged = max((rate for cpu, rate in rate_by_cpu.items() if cpu in promised), default=None)
    limit = case.bound(_TICKING) if judged is not None else None
    return graded.passes(text, measured=judged, limit=limit, unit="per busy second")


def _switch_off_server(runtime_ns_by_cpu: Mapping[int, int]) -> Fix:
    """Return a partial fix for the tick: it removes one of several possible causes, and the real one is not known."""
    off = write_all(0, {runtime_path(cpu): str(ns) for cpu, ns in runtime_ns_by_cpu.items()})
    return Fix((off,), (ByHand("repeat this after each boot"),), is_partial=True)


def _ticks_per_busy_s(interval: Interval, cpu: int) -> float | None:
    """Return the timer interrupts per second of busy time, or None if unknown.

    An idle CPU may have few timer interrupts even without nohz_full, and spinners take turns: a CPU works for only
    part of the interval.
    """
    before, after = interval.before.interrupts, interval.after.interrupts
    load = interval.load_by_cpu.get(cpu)
    rows = interval.interrupts.rows
    if load is None or rows is None or before is None or after is None:
        return None
    if not (cpu in before.cpus and cpu in after.cpus and any(kind_of_row(row) == Kind.TICK for row in after.rows)):
        return None
    worked_ns = load.busy_ns - (load.steal_ns or 0)
    if worked_ns < _MIN_BUSY_NS:
        return None
    ticks = sum(row.count_by_cpu.get(cpu, 0) for row in rows if kind_of_row(row) == Kind.TICK)
    return ticks * NS_PER_S / worked_ns


def _unmeasured_rate_reason(case: Case, interval: Interval, cpus: CpuSet) -> str | None:
    """Return why the timer rate of a target CPU is unknown, or None if all are known."""
    if not case.target:
        return NO_TARGET
    if not cpus:
        return _uncounted_tick_reason(case, interval)
    reason = uncounted_reason(case, interval, cpus)
    if reason is not None:
        return reason
    if any(cpu not in interval.load_by_cpu for cpu in cpus):
        return case.unread_reason("/proc/stat")
    return f"{name_cpus(cpus)}: hardly busy during the calibration, or without a row of timer interrupts"


def _uncounted_tick_reason(case: Case, interval: Interval) -> str | None:
    """Return why the timer rows cannot include the tick, or None. Only nohz_full stops the tick of a busy CPU."""
    ticks = counts_of(interval, Kind.TICK)
    others = case.target - (case.snapshot.isolation.nohz_full or frozenset())
    still = frozenset(cpu for cpu in others if not ticks.get(cpu) and not _was_idle(interval, cpu))
    return (
        f"{INTERRUPTS}: no timer interrupted {name_cpus(still)}, although not nohz_full and not known to be idle"
        if still
        else None
    )


def _was_idle(interval: Interval, cpu: int) -> bool:
    load = interval.load_by_cpu.get(cpu)
    return load is not None and load.busy_ns - (load.steal_ns or 0) < _MIN_BUSY_NS


_FEW = Limit(
    key="passes",
    name="timer interrupts of one target CPU beyond its tick that pass, if their number decides",
    value=100.0,
    unit="per second",
    reason="a program that sleeps for 10 ms at a time causes as many",
)
_MANY = Limit(
    key="fails",
    name="timer interrupts of one target CPU beyond its tick that fail, if their number decides",
    value=1000.0,
    unit="per second",
    reason="a latency benchmark would be interrupted every millisecond",
)
_SHORT, _LONG = taken_limits("timers beyond the tick", "share-")
_INTERRUPT_S = 5e-6  # a timer interrupt takes 2 µs on bare metal, up to 16 µs with a profiler in a virtual machine
_MAX_CULPRITS = 3
_AS_OFTEN = 0.5  # share of the estimated rate; a trace with fewer timers is not used


@check(
    id="timers-on-target",
    area=Area.INTERRUPTS,
    question="Is the tick the only timer that interrupts the target CPUs?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=(
        f"{INTERRUPTS} over the sample and the calibration",
        f"{PACKED} (CONFIG_HZ)",
        "the calibration's trace, as root",
    ),
    limits=(_FEW, _MANY, _SHORT, _LONG),
    why=(
        "The tick comes at most CONFIG_HZ times a second. A profiler that samples by the clock, or a program that "
        "sleeps for microseconds, uses the same CPU timer and counts in the same row. The check decides by the time "
        "that such timers take: traced, but at least 5 µs for each interrupt. Under the profiles latency and strict, "
        "it decides by their number too. On isolated CPUs, a high number causes a warning. A failure blocks."
    ),
    remedy="Stop the profiler, or move the sleeping program; noisewatch trace, as root, shows which timers expire.",
    sources=("https://docs.kernel.org/timers/highres.html", "https://perfwiki.github.io/main/tutorial/"),
    asks_rates=True,
    covers_calibration=True,
)
def timers_on_target(case: Case) -> Answer:
    rates, traced = _rates(case), timers_while_calibrating(case)
    hz = case.snapshot.platform.tick_hz
    beyond = {cpu: max(rate - (hz or LARGEST_HZ), 0.0) for cpu, rate in rates.items()}
    identified = [timer for timer in traced if timer.name != TIMER_INTERRUPTS]  # TIMER_INTERRUPTS includes the tick
    for cpu, rate in _sums(identified, _rate).items():
        beyond[cpu] = max(beyond.get(cpu, 0.0), rate)
    shares = _sums(identified, _share)
    costs = {cpu: max(shares.get(cpu, 0.0), rate * _INTERRUPT_S) for cpu, rate in beyond.items()}
    is_by_number = case.rules.profile in (LATENCY, STRICT)
    isolated = case.snapshot.isolation.isolated
    evidence = {
        "timer_interrupts_per_s_by_cpu": by_cpu(rates),
        "tick_hz": hz,
        "share_by_trace_by_cpu": by_cpu(shares),
        "cost_share_by_cpu": by_cpu(costs),
    }
    counted = case.target if is_by_number or isolated is None else isolated
    above_rate = frozenset(cpu for cpu, rate in beyond.items() if rate > case.bound(_FEW) and cpu in counted)
    above_cost = frozenset(cpu for cpu, cost in costs.items() if cost > case.bound(_SHORT))
    above = above_rate | above_cost
    graded = case.graded(evidence=evidence)
    if above:
        culprits = _culprits(case, above, traced)
        frequent = [cpu for cpu in sorted(above) if beyond[cpu] > case.bound(_FEW)]
        worst = max((max(rates.get(cpu, 0.0), beyond[cpu]) for cpu in frequent), default=0.0)
        parts = (
            [f"{name_cpus(frequent)}: up to {worst:.0f} timer interrupts/s; {_describe_tick(hz)}"] if frequent else []
        )
        parts += [
            f"{culprit.name} took {culprit.share or 0.0:.1%} of CPU {culprit.cpu} {WHEN}"
            for culprit in culprits[:1]
            if culprit in traced
        ]
        answer = graded.warns("; ".join(parts), cpus=above, culprits=culprits)
        return _judge(case, beyond if is_by_number else {}, costs, answer)
    reason = _unknown_rate_reason(case)
    if reason is not None:
        return graded.unknown(reason)
    worst = max(rates.values())
    failing_rate = case.bound(_MANY) if is_by_number else case.bound(_LONG) / _INTERRUPT_S
    if hz is None and worst > SMALLEST_HZ + case.bound(_FEW):
        reason = f"{worst:.0f} timer interrupts/s, which may be the tick: {case.unread_reason(PACKED)}"
        severity = Severity.BLOCKING if worst > SMALLEST_HZ + failing_rate else None
        return graded.answer(Status.UNKNOWN, "unknown", reason=reason, severity=severity)
    answer = graded.passes(f"{worst:.0f} timer interrupts/s at most")
    return _judge(case, beyond if is_by_number else {}, costs, answer)


def _rates(case: Case) -> dict[int, float]:
    """Return the timer interrupts per second by target CPU, the worse of sample and calibration, as far as known."""
    rate_by_cpu: dict[int, float] = {}
    for interval in case.intervals:
        counts, seconds = counts_of(interval, Kind.TICK), interval.seconds
        for cpu in sorted(case.target if interval.interrupts.rows is not None else ()):
            if cpu in interval.interrupts.cpus:
                rate_by_cpu[cpu] = max(rate_by_cpu.get(cpu, 0.0), counts.get(cpu, 0) / seconds)
    return rate_by_cpu


def _sums(disturbances: Iterable[Disturbance], value: Callable[[Disturbance], float]) -> dict[int, float]:
    sums: dict[int, float] = defaultdict(float)
    for disturbance in disturbances:
        sums[disturbance.cpu] += value(disturbance)
    return dict(sums)


def _judge(case: Case, rates: Mapping[int, float], costs: Mapping[int, float], answer: Answer) -> Answer:
    """Return the answer with its deciding value. It is a blocking failure if the rate or the cost is too high.

    The cost decides if it is too high or the rate passes, otherwise the rate. Without `rates`, only the cost counts.
    """
    rate, cost = max(rates.values(), default=0.0), max(costs.values(), default=0.0)
    is_long = cost > case.bound(_LONG)
    if is_long or rate > case.bound(_MANY):
        answer = replace(answer, status=Status.FAIL, severity=Severity.BLOCKING)
    if is_long or rate <= case.bound(_FEW):
        return replace(answer, measured=cost, limit=case.bound(_LONG), unit="share")
    return replace(answer, measured=rate, limit=case.bound(_MANY), unit="per second")


def _describe_tick(hz: int | None) -> str:
    return f"the tick comes {hz} times/s" if hz is not None else f"a tick comes at most {LARGEST_HZ} times/s"


def _unknown_rate_reason(case: Case) -> str | None:
    for interval in case.intervals:
        reason = uncounted_reason(case, interval, case.target)
        if reason is not None:
            return reason
        table = interval.after.interrupts
        if table is None or all(kind_of_row(row) != Kind.TICK for row in table.rows):
            return f"{INTERRUPTS}: no row counts the timer's interrupts"
        if (reason := _uncounted_tick_reason(case, interval)) is not None:
            return reason
    return None


def _culprits(case: Case, cpus: CpuSet, traced: Sequence[Disturbance]) -> tuple[Disturbance, ...]:
    """Return the costliest timers of the CPUs.

    If the trace has at least half of a CPU's timers, its times are used, otherwise the times of sample or calibration.
    """
    worst: dict[tuple[int, str, str], Disturbance] = {}
    for interval in case.intervals:
        for timer in (disturbance for cpu in sorted(cpus) for disturbance in disturbances_of(interval, cpu)):
            key = (timer.cpu, timer.kind, timer.name)
            if timer.kind in (Kind.TIMER, Kind.TICK) and (key not in worst or _rate(timer) > _rate(worst[key])):
                worst[key] = timer
    estimated = _sums(worst.values(), _rate)
    measured = {cpu for cpu, rate in _sums(traced, _rate).items() if rate >= _AS_OFTEN * estimated.get(cpu, 0.0)}
    timers = [timer for timer in traced if timer.cpu in measured & cpus]
    timers += [timer for timer in worst.values() if timer.cpu not in measured]
    return tuple(sorted(timers, key=lambda timer: -_share(timer))[:_MAX_CULPRITS])


def _rate(disturbance: Disturbance) -> float:
    return disturbance.rate_per_s or 0.0


def _share(disturbance: Disturbance) -> float:
    return disturbance.share or 0.0
