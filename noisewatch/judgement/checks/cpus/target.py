"""Area `target`: whether the target CPUs are usable, alike and near each other, and leave a CPU to all other work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpu_sets, name_cpus
from noisewatch.judgement.answer import MINIMUM, Answer, Limit, not_applicable, unknown
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import check
from noisewatch.judgement.fixes.actions import write_cpus
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.grading import MICROBENCHMARK, by_cpu, incomplete_reason
from noisewatch.judgement.rules import PARALLEL, STRICT
from noisewatch.judgement.shared_caches import cpus_without_cache, unknown_cache_reason
from noisewatch.judgement.terms import Area, Ground, Severity, Status
from noisewatch.kernel.cpus.cpu_time import PATH as STAT
from noisewatch.kernel.cpus.cpuinfo import PATH as CPUINFO
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.target import PinTrial
from noisewatch.kernel.cpus.topology import EFFICIENCY, HYBRID, NODES, PERFORMANCE
from noisewatch.kernel.cpus.topology import NAME as RANKING
from noisewatch.kernel.frequency.cpufreq import NO_DRIVER
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.kernel.system.release import release_number

_CPU_LIST_DOC = "https://docs.kernel.org/admin-guide/cputopology.html"


@check(
    id="target-cpu-unusable",
    area=Area.TARGET,
    question="Are the target CPUs online, and can a process be pinned to exactly them?",
    severity=Severity.BLOCKING,
    ground=Ground.INVALIDATES,
    reads=(f"{CPUS}/{{online,offline}}", STAT, "sched_setaffinity(2), tried on a sleeping thread of noisewatch"),
    reads_counters=True,
    why=(
        "The cpuset of a container or a cgroup partition can narrow a pin silently. The benchmark then runs "
        "elsewhere, and every other answer is about the wrong CPUs. A process's initial affinity does not answer "
        "the question: it excludes isolated CPUs, but processes can still be pinned to them."
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
        return case.unread(f"{CPUS}/online")
    if not case.target:
        return unknown(NO_TARGET)
    if case.snapshot.target.doubt is not None:
        return unknown(f"{listed} may be the wrong target (give --cpus): {case.snapshot.target.doubt}")
    trial = _worst_trial(case)
    offline = case.target - online.online
    if offline & (trial.granted or frozenset()):
        return unknown(f"{online.source} does not list {name_cpus(offline)}, but the kernel pins a process there")
    if offline:
        fix = Fix((write_cpus(dict.fromkeys(offline, 1), "online", dict.fromkeys(offline, 0)),))
        text = f"{name_cpus(offline)}: not online"
        return case.graded().fails(text, cpus=offline, evidence={"online_by": online.source}, fix=fix)
    rows = case.snapshot.cpu_time if online.renumbered is None else None  # lxcfs renumbers the CPUs of /proc/stat too
    for path, cpus in (
        (f"{CPUS}/offline", case.target & (online.offline or frozenset())),
        (STAT, frozenset() if rows is None else case.target - rows.keys()),
    ):
        if cpus:
            return unknown(f"{name_cpus(cpus)}: online according to {online.source}, but not to {path}")
    granted = None if trial.granted is None else sorted(trial.granted)
    graded = case.graded(evidence={"online_by": online.source, "granted": granted})
    if trial.granted is None and trial.reason is None:
        if case.snapshot.is_live:
            return unknown("pinning could not be tried")
        outside = _outside_container(case)
        if outside:
            own = name_cpus(case.snapshot.own_affinity or ())
            return unknown(f"{online.renumbered}; the container has {own}, not {name_cpus(outside)}")
        number = f" ({online.renumbered})" if online.renumbered is not None else ""
        return not_applicable(
            f"{listed}: online according to {online.source}{number}; pinning is tried only on a live machine"
        )
    if trial.granted is None:
        return graded.fails(f"cannot be pinned to {listed}: {trial.reason}", cpus=case.target)
    refused = case.target - trial.granted
    if refused:
        allowed = format_cpu_list(trial.granted)
        text = f"pinned to {listed}, but the kernel allows only {allowed}: a cpuset excludes the rest"
        return graded.fails(text, cpus=refused)
    return graded.passes(f"{listed}: online, and a process can be pinned there", cpus=case.target)


def _outside_container(case: Case) -> CpuSet:
    """Return the target CPUs that a copied container with renumbered CPUs may not use."""
    own = case.snapshot.own_affinity
    if case.snapshot.online.renumbered is None or own is None:
        return frozenset()
    return case.target - own - (case.snapshot.isolation.isolated or frozenset())


def _worst_trial(case: Case) -> PinTrial:
    """Return the worst pin trial of all snapshots, because a cpuset may be narrowed between them."""
    trials = [look.pin_trial for look in case.snapshots if look.target.cpus == case.target]
    return min(trials, key=lambda trial: _rank(trial, case.target))


def _rank(trial: PinTrial, target: CpuSet) -> int:
    """Return the sort key of a pin trial: 0 refused, 1 unknown, 2 granted."""
    if trial.granted is None:
        return 0 if trial.reason is not None else 1
    return 2 if target <= trial.granted else 0


@check(
    id="no-housekeeping-cpu",
    area=Area.TARGET,
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
        return case.unread(f"{CPUS}/online")
    free = case.online - case.target - case.siblings
    evidence = {"housekeeping": sorted(free), "siblings": sorted(case.siblings)}
    graded = case.graded(measured=len(free), limit=1, unit="CPUs", evidence=evidence, limit_role=MINIMUM)
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in sorted(case.target)}
    unplaced = [cpu for cpu, place in places.items() if place is None or place.siblings is None]
    if free and unplaced:
        return case.unread(f"{CPUS}/cpu{unplaced[0]}/topology/thread_siblings_list")
    if free:
        return graded.passes(f"{name_cpus(free)} for all other work")
    if case.siblings:
        text = f"all other work can only use {name_cpus(case.siblings)}, on the cores of the target CPUs"
    else:
        text = "every online CPU is a target: leave at least one"
    return graded.fails(text, cpus=case.target)


@check(
    id="boot-cpu-is-target",
    area=Area.TARGET,
    question="Is CPU 0 left out of the target?",
    severity=Severity.WARNING,
    reads=(f"{CPUS}/online", "/proc/stat"),
    why=(
        "The boot CPU usually keeps the time for all CPUs and takes every interrupt that was not moved. Its tick "
        "cannot be stopped, and on most machines CPU 0 cannot be taken offline."
    ),
    remedy="Choose other CPUs with --cpus.",
    sources=("https://docs.kernel.org/admin-guide/kernel-parameters.html", "https://docs.kernel.org/timers/no_hz.html"),
    severity_in={PARALLEL: Severity.INFORMATION},
)
def boot_cpu_is_target(case: Case) -> Answer:
    if 0 not in case.target and case.target:
        is_at_work = 0 in case.online
        text = "CPU 0 is not a target CPU" if is_at_work else "CPU 0 is not a target CPU, and not known to be online"
        return case.graded().passes(text)
    if case.snapshot.online.online is None or not case.target:
        return case.unread(f"{CPUS}/online")
    if not case.running - case.target:
        return not_applicable("every online CPU is a target: there is no other CPU to choose")
    return case.graded().fails("CPU 0 is a target CPU", cpus=frozenset({0}))


_EXPORTS_BASE_SINCE = (4, 20)


ALIKE = Limit(
    key="passes",
    name="difference in core capacity that passes",
    value=0.02,
    unit="share",
    reason="less is typical between equal cores",
)
_WORK_ALIKE = Limit(
    key="measured-passes",
    name="difference in measured speed that passes",
    value=0.05,
    unit="share",
    reason="less is typical between equal cores that are busy",
)
_WORK_DIFFERS = Limit(
    key="fails",
    name="difference in speed that fails",
    value=0.2,
    unit="share",
    reason="different kinds of core differ by a quarter or more",
)


@check(
    id="target-cores-differ",
    area=Area.TARGET,
    question="Are all target CPUs of the same, fastest kind of core?",
    severity=Severity.WARNING,
    ground=Ground.INVALIDATES,
    reads=(
        f"{CPUS}/cpuN/cpu_capacity",
        f"{CPUS}/cpuN/regs/identification/midr_el1 (ARM), or /proc/cpuinfo (CPU implementer, CPU part)",
        "/sys/devices/{cpu_core,cpu_atom,cpu_lowpower}/cpus",
        f"/proc/cpuinfo (vendor_id, cpu family, model) with {CPUS}/cpuN/cache/indexN/{{level,type,size}}, on x86",
        f"{CPUS}/cpuN/cpufreq/{{cpuinfo_max_freq,scaling_max_freq}}, and base_frequency without turbo",
        f"{CPUS}/cpuN/acpi_cppc/highest_perf, except on AMD",
        f"{CPUS}/cpuN/{RANKING}",
        f"{MICROBENCHMARK}, if no file contains the kind",
    ),
    limits=(ALIKE, _WORK_ALIKE, _WORK_DIFFERS),
    why=(
        "With several kinds of cores, the run time depends mainly on which core the benchmark gets. Even among equal "
        "cores, favoured ones clock a few per cent higher, and Intel's SST-BF gives some a higher base frequency."
    ),
    remedy="Choose CPUs of one kind with --cpus; cap the maximum frequency of favoured cores.",
    sources=("https://docs.kernel.org/admin-guide/pm/amd-pstate.html", _CPU_LIST_DOC),
    severity_in={PARALLEL: Severity.BLOCKING},
)
def target_cores_differ(case: Case) -> Answer:
    if not case.target:
        return unknown(NO_TARGET)
    alone = case.graded().passes("there is only one target CPU")
    answer = alone if len(case.target) == 1 else _compare_targets(case)
    return (_compare_with_others(case) or answer) if answer.status == Status.PASS else answer


def _compare_targets(case: Case) -> Answer:
    """Return the answer on differences between the target CPUs."""
    places = {cpu: place for cpu in sorted(case.target) if (place := case.snapshot.topology.get(cpu)) is not None}
    kinds = {cpu: place.kind for cpu, place in places.items() if place.kind is not None}
    designs = {cpu: place.design for cpu, place in places.items() if place.design is not None}
    strengths = _strengths(case)
    evidence: dict[str, Any] = {
        "kind_by_cpu": {str(cpu): place.kind for cpu, place in places.items()},
        "design_by_cpu": by_cpu(designs),
    }
    graded = case.graded(evidence=evidence)  # the strengths that are compared are added to the evidence below
    for what, kind_by_cpu in (("kinds", kinds), ("designs", designs)):
        if len(set(kind_by_cpu.values())) > 1:
            text = "; ".join(f"{name_cpus(cpus)}: {kind}" for kind, cpus in _group_by_kind(kind_by_cpu).items())
            return graded.fails(f"cores of several {what}: {text}", cpus=case.target)
    for what, strength_by_cpu in strengths.items():
        lowest, highest = min(strength_by_cpu.values()), max(strength_by_cpu.values())
        evidence[f"{what.replace(' ', '_')}_by_cpu"] = by_cpu(strength_by_cpu)
        difference = 1 - lowest / highest
        if difference > case.bound(ALIKE):
            weaker = frozenset(cpu for cpu, strength in strength_by_cpu.items() if strength < highest)
            is_grave = what != "rank" and difference > case.bound(_WORK_DIFFERS)
            text = f"the {what} of {name_cpus(weaker)} is up to {difference:.0%} lower than that of the others"
            limit, status = (_WORK_DIFFERS, Status.FAIL) if is_grave else (ALIKE, Status.WARN)
            return graded.by(limit, difference).answer(status, text, cpus=weaker)
    if len(designs) < len(case.target) or not strengths:
        return _judge_by_measurement(case)
    unread_reason = _partly_exported(case, {"design": designs, "rank": _ranks(case)}) or _no_base_clock_reason(
        case, case.target
    )
    if unread_reason is not None:
        return unknown(unread_reason)
    return graded.passes(f"{name_cpus(case.target)}: one kind of core", cpus=case.target)


def _compare_with_others(case: Case) -> Answer | None:
    """Return the answer if all target CPUs are or may be slower than other CPUs of the machine, else None."""
    topology = case.snapshot.topology
    kinds = {cpu: place.kind if (place := topology.get(cpu)) is not None else None for cpu in case.online | case.target}
    own = {kinds[cpu] for cpu in case.target}
    graded = case.graded(evidence={"kind_by_cpu": {str(cpu): kinds[cpu] for cpu in sorted(case.target)}})
    if own == {EFFICIENCY}:
        faster = frozenset(cpu for cpu, kind in kinds.items() if kind == PERFORMANCE)
        text = f"efficiency cores; {name_cpus(faster)} are performance cores" if faster else "efficiency cores"
        return graded.warns(text, cpus=case.target)
    bases = {} if case.snapshot.frequency.turbo == "on" else _bases(case)
    best = max(bases.values(), default=0)
    mine = max((bases.get(cpu, 0) for cpu in case.target), default=0)
    if mine and 1 - mine / best > case.bound(ALIKE):
        faster = frozenset(cpu for cpu, khz in bases.items() if khz == best)
        lower = f"{1 - mine / best:.0%} lower than that of {name_cpus(faster)}"
        text = f"the base frequency of {name_cpus(case.target)} is {lower}"
        return graded.warns(text, cpus=case.target)
    if None in own and not _hides_kinds(case):
        return unknown(unknown_core_kind_reason(case, case.target))
    no_base_reason = _no_base_clock_reason(case, kinds.keys())
    return unknown(no_base_reason) if no_base_reason is not None else None


def _hides_kinds(case: Case) -> bool:
    """Return whether all CPUs are known to have one design, and the machine exports no clocks or capacities to compare.

    This holds in most guests, whose host decides on which core they run, and on machines without a cpufreq driver. A
    design is unknown without cache sizes.
    """
    frequency, topology = case.snapshot.frequency, case.snapshot.topology
    designs = {topology[cpu].design if cpu in topology else None for cpu in case.online | case.target}
    if len(designs) > 1 or highest_clocks(case) or any(place.capacity for place in topology.values()):
        return False
    is_guest = case.snapshot.platform.virtual not in (None, NONE)
    return None not in designs and (is_guest or frequency.driver == NO_DRIVER)


def unknown_core_kind_reason(case: Case, cpus: Iterable[int]) -> str:
    """Return why the kind of core of these CPUs is unknown."""
    topology, clocks = case.snapshot.topology, highest_clocks(case)
    hidden = next((path for path in HYBRID if path in case.snapshot.reason_by_path), None)
    if hidden is not None:
        return f"{case.unread_reason(hidden)}, so there may be several kinds of core"
    unknown_designs = [cpu for cpu in sorted(case.online) if cpu not in topology or topology[cpu].design is None]
    if unknown_designs:
        paths = [CPUINFO] if CPUINFO in case.snapshot.reason_by_path else []
        reason = case.unread_reason(*paths, f"{CPUS}/cpu{unknown_designs[0]}/cache", CPUINFO)
        return f"the design of {name_cpus(unknown_designs)} is unknown ({reason}), so cores may differ"
    unranked = [cpu for cpu in cpus if cpu not in clocks and not ((place := topology.get(cpu)) and place.capacity)]
    if unranked:
        return f"neither capacity nor highest frequency is exported for {name_cpus(unranked)}"
    if len({place.design for place in topology.values()}) > 1:
        return "this machine has cores of several designs, and does not report which of them are faster"
    return "not all CPUs of this machine export their capacity or highest frequency, so other CPUs may be faster"


def _partly_exported(case: Case, known: Mapping[str, Mapping[int, object]]) -> str | None:
    """Return text on a property that is exported for some target CPUs only, or None if there is none."""
    for what, values in known.items():
        missing = case.target - values.keys()
        if values and missing:
            return f"the {what} is exported for other target CPUs, but not for {name_cpus(missing)}"
    return None


def _no_base_clock_reason(case: Case, cpus: Collection[int]) -> str | None:
    """Return why the base frequency of one of the CPUs is unknown, or None. It matters only without turbo."""
    lacking = sorted(cpu for cpu in _cpus_without_base(case) if cpu in cpus)
    return case.unread_reason(f"{CPUS}/cpu{lacking[0]}/cpufreq/base_frequency") if lacking else None


def _cpus_without_base(case: Case) -> CpuSet:
    """Return the CPUs whose base frequency is unknown and may differ from the others'.

    Since Linux 4.20, intel_pstate exports the base frequency of all CPUs with HWP (hwp_cpufreq_attrs). With SST-BF,
    base frequencies differ.
    """
    frequency = case.snapshot.frequency
    if frequency.turbo == "on":
        return frozenset()
    release = release_number(case.snapshot.platform.kernel)
    is_old = release is not None and release < _EXPORTS_BASE_SINCE
    bases = _bases(case)
    return frozenset(
        cpu
        for cpu, clock in frequency.cpus.items()
        if cpu not in bases and (bases or (clock.has_hwp and not is_old)) and clock.hardware_max_khz
    )


def _bases(case: Case) -> dict[int, int]:
    return {cpu: clock.base_khz for cpu, clock in case.snapshot.frequency.cpus.items() if clock.base_khz}


def highest_clocks(case: Case) -> Mapping[int, int]:
    """Return the highest clock (kHz) of each CPU: within its limits and, without turbo, up to its base frequency.

    CPUs whose base frequency matters but is unknown are left out.
    """
    return case.remember("highest clocks", _highest_clocks)


def _highest_clocks(case: Case) -> Mapping[int, int]:
    frequency, lacking = case.snapshot.frequency, _cpus_without_base(case)
    highest = {}
    for cpu, clock in frequency.cpus.items():
        limits = [khz for khz in (clock.hardware_max_khz, clock.max_khz) if khz]
        if limits and cpu not in lacking:
            bases = [clock.base_khz] if clock.base_khz and frequency.turbo != "on" else []
            highest[cpu] = min(limits + bases)
    return highest


def _ranks(case: Case) -> dict[int, int]:
    """Return the turbo rank of each target CPU; empty with turbo off, when ranks have no effect."""
    ranks = {cpu: rank for cpu, rank in case.snapshot.settings.core_ranking.items() if cpu in case.target}
    return ranks if case.snapshot.frequency.turbo != "off" else {}


def _group_by_kind(kinds: Mapping[int, str]) -> dict[str, CpuSet]:
    return {kind: frozenset(cpu for cpu in kinds if kinds[cpu] == kind) for kind in sorted(set(kinds.values()))}


def _strengths(case: Case) -> dict[str, dict[int, int]]:
    """Return the properties that distinguish cores of one kind, if known for all target CPUs."""
    capacities = {cpu: place.capacity for cpu in case.target if (place := case.snapshot.topology.get(cpu)) is not None}
    strengths = {
        "capacity": {cpu: capacity for cpu, capacity in capacities.items() if capacity},
        "highest frequency": {cpu: khz for cpu, khz in highest_clocks(case).items() if cpu in case.target},
        "rank": _ranks(case),
    }
    return {what: dict(sorted(own.items())) for what, own in strengths.items() if own and len(own) == len(case.target)}


def _judge_by_measurement(case: Case) -> Answer:
    """Compare how long the same work took on each target CPU, because no file contains the kinds of core."""
    if not case.target:
        return unknown(NO_TARGET)
    calibrated = case.calibrated
    unknown_reason = unknown_core_kind_reason(case, case.target)
    if calibrated is None:
        return unknown(f"{unknown_reason}, and there was no calibration")
    if calibrated.doubt is not None or calibrated.troubles:
        return unknown(f"{unknown_reason}; {calibrated.doubt or incomplete_reason(calibrated)}")
    import statistics  # imported here because few runs are calibrated

    samples = {
        of_cpu.cpu: of_cpu.interpreted.length_ns
        for of_cpu in calibrated.calibration.samples.cpus
        if of_cpu.cpu in case.target
    }
    times = {cpu: statistics.median(lengths) for cpu, lengths in sorted(samples.items()) if lengths}
    if len(times) < len(case.target) or not times or min(times.values()) <= 0:
        return unknown(f"{unknown_reason}, and not all target CPUs were calibrated")
    difference = 1 - min(times.values()) / max(times.values())
    graded = case.graded(evidence={"work_ns_by_cpu": by_cpu(times)}).by(_WORK_DIFFERS, difference)
    slowest = frozenset(cpu for cpu, time in times.items() if time == max(times.values()))
    hidden = next((path for path in HYBRID if path in case.snapshot.reason_by_path), None)
    if difference <= case.bound(_WORK_ALIKE) and hidden is not None:
        return unknown(
            f"{case.unread_reason(hidden)}; there may be several kinds of core, though the same work took the same time"
        )
    if difference <= case.bound(_WORK_ALIKE):
        return graded.passes(f"the same work took the same time on all target CPUs, within {difference:.1%}")
    status = Status.FAIL if difference > case.bound(_WORK_DIFFERS) else Status.WARN
    text = f"the same work took up to {difference:.0%} less time elsewhere than on {name_cpus(slowest)}"
    return graded.answer(status, text, cpus=slowest)


@check(
    id="target-cpus-far-apart",
    area=Area.TARGET,
    question="Do the target CPUs share one memory node and one last-level cache?",
    severity=Severity.WARNING,
    ground=Ground.RISK,
    reads=(f"{NODES}/nodeN/cpulist", f"{CPUS}/cpuN/cache/indexN/shared_cpu_list"),
    why=(
        "Threads on two nodes, or under two last-level caches, exchange data several times more slowly, and memory is "
        "local to only some of them, so thread placement decides the result."
    ),
    remedy="Choose CPUs from one shared_cpu_list with --cpus; bind memory with numactl --membind.",
    sources=("https://docs.kernel.org/admin-guide/mm/numaperf.html", _CPU_LIST_DOC),
    severity_in={STRICT: Severity.BLOCKING},
)
def target_cpus_far_apart(case: Case) -> Answer:
    if len(case.target) == 1:
        return case.graded().passes("there is only one target CPU")
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in sorted(case.target)}
    nodes = {cpu: place.node if place is not None else None for cpu, place in places.items()}
    caches = {cpu: place.last_level_cache if place is not None else None for cpu, place in places.items()}
    own_nodes = {node for node in nodes.values() if node is not None}
    own_caches = sorted({cache for cache in caches.values() if cache is not None}, key=sorted)
    listed_caches = [format_cpu_list(cache) for cache in own_caches]
    graded = case.graded(evidence={"node_by_cpu": by_cpu(nodes), "last_level_caches": listed_caches})
    if len(own_nodes) > 1:
        text = f"targets span {len(own_nodes)} NUMA nodes ({format_cpu_list(own_nodes)})"
        return graded.fails(text, measured=len(own_nodes), limit=1, unit="nodes", cpus=case.target)
    several = _several_caches_text(case, own_caches)
    reason = _unknown_places_reason(case, nodes, caches)
    if reason is not None:
        return graded.unknown(reason, several or "unknown")
    if several is not None:
        return graded.warns(several, measured=len(own_caches), limit=1, unit="caches", cpus=case.target)
    return graded.passes(f"{name_cpus(case.target)}: one node, one last-level cache")


def _several_caches_text(case: Case, caches: list[CpuSet]) -> str | None:
    """Return text on the last-level caches if the targets span several disjoint ones, else None."""
    if len(caches) < 2 or sum(map(len, caches)) > len(frozenset().union(*caches)):
        return None
    return f"targets span {len(caches)} last-level caches: {name_cpu_sets(cache & case.target for cache in caches)}"


def _unknown_places_reason(
    case: Case, nodes: Mapping[int, int | None], caches: Mapping[int, CpuSet | None]
) -> str | None:
    """Return why some target CPUs may lie elsewhere than reported, or None.

    A cache may span nodes (sub-NUMA clusters), so a shared cache does not prove one node.
    """
    has_nodes = Knob.ZONE_RECLAIM not in case.snapshot.settings.knobs.absent  # missing without NUMA
    without_node = [cpu for cpu, node in nodes.items() if node is None and has_nodes]
    without_cache = cpus_without_cache(case)
    if without_cache or not caches:
        return unknown_cache_reason(case, without_cache)
    if without_node:
        return case.unread_reason(NODES, f"{CPUS}/cpu{without_node[0]}")
    foreign = [cpu for cpu, cache in caches.items() if cache is not None and cpu not in cache]
    # There are few different caches, however many CPUs there are.
    different = {cache for cache in caches.values() if cache is not None}
    overlapping = {
        cache for cache in different if any(other != cache and not cache.isdisjoint(other) for other in different)
    }
    doubtful = foreign or [cpu for cpu, cache in caches.items() if cache in overlapping]
    if doubtful:
        return f"{CPUS}/cpu{doubtful[0]}/cache: contradicts the last-level caches of other CPUs"
    return None
