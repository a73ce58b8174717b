"""Other target CPUs, where those that were chosen lie badly, or leave no CPU to anything else."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from noisewatch.cpus import CpuSet
from noisewatch.faults import contained
from noisewatch.judgement.case import Case
from noisewatch.judgement.check import Answer, unknown
from noisewatch.judgement.plan.choice import Wishes, best_of, choose
from noisewatch.judgement.plan.cores import BOOT_CPU, Core, alike, cores_of
from noisewatch.judgement.terms import Status
from noisewatch.judgement.verdict import Finding


def proposed_target(case: Case) -> CpuSet | None:
    """Some of the target CPUs: one thread of each core of one kind, below one last-level cache of one node.

    The boot CPU's core is left out where there are others, and at least one core is left to all other work. None where
    the topology does not tell, or has nothing better.
    """
    return case.kept("proposed target", _proposed_target)


def _proposed_target(case: Case) -> CpuSet | None:
    """What a plan would choose of them, as many as lie in one place."""
    cores = cores_of(case, case.target & case.running)
    if not cores or not all(core.has_siblings and core.cache for core in cores):
        return None
    groups = [_without_boot_core(group) for group in alike(cores)]
    most = max(map(len, groups))
    wishes = Wishes(isolated=case.snapshot.isolation.isolated or frozenset())
    chosen = best_of((choose(group, most, wishes) for group in groups if len(group) == most), wishes)
    if not case.running - frozenset().union(*(core.cpus for core in chosen)):
        chosen = chosen[1:]
    proposed = frozenset(min(core.cpus & case.target) for core in chosen)
    return proposed if proposed and proposed != case.target else None


def _without_boot_core(cores: list[Core]) -> list[Core]:
    return [core for core in cores if BOOT_CPU not in core.cpus] or cores


def is_settled_by(finding: Finding, case: Case, cpus: CpuSet) -> bool:
    """Whether the check would have nothing to say of those target CPUs, by all that is known now."""
    target = replace(case.snapshot.target, cpus=cpus)
    asked = replace(case, snapshot=replace(case.snapshot, target=target), calibrated=None)
    answer = contained(lambda: finding.check.answer(asked), partial(_failed, finding))
    return answer.status in (Status.PASS, Status.NOT_APPLICABLE)


def _failed(finding: Finding, reason: str) -> Answer:
    return unknown(f"{finding.check.id}: {reason}")
