"""The criteria for and against target CPUs, each with its status, a sentence and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import format_cpu_list, name_cpu_sets, name_cpus
from noisewatch.judgement.check import Answer, not_applicable, unknown
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


class Judged(Struct, frozen=True):
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
    evidence = {"siblings_by_cpu": {str(cpu): None if own is None else sorted(own) for cpu, own in siblings.items()}}
    shared = [core for core in proposal.cores if len(core.cpus & proposal.run) > 1]
    if shared:
        cpus = frozenset().union(*(core.cpus & proposal.run for core in shared))
        first = frozenset(core.first for core in shared)
        text = f"{name_cpus(cpus)} share cores: run on {format_cpu_list(first)}, and leave {{}} idle"
        return Answer(Status.WARN, text.format(format_cpu_list(cpus - first)), cpus=cpus, evidence=evidence)
    silent = next((core.first for core in proposal.cores if not core.has_siblings), None)
    if silent is not None:
        return _unknown(case.why_unknown(f"{CPUS}/cpu{silent}/topology/thread_siblings_list"), evidence)
    if case.snapshot.platform.virtual != NONE:
        return _unknown(f"{case.guest_words} {CANNOT_SEE}", evidence)
    idle = f"; {name_cpus(proposal.idle)}, their other threads, stay idle" if proposal.idle else ", one thread each"
    return Answer(Status.PASS, f"{describe_count(len(proposal.cores), 'core')}{idle}", evidence=evidence)


def _housekeeping(proposal: Proposal) -> Answer:
    case, left = proposal.case, proposal.housekeeping
    evidence = {"housekeeping": sorted(left), "online_by": case.snapshot.online.said_by}
    if case.snapshot.online.online is None:
        return unknown(case.why_unknown(f"{CPUS}/online"))
    if not left:
        return Answer(Status.FAIL, "no core is left for all other work", cpus=proposal.run, evidence=evidence)
    boot_core = next((core for core in proposal.cores if BOOT_CPU in core.cpus), None)
    if BOOT_CPU in proposal.run:
        text = "CPU 0 keeps the time, and takes all interrupts that were not moved"
        return Answer(Status.FAIL, text, cpus=frozenset({BOOT_CPU}), evidence=evidence)
    if boot_core is not None:
        sharing = boot_core.cpus & proposal.run
        return Answer(Status.FAIL, f"{name_cpus(sharing)} shares a core with CPU 0", cpus=sharing, evidence=evidence)
    if any(not core.has_siblings for core in proposal.cores):
        return _unknown("which CPUs share a core with them is not known", evidence)
    cores = cores_of(case, left)
    boot = ", CPU 0 among them" if BOOT_CPU in left and len(left) > 1 else ""
    text = f"{name_cpus(left)} ({describe_count(len(cores), 'core')}) for all other work{boot}"
    return Answer(Status.PASS, text, evidence=evidence)


def _fastest_kind(proposal: Proposal) -> Answer:
    """Return the answer of `target-cores-differ` and, where that passes, the kind."""
    answer = target_cores_differ.answer(proposal.case)
    own = {core.kind for core in proposal.cores}
    kinds = {str(cpu): core.kind for core in proposal.cores for cpu in sorted(core.cpus & proposal.run)}
    evidence = {**answer.evidence, "kind_by_cpu": kinds}
    if answer.status != Status.PASS:
        return replace(answer, fix=None, evidence=evidence)
    if None in own:
        return _unknown(why_no_kind(proposal.case, proposal.run), evidence)
    clocks = highest_clocks(proposal.case)
    least = min((clocks[cpu] for cpu in proposal.run if cpu in clocks), default=0) * (1 - ALIKE.value)
    slower = frozenset(cpu for cpu, khz in clocks.items() if khz < least)
    text = "performance cores" if own == {PERFORMANCE} else "all cores of this machine are of one kind"
    if slower and own != {PERFORMANCE}:
        text = f"{text}, though {name_cpus(slower)} clock lower"
    return _with_strength(Answer(Status.PASS, text, evidence=evidence), proposal)


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
    evidence = {"last_level_caches": [format_cpu_list(cache) for cache in known_caches]}
    if len(known_caches) > 1:
        text = f"{len(known_caches)} last-level caches: {name_cpu_sets(cache & proposal.run for cache in known_caches)}"
        return Answer(Status.WARN, text, cpus=proposal.run, evidence=evidence)
    if None in caches or not known_caches:
        return _unknown(why_no_cache(case, uncached(case)), evidence)
    others = (known_caches[0] & case.running) - proposal.taken
    shared = f", shared with {name_cpus(others)}" if others else ", shared with no other CPU"
    return Answer(Status.PASS, f"one last-level cache{shared}", evidence=evidence)


def _one_node(proposal: Proposal) -> Answer:
    case, nodes = proposal.case, {core.node for core in proposal.cores}
    numbers = sorted(node for node in nodes if node is not None)
    evidence = {"node_by_cpu": {str(core.first): core.node for core in proposal.cores}}
    if len(numbers) > 1:
        ways = [proposal.readings.nodes.distance(numbers[0], other) for other in numbers[1:]]
        far = f", at a distance of up to {max(way for way in ways if way is not None)}" if None not in ways else ""
        return Answer(Status.WARN, f"{_nodes(numbers)}{far}", cpus=proposal.run, evidence=evidence)
    if None not in nodes:
        return Answer(Status.PASS, _nodes(numbers), evidence=evidence)
    if Knob.ZONE_RECLAIM in case.snapshot.settings.knobs.absent:
        return replace(not_applicable("this kernel knows no memory nodes"), evidence=evidence)
    return _unknown(case.why_unknown(NODES), evidence)


def _memory(proposal: Proposal) -> Answer:
    nodes, own = proposal.readings.nodes, proposal.nodes
    with_memory = nodes.with_memory
    evidence = {"with_memory": None if with_memory is None else sorted(with_memory), "nodes": sorted(own)}
    if not own:
        return replace(_one_node(proposal), said="unknown", evidence=evidence)
    if with_memory is None:
        return _unknown(proposal.why_unread(HAS_MEMORY, NODES), evidence)
    empty = sorted(own - with_memory)
    if not empty:
        text = f"{_nodes(own)} {'has' if len(own) == 1 else 'have'} memory"
        return Answer(Status.PASS, text, evidence=evidence)
    nearest = f"; the nearest that has is {_nodes(proposal.memory_nodes)}" * bool(proposal.memory_nodes)
    text = f"no memory at {_nodes(empty)}{nearest}"
    return Answer(Status.FAIL, text, cpus=proposal.run, evidence=evidence)


def _near_device(proposal: Proposal) -> Answer:
    device = proposal.readings.device
    assert device is not None  # criteria on a device are left out without one
    case, near = proposal.case, proposal.near
    evidence: dict[str, object] = {"device": device.name, "node": device.node, "told_by": device.told_by}
    nodes = case.snapshot.settings.memory_nodes or frozenset()
    if device.node is None and len(nodes) == 1 and case.snapshot.platform.virtual == NONE:
        return Answer(Status.PASS, "this machine has one node", evidence=evidence)
    if device.node is None:
        reason = "numa_node is -1" if device.told_by is not None else "its bus has no numa_node"
        return _unknown(f"this machine does not tell at which node {device.name} is: {reason}", evidence)
    if near is None:
        return _unknown(f"{device.name} is at node {device.node}, and no CPU is known to be", evidence)
    evidence |= {"near": sorted(near)}
    far = proposal.run - near
    if far:
        text = f"{device.name} is at node {device.node}; {name_cpus(far)} are not (near it: {format_cpu_list(near)})"
        return Answer(Status.WARN, text, cpus=far, evidence=evidence)
    return Answer(Status.PASS, f"{device.name} is at node {device.node} as well", evidence=evidence)


def _isolated(proposal: Proposal) -> Answer:
    case = proposal.case
    isolated = case.snapshot.isolation.isolated
    if isolated is None:
        return unknown(case.why_unknown(f"{CPUS}/isolated"))
    evidence = {"isolated": sorted(isolated)}
    if proposal.taken <= isolated:
        return Answer(Status.PASS, "isolated already", evidence=evidence)
    some = proposal.taken & isolated
    if case.snapshot.isolation.doubt is not None:
        return unknown(case.snapshot.isolation.doubt)
    if not some:
        others = f"; isolated are {name_cpus(isolated)}" if isolated else ""
        return replace(not_applicable(f"not isolated so far{others}"), evidence=evidence)
    return Answer(Status.WARN, f"{name_cpus(proposal.taken - isolated)}: not isolated so far", evidence=evidence)


def _unknown(reason: str, evidence: Mapping[str, object]) -> Answer:
    return replace(unknown(reason), evidence=evidence)


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
