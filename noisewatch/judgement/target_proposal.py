"""Other target CPUs, where those that were chosen lie badly, or leave no CPU to anything else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial

from noisewatch.cpus import CpuSet
from noisewatch.faults import contained
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, unknown
from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Finding

_BOOT_CPU = 0


def proposed_target(case: Case) -> CpuSet | None:
    """Some of the target CPUs: one thread of each core of one kind, below one last-level cache of one node.

    The boot CPU's core is left out where there are others, and at least one core is left to all other work. None where
    the topology does not tell, or has nothing better.
    """
    return case.kept("proposed target", _proposed_target)


def _proposed_target(case: Case) -> CpuSet | None:
    topology = case.snapshot.topology
    groups: dict[tuple[object, ...], dict[CpuSet, int]] = defaultdict(dict)
    for cpu in sorted(case.target & case.running):
        place = topology.get(cpu)
        if place is None or not place.siblings or not place.last_level_cache:
            return None
        groups[place.node, place.last_level_cache, place.kind, place.capacity].setdefault(place.siblings, cpu)
    choices = [_without_boot_core(cores) for cores in groups.values()]
    cores = max(choices, key=len, default={})
    if not case.running - frozenset().union(*cores):
        cores = dict([*cores.items()][1:])
    proposed = frozenset(cores.values())
    return proposed if proposed and proposed != case.target else None


def _without_boot_core(cores: dict[CpuSet, int]) -> dict[CpuSet, int]:
    others = {siblings: cpu for siblings, cpu in cores.items() if _BOOT_CPU not in siblings}
    return others or cores


def is_settled_by(finding: Finding, case: Case, cpus: CpuSet) -> bool:
    """Whether the check would have nothing to say of those target CPUs, by all that is known now."""
    target = replace(case.snapshot.target, cpus=cpus)
    asked = replace(case, snapshot=replace(case.snapshot, target=target), calibrated=None)
    answer = contained(lambda: finding.check.answer(asked), partial(_failed, finding))
    return answer.status in (Status.PASS, Status.NOT_APPLICABLE)


def _failed(finding: Finding, reason: str) -> Answer:
    return unknown(f"{finding.check.id}: {reason}")
