"""A plan as text: the CPUs, why these, and what to do: now, permanently, and to run the benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.judgement.cause_words import parted
from noisewatch.judgement.fixes.fix import BootOptions
from noisewatch.judgement.plan.criteria import Judged
from noisewatch.judgement.plan.plan import Plan
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.parts.marks import painted_mark
from noisewatch.surfaces.reports.parts.wraps import wrap
from noisewatch.surfaces.reports.plan.formats import PlanRenderOptions
from noisewatch.surfaces.reports.plan.words import NOT_HERE, boot_notes, left_out, placement, unknown_checks
from noisewatch.text import printable

_GRAVITIES: Mapping[Status, Gravity] = {
    Status.PASS: Gravity.PASSED,
    Status.WARN: Gravity.WARNED,
    Status.FAIL: Gravity.FAILED,
    Status.UNKNOWN: Gravity.OPEN,
    Status.NOT_APPLICABLE: Gravity.LEFT_OUT,
    Status.IGNORED: Gravity.LEFT_OUT,
}
_NARROWEST = 40
_INDENT = "  "
_COLUMN = 11  # columns of the label before a line


def render(plan: Plan, options: PlanRenderOptions) -> str:
    """Return the plan wrapped at the width, except for commands, which are there to be copied."""
    lines = [*_head(plan, options), "", *_why(plan, options), "", *_now(plan, options), "", *_for_good(plan, options)]
    return "\n".join([*lines, "", *_to_run(plan, options)]) + "\n"


def _head(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    given = "" if plan.proposal.is_given else "proposed: "
    yield from _wrapped(f"{given}{plan.headline}", options.width)
    yield from _wrapped(f"{placement(plan)}; {plan.cost}", options.width)
    snapshot = plan.proposal.case.snapshot
    remark = "" if snapshot.is_live else f". {NOT_HERE}"
    yield from _wrapped(f"{describe_platform(snapshot)}{remark}", options.width)


def _why(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield "WHY THESE" if not plan.proposal.is_given else "WHAT THEY ARE LIKE"
    widest = max(len(judged_criterion.criterion) for judged_criterion in plan.criteria)
    for judged in plan.criteria:
        indent = " " * (len(_INDENT) + 2 + widest + 2)
        first, *more = _wrapped(_answer_text(judged), options.width, indent, indent)
        mark = painted_mark(_GRAVITIES[judged.answer.status], options.in_unicode, options.in_colour)
        yield f"{_INDENT}{mark} {judged.criterion:<{widest}}  {first.strip()}"
        yield from more


def _answer_text(judged: Judged) -> str:
    answer = judged.answer
    if answer.status == Status.UNKNOWN:
        return f"unknown: {answer.reason}"
    return str(answer.reason if answer.status == Status.NOT_APPLICABLE and answer.reason else answer.said)


def _now(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield "NOW, until the next boot   (--format script; write its --undo before you run it)"
    for step in plan.steps.now:
        yield f"{_INDENT}{step.about}"
        for action in step.fix.actions:
            yield from (f"{_INDENT * 2}{printable(line)}" for line in parted(action.do, options.width))
    if not plan.steps.now:
        yield f"{_INDENT}nothing to do, as far as is known" if plan.steps.unknown else f"{_INDENT}nothing to do"
    if plan.why_no_partition is not None:
        yield from _wrapped(plan.why_no_partition, options.width, _INDENT)
    for line in unknown_checks(plan):
        yield from _wrapped(f"not known: {line}", options.width, _INDENT, _INDENT * 2)


def _for_good(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    arguments = plan.steps.kernel_arguments
    yield "FOR GOOD, from the next boot on"
    if arguments:
        yield f"{_INDENT}add to the kernel command line and reboot"
        yield f"{_INDENT * 2}{printable(arguments)}"
    for step in plan.steps.lasting:
        yield f"{_INDENT}{step.about}"
        yield from (
            f"{_INDENT * 2}{printable(action.do)}" for action in step.fix.lasting if not isinstance(action, BootOptions)
        )
    if not arguments and not plan.steps.lasting:
        yield f"{_INDENT}nothing to do, as far as is known"
    notes = [*boot_notes(plan), *(f"left out: {omission}" for omission in left_out(plan))]
    for note in notes:
        yield from _wrapped(note, options.width, _INDENT, _INDENT)


def _to_run(plan: Plan, options: PlanRenderOptions) -> Iterator[str]:
    yield "RUN THE BENCHMARK"
    yield from (f"{_INDENT}{line.about:<{_COLUMN}}{printable(line.command)}" for line in plan.start_lines)
    for note in plan.notes:
        yield from _wrapped(note, options.width, _INDENT, _INDENT)


def _wrapped(text: str, width: int, first: str = "", further: str = _INDENT) -> list[str]:
    return wrap(printable(text), width, first, further, keep="hyphens", least=_NARROWEST)
