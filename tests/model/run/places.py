"""Machines of four CPUs: in one node, in two, in unknown nodes, and of two kinds of cores (CPUs 0 and 1 are fast)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.tasks.command_threads import CommandLook
from noisewatch.model.run.placement import MemoryElsewhere, Placement
from noisewatch.model.run.placement_tally import PlacementTally


def place(cpu: int, *, node: int | None, kind: str | None = "none", core: int | None = None) -> CpuPlace:
    """Return a CPU: a core of its own, or part of the core whose first CPU is `core`."""
    siblings = frozenset({cpu}) if core is None else frozenset({core, cpu})
    return CpuPlace(
        cpu=cpu,
        core=cpu,
        package=0,
        node=node,
        siblings=siblings,
        last_level_cache=None,
        kind=kind,
        capacity=None,
    )


TWO_NODES = {cpu: place(cpu, node=cpu // 2) for cpu in range(4)}
TWO_KINDS = {cpu: place(cpu, node=0, kind="performance" if cpu < 2 else "efficiency") for cpu in range(4)}
ONE_NODE = {cpu: place(cpu, node=0) for cpu in range(4)}
UNKNOWN_NODES = {cpu: place(cpu, node=None) for cpu in range(4)}
ALL = frozenset(range(4))


def placement_of(
    looks: Iterable[CommandLook], target: CpuSet, topology: Mapping[int, CpuPlace], memory: MemoryElsewhere
) -> Placement:
    """Return the placement from the looks of one repetition, in order."""
    tally = PlacementTally(target, topology)
    for look in looks:
        tally.add(look)
    return tally.placement(memory)
