"""Area `target`: whether the target CPUs are alike, and near each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisewatch.cpus import CpuSet, format_cpu_list, name_cpu_sets, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import Answer, Limit, check, unknown
from noisewatch.judgement.grading import MICROBENCHMARK, why_incomplete
from noisewatch.judgement.rules import PARALLEL, STRICT
from noisewatch.judgement.shared_caches import uncached, why_no_cache
from noisewatch.judgement.terms import Severity, Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import HYBRID, NODES
from noisewatch.kernel.cpus.topology import NAME as RANKING
from noisewatch.kernel.snapshot.knobs import Knob

_CPU_LIST_DOC = "https://docs.kernel.org/admin-guide/cputopology.html"


ALIKE = Limit(
    key="passes",
    name="difference in core capacity that passes",
    value=0.02,
    unit="share",
    reason="typical between equal cores",
)
_WORK_ALIKE = Limit(
    key="measured-passes",
    name="difference in measured speed that passes",
    value=0.05,
    unit="share",
    reason="typical between equal busy cores",
)
_WORK_DIFFERS = Limit(
    key="fails",
    name="difference in measured speed that fails",
    value=0.2,
    unit="share",
    reason="different kinds of core differ by a quarter or more",
)


@check(
    id="target-cores-differ",
    area="target",
    question="Are the target CPUs cores of one kind?",
    severity=Severity.WARNING,
    reads=(
        f"{CPUS}/cpuN/cpu_capacity",
        f"{CPUS}/cpuN/regs/identification/midr_el1 (ARM), or /proc/cpuinfo (CPU implementer, CPU part)",
        "/sys/devices/{cpu_core,cpu_atom}/cpus",
        f"{CPUS}/cpuN/cpufreq/{{cpuinfo_max_freq,scaling_max_freq}}",
        f"{CPUS}/cpuN/{RANKING}",
        f"{MICROBENCHMARK}, where no file gives the kind",
    ),
    limits=(ALIKE, _WORK_ALIKE, _WORK_DIFFERS),
    why=(
        "With several kinds of cores, the time depends mainly on which core the benchmark gets. Even among equal "
        "cores, favoured ones clock a few per cent higher."
    ),
    remedy="Choose CPUs of one kind with --cpus; cap the maximum frequency of favoured cores.",
    sources=("https://docs.kernel.org/admin-guide/pm/amd-pstate.html", _CPU_LIST_DOC),
    severity_in={PARALLEL: Severity.BLOCKING},
)
def target_cores_differ(case: Case) -> Answer:
    if len(case.target) == 1:
        return Answer(Status.PASS, "there is one target CPU")
    places = {cpu: place for cpu in sorted(case.target) if (place := case.snapshot.topology.get(cpu)) is not None}
    kinds = {cpu: place.kind for cpu, place in places.items() if place.kind is not None}
    designs = {cpu: place.design for cpu, place in places.items() if place.design is not None}
    strengths = _strengths(case)
    evidence: dict[str, Any] = {
        "kind_by_cpu": {str(cpu): place.kind for cpu, place in places.items()},
        "design_by_cpu": {str(cpu): name for cpu, name in designs.items()},
    }
    for what, known in (("kinds", kinds), ("designs", designs)):
        if len(set(known.values())) > 1:
            said = "; ".join(f"{name_cpus(cpus)}: {kind}" for kind, cpus in _by_kind(known).items())
            return Answer(Status.FAIL, f"cores of several {what}: {said}", cpus=case.target, evidence=evidence)
    is_one_design = len(designs) == len(case.target) and bool(strengths)
    if (len(kinds) < len(case.target) and not is_one_design) or not case.target:
        return _measured(case)
    for what, strength_by_cpu in strengths.items():
        least, most = min(strength_by_cpu.values()), max(strength_by_cpu.values())
        evidence[f"{what.replace(' ', '_')}_by_cpu"] = {str(cpu): each for cpu, each in strength_by_cpu.items()}
        difference = 1 - least / most
        if difference > case.bound(ALIKE):
            weaker = frozenset(cpu for cpu, each in strength_by_cpu.items() if each < most)
            said = f"the {what} of {name_cpus(weaker)} is up to {difference:.0%} lower than that of the others"
            return Answer(
                Status.WARN,
                said,
                measured=difference,
                limit=case.bound(ALIKE),
                unit="share",
                cpus=weaker,
                evidence=evidence,
            )
    untold = _told_of_some(case, {"design": designs, "rank": _ranks(case)})
    if untold is not None:
        return unknown(untold)
    return Answer(Status.PASS, f"{name_cpus(case.target)}: one kind of core", cpus=case.target, evidence=evidence)


def _told_of_some(case: Case, known: Mapping[str, Mapping[int, object]]) -> str | None:
    """What is told of some target CPUs and not of others, which may differ in it; None where there is nothing."""
    for what, by_cpu in known.items():
        silent = case.target - by_cpu.keys()
        if by_cpu and silent:
            return f"the {what} of {name_cpus(silent)} is not exported, that of other target CPUs is"
    return None


def _ranks(case: Case) -> dict[int, int]:
    """How high the cores clock with turbo, and so nothing where that is off."""
    ranks = {cpu: rank for cpu, rank in case.snapshot.settings.core_ranking.items() if cpu in case.target}
    return ranks if case.snapshot.frequency.turbo != "off" else {}


def _by_kind(kinds: Mapping[int, str]) -> dict[str, CpuSet]:
    return {kind: frozenset(cpu for cpu in kinds if kinds[cpu] == kind) for kind in sorted(set(kinds.values()))}


def _strengths(case: Case) -> dict[str, dict[int, int]]:
    """What tells cores of one kind apart, where it is known of all target CPUs."""
    frequency = case.snapshot.frequency
    capacities = {cpu: place.capacity for cpu in case.target if (place := case.snapshot.topology.get(cpu)) is not None}
    clocks = {cpu: clock for cpu, clock in frequency.cpus.items() if cpu in case.target}
    highest = {
        cpu: min(limits)
        for cpu, clock in clocks.items()
        if (limits := [khz for khz in (clock.hardware_max_khz, clock.max_khz) if khz])
    }
    found = {
        "capacity": {cpu: capacity for cpu, capacity in capacities.items() if capacity},
        "highest frequency": highest,
        "rank": _ranks(case),
    }
    return {what: dict(sorted(each.items())) for what, each in found.items() if each and len(each) == len(case.target)}


def _measured(case: Case) -> Answer:
    """Where nothing tells the kinds: how long the same work took."""
    if not case.target:
        return unknown(NO_TARGET)
    calibrated = case.calibrated
    why_unknown = f"neither capacity nor highest frequency is exported for {name_cpus(case.target)}"
    if calibrated is None:
        return unknown(f"{why_unknown}, and there was no calibration")
    if calibrated.doubt is not None or calibrated.troubles:
        return unknown(f"{why_unknown}; {calibrated.doubt or why_incomplete(calibrated)}")
    import statistics  # few runs are calibrated

    samples = {
        said.cpu: said.interpreted.length_ns for said in calibrated.calibration.samples.cpus if said.cpu in case.target
    }
    times = {cpu: statistics.median(lengths) for cpu, lengths in sorted(samples.items()) if lengths}
    if len(times) < len(case.target) or not times or min(times.values()) <= 0:
        return unknown(f"{why_unknown}, and not all of them were calibrated")
    difference = 1 - min(times.values()) / max(times.values())
    evidence = {"work_ns_by_cpu": {str(cpu): time for cpu, time in times.items()}}
    slowest = frozenset(cpu for cpu, time in times.items() if time == max(times.values()))
    limit = case.bound(_WORK_DIFFERS)
    hidden = next((path for path in HYBRID if path in case.snapshot.reason_by_path), None)
    if difference <= case.bound(_WORK_ALIKE) and hidden is not None:
        return unknown(
            f"{case.why_unknown(hidden)}; there are two kinds of core, though the same work took the same time"
        )
    if difference <= case.bound(_WORK_ALIKE):
        said = f"the same work took the same time on all of them, within {difference:.1%}"
        return Answer(Status.PASS, said, measured=difference, limit=limit, unit="share", evidence=evidence)
    status = Status.FAIL if difference > limit else Status.WARN
    said = f"the same work ran up to {difference:.0%} faster elsewhere than on {name_cpus(slowest)}"
    return Answer(status, said, measured=difference, limit=limit, unit="share", cpus=slowest, evidence=evidence)


@check(
    id="target-cpus-far-apart",
    area="target",
    question="Do the target CPUs share one memory node and one last-level cache?",
    severity=Severity.WARNING,
    reads=(f"{NODES}/nodeN/cpulist", f"{CPUS}/cpuN/cache/indexN/shared_cpu_list"),
    why=(
        "Threads on two nodes, or under two last-level caches, exchange data several times more slowly, and memory is "
        "local to only some of them: thread placement then decides the result."
    ),
    remedy="Choose CPUs of one shared_cpu_list with --cpus; bind memory with numactl --membind.",
    sources=("https://docs.kernel.org/admin-guide/mm/numaperf.html", _CPU_LIST_DOC),
    severity_in={STRICT: Severity.BLOCKING},
)
def target_cpus_far_apart(case: Case) -> Answer:
    if len(case.target) == 1:
        return Answer(Status.PASS, "there is one target CPU")
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in sorted(case.target)}
    nodes = {cpu: place.node if place is not None else None for cpu, place in places.items()}
    caches = {cpu: place.last_level_cache if place is not None else None for cpu, place in places.items()}
    known_nodes = {node for node in nodes.values() if node is not None}
    known_caches = sorted({cache for cache in caches.values() if cache is not None}, key=sorted)
    evidence = {
        "node_by_cpu": {str(cpu): node for cpu, node in nodes.items()},
        "last_level_caches": [format_cpu_list(cache) for cache in known_caches],
    }
    if len(known_nodes) > 1:
        said = f"targets span {len(known_nodes)} NUMA nodes ({format_cpu_list(known_nodes)})"
        return Answer(
            Status.FAIL, said, measured=len(known_nodes), limit=1, unit="nodes", cpus=case.target, evidence=evidence
        )
    several = _said_of_caches(case, known_caches)
    why_not = _why_places_unknown(case, nodes, caches)
    if why_not is not None:
        return Answer(Status.UNKNOWN, several or "unknown", reason=why_not, evidence=evidence)
    if several is not None:
        return Answer(
            Status.WARN,
            several,
            measured=len(known_caches),
            limit=1,
            unit="caches",
            cpus=case.target,
            evidence=evidence,
        )
    return Answer(Status.PASS, f"{name_cpus(case.target)}: one node, one last-level cache", evidence=evidence)


def _said_of_caches(case: Case, caches: list[CpuSet]) -> str | None:
    """The caches that are known, where these are several and have no CPU in common."""
    if len(caches) < 2 or sum(map(len, caches)) > len(frozenset().union(*caches)):
        return None
    return f"targets span {len(caches)} last-level caches: {name_cpu_sets(cache & case.target for cache in caches)}"


def _why_places_unknown(case: Case, nodes: Mapping[int, int | None], caches: Mapping[int, CpuSet | None]) -> str | None:
    """Why some may lie elsewhere than is known. A cache may span nodes (sub-NUMA clusters): no proof of one."""
    has_nodes = Knob.ZONE_RECLAIM not in case.snapshot.settings.knobs.absent  # which a kernel without NUMA lacks
    without_node = [cpu for cpu, node in nodes.items() if node is None and has_nodes]
    without_cache = uncached(case)
    if without_cache or not caches:
        return why_no_cache(case, without_cache)
    if without_node:
        return case.why_unknown(NODES, f"{CPUS}/cpu{without_node[0]}")
    foreign = [cpu for cpu, cache in caches.items() if cache is not None and cpu not in cache]
    different = {cache for cache in caches.values() if cache is not None}  # few, however many CPUs there are
    overlapping = {
        cache for cache in different if any(other != cache and not cache.isdisjoint(other) for other in different)
    }
    doubtful = foreign or [cpu for cpu, cache in caches.items() if cache in overlapping]
    if doubtful:
        return f"{CPUS}/cpu{doubtful[0]}/cache: contradicts what other CPUs say about their last-level caches"
    return None
