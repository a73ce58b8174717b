"""Area `target`: the CPUs that the benchmark will run on, and those that share a core with them."""

from __future__ import annotations

from noisewatch.judgement.case import Case
from noisewatch.judgement.commands import CPUS, boot_options, write_per_cpu
from noisewatch.judgement.declaration import (
    BLOCKING,
    FAIL,
    PASS,
    UNKNOWN,
    WARN,
    Answer,
    Fix,
    Limit,
    check,
    not_applicable,
    unknown,
)
from noisewatch.model.disturbance import Disturbance, disturbances_of
from noisewatch.sources.cpulist import format_cpu_list, name_cpus
from noisewatch.sources.platform import NONE

_CPU_LIST_DOC = "https://docs.kernel.org/admin-guide/cputopology.html"


@check(
    id="target-cpu-unusable",
    area="target",
    question="Are the target CPUs online, and can a process be pinned to exactly them?",
    severity=BLOCKING,
    reads=(f"{CPUS}/online", "sched_setaffinity(2), tried by a thread of ours"),
    why=(
        "A pin that a container's or a partition's cpuset narrows without a word makes the benchmark run elsewhere, "
        "and every other answer is then about the wrong CPUs. The affinity a process starts with says nothing: "
        "isolated CPUs are not in it, and can be pinned to all the same."
    ),
    remedy=(
        "Bring the CPU online, choose others with --cpus, or run where they are allowed: in a container, start it "
        "with --cpuset-cpus; in an isolated partition, from a process inside its cgroup."
    ),
    sources=("https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html", _CPU_LIST_DOC),
)
def target_cpu_unusable(case: Case) -> Answer:
    online = case.snapshot.online
    listed = name_cpus(case.target)
    if online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    if not case.target:
        return unknown("there is no CPU to judge")
    if case.snapshot.target.doubt is not None:
        return unknown(f"{listed} may be the wrong target (give --cpus): {case.snapshot.target.doubt}")
    offline = case.target - online.online
    if offline:
        fix = Fix(
            write_per_cpu(dict.fromkeys(offline, 1), "online"),
            undo=write_per_cpu(dict.fromkeys(offline, 0), "online"),
        )
        return Answer(
            FAIL,
            f"{name_cpus(offline)}: not online",
            cpus=offline,
            evidence={"online_by": online.said_by},
            fix=fix,
        )
    trial = case.snapshot.pin_trial
    evidence = {
        "online_by": online.said_by,
        "granted": None if trial.granted is None else sorted(trial.granted),
    }
    if trial.granted is None and trial.reason is None:
        if case.snapshot.is_live:
            return unknown("pinning could not be tried")
        return not_applicable(f"{listed}: online by {online.said_by}; pinning is tried on a live machine only")
    if trial.granted is None:
        return Answer(FAIL, f"cannot be pinned to {listed}: {trial.reason}", cpus=case.target, evidence=evidence)
    refused = case.target - trial.granted
    if refused:
        granted = format_cpu_list(trial.granted)
        said = f"pinned to {listed}, the kernel grants {granted} only: a cpuset excludes the rest"
        return Answer(FAIL, said, cpus=refused, evidence=evidence)
    return Answer(PASS, f"{listed}: online, and can be pinned to", cpus=case.target, evidence=evidence)


_SIBLING_QUIET = Limit(
    "busy share of an isolated sibling that passes", 0.01, "share", "two ticks of 10 ms in a sample of 3 s"
)
_SIBLING_BUSY = Limit(
    "busy share of a sibling that fails",
    0.05,
    "share",
    "a thread on the sibling slows its neighbour by a third and more while it runs: 5 % of the time is visible",
)


@check(
    id="busy-sibling",
    area="target",
    question="Is the other hardware thread of each target core idle?",
    severity=BLOCKING,
    reads=(f"{CPUS}/cpuN/topology/thread_siblings_list", "/proc/stat over the sample"),
    limits=(_SIBLING_QUIET, _SIBLING_BUSY),
    why=(
        "Two hardware threads share execution units, first- and second-level caches and the power budget. "
        "Work on the sibling slows the benchmark without taking a nanosecond of CPU time from it."
    ),
    remedy="Take the sibling offline during the benchmark, boot with nosmt, or isolate it together with the target.",
    sources=("https://llvm.org/docs/Benchmarking.html", _CPU_LIST_DOC),
)
def busy_sibling(case: Case) -> Answer:
    unplaced = [
        cpu for cpu in case.target if (place := case.snapshot.topology.get(cpu)) is None or place.siblings is None
    ]
    if unplaced or not case.target:
        cpu = min(unplaced, default=0)
        return unknown(case.why_unknown(f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"))
    foreign = [cpu for cpu in sorted(case.target) if cpu not in (case.snapshot.topology[cpu].siblings or ())]
    if foreign:
        return unknown(f"{CPUS}/cpu{foreign[0]}/topology/thread_siblings_list: does not name CPU {foreign[0]} itself")
    if not case.siblings:
        return _without_siblings(case)
    return _with_siblings(case)


def _without_siblings(case: Case) -> Answer:
    pairs = [cpu for cpu in case.target if (case.snapshot.topology[cpu].siblings or frozenset()) & case.target - {cpu}]
    if pairs:
        said = f"CPUs {format_cpu_list(pairs)} share cores among themselves: two benchmarks there disturb each other"
        return Answer(WARN, said, cpus=frozenset(pairs))
    if case.snapshot.platform.virtual == NONE:
        return Answer(PASS, "no other thread shares a target core")
    if case.snapshot.platform.virtual is None:
        return Answer(WARN, "no sibling shows; whether this is a virtual machine that hides them is unknown")
    return Answer(WARN, "no sibling shows, but a virtual machine cannot see which CPUs of the host share a core")


def _with_siblings(case: Case) -> Answer:
    listed = name_cpus(case.siblings)
    removable = case.siblings - {0}  # the boot CPU stays
    fix = Fix(
        write_per_cpu(dict.fromkeys(removable, 0), "online") or None,
        boot_options("nosmt"),
        write_per_cpu(dict.fromkeys(removable, 1), "online") or None,
    )
    if case.interval is None:
        return Answer(
            WARN,
            f"siblings on {listed} are online; how busy they are was not sampled",
            cpus=case.siblings,
            fix=fix,
        )
    busy = {cpu: case.interval.busy_share(cpu) for cpu in sorted(case.siblings)}
    known = {cpu: share for cpu, share in busy.items() if share is not None}
    worst = max(known.values(), default=0.0)
    loaded = frozenset(cpu for cpu, share in known.items() if share > _SIBLING_BUSY.value)
    evidence = {"busy_share_by_cpu": {str(cpu): share for cpu, share in busy.items()}}
    if loaded:
        said = f"sibling on {name_cpus(loaded)}: {worst:.0%} busy"
        culprits = tuple(_sibling_culprit(case, cpu) for cpu in sorted(loaded))
        return Answer(FAIL, said, worst, _SIBLING_BUSY.value, "share", loaded, None, evidence, culprits, fix)
    if len(known) < len(busy):
        return Answer(UNKNOWN, "unknown", reason=case.why_unknown("/proc/stat"), evidence=evidence)
    isolated = case.snapshot.isolation.isolated or frozenset()
    status = PASS if worst <= _SIBLING_QUIET.value and case.siblings <= isolated else WARN
    said = f"sibling on {listed}: online, {worst:.1%} busy"
    return Answer(
        status,
        said,
        worst,
        _SIBLING_BUSY.value,
        "share",
        case.siblings,
        None,
        evidence,
        (),
        None if status == PASS else fix,
    )


def _sibling_culprit(case: Case, cpu: int) -> Disturbance:
    """The sibling's load, under the name of what runs there most."""
    interval = case.interval
    sources = disturbances_of(interval, cpu) if interval is not None else []
    share = interval.busy_share(cpu) if interval is not None else None
    name = sources[0].name if sources else "unknown work"
    return Disturbance(
        "sibling", name, cpu, None, share, None, pid=sources[0].pid if sources else None, is_inferred=False
    )


CHECKS = (target_cpu_unusable, busy_sibling)
