"""Restricts a plan of `tune` to changes that keep other work off the target CPUs, for `run --reserve`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from noisewatch.judgement.checks.cpus.isolation import FEWER_TARGETS, partition_needs, target_not_isolated
from noisewatch.judgement.finding_words import sentence
from noisewatch.judgement.terms import Severity, Status
from noisewatch.judgement.verdict import Finding
from noisewatch.operations.preflight import PreflightOptions
from noisewatch.operations.tuning.plan import TuningPlan

RESERVING = frozenset(
    {
        target_not_isolated.id,
        "services-on-target",
        "irq-routed-to-target",
        "default-irq-affinity-includes-target",
        "irqbalance-may-move-irqs",
        "packets-steered-to-target",
        "workqueues-on-target",
        "rcu-callbacks-on-target",
    }
)


def reserving_options(options: PreflightOptions) -> PreflightOptions:
    """Return the options with only the checks in RESERVING; a failure of any of them is reason enough for a change."""
    severity_by_id = dict.fromkeys(RESERVING, Severity.WARNING)
    return replace(options, rules=replace(options.rules, selected=RESERVING, severity_by_id=severity_by_id))


def unreserved_reasons(plan: TuningPlan) -> Iterator[str]:
    """Yield why other processes may still use the target CPUs, and which settings could not be judged."""
    has_partition = any(step.finding.check.id == target_not_isolated.id for step in plan.steps)
    for finding in plan.verdict.findings:
        is_isolation = finding.check.id == target_not_isolated.id
        if is_isolation and finding.status != Status.PASS and not has_partition:
            yield f"other processes may still use the target CPUs: {_unisolated_reason(plan, finding)}"
        elif finding.is_unknown:
            yield f"{finding.check.id} is unknown: {sentence(finding)}"


def _unisolated_reason(plan: TuningPlan, finding: Finding) -> str:
    if finding.status not in (Status.FAIL, Status.WARN):
        return sentence(finding)
    missing = partition_needs(plan.verdict.case).missing
    return f"an isolated partition needs {' and '.join(missing)}" if missing else FEWER_TARGETS.words
