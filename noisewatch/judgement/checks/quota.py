"""Area `quota`: what a container or a service manager takes away."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.commands import write
from noisewatch.judgement.declaration import BLOCKING, FAIL, PASS, WARN, Answer, Fix, Limit, check, unknown
from noisewatch.sources.cgroup import UNLIMITED, Cgroup
from noisewatch.sources.cgroup_mounts import MEMBERSHIP

_THROTTLED = Limit(
    "fails", "throttled periods in the sample", 0, "periods", "each one stops all threads for tens of milliseconds"
)


@check(
    id="cpu-quota",
    area="quota",
    question="May the benchmark use its CPUs all the time?",
    severity=BLOCKING,
    reads=(
        MEMBERSHIP,
        "cpu.max and cpu.stat (v2), cpu.cfs_quota_us and cpu.stat (v1), from here to the root",
    ),
    limits=(_THROTTLED,),
    why=(
        "A quota lets a container run until it is used up and then stops it for the rest of each period, usually "
        "100 ms: timings fall off a cliff. Containers and CI runners have one more often than not."
    ),
    remedy="Lift the CPU limit: docker without --cpus, a Kubernetes pod without a limit, a service without CPUQuota.",
    sources=(
        "https://docs.kernel.org/scheduler/sched-bwc.html",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html",
    ),
)
def cpu_quota(case: Case) -> Answer:
    cgroup = case.snapshot.cgroup
    quota = cgroup.cpu_quota_share
    throttled = case.interval.throttled_periods if case.interval is not None else None
    evidence = {
        "quota_share": None if quota is None else ("none" if quota == UNLIMITED else quota),
        "limited_by": cgroup.limited_by,
        "throttled_periods_since_start": cgroup.throttled_periods,
        "throttled_periods_in_sample": throttled,
    }
    wanted = len(case.target)
    fix = _lift(cgroup)
    if throttled:
        return Answer(FAIL, f"throttled in {throttled} periods", throttled, 0, "periods", evidence=evidence, fix=fix)
    if cgroup.known_quota_share < wanted:
        known = cgroup.known_quota_share
        said = f"may use {known:g} of {wanted} target CPUs ({cgroup.limited_by})"
        return Answer(FAIL, said, known, wanted, "CPUs", evidence=evidence, fix=fix)
    if quota is None or cgroup.throttled_periods is None or (case.interval is not None and throttled is None):
        folder = cgroup.folder or "/sys/fs/cgroup"
        return unknown(
            case.why_unknown(MEMBERSHIP, f"{folder}/cpu.max", f"{folder}/cpu.stat", folder, "/proc/self/mounts")
        )
    if quota != UNLIMITED:
        said = f"a quota of {quota:g} CPUs covers the {wanted} target CPUs"
        return Answer(WARN, said, quota, wanted, "CPUs", evidence=evidence, fix=fix)
    return Answer(PASS, "no quota", evidence=evidence)


def _lift(cgroup: Cgroup) -> Fix | None:
    """Whoever set the quota should lift it; this is the file that it ends up in."""
    if cgroup.limited_by is None or cgroup.limit_text is None:
        return None
    name, unlimited = ("cpu.cfs_quota_us", "-1") if cgroup.version == 1 else ("cpu.max", "max")
    path = f"{cgroup.limited_by}/{name}"
    return Fix(write(unlimited, path), "start it without a CPU limit", write(cgroup.limit_text, path))


CHECKS = (cpu_quota,)
