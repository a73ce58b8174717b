"""The verdict as workflow commands, which GitHub Actions shows as annotations of the run."""

from __future__ import annotations

from noisewatch.judgement.causes import causes_of, order_findings
from noisewatch.judgement.finding_words import (
    commands_of,
    counts_text,
    culprit_line,
    scope_text,
    sentence,
)
from noisewatch.judgement.terms import Gravity
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.parts.workflow import MOST_ANNOTATIONS, annotation_lines, workflow_command
from noisewatch.surfaces.reports.verdict.formats import RenderOptions

_LEVEL_BY_GRAVITY = {
    Gravity.FAILED: "error",
    Gravity.UNANSWERED: "warning",
    Gravity.WARNED: "warning",
    Gravity.OPEN: "notice",
    Gravity.NOTED: "notice",
}
_MOST_CULPRITS = 5


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format github`: the verdict as a notice, then the gravest findings by cause."""
    findings = order_findings(verdict, causes_of(verdict))
    summary = f"{counts_text(verdict)} ({scope_text(verdict)}, exit {options.exit_status})"
    lines = [workflow_command("notice", f"noisewatch: {verdict.verdict.upper()}", summary)]
    for level in ("error", "warning", "notice"):
        room = MOST_ANNOTATIONS - (1 if level == "notice" else 0)
        shown = [finding for finding in findings if _level(finding, verdict) == level]
        lines += annotation_lines(level, [(finding.check.id, _message(finding)) for finding in shown], room)
    return "".join(f"{line}\n" for line in lines)


def _level(finding: Finding, verdict: Verdict) -> str | None:
    """Return the annotation's level, or None for no annotation.

    An unknown is an error only under --strict, because GitHub shows an error like a crashed step.
    """
    gravity = finding.gravity(verdict.is_strict)
    if gravity == Gravity.UNANSWERED and verdict.is_strict:
        return "error"
    return _LEVEL_BY_GRAVITY.get(gravity)


def _message(finding: Finding) -> str:
    lines = [sentence(finding), *(culprit_line(culprit) for culprit in finding.answer.culprits[:_MOST_CULPRITS])]
    lines += [f"{name}: {command}" for name, command in commands_of(finding.answer.fix)]
    return "\n".join(lines)
