"""A plan as JSON."""

from __future__ import annotations

from noisewatch import __version__
from noisewatch.documents.document import SCHEMA, fill_part, to_json
from noisewatch.documents.plan import CriterionPart, PlanDocument, StartPart, StepPart
from noisewatch.judgement.plan.plan import Judged, Plan
from noisewatch.surfaces.reports.parts.json import describe_machine


def render(plan: Plan) -> str:
    """Return the document of `plan --format json`."""
    proposal, steps = plan.proposal, plan.steps
    document = PlanDocument(
        schema_version=SCHEMA,
        noisewatch=__version__,
        machine=describe_machine(proposal.case.snapshot),
        is_given=proposal.is_given,
        cpus=sorted(proposal.run),
        idle=sorted(proposal.idle),
        taken=sorted(proposal.reserved),
        housekeeping=sorted(proposal.housekeeping),
        online=sorted(proposal.case.online),
        cores=[sorted(core.cpus) for core in proposal.cores],
        memory_nodes=sorted(proposal.memory_nodes),
        said=plan.headline,
        cost=plan.cost,
        criteria=[_criterion(judged) for judged in plan.criteria],
        steps=[fill_part(StepPart, step.fix, check=step.check.id, about=step.about) for step in steps.all],
        kernel_arguments=steps.kernel_arguments,
        replaced_arguments=plan.given_options,
        unknown=dict(steps.unknown),
        left_out=dict(steps.left_out),
        start=[fill_part(StartPart, line) for line in plan.start_lines],
    )
    return to_json(document, indent=1)


def _criterion(judged: Judged) -> CriterionPart:
    return fill_part(
        CriterionPart,
        judged.answer,
        id=judged.criterion.replace(" ", "-"),
        cpus=sorted(judged.answer.cpus),
        evidence=dict(judged.answer.evidence),
        reads=list(judged.reads),
    )
