"""Area `quota`: the CPU limits of containers and service managers."""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.case import Case
from noisewatch.judgement.check import MINIMUM, Answer, Graded, Limit, check
from noisewatch.judgement.fixes.actions import write
from noisewatch.judgement.fixes.fix import ByHand, Fix
from noisewatch.judgement.terms import FLOOR_CHECK, Area, Ground, Severity
from noisewatch.kernel.cgroup.bandwidth import UNLIMITED, Cgroup, CgroupLevel
from noisewatch.kernel.cgroup.mounts import MEMBERSHIP, MOUNT_ROOTS
from noisewatch.kernel.system.mounts import OWN_MOUNTS
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.model.interval.interrupt_counts import stood_still
from noisewatch.model.interval.interval import Throttle, uncounted_between
from noisewatch.units import describe_count, describe_ns

_THROTTLED = Limit(
    key="fails",
    name="throttled periods in the sample",
    value=0,
    unit="periods",
    reason="each stops all threads of the group for tens of milliseconds",
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
        "A CPU quota lets a group run until it is used up, then stops it for the rest of the period, usually 100 ms: "
        "some samples take many times as long. All threads of the group share it: a benchmark's helpers, the shell "
        "that starts it, and noisewatch, above all while `noisewatch run` watches. Most containers and CI runners have "
        "one. From inside a container the outer groups cannot be seen; there the calibration answers."
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
    throttles = [throttle for interval in case.intervals for throttle in interval.throttles]
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
        return _throttled(case, throttles, graded)
    fix = lift(cgroup.limited_by, cgroup.limit_text)
    too_few = case.graded(limit=needed, unit="CPUs", evidence=evidence, fix=fix, limit_role=MINIMUM)
    if cgroup.known_quota_share < needed:
        text = f"may use {cgroup.known_quota_share:g} of {needed} target CPUs ({cgroup.limited_by})"
        return too_few.fails(text, measured=cgroup.known_quota_share)
    inferred = _looks_throttled(case, graded)
    if inferred is not None:
        return inferred
    counts = [cgroup.throttled_periods, *(interval.throttled_periods for interval in case.intervals)]
    if quota is None or None in counts:
        reasons = [case.why_unknown(*_paths_of_unknown(cgroup)), *_long_stops_said(case)]
        return graded.unknown("; ".join(reasons))
    if quota != UNLIMITED:
        uncounted = _uncounted(case)
        if uncounted:
            return graded.unknown(stood_still(f"{uncounted[0].folder}/cpu.stat"))
        return too_few.warns(_shared_quota(case, quota), measured=quota)
    return graded.passes("no quota")


def _paths_of_unknown(cgroup: Cgroup) -> Iterator[str]:
    """Yield the paths that may hold the reason why the quota is unknown, the likeliest first."""
    for level in cgroup.levels:
        if level.quota_share is None:
            yield from (f"{level.folder}/{file}" for file in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"))
        if level.throttling is None:
            yield f"{level.folder}/cpu.stat"
        if None in (level.quota_share, level.throttling):
            yield level.folder
    yield from (MEMBERSHIP, OWN_MOUNTS, MOUNT_ROOTS)


def _shared_quota(case: Case, quota: float) -> str:
    """Return text for a quota that covers the target CPUs alone, though all threads of the group use it."""
    target, left = len(case.target), quota - len(case.target)
    own = case.interval.own_cpus if case.interval is not None else 0.0
    noisewatch = f"noisewatch ({own:.1%} of a CPU)" if own else "noisewatch"
    return (
        f"a quota of {_cpus(quota)} leaves {_cpus(left) if left else 'nothing'} beside {_cpus(target)} of the target "
        f"for the benchmark's other threads, its launcher and {noisewatch}"
    )


def _cpus(number: float) -> str:
    return f"{number:g} CPU{'s' if number != 1 else ''}"


def _uncounted(case: Case) -> list[CgroupLevel]:
    """Return the cgroups whose quota applied to this process, and whose counters did not advance all the same."""
    return [
        level
        for interval in case.intervals
        for level in uncounted_between(interval.before.cgroup.levels, interval.after.cgroup.levels, interval.length_ns)
    ]


def _throttled(case: Case, throttles: list[Throttle], graded: Graded) -> Answer:
    """Return the failure for a quota that stopped threads in the sample or in the calibration."""
    worst = max(throttles, key=lambda throttle: (throttle.ns or 0, throttle.periods))
    periods = max(throttle.periods for throttle in throttles)
    text = f"throttled in {describe_count(periods, 'period')} ({worst.level.described})"
    level = worst.level
    fix = lift(level.folder, level.limit_text if level.quota_share != UNLIMITED else None)
    return graded.fails(text, measured=periods, limit=0, unit="periods", culprits=_culprits(case), fix=fix)


def _looks_throttled(case: Case, graded: Graded) -> Answer | None:
    """Return the failure inferred from the calibration's stops where the quota is hidden, or None without stops."""
    culprits = _culprits(case)
    if not culprits:
        return None
    worst = culprits[0]
    text = f"CPU {worst.cpu} lost {worst.share or 0.0:.1%} to {worst.name}"
    cpus = frozenset(culprit.cpu for culprit in culprits)
    return graded.fails(text, measured=worst.share, unit="share", cpus=cpus, culprits=culprits)


def _long_stops_said(case: Case) -> list[str]:
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
    is_version_2 = " " in limit_text  # with its period; in version 1 that has a file of its own
    name, unlimited = ("cpu.max", "max") if is_version_2 else ("cpu.cfs_quota_us", "-1")
    return Fix((write(f"{folder}/{name}", unlimited, limit_text),), (ByHand("start it without a CPU limit"),))
