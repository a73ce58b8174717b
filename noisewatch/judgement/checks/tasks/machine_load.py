"""Area `load`: what the rest of the machine does, its users, and noisewatch itself."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.counted import why_untimed
from noisewatch.judgement.rules import STRICT
from noisewatch.judgement.shared_caches import busiest, cache_neighbourhoods, uncached
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.topology import CPUS
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.pressure import PATH as LOADAVG
from noisewatch.kernel.tasks.sessions import QUESTION as SESSIONS
from noisewatch.model.interval.interrupt_counts import stood_still

_PROC_DOC = "https://docs.kernel.org/filesystems/proc.html"

_OTHERS_PASS = Limit(
    *("passes", "mean busy share of the other CPUs that passes", 0.10, "share", "what services at rest add up to"),
    value_in={STRICT: 0.05},
)
_OTHERS_FAIL = Limit(
    *("fails", "mean busy share of the other CPUs that fails", 0.30, "share", "somebody else computes here as well"),
    value_in={STRICT: 0.10},
)
_VISIBLE = 0.05  # of a CPU: who is named among the others


@check(
    id="other-cpus-busy",
    area="load",
    question="Is the machine quiet beyond the cores and caches of the target CPUs?",
    severity=Severity.WARNING,
    severity_in={STRICT: Severity.BLOCKING},
    reads=("/proc/stat over the sample", f"{CPUS}/cpuN/cache/indexN/shared_cpu_list"),
    limits=(_OTHERS_PASS, _OTHERS_FAIL),
    why=(
        "Other sockets and clusters share memory, power and the kernel's locks with the target, and what runs there "
        "may move. Siblings and neighbours in the target's caches have checks of their own."
    ),
    remedy="Stop what runs there, or wait for it to end.",
    sources=(_PROC_DOC,),
    asks_rates=True,
)
def other_cpus_busy(case: Case) -> Answer:
    interval = case.sample
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    others = _beyond_the_caches(case)
    if not others:
        return Answer(Status.PASS, "all other CPUs share a cache or a core with the target, and are judged there")
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
        said += f" (passes up to {case.bound(_OTHERS_PASS):.0%})"
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
    """The other CPUs, less those in the target's caches where all of these are known."""
    if uncached(case):  # who shares one cannot be known to be judged there
        return case.running - case.target - case.siblings
    caches = set(cache_neighbourhoods(case).values())
    known = [cache for cache in caches if cache is not None]
    near = frozenset().union(*known) if len(known) == len(caches) else frozenset()
    return case.running - case.target - case.siblings - near


_QUEUE_FAILS = Limit(
    *("fails", "runnable tasks for each CPU that is no target", 1.0, "tasks", "the next one has no CPU but a target's")
)


@check(
    id="run-queue-full",
    area="load",
    question="Are there fewer runnable tasks than CPUs to take them?",
    severity=Severity.INFORMATION,
    reads=(f"{LOADAVG} (the fourth field) before and after the sample",),
    limits=(_QUEUE_FAILS,),
    why=(
        "Tasks that find no free CPU wait for one, or go to a target. The count is of an instant, so that what counts "
        "here is the smaller of two; how long tasks wait is what pressure-stall measures."
    ),
    remedy="Wait until what runs has ended, or stop it.",
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
    key="passes", name="load average for each CPU", value=0.5, unit="tasks", reason="half of the machine was in use"
)


@check(
    id="load-average-high",
    area="load",
    question="Was the machine quiet in the last minute?",
    severity=Severity.INFORMATION,
    reads=(LOADAVG,),
    limits=(_AVERAGE,),
    why=(
        "Three familiar numbers, for context: they follow what happened with a delay of a minute and more, and count "
        "the build that ended just now, and tasks that wait for a disk. Nothing should depend on them."
    ),
    remedy="Wait, or believe the sample, which is of now.",
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
    name="own share of a target CPU that passes",
    value=0.005,
    unit="share",
    reason="a few snapshots in the sample",
)
_OWN_FAILS = Limit(
    key="fails",
    name="own share of a target CPU that fails",
    value=0.02,
    unit="share",
    reason="more than many a real disturbance",
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
        "What measures takes time as well. Its own is left out of all other figures; where it has no other CPU to run "
        "on, a benchmark would feel it all the same."
    ),
    remedy="Choose fewer target CPUs, so that one is left for noisewatch, and watch less often.",
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
        return unknown("noisewatch did not see itself: it was given the numbers of another namespace")
    own_ns = sum(run.ran_ns for run in interval.runs if run.is_own)
    timed = [pid for pid in seen_pids & after.read_pids if after.by_tid[pid].waited_ns is not None]
    if timed and not own_ns:
        return unknown(stood_still(f"/proc/{min(timed)}/schedstat"))
    share_by_cpu = {cpu: interval.own_ns(cpu) / interval.length_ns for cpu in sorted(case.target)}
    worst = max(share_by_cpu.values(), default=0.0)
    evidence = {
        "own_share_by_cpu": {str(cpu): share for cpu, share in share_by_cpu.items()},
        "own_share_of_one_cpu": own_ns / interval.length_ns,
    }
    bound = case.bound(_OWN_FAILS)
    cpus = frozenset(cpu for cpu, share in share_by_cpu.items() if share > case.bound(_OWN_PASSES))
    said = f"noisewatch took {worst:.1%} of {name_cpus(cpus)}" if cpus else "noisewatch ran elsewhere"
    status = Status.FAIL if worst > bound else Status.WARN if cpus else Status.PASS
    return Answer(status, said, measured=worst, limit=bound, unit="share", cpus=cpus, evidence=evidence)


_USERS = Limit(
    key="fails",
    name="users that are logged in",
    value=1,
    unit="users",
    reason="whoever else is there may start something",
)


@check(
    id="other-users-logged-in",
    area="load",
    question="Are you the only user who is logged in?",
    severity=Severity.INFORMATION,
    reads=(f"{SESSIONS}: /run/utmp, or /run/systemd/sessions",),
    limits=(_USERS,),
    why="The others do not know that somebody measures, and their next command may come at any time.",
    remedy="Ask them, or reserve the machine.",
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
        return unknown(f"{said}, but {case.container_words} does not see who uses the machine")
    return Answer(status, said, measured=sessions.users, limit=case.bound(_USERS), unit="users", evidence=evidence)
