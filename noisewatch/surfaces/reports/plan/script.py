"""A plan as a shell script, and the script that restores the values that were read."""

from __future__ import annotations

from noisewatch.judgement.plan.plan import Plan, Step
from noisewatch.surfaces.reports.plan.formats import PlanRenderOptions
from noisewatch.surfaces.reports.plan.words import about, boot_notes, left_out, unknown_checks
from noisewatch.surfaces.reports.verdict.fix_script import (
    files_heading,
    script,
    script_comments,
    script_head,
    script_steps,
    undo_heading,
)
from noisewatch.text import one_line


def render(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the script; comments have permanent settings, what is unknown, and the lines that start the benchmark."""
    steps = plan.steps
    comments = [
        *script_comments("Not isolated by this script:", [one_line(plan.why_no_partition or "")]),
        *script_comments("For good: append this to the kernel command line, and reboot.", [steps.kernel_arguments]),
        *script_comments("Of these options:", list(boot_notes(plan)) if steps.kernel_arguments else []),
        *script_comments(
            "To make the rest permanent:", [f"{step.check.id}: {step.fix.persist}" for step in steps.lasting]
        ),
        *script_comments("Left out:", list(left_out(plan))),
        *script_comments("Not known, and so left out:", list(unknown_checks(plan))),
        *script_comments(
            "To run the benchmark:", [f"{start_line.about}: {start_line.command}" for start_line in plan.start_lines]
        ),
    ]
    head = script_head("Keeps everything else off the CPUs of a benchmark", about(plan))
    return script(head, script_steps((_heading(step), step.fix.now) for step in steps.now), comments, {})


def render_undo(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the script that restores the values that were read, in reverse order."""
    undone = [(step, step.fix.undo) for step in reversed(plan.steps.now)]
    files = [(step, step.fix.undo_files) for step in plan.steps.lasting if step.fix.undo_files]
    comments = [
        *script_comments(
            "If this was appended to the kernel command line, remove it and reboot:", [plan.steps.kernel_arguments]
        ),
        *script_comments("Not undone by this script:", [step.check.id for step, command in undone if command is None]),
    ]
    head = script_head("Restores what noisewatch read before the plan", about(plan))
    back = [(undo_heading(step.check), command) for step, command in undone]
    removals = [(files_heading(step.check), command) for step, command in files]
    return script(head, script_steps([*back, *removals]), comments, {})


def _heading(step: Step) -> str:
    return f"{step.check.id}: {step.about}"
