"""A plan as JSON."""

from __future__ import annotations

from typing import Any

from noisewatch import __version__
from noisewatch.documents.document import plain, written
from noisewatch.judgement.plan.criteria import Judged
from noisewatch.judgement.plan.plan import Plan
from noisewatch.surfaces.reports.parts.json import describe_fix, describe_machine
from noisewatch.surfaces.reports.plan.formats import PlanRenderOptions

SCHEMA_VERSION = 1


def render(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the document of `plan --format json`."""
    return written(describe_plan(plan), indent=1)


def describe_plan(plan: Plan) -> dict[str, Any]:
    """Return the plan as one object. Later versions only add keys."""
    proposal, steps = plan.proposal, plan.steps
    return {
        "schema_version": SCHEMA_VERSION,
        "noisewatch": __version__,
        "machine": describe_machine(proposal.case.snapshot),
        "is_given": proposal.is_given,
        "cpus": sorted(proposal.run),
        "idle": sorted(proposal.idle),
        "taken": sorted(proposal.taken),
        "housekeeping": sorted(proposal.housekeeping),
        "online": sorted(proposal.case.online),
        "cores": [sorted(core.cpus) for core in proposal.cores],
        "memory_nodes": sorted(proposal.memory_nodes),
        "said": plan.headline,
        "cost": plan.cost,
        "criteria": [_criterion(judged) for judged in plan.criteria],
        "steps": [{"check": step.check.id, "about": step.about, **plain(describe_fix(step.fix))} for step in steps.all],
        "kernel_arguments": steps.kernel_arguments,
        "replaced_arguments": plan.given_options,
        "unknown": dict(steps.unknown),
        "left_out": dict(steps.left_out),
        "start": [{"about": line.about, "command": line.command} for line in plan.start_lines],
    }


def _criterion(judged: Judged) -> dict[str, Any]:
    answer = judged.answer
    return {
        "id": judged.criterion.replace(" ", "-"),
        "status": answer.status,
        "said": answer.said,
        "reason": answer.reason,
        "cpus": sorted(answer.cpus),
        "evidence": dict(answer.evidence),
        "reads": list(judged.reads),
    }
