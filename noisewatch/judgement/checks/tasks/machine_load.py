"""Area `load`: the load of the rest of the machine, of its users, and of noisewatch itself."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.counted import why_untimed
from noisewatch.judgement.limit_words import warns_and_fails
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.shared_caches import busiest, cache_neighbourhoods, uncached
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.pressure import PATH as LOADAVG
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from noisewatch.model.interval.interrupt_counts import stood_still

_PROC_DOC = "https://docs.kernel.org/filesystems/proc.html"

_OTHERS_PASS = Limit(
    *("passes", "mean busy share of the other CPUs that passes", 0.10, "share", "typical for idle services"),
    value_in={STRICT: 0.05},
)
_OTHERS_FAIL = Limit(
    *("fails", "mean busy share of the other CPUs that fails", 0.30, "share", "other work is running here"),
    value_in={STRICT: 0.10},
)
_VISIBLE = 0.05  # share of a CPU from which another process is named


@check(
    id="other-cpus-busy",
    area="load",
    question="Are the CPUs outside the target's cores and caches quiet?",
    severity=Severity.WARNING,
    ground=Ground.EFFECT,
    severity_in={STRICT: Severity.BLOCKING},
    reads=("/proc/stat over the sample", f"{CPUS}/cpuN/cache/indexN/shared_cpu_list"),
    limits=(_OTHERS_PASS, _OTHERS_FAIL),
    why=(
        "Other sockets and clusters share memory, power and kernel locks with the target CPUs, and what runs there "
        "may move. Siblings and cache neighbours of the target CPUs have their own checks."
    ),
    remedy="Stop what runs there, or wait until it ends.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def other_cpus_busy(case: Case) -> Answer:
    interval = case.sample
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    others = _beyond_the_caches(case)
    if not others:
        return Answer(Status.PASS, "all other CPUs share a cache or a core with a target CPU; other checks judge them")
    busy = {cpu: interval.busy_share(cpu) for cpu in sorted(others)}
    known = {cpu: share for cpu, share in busy.items() if share is not None}
    mean = sum(known.values()) / len(busy)
    evidence = {"busy_share_by_cpu": {str(cpu): share for cpu, share in busy.items()}}
    working = frozenset(cpu for cpu, share in known.items() if share > _VISIBLE)
    said = f"the {len(others)} other CPUs are {mean:.1%} busy" + (f", most on {name_cpus(working)}" if working else "")
    bound = case.bound(_OTHERS_FAIL)
    if mean > bound:
        return Answer(
            Status.FAIL,
            said,
            measured=mean,
            limit=bound,
            unit="share",
            cpus=working,
            evidence=evidence,
            culprits=busiest(interval, others),
        )
    why_untold = why_untimed(case, interval, others)
    if len(known) < len(busy) or why_untold is not None:
        return Answer(Status.UNKNOWN, "unknown", reason=why_untold or case.why_unknown("/proc/stat"), evidence=evidence)
    if mean > case.bound(_OTHERS_PASS):
        said += warns_and_fails(case.bound(_OTHERS_PASS), bound, "share")
        return Answer(
            Status.WARN,
            said,
            measured=mean,
            limit=bound,
            unit="share",
            cpus=working,
            evidence=evidence,
            culprits=busiest(interval, others),
        )
    return Answer(Status.PASS, said, measured=mean, limit=bound, unit="share", evidence=evidence)


def _beyond_the_caches(case: Case) -> CpuSet:
    """Return the other CPUs without those in the target's caches, if these caches are all known."""
    if uncached(case):  # whether other checks judge the CPUs that share a cache is unknown
        return case.running - case.target - case.siblings
    caches = set(cache_neighbourhoods(case).values())
    known = [cache for cache in caches if cache is not None]
    near = frozenset().union(*known) if len(known) == len(caches) else frozenset()
    return case.running - case.target - case.siblings - near


_QUEUE_FAILS = Limit(
    *("fails", "runnable tasks per CPU outside the target", 1.0, "tasks", "one more task would need a target CPU")
)


@check(
    id="run-queue-full",
    area="load",
    question="Are there enough other CPUs for all runnable tasks?",
    severity=Severity.INFORMATION,
    reads=(f"{LOADAVG} (the fourth field) before and after the sample",),
    limits=(_QUEUE_FAILS,),
    why=(
        "Tasks that find no free CPU wait, or run on a target CPU. The count is of an instant, so the smaller of two "
        "counts is used; pressure-stall measures how long tasks wait."
    ),
    remedy="Wait until the running tasks end, or stop them.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def run_queue_full(case: Case) -> Answer:
    moments = (case.sample.before.background.load_average, case.sample.after.background.load_average)
    seen = [moment.runnable for moment in moments if moment is not None]
    if len(seen) < len(moments):
        return unknown(case.why_unknown(LOADAVG))
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    others = max(min(seen) - 1, 0)  # noisewatch runs while it reads
    cpus = len(case.online - case.target) or len(case.online)
    bound = case.bound(_QUEUE_FAILS) * cpus
    said = f"at least {others} runnable tasks for {cpus} CPU{'s' if cpus != 1 else ''}, at both ends of the sample"
    evidence = {"runnable": seen, "cpus": cpus}
    return Answer(
        Status.FAIL if others > bound else Status.PASS,
        said,
        measured=others,
        limit=bound,
        unit="tasks",
        evidence=evidence,
    )


_AVERAGE = Limit(
    key="passes", name="load average per CPU", value=0.5, unit="tasks", reason="half of the CPUs were in use"
)


@check(
    id="load-average-high",
    area="load",
    question="Was the machine quiet during the last minute?",
    severity=Severity.INFORMATION,
    reads=(LOADAVG,),
    limits=(_AVERAGE,),
    why=(
        "Three familiar numbers, for context only: they lag by a minute or more, still count a build that has just "
        "ended, and include tasks that wait for a disk. Do not rely on them."
    ),
    remedy="Wait, or rely on the sample, which shows the present.",
    sources=(_PROC_DOC,),
)
def load_average_high(case: Case) -> Answer:
    average = case.snapshot.background.load_average
    if average is None:
        return unknown(case.why_unknown(LOADAVG))
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    bound = case.bound(_AVERAGE) * len(case.online)
    evidence = {
        "over_1_min": average.over_1_min,
        "over_5_min": average.over_5_min,
        "over_15_min": average.over_15_min,
        "cpus": len(case.online),
    }
    trend = "rising" if average.over_1_min > average.over_5_min else "falling"
    said = f"{average.over_1_min:g}, {average.over_5_min:g} and {average.over_15_min:g} over 1, 5 and 15 minutes"
    if average.over_1_min > bound:
        return Answer(
            Status.WARN, f"{said}: {trend}", measured=average.over_1_min, limit=bound, unit="tasks", evidence=evidence
        )
    return Answer(Status.PASS, said, measured=average.over_1_min, limit=bound, unit="tasks", evidence=evidence)


_OWN_PASSES = Limit(
    key="passes",
    name="noisewatch's share of a target CPU that passes",
    value=0.005,
    unit="share",
    reason="a few snapshots in the sample",
)
_OWN_FAILS = Limit(
    key="fails",
    name="noisewatch's share of a target CPU that fails",
    value=0.02,
    unit="share",
    reason="more than many real culprits take",
)


@check(
    id="own-load-on-target",
    area="load",
    question="Does noisewatch leave the target CPUs alone?",
    severity=Severity.INFORMATION,
    severity_in={STRICT: Severity.WARNING},
    reads=("/proc/PID/task/TID/schedstat of noisewatch over the sample",),
    limits=(_OWN_PASSES, _OWN_FAILS),
    why=(
        "noisewatch takes CPU time too. All other figures leave it out, but where it has no other CPU to run on, it "
        "disturbs a benchmark."
    ),
    remedy="Choose fewer target CPUs, so that noisewatch has one of its own, and watch less often.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def own_load_on_target(case: Case) -> Answer:
    interval = case.sample
    before, after = interval.before.tasks, interval.after.tasks
    own_pids = interval.after.own_pids
    if before is None or after is None:
        return unknown(case.why_unknown("/proc/PID"))
    seen_pids = own_pids & before.by_tid.keys() & after.by_tid.keys()
    if own_pids and not seen_pids:
        return unknown("noisewatch cannot see itself: /proc shows another PID namespace")
    timed = [pid for pid in seen_pids & after.read_pids if after.by_tid[pid].waited_ns is not None]
    if timed and not interval.own_cpus:
        return unknown(stood_still(f"/proc/{min(timed)}/schedstat"))
    share_by_cpu = {cpu: interval.own_ns(cpu) / interval.length_ns for cpu in sorted(case.target)}
    worst = max(share_by_cpu.values(), default=0.0)
    evidence = {
        "own_share_by_cpu": {str(cpu): share for cpu, share in share_by_cpu.items()},
        "own_share_of_one_cpu": interval.own_cpus,
    }
    bound = case.bound(_OWN_FAILS)
    cpus = frozenset(cpu for cpu, share in share_by_cpu.items() if share > case.bound(_OWN_PASSES))
    said = f"noisewatch took {worst:.1%} of {name_cpus(cpus)}" if cpus else "noisewatch ran on other CPUs"
    status = Status.FAIL if worst > bound else Status.WARN if cpus else Status.PASS
    return Answer(status, said, measured=worst, limit=bound, unit="share", cpus=cpus, evidence=evidence)


_USERS = Limit(
    key="fails",
    name="logged-in users",
    value=1,
    unit="users",
    reason="another user may start something",
)


@check(
    id="other-users-logged-in",
    area="load",
    question="Are you the only logged-in user?",
    severity=Severity.INFORMATION,
    reads=(f"{SESSIONS}: /run/utmp, or /run/systemd/sessions",),
    limits=(_USERS,),
    why="The others do not know that a benchmark is running; their next command may come at any time.",
    remedy="Ask them to wait, or reserve the machine.",
    sources=("https://www.freedesktop.org/software/systemd/man/latest/systemd-logind.service.html",),
)
def other_users_logged_in(case: Case) -> Answer:
    sessions = case.snapshot.settings.sessions
    if sessions.users is None or sessions.sessions is None:
        return unknown(case.why_unknown(SESSIONS))
    said = f"{sessions.users} users in {sessions.sessions} sessions"
    evidence = {"sessions": sessions.sessions, "users": sessions.users}
    status = Status.FAIL if sessions.users > case.bound(_USERS) else Status.PASS
    if status == Status.PASS and case.snapshot.platform.container != NONE:
        return unknown(f"{said}, but {case.container_words} cannot see who uses the machine")
    return Answer(status, said, measured=sessions.users, limit=case.bound(_USERS), unit="users", evidence=evidence)
