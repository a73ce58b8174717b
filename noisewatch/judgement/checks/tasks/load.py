"""Area `load`: the load of the target CPUs, of the rest of the machine, of its users, and of noisewatch itself."""

from __future__ import annotations

from collections.abc import Mapping

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.answer import Answer, Limit, not_applicable, passing_and_failing, unknown, warns_and_fails
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.counted import untimed_reason
from noisewatch.judgement.effect import (
    BLOCKS_AT,
    WARNS_AT,
    WHEN,
    describe_observed,
    effect,
    effect_of_all,
    scale_culprit,
    share_while_calibrating,
    shares_while_calibrating,
    threads_while_calibrating,
)
from noisewatch.judgement.grading import by_cpu, grade_cpus
from noisewatch.judgement.programs import merge_many_threads
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.shared_caches import busiest_culprits, cache_neighbourhoods, cpus_without_cache
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.pressure import FOLDER as PRESSURE
from noisewatch.kernel.system.pressure import PATH as LOADAVG
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from noisewatch.kinds import Kind
from noisewatch.model.idle_probe import BUSY_SHARE
from noisewatch.model.interval.disturbance import Disturbance, disturbances_of
from noisewatch.model.interval.interrupt_counts import unchanged_reason
from noisewatch.model.interval.interval import Interval
from noisewatch.units import describe_count

_BUSY_PASSES, _BUSY_FAILS = passing_and_failing(
    "busy share of a target CPU",
    "share",
    passes=(0.01, "two ticks of 10 ms are 0.7% of a 3 s sample", WARNS_AT),
    fails=(BUSY_SHARE, "a benchmark that loses 5% of the CPU cannot resolve changes of 5%", BLOCKS_AT),
)
_MAX_CULPRITS = 5


@check(
    id="target-cpu-busy",
    area=Area.LOAD,
    question="Are the target CPUs idle before the benchmark starts?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=(
        "/proc/stat and /proc/schedstat over the sample",
        "/proc/PID/task/TID/schedstat over the sample and the calibration",
        "the kernel's trace of the calibration",
    ),
    limits=(_BUSY_PASSES, _BUSY_FAILS),
    why=(
        "Other work on a target CPU will compete with the benchmark; averages over the machine or over a minute "
        "hide such work."
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
    effect_by_cpu = {cpu: effect_of_all(case, cpu, share) or 0.0 for cpu, share in busy.items()}
    evidence = {
        "busy_share_by_cpu": by_cpu(busy),
        "share_of_others_while_calibrating_by_cpu": by_cpu(later),
    }
    worst = max(effect_by_cpu.values(), default=0.0)
    reason = _unmeasured_load_reason(case, interval) if None in busy.values() or not busy else None
    if reason is None and worst <= case.bound(_BUSY_PASSES):
        reason = untimed_reason(case, interval, case.target)
    return grade_cpus(
        case,
        effect_by_cpu,
        _BUSY_FAILS,
        _BUSY_PASSES,
        describe=lambda over: ", ".join(
            _describe_busy(cpu, effect_by_cpu[cpu], later[cpu], busy[cpu]) for cpu in sorted(over)
        ),
        calm=f"{worst:.1%} busy",
        evidence=evidence,
        unknown_reason=reason,
        culprits=lambda over: _busiest(case, interval, {cpu: effect_by_cpu[cpu] for cpu in over}),
    )


def _describe_busy(cpu: int, share: float, later: float | None, sampled: float | None) -> str:
    is_later, observed = (later or 0.0) > (sampled or 0.0), max(later or 0.0, sampled or 0.0)
    words = describe_observed(share, observed, is_later)
    return f"CPU {cpu} is {share:.1%} busy{' with others' if is_later else ''}{words}"


def _busiest(case: Case, interval: Interval, share_by_cpu: Mapping[int, float]) -> tuple[Disturbance, ...]:
    """Return the costliest culprits of each CPU.

    They are from the calibration if other tasks took more of the CPU then, else from the sample. Their shares are
    reduced by the ratio of the CPU's judged share to its observed share.
    """
    culprits: list[Disturbance] = []
    for cpu, share in share_by_cpu.items():
        sampled, shared = interval.busy_share(cpu) or 0.0, share_while_calibrating(case, cpu) or 0.0
        has_more_later, part = shared > sampled, min(share / max(sampled, shared, share), 1.0)
        later = [thread for thread in threads_while_calibrating(case) if thread.cpu == cpu] if has_more_later else []
        tasks = case.under_load.after.tasks if later and case.under_load is not None else interval.after.tasks
        sources = merge_many_threads(later or disturbances_of(interval, cpu), tasks, case.bound(_BUSY_PASSES))
        culprits += [scale_culprit(thread, part) for thread in sources[:_MAX_CULPRITS] if thread.share]
    return tuple(sorted(culprits, key=lambda culprit: -(culprit.share or 0.0)))


def _unmeasured_load_reason(case: Case, interval: Interval) -> str:
    missing = sorted(cpu for cpu in case.target if cpu not in interval.load_by_cpu)
    if interval.before.cpu_time is None or interval.after.cpu_time is None:
        return case.unread_reason("/proc/stat")
    if not case.target:
        return NO_TARGET
    return f"/proc/stat: the time of {name_cpus(missing)} did not advance, ran backwards or is missing"


_STALL_PASSES, _STALL_FAILS = passing_and_failing(
    "share of time with a task waiting",
    "share",
    passes=(0.005, "an idle machine shows less"),
    fails=(0.05, "tasks that wait so much compete for the resource"),
)
_FULL_FAILS = Limit(
    key="full-fails",
    name="share of time with all tasks waiting for memory or I/O",
    value=0.01,
    unit="share",
    reason="a benchmark would wait too",
)


@check(
    id="pressure-stall",
    area=Area.LOAD,
    question="Is anything waiting for CPU, memory or I/O?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    reads=tuple(f"{PRESSURE}/{resource} over the sample" for resource in ("cpu", "memory", "io")),
    limits=(_STALL_PASSES, _STALL_FAILS, _FULL_FAILS),
    why=(
        "Pressure stall information (PSI) counts the time that tasks waited, including spikes that averages hide. "
        "If all tasks wait for memory, a benchmark would reclaim memory instead of running, so the failure blocks."
    ),
    remedy="Stop the programs that compete; boot with psi=1 if PSI is switched off.",
    sources=("https://docs.kernel.org/accounting/psi.html",),
    asks_rates=True,
)
def pressure_stall(case: Case) -> Answer:
    interval = case.sample
    stalls = interval.stall_by_resource
    graded = case.graded(
        evidence={name: {"some_share": stall.some, "full_share": stall.full} for name, stall in stalls.items()}
    )
    full = {name: stalls[name].full or 0.0 for name in ("memory", "io")}
    some = {name: stall.some or 0.0 for name, stall in stalls.items()}
    worst = max(some, key=lambda name: some[name])
    text = f"tasks waited for {worst} {_time_share_text(some[worst])}"
    if full["memory"] > case.bound(_FULL_FAILS):
        text = f"all tasks waited for memory {_time_share_text(full['memory'])}"
        return graded.by(_FULL_FAILS, full["memory"]).fails(text, severity=Severity.BLOCKING)
    if full["io"] > case.bound(_FULL_FAILS):
        text = f"all tasks waited for io {_time_share_text(full['io'])}"
        return graded.by(_FULL_FAILS, full["io"]).fails(text)
    if some[worst] > case.bound(_STALL_FAILS):
        return graded.by(_STALL_FAILS, some[worst]).fails(text)
    unreadable = [
        name for name, stall in stalls.items() if stall.some is None or (stall.full is None and name != "cpu")
    ]
    if unreadable:
        return graded.unknown(case.unread_reason(f"{PRESSURE}/{unreadable[0]}", PRESSURE) + " (boot with psi=1)")
    status = Status.PASS if some[worst] <= case.bound(_STALL_PASSES) else Status.WARN
    if status == Status.WARN:
        text += warns_and_fails(case.bound(_STALL_PASSES), case.bound(_STALL_FAILS), "share")
    return graded.by(_STALL_FAILS, some[worst]).answer(status, text)


def _time_share_text(share: float) -> str:
    """Return the share as text, at most 100%, because the counters are not read at the same time as the clock."""
    return f"{min(share, 1.0):.1%} of the time"


_STEAL_FAILS = Limit(
    key="fails",
    name="steal on a target CPU that fails",
    value=0.005,
    unit="share",
    reason="half of the budget: results with and without this loss of time would differ by that much",
    of_budget=BLOCKS_AT,
)


@check(
    id="hypervisor-steal",
    area=Area.LOAD,
    question="Are the target CPUs free of hypervisor steal?",
    severity=Severity.BLOCKING,
    ground=Ground.EFFECT,
    reads=("/proc/stat (steal) over the sample, and over the calibration",),
    limits=(_STEAL_FAILS,),
    why=(
        "No other counter shows the time that the hypervisor gives to other guests. A steal time that was "
        "0 ever since boot proves nothing, because many hypervisors never report any."
    ),
    remedy="Nothing inside the guest helps: use a dedicated host or another instance type, or measure again later.",
    sources=("https://docs.kernel.org/filesystems/proc.html",),
    asks_rates=True,
    runs_unsampled=True,
    answered_by="target-cpus-interrupted",
    is_hidden_from_guests=True,
    covers_calibration=True,
)
def hypervisor_steal(case: Case) -> Answer:
    interval = case.interval or case.under_load
    if interval is None and case.snapshot.platform.virtual == NONE:
        return not_applicable("not a virtual machine")
    if interval is None:
        return unknown(case.no_sample_text)
    loads = {cpu: interval.load_by_cpu[cpu] for cpu in sorted(case.target) if cpu in interval.load_by_cpu}
    sampled = _steal_shares(case, interval)
    later = _steal_shares(case, case.under_load) if case.under_load is not None else {}
    steals = {cpu: effect(case, share, later.get(cpu)) for cpu, share in sampled.items()}
    worst = max(steals.values(), default=0.0)
    evidence = {"steal_share_by_cpu": by_cpu(sampled), "while_calibrating_share_by_cpu": by_cpu(later)}
    if case.snapshot.platform.virtual == NONE and worst == 0:
        return not_applicable("not a virtual machine")
    reason = _unmeasured_load_reason(case, interval) if len(steals) < len(case.target) else None
    if reason is None and worst == 0 and not any(load.steal_since_boot_ns for load in loads.values()):
        return unknown("no steal time was counted since boot, so the hypervisor may not report it")
    is_over_limit = worst > case.bound(_STEAL_FAILS)
    when = f" {WHEN}" if worst in later.values() else ""
    return grade_cpus(
        case,
        steals,
        _STEAL_FAILS,
        describe=lambda over: (
            f"steal: {worst:.1%} of {name_cpus(over)}{when}" if is_over_limit else f"steal: {worst:.2%}"
        ),
        calm="no steal",
        evidence=evidence,
        unknown_reason=reason,
        culprits=lambda over: _steal_culprits(case, over) if is_over_limit else (),
    )


def _steal_culprits(case: Case, cpus: CpuSet) -> tuple[Disturbance, ...]:
    """Return the hypervisor's share on each CPU, from the worse of sample and calibration."""
    disturbances = [
        disturbance
        for cpu in sorted(cpus)
        for interval in case.intervals
        for disturbance in disturbances_of(interval, cpu)
    ]
    largest_by_cpu = {
        disturbance.cpu: disturbance
        for disturbance in sorted(disturbances, key=lambda disturbance: disturbance.share or 0)
        if disturbance.kind == Kind.OUTSIDE
    }
    return tuple(
        sorted(largest_by_cpu.values(), key=lambda disturbance: (-(disturbance.share or 0.0), disturbance.cpu))
    )


def _steal_shares(case: Case, interval: Interval) -> dict[int, float]:
    """Return the steal share by target CPU. Steal is counted only while a CPU has work to do."""
    loads = {cpu: interval.load_by_cpu[cpu] for cpu in sorted(case.target) if cpu in interval.load_by_cpu}
    return {cpu: load.steal_ns / interval.length_ns for cpu, load in loads.items() if load.steal_ns is not None}


_PROC_DOC = "https://docs.kernel.org/filesystems/proc.html"

_OTHERS_PASS = Limit(
    *("passes", "mean busy share of the other CPUs that passes", 0.10, "share", "less is typical for idle services"),
    value_in={STRICT: 0.05},
)
_OTHERS_FAIL = Limit(
    *("fails", "mean busy share of the other CPUs that fails", 0.30, "share", "more means that other work is running"),
    value_in={STRICT: 0.10},
)
_VISIBLE = 0.05  # CPUs with a smaller busy share are not named


@check(
    id="other-cpus-busy",
    area=Area.LOAD,
    question="Are the CPUs outside the target's cores and caches quiet?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={STRICT: Severity.BLOCKING},
    reads=("/proc/stat over the sample", f"{CPUS}/cpuN/cache/indexN/shared_cpu_list"),
    limits=(_OTHERS_PASS, _OTHERS_FAIL),
    why=(
        "Other sockets and clusters share memory, power and kernel locks with the target CPUs, and their tasks may "
        "move. Siblings and cache neighbours of the target CPUs have their own checks."
    ),
    remedy="Stop the programs on the other CPUs, or wait until they end.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def other_cpus_busy(case: Case) -> Answer:
    interval = case.sample
    if case.snapshot.online.online is None:
        return case.unread(f"{CPUS}/online")
    others = _cpus_beyond_caches(case)
    if not others:
        return case.graded().passes("no other CPU is outside the target's cores and caches, which other checks judge")
    busy = {cpu: interval.busy_share(cpu) for cpu in sorted(others)}
    busy_by_cpu = {cpu: share for cpu, share in busy.items() if share is not None}
    mean = sum(busy_by_cpu.values()) / len(busy)
    observed = case.graded(evidence={"busy_share_by_cpu": by_cpu(busy)})
    graded = observed.by(_OTHERS_FAIL, mean)
    working = frozenset(cpu for cpu, share in busy_by_cpu.items() if share > _VISIBLE)
    text = f"the {len(others)} other CPUs are {mean:.1%} busy" + (f", most on {name_cpus(working)}" if working else "")
    bound = case.bound(_OTHERS_FAIL)
    if mean > bound:
        return graded.fails(text, cpus=working, culprits=busiest_culprits(interval, others))
    reason = untimed_reason(case, interval, others)
    if len(busy_by_cpu) < len(busy) or reason is not None:
        return observed.unknown(reason or case.unread_reason("/proc/stat"))
    if mean > case.bound(_OTHERS_PASS):
        text += warns_and_fails(case.bound(_OTHERS_PASS), bound, "share")
        return graded.warns(text, cpus=working, culprits=busiest_culprits(interval, others))
    return graded.passes(text)


def _cpus_beyond_caches(case: Case) -> CpuSet:
    """Return the CPUs outside the target's cores and, if all of the target's caches are known, outside these caches."""
    if cpus_without_cache(case):  # other checks may not judge the CPUs that share a cache
        return case.running - case.target - case.siblings
    caches = set(cache_neighbourhoods(case).values())
    known_caches = [cache for cache in caches if cache is not None]
    near = frozenset().union(*known_caches) if len(known_caches) == len(caches) else frozenset()
    return case.running - case.target - case.siblings - near


_QUEUE_FAILS = Limit(
    *("fails", "runnable tasks per CPU outside the target", 1.0, "tasks", "one more task would need a target CPU")
)


@check(
    id="run-queue-full",
    area=Area.LOAD,
    question="Are there enough other CPUs for all runnable tasks?",
    severity=Severity.INFORMATION,
    reads=(f"{LOADAVG} (the fourth field) before and after the sample",),
    limits=(_QUEUE_FAILS,),
    why=(
        "Tasks that find no free CPU wait, or run on a target CPU. They are counted at two instants, and the smaller "
        "count decides. How long tasks wait is measured by pressure-stall."
    ),
    remedy="Wait until the running tasks end, or stop them.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def run_queue_full(case: Case) -> Answer:
    moments = (case.sample.before.background.load_average, case.sample.after.background.load_average)
    counts = [moment.runnable for moment in moments if moment is not None]
    if len(counts) < len(moments):
        return case.unread(LOADAVG)
    if case.snapshot.online.online is None:
        return case.unread(f"{CPUS}/online")
    others = max(min(counts) - 1, 0)  # noisewatch itself is runnable while it reads the file
    cpus = len(case.online - case.target) or len(case.online)
    bound = case.bound(_QUEUE_FAILS) * cpus
    text = f"{describe_count(others, 'runnable task')} for {describe_count(cpus, 'CPU')} (the smaller of two counts)"
    graded = case.graded(measured=others, limit=bound, unit="tasks", evidence={"runnable": counts, "cpus": cpus})
    return graded.fails(text) if others > bound else graded.passes(text)


_AVERAGE = Limit(
    key="passes",
    name="load average per CPU",
    value=0.5,
    unit="tasks",
    reason="at this load, half of the CPUs are in use",
)


@check(
    id="load-average-high",
    area=Area.LOAD,
    question="Was the machine quiet during the last minute?",
    severity=Severity.INFORMATION,
    reads=(LOADAVG,),
    limits=(_AVERAGE,),
    reads_counters=True,
    why=(
        "The load average is shown for context only. It lags by a minute or more, still includes a build that has "
        "just ended, and counts tasks that wait for a disk. Do not rely on it."
    ),
    remedy="Wait, or rely on the checks that take a sample: they show the current load.",
    sources=(_PROC_DOC,),
)
def load_average_high(case: Case) -> Answer:
    average = case.snapshot.background.load_average
    if average is None:
        return case.unread(LOADAVG)
    if case.snapshot.online.online is None:
        return case.unread(f"{CPUS}/online")
    bound = case.bound(_AVERAGE) * len(case.online)
    evidence = {
        "over_1_min": average.over_1_min,
        "over_5_min": average.over_5_min,
        "over_15_min": average.over_15_min,
        "cpus": len(case.online),
    }
    trend = "rising" if average.over_1_min > average.over_5_min else "falling"
    text = f"{average.over_1_min:g}, {average.over_5_min:g} and {average.over_15_min:g} over 1, 5 and 15 minutes"
    graded = case.graded(measured=average.over_1_min, limit=bound, unit="tasks", evidence=evidence)
    return graded.warns(f"{text}: {trend}") if average.over_1_min > bound else graded.passes(text)


_OWN_PASSES, _OWN_FAILS = passing_and_failing(
    "noisewatch's share of a target CPU",
    "share",
    passes=(0.005, "a few snapshots in the sample take less"),
    fails=(0.02, "more than many real culprits take"),
)


@check(
    id="own-load-on-target",
    area=Area.LOAD,
    question="Does noisewatch leave the target CPUs alone?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=("/proc/PID/task/TID/schedstat of noisewatch over the sample",),
    limits=(_OWN_PASSES, _OWN_FAILS),
    why=(
        "noisewatch takes CPU time too. All other figures leave it out, but if it has no other CPU to run on, it "
        "disturbs a benchmark."
    ),
    remedy="Choose fewer target CPUs to leave one to noisewatch, and watch less often.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def own_load_on_target(case: Case) -> Answer:
    interval = case.sample
    before, after = interval.before.tasks, interval.after.tasks
    own_pids = interval.after.own_pids
    if before is None or after is None:
        return case.unread("/proc/PID")
    observed_pids = own_pids & before.by_tid.keys() & after.by_tid.keys()
    if own_pids and not observed_pids:
        return unknown("noisewatch cannot see itself: /proc shows another PID namespace")
    timed = [pid for pid in observed_pids & after.read_pids if after.by_tid[pid].waited_ns is not None]
    if timed and not interval.own_cpus:
        return unknown(unchanged_reason(f"/proc/{min(timed)}/schedstat"))
    share_by_cpu = {cpu: interval.own_ns(cpu) / interval.length_ns for cpu in sorted(case.target)}
    worst = max(share_by_cpu.values(), default=0.0)
    evidence = {"own_share_by_cpu": by_cpu(share_by_cpu), "own_share_of_one_cpu": interval.own_cpus}
    cpus = frozenset(cpu for cpu, share in share_by_cpu.items() if share > case.bound(_OWN_PASSES))
    text = (
        f"noisewatch took {worst:.1%} of {name_cpus(cpus)}"
        if cpus
        else f"noisewatch took {worst:.1%} of a target CPU at most"
    )
    status = Status.FAIL if worst > case.bound(_OWN_FAILS) else Status.WARN if cpus else Status.PASS
    return case.graded(cpus=cpus, evidence=evidence).by(_OWN_FAILS, worst).answer(status, text)


_USERS = Limit(key="fails", name="logged-in users", value=1, unit="users", reason="another user may start something")


@check(
    id="other-users-logged-in",
    area=Area.LOAD,
    question="Are you the only logged-in user?",
    severity=Severity.INFORMATION,
    reads=(f"{SESSIONS}: /run/utmp, or /run/systemd/sessions",),
    limits=(_USERS,),
    why="Other users do not know that a benchmark is running; their next command may come at any time.",
    remedy="Ask the other users to wait, or reserve the machine.",
    sources=("https://www.freedesktop.org/software/systemd/man/latest/systemd-logind.service.html",),
)
def other_users_logged_in(case: Case) -> Answer:
    sessions = case.snapshot.settings.sessions
    if sessions.users is None or sessions.sessions is None:
        return case.unread(SESSIONS)
    text = f"{describe_count(sessions.users, 'user')} in {describe_count(sessions.sessions, 'session')}"
    evidence = {"sessions": sessions.sessions, "users": sessions.users}
    graded = case.graded(evidence=evidence).by(_USERS, sessions.users)
    if sessions.users > case.bound(_USERS):
        return graded.fails(text)
    if case.snapshot.platform.container != NONE:
        return unknown(f"{text}, but {case.container_words} cannot see who uses the machine")
    return graded.passes(text)
