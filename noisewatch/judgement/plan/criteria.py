"""The criteria for and against target CPUs, each with its status, a sentence and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import StrEnum

from noisewatch.cpus import format_cpu_list, name_cpu_sets, name_cpus
from noisewatch.judgement.check import Answer, unknown
from noisewatch.judgement.checks.cpus.neighbours import CANNOT_SEE
from noisewatch.judgement.checks.cpus.target import (
    ALIKE,
    highest_clocks,
    target_cores_differ,
    target_cpu_unusable,
    why_no_kind,
)
from noisewatch.judgement.plan.cores import BOOT_CPU, cores_of
from noisewatch.judgement.plan.proposal import READS as IRQ_FILES
from noisewatch.judgement.plan.proposal import Proposal, judge_fixed_irqs
from noisewatch.judgement.shared_caches import uncached, why_no_cache
from noisewatch.judgement.terms import Status
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NODES, PERFORMANCE
from noisewatch.kernel.memory.nodes import HAS_MEMORY
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.system.platform import NONE
from noisewatch.records import dataclass
from noisewatch.units import describe_count


class Criterion(StrEnum):
    """The criteria in the order in which they are shown. The values are those of the JSON."""

    USABLE = "usable"
    CORES = "whole cores"
    HOUSEKEEPING = "housekeeping"
    KIND = "fastest kind"
    CACHE = "one cache"
    NODE = "one node"
    MEMORY = "memory"
    DEVICE = "near device"
    INTERRUPTS = "interrupts"
    ISOLATED = "isolated"


@dataclass(frozen=True, slots=True)
class Judged:
    """A criterion and its answer for these CPUs; `reads` are the sources of the evidence."""

    criterion: Criterion
    answer: Answer
    reads: tuple[str, ...]


def judge_proposal(proposal: Proposal) -> tuple[Judged, ...]:
    """Return the answers of all criteria that apply."""
    return tuple(
        Judged(criterion, judge(proposal), reads)
        for criterion, (judge, reads) in _CRITERIA.items()
        if criterion != Criterion.DEVICE or proposal.readings.device is not None
    )


def _usable(proposal: Proposal) -> Answer:
    """Return whether the CPUs are online and within the caller's cpuset, or in an isolated partition.

    The benchmark enters the partition itself.
    """
    snapshot, partition = proposal.case.snapshot, proposal.case.snapshot.isolation.partition or frozenset()
    trial = snapshot.pin_trial
    if trial.granted is not None:
        trial = replace(trial, granted=proposal.run & (trial.granted | partition))
    answer = target_cpu_unusable.answer(replace(proposal.case, snapshot=replace(snapshot, pin_trial=trial)))
    return replace(answer, fix=None)


def _whole_cores(proposal: Proposal) -> Answer:
    case = proposal.case
    topology = case.snapshot.topology
    siblings = {cpu: topology[cpu].siblings if cpu in topology else None for cpu in sorted(proposal.run)}
    graded = case.graded(
        evidence={"siblings_by_cpu": {str(cpu): None if own is None else sorted(own) for cpu, own in siblings.items()}}
    )
    shared = [core for core in proposal.cores if len(core.cpus & proposal.run) > 1]
    if shared:
        cpus = frozenset().union(*(core.cpus & proposal.run for core in shared))
        first = frozenset(core.first for core in shared)
        text = f"{name_cpus(cpus)} share cores: run on {format_cpu_list(first)}, and leave {{}} idle"
        return graded.warns(text.format(format_cpu_list(cpus - first)), cpus=cpus)
    silent = next((core.first for core in proposal.cores if not core.has_siblings), None)
    if silent is not None:
        return graded.unknown(case.why_unknown(f"{CPUS}/cpu{silent}/topology/thread_siblings_list"))
    if case.snapshot.platform.virtual != NONE:
        return graded.unknown(f"{case.guest_words} {CANNOT_SEE}")
    idle = f"; {name_cpus(proposal.idle)}, their other threads, stay idle" if proposal.idle else ", one thread each"
    return graded.passes(f"{describe_count(len(proposal.cores), 'core')}{idle}")


def _housekeeping(proposal: Proposal) -> Answer:
    case, left = proposal.case, proposal.housekeeping
    graded = case.graded(evidence={"housekeeping": sorted(left), "online_by": case.snapshot.online.said_by})
    if case.snapshot.online.online is None:
        return case.unread(f"{CPUS}/online")
    if not left:
        return graded.fails("no core is left for all other work", cpus=proposal.run)
    boot_core = next((core for core in proposal.cores if BOOT_CPU in core.cpus), None)
    if BOOT_CPU in proposal.run:
        text = "CPU 0 keeps the time, and takes all interrupts that were not moved"
        return graded.fails(text, cpus=frozenset({BOOT_CPU}))
    if boot_core is not None:
        sharing = boot_core.cpus & proposal.run
        return graded.fails(f"{name_cpus(sharing)} shares a core with CPU 0", cpus=sharing)
    if any(not core.has_siblings for core in proposal.cores):
        return graded.unknown("which CPUs share a core with them is not known")
    cores = cores_of(case, left)
    boot = ", CPU 0 among them" if BOOT_CPU in left and len(left) > 1 else ""
    text = f"{name_cpus(left)} ({describe_count(len(cores), 'core')}) for all other work{boot}"
    return graded.passes(text)


def _fastest_kind(proposal: Proposal) -> Answer:
    """Return the answer of `target-cores-differ` and, where that passes, the kind."""
    answer = target_cores_differ.answer(proposal.case)
    own = {core.kind for core in proposal.cores}
    kinds = {str(cpu): core.kind for core in proposal.cores for cpu in sorted(core.cpus & proposal.run)}
    evidence = {**answer.evidence, "kind_by_cpu": kinds}
    if answer.status != Status.PASS:
        return replace(answer, fix=None, evidence=evidence)
    graded = proposal.case.graded(evidence=evidence)
    if None in own:
        return graded.unknown(why_no_kind(proposal.case, proposal.run))
    clocks = highest_clocks(proposal.case)
    least = min((clocks[cpu] for cpu in proposal.run if cpu in clocks), default=0) * (1 - ALIKE.value)
    slower = frozenset(cpu for cpu, khz in clocks.items() if khz < least)
    text = "performance cores" if own == {PERFORMANCE} else "all cores of this machine are of one kind"
    if slower and own != {PERFORMANCE}:
        text = f"{text}, though {name_cpus(slower)} clock lower"
    return _with_strength(graded.passes(text), proposal)


def _with_strength(answer: Answer, proposal: Proposal) -> Answer:
    """Return the answer with a note if another core of the machine is stronger: CPU 0's, or one in a worse place."""
    own = max(core.strength for core in proposal.cores)
    others = cores_of(proposal.case, proposal.case.online, proposal.ranking)
    best = max((core.strength for core in others), default=own)
    evidence = {**answer.evidence, "capacity_khz_rank": list(own), "best_capacity_khz_rank": list(best)}
    stronger = frozenset(core.first for core in others if core.strength == best)
    parts = list(zip(own, best, strict=True))
    share = max((1 - mine / most for mine, most in parts if most), default=0.0)
    if share > ALIKE.value:
        text = f"{answer.said}; {name_cpus(stronger)} would be up to {share:.0%} stronger"
        return replace(answer, said=text, evidence=evidence)
    return replace(answer, evidence=evidence)


def _one_cache(proposal: Proposal) -> Answer:
    case = proposal.case
    caches = {core.cache for core in proposal.cores}
    known_caches = sorted((cache for cache in caches if cache is not None), key=sorted)
    graded = case.graded(evidence={"last_level_caches": [format_cpu_list(cache) for cache in known_caches]})
    if len(known_caches) > 1:
        text = f"{len(known_caches)} last-level caches: {name_cpu_sets(cache & proposal.run for cache in known_caches)}"
        return graded.warns(text, cpus=proposal.run)
    if None in caches or not known_caches:
        return graded.unknown(why_no_cache(case, uncached(case)))
    others = (known_caches[0] & case.running) - proposal.taken
    shared = f", shared with {name_cpus(others)}" if others else ", shared with no other CPU"
    return graded.passes(f"one last-level cache{shared}")


def _one_node(proposal: Proposal) -> Answer:
    case, nodes = proposal.case, {core.node for core in proposal.cores}
    numbers = sorted(node for node in nodes if node is not None)
    graded = case.graded(evidence={"node_by_cpu": {str(core.first): core.node for core in proposal.cores}})
    if len(numbers) > 1:
        ways = [proposal.readings.nodes.distance(numbers[0], other) for other in numbers[1:]]
        far = f", at a distance of up to {max(way for way in ways if way is not None)}" if None not in ways else ""
        return graded.warns(f"{_nodes(numbers)}{far}", cpus=proposal.run)
    if None not in nodes:
        return graded.passes(_nodes(numbers))
    if Knob.ZONE_RECLAIM in case.snapshot.settings.knobs.absent:
        return graded.not_applicable("this kernel knows no memory nodes")
    return graded.unknown(case.why_unknown(NODES))


def _memory(proposal: Proposal) -> Answer:
    nodes, own = proposal.readings.nodes, proposal.nodes
    with_memory = nodes.with_memory
    evidence = {"with_memory": None if with_memory is None else sorted(with_memory), "nodes": sorted(own)}
    graded = proposal.case.graded(evidence=evidence)
    if not own:
        return replace(_one_node(proposal), said="unknown", evidence=evidence)
    if with_memory is None:
        return graded.unknown(proposal.why_unread(HAS_MEMORY, NODES))
    empty = sorted(own - with_memory)
    if not empty:
        return graded.passes(f"{_nodes(own)} {'has' if len(own) == 1 else 'have'} memory")
    nearest = f"; the nearest that has is {_nodes(proposal.memory_nodes)}" * bool(proposal.memory_nodes)
    text = f"no memory at {_nodes(empty)}{nearest}"
    return graded.fails(text, cpus=proposal.run)


def _near_device(proposal: Proposal) -> Answer:
    device = proposal.readings.device
    assert device is not None  # criteria on a device are left out without one
    case, near = proposal.case, proposal.near
    evidence: dict[str, object] = {"device": device.name, "node": device.node, "told_by": device.told_by}
    if near is not None:
        evidence["near"] = sorted(near)
    graded = case.graded(evidence=evidence)
    nodes = case.snapshot.settings.memory_nodes or frozenset()
    if device.node is None and len(nodes) == 1 and case.snapshot.platform.virtual == NONE:
        return graded.passes("this machine has one node")
    if device.node is None:
        reason = "numa_node is -1" if device.told_by is not None else "its bus has no numa_node"
        return graded.unknown(f"this machine does not tell at which node {device.name} is: {reason}")
    if near is None:
        return graded.unknown(f"{device.name} is at node {device.node}, and no CPU is known to be")
    far = proposal.run - near
    if far:
        text = f"{device.name} is at node {device.node}; {name_cpus(far)} are not (near it: {format_cpu_list(near)})"
        return graded.warns(text, cpus=far)
    return graded.passes(f"{device.name} is at node {device.node} as well")


def _isolated(proposal: Proposal) -> Answer:
    case = proposal.case
    isolated = case.snapshot.isolation.isolated
    if isolated is None:
        return case.unread(f"{CPUS}/isolated")
    graded = case.graded(evidence={"isolated": sorted(isolated)})
    if proposal.taken <= isolated:
        return graded.passes("isolated already")
    some = proposal.taken & isolated
    if case.snapshot.isolation.doubt is not None:
        return unknown(case.snapshot.isolation.doubt)
    if not some:
        others = f"; isolated are {name_cpus(isolated)}" if isolated else ""
        return graded.not_applicable(f"not isolated so far{others}")
    return graded.warns(f"{name_cpus(proposal.taken - isolated)}: not isolated so far")


def _nodes(nodes: Collection[int]) -> str:
    return f"node{'s' if len(nodes) != 1 else ''} {format_cpu_list(nodes)}"


_PLACES = f"{CPUS}/cpuN"
_CRITERIA: Mapping[Criterion, tuple[Callable[[Proposal], Answer], tuple[str, ...]]] = {
    Criterion.USABLE: (_usable, target_cpu_unusable.reads),
    Criterion.CORES: (_whole_cores, (f"{_PLACES}/topology/thread_siblings_list",)),
    Criterion.HOUSEKEEPING: (_housekeeping, (f"{CPUS}/online", f"{_PLACES}/topology/thread_siblings_list")),
    Criterion.KIND: (_fastest_kind, (*target_cores_differ.reads[:-1], f"{_PLACES}/acpi_cppc/highest_perf")),
    Criterion.CACHE: (_one_cache, (f"{_PLACES}/cache/indexN/shared_cpu_list",)),
    Criterion.NODE: (_one_node, (f"{NODES}/nodeN/cpulist",)),
    Criterion.MEMORY: (_memory, (HAS_MEMORY, f"{NODES}/nodeN/meminfo", f"{NODES}/nodeN/distance")),
    Criterion.DEVICE: (_near_device, ("numa_node", "local_cpulist")),
    Criterion.INTERRUPTS: (lambda proposal: judge_fixed_irqs(proposal.case, proposal.taken), IRQ_FILES),
    Criterion.ISOLATED: (_isolated, (f"{CPUS}/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")),
}
