"""The options that a plan adds to the kernel's command line: one line, for a boot loader's configuration.

The line has no comments; remarks are printed on standard error.
"""

from __future__ import annotations

from collections.abc import Iterator

from noisewatch.judgement.plan.plan import Plan
from noisewatch.surfaces.reports.plan.formats import PlanRenderOptions
from noisewatch.surfaces.reports.plan.words import left_out, replaced_options, unknown_checks
from noisewatch.text import one_line, printable


def render(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the line of options, or an empty text if there is none to add."""
    arguments = printable(plan.steps.kernel_arguments)
    return f"{arguments}\n" if arguments else ""


def remarks(plan: Plan) -> Iterator[str]:
    """Yield the options that the line replaces, and what it lacks."""
    yield from replaced_options(plan)
    if plan.why_no_partition is not None:
        yield one_line(plan.why_no_partition)
    yield from (f"left out: {option}" for option in left_out(plan))
    yield from (f"not known: {one_line(check_reason)}" for check_reason in unknown_checks(plan))
