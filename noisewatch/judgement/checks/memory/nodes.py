"""Area `memory`: from which NUMA nodes the benchmark gets its memory."""

from __future__ import annotations

from noisewatch.cpus import CpuSet, cpu_list_argument, format_cpu_list, name_cpus
from noisewatch.judgement.case import NO_TARGET, Case
from noisewatch.judgement.check import Answer, check, not_applicable, unknown
from noisewatch.judgement.terms import Area, Severity
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NODES
from noisewatch.kernel.memory.nodes import HAS_MEMORY, QUESTION, MemoryPolicy
from noisewatch.kernel.snapshot.knobs import Knob
from noisewatch.kernel.tasks.own_process import STATUS

_BINDING = frozenset({"bind"})  # of all policies the only one without a way out to other nodes
_UNSAID = frozenset({"default", "local"})


@check(
    id="memory-from-other-nodes",
    area=Area.MEMORY,
    question="Can the benchmark's memory only come from the node of the target CPUs?",
    severity=Severity.WARNING,
    reads=(
        f"{HAS_MEMORY}, {NODES}/nodeN/cpulist",
        f"{STATUS} (Mems_allowed_list)",
        f"{QUESTION}: /proc/self/numa_maps",
    ),
    why=(
        "By default memory comes from the node of the CPU that touches it first, and from another node once that one "
        "is full of anything, such as cached files. Memory of another node is slower by a half or more, and from which "
        "it comes differs from run to run."
    ),
    remedy=(
        "Start the benchmark with `noisewatch run --membind auto`, or with numactl --membind; or allow its cgroup only "
        "the node (cpuset.mems)."
    ),
    sources=(
        "https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html",
        "https://docs.kernel.org/admin-guide/mm/numaperf.html",
    ),
    asks_starter=True,
)
def memory_from_other_nodes(case: Case) -> Answer:
    settings = case.snapshot.settings
    with_memory = settings.nodes_with_memory or settings.memory_nodes  # some nodes may have no memory
    if with_memory is None:
        is_without_numa = Knob.ZONE_RECLAIM in settings.knobs.absent
        return not_applicable("a kernel without NUMA") if is_without_numa else case.unread(NODES)
    if len(with_memory) == 1:
        return not_applicable("one memory node")
    if not case.target:
        return unknown(NO_TARGET)
    own, unplaced = _nodes_of_target(case)
    if unplaced:
        return case.unread(NODES, f"{CPUS}/cpu{min(unplaced)}")
    if len(own) > 1:
        return not_applicable(f"the target CPUs lie in several nodes, {format_cpu_list(own)} (target-cpus-far-apart)")
    allowed = settings.own.allowed_memory_nodes
    if allowed is None:
        return case.unread(STATUS)
    return _judged(case, own, allowed & with_memory, settings.own.memory_policy)


def _judged(case: Case, own: CpuSet, allowed: CpuSet, policy: MemoryPolicy | None) -> Answer:
    """Return the answer by the nodes that the cpuset allows, restricted by the memory policy."""
    here = f"{name_cpus(case.target)} in node {format_cpu_list(own)}"
    graded = case.graded(
        evidence={
            "target_nodes": sorted(own),
            "allowed_nodes": sorted(allowed),
            "policy": None if policy is None else policy.mode,
            "policy_nodes": None if policy is None else sorted(policy.nodes),
        }
    )
    if allowed == own:
        return graded.passes(f"memory comes from node {format_cpu_list(own)} alone")
    if policy is None:
        return case.unread(QUESTION)
    usable = policy.nodes & allowed if policy.mode in _BINDING else allowed
    if usable == own:
        return graded.passes(f"memory is bound to node {format_cpu_list(own)}")
    return graded.warns(f"{here}, {_describe_policy(usable, policy, own)}", cpus=case.target)


def _describe_policy(usable: CpuSet, policy: MemoryPolicy, own: CpuSet) -> str:
    advice = f"(numactl --membind={cpu_list_argument(own)}, or noisewatch run --membind auto)"
    if policy.mode in _UNSAID:
        nodes = f"node{'' if len(usable) == 1 else 's'} {format_cpu_list(usable)}"
        return f"memory from {nodes}, not bound to any {advice}"
    listed = f"{policy.mode}:{format_cpu_list(policy.nodes)}"
    return f"memory by the policy {listed} that it was started with {advice}"


def _nodes_of_target(case: Case) -> tuple[CpuSet, CpuSet]:
    """Return the nodes of the target CPUs, and the target CPUs whose node is unknown."""
    places = {cpu: case.snapshot.topology.get(cpu) for cpu in case.target}
    nodes = {cpu: place.node if place is not None else None for cpu, place in places.items()}
    unplaced = frozenset(cpu for cpu, node in nodes.items() if node is None)
    return frozenset(node for node in nodes.values() if node is not None), unplaced
