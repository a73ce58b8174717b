"""Area `load`: how busy the target CPUs and the machine's resources are."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import Answer, Limit, check, not_applicable, unknown
from noisewatch.judgement.counted import why_untimed
from noisewatch.judgement.effect import BLOCKS_AT, WARNS_AT, describe_look, effect, effect_of_all, part_of
from noisewatch.judgement.grading import grade_cpus
from noisewatch.judgement.limit_words import warns_and_fails
from noisewatch.judgement.programs import with_many_as_one
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.judgement.while_calibrating import (
    WHEN,
    share_while_calibrating,
    shares_while_calibrating,
    threads_while_calibrating,
)
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.pressure import FOLDER as PRESSURE
from noisewatch.kinds import Kind
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interval import Interval

_BUSY_PASSES = Limit(
    key="passes",
    name="busy share of a target CPU that passes",
    value=0.01,
    unit="share",
    reason="two ticks of 10 ms in a 3 s sample",
    of_budget=WARNS_AT,
)
_BUSY_FAILS = Limit(
    key="fails",
    name="busy share of a target CPU that fails",
    value=0.05,
    unit="share",
    reason="a benchmark that loses 5 % of the CPU cannot resolve changes of 5 %",
    of_budget=BLOCKS_AT,
)
_MOST_CULPRITS = 5


@check(
    id="target-cpu-busy",
    area="load",
    question="Are the target CPUs idle before the benchmark starts?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=("/proc/stat and /proc/schedstat over the sample", "/proc/PID/task/TID/schedstat"),
    limits=(_BUSY_PASSES, _BUSY_FAILS),
    why=(
        "Whatever uses the CPU now will share it with the benchmark; averages over the machine or over a minute hide "
        "it."
    ),
    remedy="Stop or move the culprits that tasks-on-target and device-interrupts-on-target name.",
    sources=("https://docs.kernel.org/filesystems/proc.html",),
    asks_rates=True,
    covers_calibration=True,
)
def target_cpu_busy(case: Case) -> Answer:
    interval = case.sample
    busy = {cpu: interval.busy_share(cpu) for cpu in sorted(case.target)}
    later = shares_while_calibrating(case)
    known = {cpu: effect_of_all(case, cpu, share) or 0.0 for cpu, share in busy.items()}
    evidence = {
        "busy_share_by_cpu": {str(cpu): share for cpu, share in busy.items()},
        "share_of_others_while_calibrating_by_cpu": {str(cpu): share for cpu, share in later.items()},
    }
    worst = max(known.values(), default=0.0)
    reason = _why_unmeasured(case, interval) if None in busy.values() or not busy else None
    if reason is None and worst <= case.bound(_BUSY_PASSES):
        reason = why_untimed(case, interval, case.target)
    return grade_cpus(
        case,
        known,
        _BUSY_FAILS,
        _BUSY_PASSES,
        said=lambda over: ", ".join(_busy_said(cpu, known[cpu], later[cpu], busy[cpu]) for cpu in sorted(over)),
        calm=f"{worst:.1%} busy",
        evidence=evidence,
        why_unknown=reason,
        culprits=lambda over: _busiest(case, interval, {cpu: known[cpu] for cpu in over}),
    )


def _busy_said(cpu: int, share: float, later: float | None, sampled: float | None) -> str:
    is_later, observed = (later or 0.0) > (sampled or 0.0), max(later or 0.0, sampled or 0.0)
    return (
        f"CPU {cpu} is {share:.1%} busy{' with others' if is_later else ''}{describe_look(share, observed, is_later)}"
    )


def _busiest(case: Case, interval: Interval, share_by_cpu: Mapping[int, float]) -> tuple[Disturbance, ...]:
    """Return what takes most of the CPUs' time, in the sample or, if that was more, during the calibration.

    Their shares are scaled so that all of a CPU add up to its judged share.
    """
    found: list[Disturbance] = []
    for cpu, share in share_by_cpu.items():
        sampled, shared = interval.busy_share(cpu) or 0.0, share_while_calibrating(case, cpu) or 0.0
        has_more_later, part = shared > sampled, min(share / max(sampled, shared, share), 1.0)
        later = [each for each in threads_while_calibrating(case) if each.cpu == cpu] if has_more_later else []
        tasks = case.under_load.after.tasks if later and case.under_load is not None else interval.after.tasks
        all_there = with_many_as_one(later or disturbances_of(interval, cpu), tasks, case.bound(_BUSY_PASSES))
        found += [part_of(each, part) for each in all_there[:_MOST_CULPRITS] if each.share]
    return tuple(sorted(found, key=lambda each: -(each.share or 0.0)))


def _why_unmeasured(case: Case, interval: Interval) -> str:
    missing = sorted(cpu for cpu in case.target if cpu not in interval.load_by_cpu)
    if interval.before.cpu_time is None or interval.after.cpu_time is None:
        return case.why_unknown("/proc/stat")
    if not case.target:
        return NO_TARGET
    return f"/proc/stat: the time of {name_cpus(missing)} stood still, ran backwards or is missing"


_STALL_PASSES = Limit(
    key="passes",
    name="share of time with a task waiting that passes",
    value=0.005,
    unit="share",
    reason="what an idle machine shows",
)
_STALL_FAILS = Limit(
    key="fails",
    name="share of time with a task waiting that fails",
    value=0.05,
    unit="share",
    reason="tasks compete for the resource",
)
_FULL_FAILS = Limit(
    key="full-fails",
    name="share of time with all tasks waiting for memory or I/O that fails",
    value=0.01,
    unit="share",
    reason="a benchmark would wait too",
)


@check(
    id="pressure-stall",
    area="load",
    question="Is anything waiting for CPU, memory or I/O?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=tuple(f"{PRESSURE}/{resource} over the sample" for resource in ("cpu", "memory", "io")),
    limits=(_STALL_PASSES, _STALL_FAILS, _FULL_FAILS),
    why=(
        "Pressure stall information (PSI) counts the time that tasks waited, including spikes that averages hide. "
        "When all tasks wait for memory, a benchmark would reclaim memory instead of running: that blocks."
    ),
    remedy="Stop the programs that compete; boot with psi=1 if PSI is switched off.",
    sources=("https://docs.kernel.org/accounting/psi.html",),
    asks_rates=True,
)
def pressure_stall(case: Case) -> Answer:
    interval = case.sample
    stalls = interval.stall_by_resource
    evidence = {name: {"some_share": stall.some, "full_share": stall.full} for name, stall in stalls.items()}
    full = {name: stalls[name].full or 0.0 for name in ("memory", "io")}
    some = {name: stall.some or 0.0 for name, stall in stalls.items()}
    worst = max(some, key=lambda name: some[name])
    said = f"tasks waited for {worst} {_of_the_time(some[worst])}"
    if full["memory"] > case.bound(_FULL_FAILS):
        said = f"all tasks waited for memory {_of_the_time(full['memory'])}"
        return Answer(
            Status.FAIL,
            said,
            measured=full["memory"],
            limit=case.bound(_FULL_FAILS),
            unit="share",
            evidence=evidence,
            severity=Severity.BLOCKING,
        )
    if full["io"] > case.bound(_FULL_FAILS):
        said = f"all tasks waited for io {_of_the_time(full['io'])}"
        return Answer(
            Status.FAIL, said, measured=full["io"], limit=case.bound(_FULL_FAILS), unit="share", evidence=evidence
        )
    if some[worst] > case.bound(_STALL_FAILS):
        return Answer(
            Status.FAIL, said, measured=some[worst], limit=case.bound(_STALL_FAILS), unit="share", evidence=evidence
        )
    silent = [name for name, stall in stalls.items() if stall.some is None or (stall.full is None and name != "cpu")]
    if silent:
        reason = case.why_unknown(f"{PRESSURE}/{silent[0]}", PRESSURE) + " (boot with psi=1)"
        return Answer(Status.UNKNOWN, "unknown", reason=reason, evidence=evidence)
    status = Status.PASS if some[worst] <= case.bound(_STALL_PASSES) else Status.WARN
    if status == Status.WARN:
        said += warns_and_fails(case.bound(_STALL_PASSES), case.bound(_STALL_FAILS), "share")
    return Answer(status, said, measured=some[worst], limit=case.bound(_STALL_FAILS), unit="share", evidence=evidence)


def _of_the_time(share: float) -> str:
    """Return the share as text, at most 100 %: counters and the interval's clock are not read at once."""
    return f"{min(share, 1.0):.1%} of the time"


_STEAL_FAILS = Limit(
    key="fails",
    name="steal on a target CPU that fails",
    value=0.005,
    unit="share",
    reason="half of what a benchmark tries to resolve",
    of_budget=BLOCKS_AT,
)


@check(
    id="hypervisor-steal",
    area="load",
    question="Are the target CPUs free of hypervisor steal?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=("/proc/stat (steal) over the sample, and over the calibration",),
    limits=(_STEAL_FAILS,),
    why=(
        "Time that the hypervisor gives to other guests shows in no other counter. No steal time proves nothing: many "
        "hypervisors never report any."
    ),
    remedy="Nothing inside the guest helps: use a dedicated host or another instance type, or measure again later.",
    sources=("https://docs.kernel.org/filesystems/proc.html",),
    asks_rates=True,
    tells_unsampled=True,
    answered_by="target-cpus-interrupted",
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def hypervisor_steal(case: Case) -> Answer:
    interval = case.interval or case.under_load
    if interval is None and case.snapshot.platform.virtual == NONE:
        return not_applicable("not a virtual machine")
    if interval is None:
        return unknown(case.why_no_sample)
    loads = {cpu: interval.load_by_cpu[cpu] for cpu in sorted(case.target) if cpu in interval.load_by_cpu}
    sampled = _steal_shares(case, interval)
    later = _steal_shares(case, case.under_load) if case.under_load is not None else {}
    steals = {cpu: effect(case, share, later.get(cpu)) for cpu, share in sampled.items()}
    worst = max(steals.values(), default=0.0)
    evidence = {
        "steal_share_by_cpu": {str(cpu): share for cpu, share in sampled.items()},
        "while_calibrating_share_by_cpu": {str(cpu): share for cpu, share in later.items()},
    }
    if case.snapshot.platform.virtual == NONE and worst == 0:
        return not_applicable("not a virtual machine")
    reason = _why_unmeasured(case, interval) if len(steals) < len(case.target) else None
    if reason is None and worst == 0 and not any(load.steal_since_boot_ns for load in loads.values()):
        return unknown("no steal time since boot: the hypervisor may not report it")
    is_much = worst > case.bound(_STEAL_FAILS)
    much = f"steal: {worst:.1%} of {{}}" + (f" {WHEN}" if worst in later.values() else "")
    return grade_cpus(
        case,
        steals,
        _STEAL_FAILS,
        said=lambda over: much.format(name_cpus(over)) if is_much else f"steal: {worst:.2%}",
        calm="no steal",
        evidence=evidence,
        why_unknown=reason,
        culprits=lambda over: _stealing(case, over) if is_much else (),
    )


def _stealing(case: Case, cpus: CpuSet) -> tuple[Disturbance, ...]:
    """Return the hypervisor's share on each CPU, from the worse of sample and calibration."""
    taken = [each for cpu in sorted(cpus) for found in case.intervals for each in disturbances_of(found, cpu)]
    most = {each.cpu: each for each in sorted(taken, key=lambda each: each.share or 0) if each.kind == Kind.OUTSIDE}
    return tuple(sorted(most.values(), key=lambda each: (-(each.share or 0.0), each.cpu)))


def _steal_shares(case: Case, interval: Interval) -> dict[int, float]:
    """Return the steal share by target CPU. An idle CPU loses nothing: steal shows when it works."""
    loads = {cpu: interval.load_by_cpu[cpu] for cpu in sorted(case.target) if cpu in interval.load_by_cpu}
    return {cpu: load.steal_ns / interval.length_ns for cpu, load in loads.items() if load.steal_ns is not None}
