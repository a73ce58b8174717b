"""The placement of a command's threads: its effect on a repetition, and prefixes of the command that improve it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from noisewatch.cpus import CpuSet, cpu_list_argument, format_taskset_list
from noisewatch.judgement.run.reasons import ReasonKind, RunReason
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.model.run.placement import Placement, ThreadPlacement
from noisewatch.program import NAME
from noisewatch.units import NS_PER_S, describe_share

_COUNTS = 0.01  # share of the run time; the place of a thread that ran for less does not matter
_STACKED_SHARE = (
    0.1  # share of the looks; fewer may be chance, as a thread that wakes another shares its CPU for a moment
)
_STACKED_LOOKS = 2
_WAITED_SHARE = 0.05  # share of the repetition; if threads waited for less, sharing a CPU did not matter
_OBSERVED_SHARE = 0.8  # share of the CPU time; threads that were observed for less may have run anywhere
THREADS_NOT_OBSERVED = "the command's threads were not observed because the command was too short"
_UNCOUNTED = (
    "cannot tell whether the command's threads moved between two looks: the kernel does not count moves "
    "(/proc/PID/sched)"
)
_MOVED_UNSEEN = (
    "the command's threads moved more often than observed: where they ran is known for only {} of their CPU time"
)


def placement_reasons(placement: Placement, length_ns: int) -> tuple[list[RunReason], list[RunReason]]:
    """Return two lists of reasons: threads that moved or were debugged, and threads that shared a CPU.

    Only moves to another memory node or kind of core count. Threads of the command that share a CPU are not noise of
    the machine, and repeating the command helps little.
    """
    moved: list[RunReason] = []
    for thread in weighty_threads(placement):
        moves = {ReasonKind.NODE_CHANGED: thread.node_moves, ReasonKind.CORES_CHANGED: thread.kind_moves}
        moved += (RunReason(kind=kind, name=thread.name, pid=thread.tid) for kind, count in moves.items() if count)
    moved += (RunReason(kind=ReasonKind.DEBUGGED, name=name, pid=pid) for pid, name in sorted(placement.debuggers))
    return moved, list(_stacked_reasons(placement, length_ns))


def weighty_threads(placement: Placement) -> list[ThreadPlacement]:
    """Return the threads whose place matters."""
    return [thread for thread in placement.threads if thread.ran_ns >= _COUNTS * placement.ran_ns]


def is_stacked(placement: Placement, length_ns: int) -> bool:
    """Return whether threads shared a CPU for long while another target CPU was free."""
    stacking = placement.stacking
    if stacking is None or stacking.share < _STACKED_SHARE or stacking.looks < _STACKED_LOOKS:
        return False
    waited_ns = stacked_wait_ns(placement)
    return waited_ns is None or waited_ns >= _WAITED_SHARE * length_ns


def stacked_wait_ns(placement: Placement) -> int | None:
    """Return the sum of the times that threads which shared CPUs waited for a CPU; None means unknown."""
    tids = placement.stacking.tids if placement.stacking is not None else frozenset()
    waits = [thread.waited_ns for thread in placement.threads if thread.tid in tids]
    known_waits = [ns for ns in waits if ns is not None]
    return sum(known_waits) if len(known_waits) == len(waits) else None


def _stacked_reasons(placement: Placement, length_ns: int) -> Iterator[RunReason]:
    stacking = placement.stacking
    if stacking is not None and is_stacked(placement, length_ns):
        yield RunReason(
            kind=ReasonKind.STACKED,
            name=f"{len(stacking.tids)} of the command's threads",
            cpu=min(stacking.stacked),
            ns=stacked_wait_ns(placement),
            share=stacking.share,
            is_estimate=True,
        )


def unknown_placement_reason(placement: Placement) -> str | None:
    """Return why it is unknown whether threads moved to another memory node or kind of core, or None if it is known.

    If no file contains the kind of any core, as in most virtual machines, cores count as alike; differences between
    them show in the microbenchmark.
    """
    if len(placement.target) < 2:
        return None
    if None in placement.nodes:
        return "the memory node of a target CPU is not known"
    if None in placement.kinds and len(placement.kinds) > 1:
        return "the kind of a target core is not known"
    if len(placement.nodes) < 2 and len(placement.kinds) < 2:
        return None
    if not placement.looks and not placement.is_traced:
        return THREADS_NOT_OBSERVED
    observed, sure = placement.seen_share, placement.sure_share
    if observed is None or sure is None:
        return "cannot tell how much of the command's CPU time was observed"
    if observed < _OBSERVED_SHARE:
        return f"where the command's threads ran is known for only {describe_share(observed, 0)} of their CPU time"
    if sure < _OBSERVED_SHARE:
        is_uncounted = placement.uncounted_ns > placement.hidden_ns
        return _UNCOUNTED if is_uncounted else _MOVED_UNSEEN.format(describe_share(sure, 0))
    return None


_FASTEST = "performance"
_ELSEWHERE_SHARE = 0.05  # if a larger share of the memory is on other nodes, that is a fault
_ELSEWHERE_BYTES = 1 << 20
_ALONE_SHARE = 0.95  # a thread with this share of the observed time runs practically alone
_ALONE_SHARE_OF_ALL = 0.8  # a thread with this share of all run time, observed or not, runs practically alone
_MOVES_PER_S = 1.0
_MIN_MOVES = 3
_Key = TypeVar("_Key")


class PlacementFault(StrEnum):
    """A fault of the placement. The values are also in the receipt."""

    NODES = "nodes"  # threads moved between memory nodes
    CORES = "cores"  # threads moved between kinds of core
    MEMORY = "memory"  # memory came from nodes other than the target's
    STACKED = "stacked"  # threads shared a CPU while another was free
    MOVING = "moving"  # the one thread that matters moved between CPUs


class PlacementAdvice(Struct, frozen=True):
    """A fault of the placement, and the prefix of the command that would have helped."""

    fault: PlacementFault
    before: tuple[str, ...]


def placement_advice(
    placement: Placement,
    length_ns: int,
    topology: Mapping[int, CpuPlace],
    isolated: CpuSet = frozenset(),
) -> list[PlacementAdvice]:
    """Return at most one piece of advice for each fault, the gravest first."""
    faults = dict(_better_prefixes(placement, length_ns, topology, isolated))
    return [PlacementAdvice(fault, before) for fault, before in faults.items()]


def _better_prefixes(
    placement: Placement, length_ns: int, topology: Mapping[int, CpuPlace], isolated: CpuSet
) -> Iterator[tuple[PlacementFault, tuple[str, ...]]]:
    """Yield each fault with the prefix that would have helped."""
    target, weighty = placement.target, weighty_threads(placement)
    cpus_by_node = _cpus_by(target, {cpu: place.node for cpu, place in topology.items()})
    if any(thread.node_moves for thread in weighty):
        node = _key_with_most_time(placement.ns_by_node(), cpus_by_node)
        if node is not None:
            yield PlacementFault.NODES, _numactl_prefix(cpus_by_node[node], frozenset({node}), topology, isolated)
    elif _is_elsewhere(placement) and set().union(*cpus_by_node.values()) == target:
        yield PlacementFault.MEMORY, _numactl_prefix(target, frozenset(cpus_by_node), topology, isolated)
    if any(thread.kind_moves for thread in weighty):
        cpus_by_kind = _cpus_by(target, {cpu: place.kind for cpu, place in topology.items()})
        kind = _FASTEST if _FASTEST in cpus_by_kind else _key_with_most_time(placement.ns_by_kind(), cpus_by_kind)
        if kind is not None:
            yield PlacementFault.CORES, _taskset_prefix(cpus_by_kind[kind])
    if is_stacked(placement, length_ns):
        yield PlacementFault.STACKED, (NAME, "run", "--cpus", cpu_list_argument(target), "--spread", "--")
    alone = _moving_alone(weighty, placement, length_ns)
    if alone is not None:
        cpu = _key_with_most_time(alone.ns_by_cpu, dict.fromkeys(target, target))
        if cpu is not None:
            yield PlacementFault.MOVING, _taskset_prefix(frozenset({cpu}))


def _cpus_by(target: CpuSet, key_by_cpu: Mapping[int, _Key | None]) -> dict[_Key, CpuSet]:
    """Return the target CPUs by key, without those whose key is unknown."""
    cpus_by_key: dict[_Key, CpuSet] = {}
    for cpu in sorted(target):
        key = key_by_cpu.get(cpu)
        if key is not None:
            cpus_by_key[key] = cpus_by_key.get(key, frozenset()) | {cpu}
    return cpus_by_key


def _key_with_most_time(
    ns_by_key: Mapping[_Key | None, float] | Mapping[_Key, float], among: Mapping[_Key, CpuSet]
) -> _Key | None:
    """Return the key in `among` with the most run time, or None; of several such keys the first."""
    candidates = [(key, ns) for key, ns in ns_by_key.items() if key is not None and key in among]
    return max(candidates, key=lambda candidate: candidate[1])[0] if candidates else None


def _taskset_prefix(cpus: CpuSet) -> tuple[str, ...]:
    return "taskset", "-c", cpu_list_argument(cpus, format_taskset_list)


def _numactl_prefix(
    cpus: CpuSet, nodes: frozenset[int], topology: Mapping[int, CpuPlace], isolated: CpuSet
) -> tuple[str, ...]:
    """Return the prefix that binds to the CPUs and nodes.

    numactl refuses isolated CPUs by number, but taskset does not. So taskset binds to the CPUs, unless they are all
    CPUs of their nodes and none is isolated; then numactl binds to the nodes.
    """
    listed = cpu_list_argument(nodes)
    is_whole = cpus == {cpu for cpu, place in topology.items() if place.node in nodes} and not cpus & isolated
    if is_whole:
        return "numactl", f"--cpunodebind={listed}", f"--membind={listed}"
    return *_taskset_prefix(cpus), "numactl", f"--membind={listed}"


def _is_elsewhere(placement: Placement) -> bool:
    share, size = placement.memory.share, placement.memory.size_bytes
    return share is not None and size is not None and share > _ELSEWHERE_SHARE and size > _ELSEWHERE_BYTES


def _moving_alone(weighty: Sequence[ThreadPlacement], placement: Placement, length_ns: int) -> ThreadPlacement | None:
    """Return the only thread that matters, if it moved between CPUs repeatedly, else None."""
    first = weighty[0] if weighty else None
    if first is None or len(placement.target) < 2:
        return None
    if first.ran_ns < max(_ALONE_SHARE * placement.seen_ns, _ALONE_SHARE_OF_ALL * placement.ran_ns):
        return None
    least = max(_MIN_MOVES, _MOVES_PER_S * length_ns / NS_PER_S)
    return first if first.least_moves >= least else None
