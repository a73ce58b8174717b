"""The verdict as workflow commands, which GitHub Actions shows as annotations of the run."""

from __future__ import annotations

from noisewatch.judgement.causes import causes_of, in_order
from noisewatch.judgement.finding_words import (
    commands_of,
    counts,
    culprit_line,
    judged,
    sentence,
)
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.parts.workflow import MOST_ANNOTATIONS, annotation_lines, workflow_command
from noisewatch.surfaces.reports.verdict.formats import RenderOptions

_LEVELS = (
    ("error", (Gravity.FAILED, Gravity.UNANSWERED)),
    ("warning", (Gravity.WARNED,)),
    ("notice", (Gravity.OPEN, Gravity.NOTED)),
)
_MOST_CULPRITS = 5


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format github`: the verdict first, as a notice, then the gravest findings, by cause."""
    findings = in_order(verdict, causes_of(verdict))
    lines = [workflow_command("notice", f"noisewatch: {verdict.verdict.upper()}", _told(verdict))]
    for level, gravities in _LEVELS:
        room = MOST_ANNOTATIONS - (1 if level == "notice" else 0)
        shown = [each for each in findings if each.gravity(verdict.is_strict) in gravities]
        lines += annotation_lines(level, [(each.check.id, _message(each)) for each in shown], room)
    return "".join(f"{line}\n" for line in lines)


def _told(verdict: Verdict) -> str:
    return f"{counts(verdict)} ({judged(verdict)})"


def _message(finding: Finding) -> str:
    lines = [sentence(finding), *(culprit_line(each) for each in finding.answer.culprits[:_MOST_CULPRITS])]
    lines += [f"{name}: {command}" for name, command in commands_of(finding.answer.fix)]
    return "\n".join(lines)
