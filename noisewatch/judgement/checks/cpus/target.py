"""Area `target`: whether the target CPUs are usable, and leave a CPU to all other work."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import MINIMUM, Answer, check, not_applicable, unknown
from noisewatch.judgement.fixes.actions import write_cpus
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.rules import PARALLEL
from noisewatch.judgement.terms import Ground, Severity, Status
from noisewatch.kernel.cpus.cpu_time import PATH as STAT
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.target import PinTrial

_CPU_LIST_DOC = "https://docs.kernel.org/admin-guide/cputopology.html"


@check(
    id="target-cpu-unusable",
    area="target",
    question="Are the target CPUs online, and can a process be pinned to exactly them?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(f"{CPUS}/{{online,offline}}", STAT, "sched_setaffinity(2), tried on a sleeping thread of ours"),
    why=(
        "The cpuset of a container or a cgroup partition can narrow a pin silently. The benchmark then runs "
        "elsewhere, and every other answer is about the wrong CPUs. The initial affinity of a process does not answer "
        "this: it leaves out isolated CPUs, to which a process can still be pinned."
    ),
    remedy=(
        "Bring the CPU online, choose others with --cpus, or run where they are allowed: start a container with "
        "--cpuset-cpus; for an isolated cgroup partition, start inside its cgroup."
    ),
    sources=("https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html", _CPU_LIST_DOC),
)
def target_cpu_unusable(case: Case) -> Answer:
    online = case.snapshot.online
    listed = name_cpus(case.target)
    if online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    if not case.target:
        return unknown(NO_TARGET)
    if case.snapshot.target.doubt is not None:
        return unknown(f"{listed} may be the wrong target (give --cpus): {case.snapshot.target.doubt}")
    trial = _worst_trial(case)
    offline = case.target - online.online
    if offline & (trial.granted or frozenset()):
        return unknown(f"{online.said_by}: {name_cpus(offline)} not listed, but the kernel pins a process there")
    if offline:
        fix = Fix((write_cpus(dict.fromkeys(offline, 1), "online", dict.fromkeys(offline, 0)),))
        return Answer(
            Status.FAIL,
            f"{name_cpus(offline)}: not online",
            cpus=offline,
            evidence={"online_by": online.said_by},
            fix=fix,
        )
    rows = case.snapshot.cpu_time if online.renumbered is None else None  # lxcfs renumbers the CPUs of /proc/stat too
    for path, cpus in (
        (f"{CPUS}/offline", case.target & (online.offline or frozenset())),
        (STAT, frozenset() if rows is None else case.target - rows.keys()),
    ):
        if cpus:
            return unknown(f"{name_cpus(cpus)}: online by {online.said_by}, but not by {path}")
    evidence = {
        "online_by": online.said_by,
        "granted": None if trial.granted is None else sorted(trial.granted),
    }
    if trial.granted is None and trial.reason is None:
        if case.snapshot.is_live:
            return unknown("pinning could not be tried")
        outside = _outside_container(case)
        if outside:
            own = name_cpus(case.snapshot.own_affinity or ())
            return unknown(f"{online.renumbered}; the container has {own}, not {name_cpus(outside)}")
        number = f" ({online.renumbered})" if online.renumbered is not None else ""
        return not_applicable(f"{listed}: online by {online.said_by}{number}; pinning is tried on a live machine only")
    if trial.granted is None:
        return Answer(Status.FAIL, f"cannot be pinned to {listed}: {trial.reason}", cpus=case.target, evidence=evidence)
    refused = case.target - trial.granted
    if refused:
        granted = format_cpu_list(trial.granted)
        said = f"pinned to {listed}, but the kernel allows only {granted}: a cpuset excludes the rest"
        return Answer(Status.FAIL, said, cpus=refused, evidence=evidence)
    return Answer(Status.PASS, f"{listed}: online, and can be pinned to", cpus=case.target, evidence=evidence)


def _outside_container(case: Case) -> CpuSet:
    """Return the target CPUs that a copied container with renumbered CPUs may not use."""
    own = case.snapshot.own_affinity
    if case.snapshot.online.renumbered is None or own is None:
        return frozenset()
    return case.target - own - (case.snapshot.isolation.isolated or frozenset())


def _worst_trial(case: Case) -> PinTrial:
    """Return the worst trial of all snapshots: a cpuset may be narrowed between them."""
    looks = [case.snapshot, *(look for each in case.intervals for look in (each.before, each.after))]
    trials = [look.pin_trial for look in looks if look.target.cpus == case.target]
    return min(trials, key=lambda trial: _rank(trial, case.target))


def _rank(trial: PinTrial, wanted: CpuSet) -> int:
    """Return the order of a pin trial: 0 refused, 1 unknown, 2 granted."""
    if trial.granted is None:
        return 0 if trial.reason is not None else 1
    return 2 if wanted <= trial.granted else 0


@check(
    id="no-housekeeping-cpu",
    area="target",
    question="Is a CPU left for all other work?",
    severity=Severity.WARNING,
    reads=(f"{CPUS}/online", f"{CPUS}/cpuN/topology/thread_siblings_list"),
    why=(
        "Interrupts, kernel threads, services and noisewatch have to run somewhere. If every CPU is a target, or "
        "shares a core with one, they disturb the benchmark."
    ),
    remedy="Choose fewer target CPUs with --cpus.",
    sources=("https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html",),
    severity_in={PARALLEL: Severity.INFORMATION},
)
def no_housekeeping_cpu(case: Case) -> Answer:
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    free = case.online - case.target - case.siblings
    evidence = {"housekeeping": sorted(free), "siblings": sorted(case.siblings)}
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in sorted(case.target)}
    unplaced = [cpu for cpu, place in places.items() if place is None or place.siblings is None]
    if free and unplaced:
        return unknown(case.why_unknown(f"{CPUS}/cpu{unplaced[0]}/topology/thread_siblings_list"))
    if free:
        return Answer(
            Status.PASS,
            f"{name_cpus(free)} for all other work",
            measured=len(free),
            limit=1,
            unit="CPUs",
            evidence=evidence,
            limit_role=MINIMUM,
        )
    if case.siblings:
        said = f"all other work can only use {name_cpus(case.siblings)}, on the cores of the target CPUs"
    else:
        said = "every online CPU is a target: leave at least one"
    return Answer(
        Status.FAIL, said, measured=0, limit=1, unit="CPUs", cpus=case.target, evidence=evidence, limit_role=MINIMUM
    )


@check(
    id="boot-cpu-is-target",
    area="target",
    question="Is CPU 0 left out of the target?",
    severity=Severity.WARNING,
    reads=(f"{CPUS}/online", "/proc/stat"),
    why=(
        "The boot CPU usually keeps the time for all CPUs and takes every interrupt that was not moved. Its tick "
        "cannot be stopped, and on most machines it cannot be taken offline."
    ),
    remedy="Choose other CPUs with --cpus.",
    sources=("https://docs.kernel.org/admin-guide/kernel-parameters.html", "https://docs.kernel.org/timers/no_hz.html"),
    severity_in={PARALLEL: Severity.INFORMATION},
)
def boot_cpu_is_target(case: Case) -> Answer:
    if 0 not in case.target and case.target:
        is_at_work = 0 in case.online
        said = "CPU 0 is not a target CPU" if is_at_work else "CPU 0 is not a target CPU, and not known to be online"
        return Answer(Status.PASS, said)
    if case.snapshot.online.online is None or not case.target:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    if not case.running - case.target:
        return not_applicable("every online CPU is a target: none is left to choose instead")
    return Answer(Status.FAIL, "CPU 0 is a target CPU", cpus=frozenset({0}))
