"""Areas `quota`, `virtual` and `kernel`: CPU quotas of the benchmark's cgroups, and its scheduling priority."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.answer import MINIMUM, Answer, Graded, Limit, unknown
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import Action, run_command, write
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.grading import knob_fix, unread
from noisewatch.judgement.terms import FLOOR_CHECK, Area, Ground, Severity
from noisewatch.kernel.cgroup.bandwidth import UNCLAMPED, UNLIMITED, Cgroup, CgroupLevel, CpuWeight, CpuWeights
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP, MOUNT_ROOTS
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.mounts import OWN_MOUNTS
from noisewatch.kernel.system.release import release_number
from noisewatch.kernel.tasks.own_process import STAT, Scheduling
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.interval.interrupt_counts import unchanged_reason
from noisewatch.model.interval.interval import Throttle, uncounted_between
from noisewatch.text import clean
from noisewatch.units import describe_count, describe_ns

_NICE = Limit(
    key="nice",
    name="nice value that passes",
    value=0,
    unit="nice",
    reason="each step above 0 costs about a fifth of the weight",
)
_WEIGHT = Limit(
    key="weight",
    name="cgroup weight that passes",
    value=1.0,
    unit="of the default",
    reason="other groups have the default weight, and get more CPU time than a group with less",
)
_LOWERED_BY_POLICY = {3: "batch", 5: "idle"}  # in linux/sched.h
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 6: "deadline", 7: "ext"} | _LOWERED_BY_POLICY
_DEFAULT_NICE = 0


@check(
    id="priority-lowered",
    area=Area.VIRTUAL,
    question="Will the benchmark get the same scheduling weight as other tasks?",
    severity=Severity.WARNING,
    reads=(
        STAT,
        MEMBERSHIP,
        "cpu.weight, cpu.idle, cpu.uclamp.max (v2), cpu.shares (v1), from this cgroup up to the root",
    ),
    limits=(_NICE, _WEIGHT),
    why=(
        "A benchmark started from here inherits the nice value, the scheduling policy and the cgroup. CI runners, "
        "containers and services often lower these silently: other runnable tasks then get more of the CPU, and a "
        "utilization clamp keeps the frequency low."
    ),
    remedy="Start the benchmark from a shell or a service with the usual priority: Nice=0, CPUWeight=100.",
    sources=(
        "https://man7.org/linux/man-pages/man7/sched.7.html",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files",
    ),
    asks_starter=True,
)
def priority_lowered(case: Case) -> Answer:
    own, weights = case.snapshot.settings.own.scheduling, case.snapshot.settings.cpu_weights
    levels = weights.levels if weights is not None else ()
    graded = case.graded(
        evidence={
            "nice": None if own is None else own.nice,
            "policy": None if own is None else _POLICIES.get(own.policy, str(own.policy)),
            "cgroups": {
                level.folder: {"weight": level.weight, "idle": level.is_idle, "uclamp_max_percent": level.clamp_percent}
                for level in levels
            },
        }
    )
    grave = [*_lowered_policy(own), *(f"{clean(level.folder)} is idle" for level in levels if level.is_idle)]
    slight = _lowered_weights(case, weights)
    if own is not None and own.nice > case.bound(_NICE):
        slight.insert(0, f"the nice value is {own.nice}")
    if grave or slight:
        text, fix = "; ".join([*grave, *slight]), _fix(case, weights)
        if grave:
            return graded.fails(text, fix=fix)
        return graded.warns(text, reason=_unread_priority_reason(case, own, weights), fix=fix)
    reason = _unread_priority_reason(case, own, weights)
    if own is None or weights is None or reason is not None:
        return unknown(reason or "unknown")
    if not weights.reaches_root:
        return unknown("the weight of this container cannot be seen from inside")
    return graded.passes(f"nice {own.nice}, and no cgroup lowers the weight")


def _unread_priority_reason(case: Case, own: Scheduling | None, weights: CpuWeights | None) -> str | None:
    """Return why the priority may be lower than the values that were read, or None if all were read."""
    if own is None:
        return case.unread_reason(STAT)
    unknown_level = (
        next((level for level in weights.levels if not level.is_known), None) if weights is not None else None
    )
    if weights is None or unknown_level is not None:
        return case.unread_reason(
            unknown_level.folder if unknown_level is not None else MEMBERSHIP, "/proc/self/mounts"
        )
    return None


def _lowered_policy(own: Scheduling | None) -> list[str]:
    policy = _LOWERED_BY_POLICY.get(own.policy) if own is not None else None
    return [] if policy is None else [f"the scheduling policy is {policy}"]


def _lowered_weights(case: Case, weights: CpuWeights | None) -> list[str]:
    """Return the cgroups with a lowered weight or clamp, as text. Idle groups have no weight."""
    text = []
    for level in weights.levels if weights is not None else ():
        if weights is not None and _is_light(case, weights, level) and not level.is_idle:
            text.append(f"{clean(level.folder)} has {weights.file} {level.weight} (default {weights.default})")
        if level.clamp_percent is not None and level.clamp_percent < UNCLAMPED:
            text.append(f"{clean(level.folder)} is clamped to {level.clamp_percent:g}% of the capacity")
    return text


def _is_light(case: Case, weights: CpuWeights, level: CpuWeight) -> bool:
    return level.weight is not None and level.weight < case.bound(_WEIGHT) * weights.default


def _fix(case: Case, weights: CpuWeights | None) -> Fix:
    """Return the fix, with undo, that gives the parent process (usually the shell) and its cgroups normal priority."""
    actions: list[Action] = _raise_parent(case)
    for level in weights.levels if weights is not None else ():
        if weights is not None and _is_light(case, weights, level) and not level.is_idle:
            actions.append(write(f"{level.folder}/{weights.file}", weights.default, level.weight))
        if level.is_idle:
            actions.append(write(f"{level.folder}/cpu.idle", 0, 1))
        if level.clamp_percent is not None and level.clamp_percent < UNCLAMPED:
            actions.append(write(f"{level.folder}/cpu.uclamp.max", "max", f"{level.clamp_percent:.2f}"))
    by_hand = ByHand("start the benchmark with Nice=0 and CPUWeight=100, or without nice")
    return Fix(tuple(actions), (by_hand,))


def _raise_parent(case: Case) -> list[Action]:
    """Return the actions that restore the parent process's priority; none if only this process's priority was lowered.

    In that case the next process that the shell starts has normal priority.
    """
    parent = case.snapshot.settings.own.parent
    if parent is None or parent.pid in {1, *case.snapshot.own_pids}:
        return []
    actions: list[Action] = []
    pid, nice, policy = parent.pid, parent.scheduling.nice, _LOWERED_BY_POLICY.get(parent.scheduling.policy)
    if policy is not None:
        actions.append(run_command(f"chrt --other -p 0 {pid}", f"chrt --{policy} -p 0 {pid}"))
    if nice > case.bound(_NICE):
        actions.append(run_command(f"renice -n {_DEFAULT_NICE} -p {pid}", f"renice -n {nice} -p {pid}"))
    return actions


_ONLY_FOR_STARVING_SINCE = (6, 12)


@check(
    id="real-time-work-throttled",
    area=Area.KERNEL,
    question="May real-time tasks run without being throttled?",
    severity=Severity.INFORMATION,
    reads=(Knob.REALTIME_RUNTIME, Knob.REALTIME_PERIOD, "/proc/config.gz (CONFIG_RT_GROUP_SCHED)"),
    why=(
        "A benchmark that spins with real-time priority is stopped for part of each period, by default for 50 ms in "
        "each second. Since Linux 6.12 this happens only if other tasks starve, or in groups with a limit."
    ),
    remedy=(
        "Lift the limit while a real-time benchmark runs; a real-time thread that never sleeps can then lock up its "
        "CPU."
    ),
    sources=("https://docs.kernel.org/scheduler/sched-rt-group.html",),
)
def real_time_work_throttled(case: Case) -> Answer:
    knobs = case.snapshot.settings.knobs
    runtime_us, period_us = knobs.integer(Knob.REALTIME_RUNTIME), knobs.integer(Knob.REALTIME_PERIOD)
    if runtime_us is None:
        return unread(case, Knob.REALTIME_RUNTIME)
    evidence = {Knob.REALTIME_RUNTIME.value: runtime_us, Knob.REALTIME_PERIOD.value: period_us}
    graded = case.graded(measured=runtime_us, evidence=evidence)
    if period_us is None:
        return unread(case, Knob.REALTIME_PERIOD)
    if runtime_us > period_us:
        return unknown(f"{Knob.REALTIME_RUNTIME}: {runtime_us} is longer than the period, {period_us}")
    if runtime_us < 0 or runtime_us == period_us:
        return graded.passes("real-time tasks are never throttled")
    config, number = case.snapshot.platform.config, release_number(case.snapshot.platform.kernel)
    has_groups = None if config is None else config.is_set("RT_GROUP_SCHED")
    if number is not None and number >= _ONLY_FOR_STARVING_SINCE and has_groups is False:
        return graded.passes("real-time tasks are throttled only if others starve")
    text = f"real-time tasks are throttled after {runtime_us / 1000:g} of {period_us / 1000:g} ms"
    is_meant = case.calibrated is not None and case.calibrated.calibration.samples.is_realtime
    severity = Severity.WARNING if is_meant else None
    return graded.fails(text, fix=knob_fix(case, Knob.REALTIME_RUNTIME, -1), severity=severity)


@check(
    id="nice-value-confined-to-session",
    area=Area.KERNEL,
    question="Does a nice value apply across the whole machine?",
    severity=Severity.INFORMATION,
    reads=(Knob.AUTOGROUP, STAT),
    why=(
        "With autogroups every session gets an equal share, and a nice value ranks a task only within its own "
        "session: a benchmark started with nice -n -20 gains nothing over other sessions."
    ),
    remedy="Switch autogroups off, or do not use nice values.",
    sources=("https://man7.org/linux/man-pages/man7/sched.7.html",),
    asks_starter=True,
)
def nice_value_confined_to_session(case: Case) -> Answer:
    groups, scheduling = case.snapshot.settings.knobs.integer(Knob.AUTOGROUP), case.snapshot.settings.own.scheduling
    nice = None if scheduling is None else scheduling.nice
    if groups is None:
        return unread(case, Knob.AUTOGROUP)
    graded = case.graded(evidence={Knob.AUTOGROUP.value: groups, "nice": nice})
    if groups == 0:
        return graded.passes("there are no autogroups")
    if nice is None:
        return case.unread(STAT)
    if nice == 0:
        return graded.passes("no nice value is set", measured=nice)
    text = f"nice value {nice} counts only within this session"
    return graded.fails(text, measured=nice, fix=knob_fix(case, Knob.AUTOGROUP, 0))


_THROTTLED = Limit(
    key="fails",
    name="throttled periods in the sample or the calibration",
    value=0,
    unit="periods",
    reason="a throttled group stops for tens of milliseconds, with all of its threads",
)


@check(
    id="cpu-quota",
    area=Area.QUOTA,
    question="May the benchmark use its CPUs without a quota?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(
        MEMBERSHIP,
        MOUNT_ROOTS,
        "cpu.max and cpu.stat (v2), cpu.cfs_quota_us and cpu.stat (v1), from this cgroup up to the root",
    ),
    limits=(_THROTTLED,),
    reads_counters=True,
    why=(
        "A CPU quota lets a group run until the quota is used up, then stops the group for the rest of the period, "
        "usually 100 ms: some samples take many times as long. All threads of the group share the quota: a "
        "benchmark's helpers, the shell that starts it, and noisewatch, most of all during `noisewatch run`. Many "
        "containers and CI runners have a quota. Inside a container the outer groups are not visible; there the "
        "calibration gives the answer."
    ),
    answered_by=FLOOR_CHECK,
    remedy="Lift the CPU limit: docker without --cpus, a Kubernetes pod without a limit, a service without CPUQuota.",
    sources=(
        "https://docs.kernel.org/scheduler/sched-bwc.html",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html",
    ),
    covers_calibration=True,
)
def cpu_quota(case: Case) -> Answer:
    cgroup = case.snapshot.cgroup
    quota, needed = cgroup.cpu_quota_share, len(case.target)
    throttles = [throttle for interval in case.intervals for throttle in interval.throttles if throttle.ns != 0]
    evidence = {
        "quota_share": None if quota is None else ("none" if quota == UNLIMITED else quota),
        "known_quota_share": "none" if cgroup.known_quota_share == UNLIMITED else cgroup.known_quota_share,
        "limited_by": cgroup.limited_by,
        "own_cpus_in_sample": case.interval.own_cpus if case.interval is not None else None,
        "throttled_periods_since_start": cgroup.throttled_periods,
        "throttled_periods_in_sample": case.interval.throttled_periods if case.interval is not None else None,
        "throttled_by": {
            throttle.level.folder: {"periods": throttle.periods, "ns": throttle.ns} for throttle in throttles
        },
    }
    graded = case.graded(evidence=evidence)
    if throttles:
        return _throttled_answer(case, throttles, graded)
    fix = lift(cgroup.limited_by, cgroup.limit_text)
    too_few = case.graded(limit=needed, unit="CPUs", evidence=evidence, fix=fix, limit_role=MINIMUM)
    if cgroup.known_quota_share < needed:
        text = f"may use {cgroup.known_quota_share:g} of {needed} target CPUs ({cgroup.limited_by})"
        return too_few.fails(text, measured=cgroup.known_quota_share)
    inferred = _infer_throttling(case, graded)
    if inferred is not None:
        return inferred
    counts = [cgroup.throttled_periods, *(interval.throttled_periods for interval in case.intervals)]
    if quota is None or None in counts:
        reasons = [case.unread_reason(*_paths_of_unknown(cgroup)), *_long_stops_text(case)]
        return graded.unknown("; ".join(reasons))
    if quota != UNLIMITED:
        uncounted = _uncounted_cgroups(case)
        if uncounted:
            return graded.unknown(unchanged_reason(f"{uncounted[0].folder}/cpu.stat"))
        return too_few.warns(_shared_quota_text(case, quota), measured=quota)
    return graded.passes("no quota")


def _paths_of_unknown(cgroup: Cgroup) -> Iterator[str]:
    """Yield the files that may be the reason for an unknown quota, the likeliest first."""
    for level in cgroup.levels:
        if level.quota_share is None:
            yield from (f"{level.folder}/{file}" for file in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"))
        if level.throttling is None:
            yield f"{level.folder}/cpu.stat"
        if None in (level.quota_share, level.throttling):
            yield level.folder
    yield from (MEMBERSHIP, OWN_MOUNTS, MOUNT_ROOTS)


def _shared_quota_text(case: Case, quota: float) -> str:
    """Return text for a quota that suffices for the target CPUs, with what it leaves for the group's other threads."""
    target, left = len(case.target), quota - len(case.target)
    own = case.interval.own_cpus if case.interval is not None else 0.0
    noisewatch = f"noisewatch ({own:.1%} of a CPU)" if own else "noisewatch"
    return (
        f"a quota of {_cpus(quota)} leaves {_cpus(left) if left else 'nothing'} beyond the target's {_cpus(target)} "
        f"for the benchmark's other threads, its launcher and {noisewatch}"
    )


def _cpus(number: float) -> str:
    return f"{number:g} CPU{'s' if number != 1 else ''}"


def _uncounted_cgroups(case: Case) -> list[CgroupLevel]:
    """Return the cgroups whose quota applied to this process although their counters did not advance."""
    return [
        level
        for interval in case.intervals
        for level in uncounted_between(interval.before.cgroup.levels, interval.after.cgroup.levels, interval.length_ns)
    ]


def _throttled_answer(case: Case, throttles: list[Throttle], graded: Graded) -> Answer:
    """Return the failure for a quota that stopped threads in the sample or in the calibration."""
    worst = max(throttles, key=lambda throttle: (throttle.ns or 0, throttle.periods))
    periods = max(throttle.periods for throttle in throttles)
    text = f"throttled in {describe_count(periods, 'period')} ({worst.level.described})"
    level = worst.level
    fix = lift(level.folder, level.limit_text if level.quota_share != UNLIMITED else None)
    return graded.fails(text, measured=periods, limit=0, unit="periods", culprits=_culprits(case), fix=fix)


def _infer_throttling(case: Case, graded: Graded) -> Answer | None:
    """Return the failure if the calibration's stops point to a hidden quota, or None without such stops."""
    culprits = _culprits(case)
    if not culprits:
        return None
    worst = culprits[0]
    text = f"CPU {worst.cpu} lost {worst.share or 0.0:.1%} to {worst.name}"
    cpus = frozenset(culprit.cpu for culprit in culprits)
    return graded.fails(text, measured=worst.share, unit="share", cpus=cpus, culprits=culprits)


def _long_stops_text(case: Case) -> list[str]:
    """Return text on the long stops of the worst CPU, if there are any: too few to prove a quota."""
    stops = case.attribution.long_stops_by_cpu if case.attribution is not None else {}
    if not stops:
        return []
    worst = max(stops, key=lambda cpu: max(stops[cpu]))
    longest = describe_ns(max(stops[worst]))
    return [
        (
            f"the loop on CPU {worst} was stopped for {longest} at a time, as a quota would do: calibrate longer to be "
            "sure"
        )
    ]


def _culprits(case: Case) -> tuple[Disturbance, ...]:
    quotas = case.attribution.quota_by_cpu.values() if case.attribution is not None else ()
    return tuple(sorted(quotas, key=lambda quota: -(quota.share or 0.0)))


def lift(folder: str | None, limit_text: str | None) -> Fix | None:
    """Return the fix that removes the group's CPU quota, or None if the folder or the limit is unknown."""
    if folder is None or limit_text is None:
        return None
    is_version_2 = " " in limit_text  # the text of v2 includes the period; v1 has another file for the period
    name, unlimited = ("cpu.max", "max") if is_version_2 else ("cpu.cfs_quota_us", "-1")
    return Fix(
        (write(f"{folder}/{name}", unlimited, limit_text),),
        (ByHand("start the container or service without a CPU limit"),),
    )
