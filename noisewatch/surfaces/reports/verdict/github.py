"""The verdict as workflow commands, which GitHub Actions shows as annotations of the run.

::error title=noisewatch%3A tasks-on-target::hog (pid 900): 50.0%25 of CPU 2 (limit 1.0%25)
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Sequence

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
from noisewatch.surfaces.reports.verdict.formats import RenderOptions

_LEVELS = (
    ("error", (Gravity.FAILED, Gravity.UNANSWERED)),
    ("warning", (Gravity.WARNED,)),
    ("notice", (Gravity.OPEN, Gravity.NOTED)),
)
_MOST_ANNOTATIONS = 10  # of each level in a step; GitHub drops those that come later
_MOST_CULPRITS = 5
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_ESCAPES_IN_PROPERTIES = _ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format github`: the verdict first, as a notice, then the gravest findings, by cause."""
    findings = in_order(verdict, causes_of(verdict))
    lines = [workflow_command("notice", f"noisewatch: {verdict.verdict.upper()}", _told(verdict))]
    for level, gravities in _LEVELS:
        room = _MOST_ANNOTATIONS - (1 if level == "notice" else 0)
        shown = [each for each in findings if each.gravity(verdict.is_strict) in gravities]
        lines += _annotations(level, shown, room)
    return "".join(f"{line}\n" for line in lines)


def workflow_command(level: str, title: str, message: str) -> str:
    """One line that GitHub reads as a command, and nothing in it as another."""
    return f"::{level} title={title.translate(_ESCAPES_IN_PROPERTIES)}::{message.translate(_ESCAPES)}"


def _told(verdict: Verdict) -> str:
    return f"{counts(verdict)} ({judged(verdict)})"


def _annotations(level: str, findings: Sequence[Finding], room: int) -> list[str]:
    """One for each; where there is no room for all, the last one names the rest."""
    shown = findings if len(findings) <= room else findings[: room - 1]
    lines = [workflow_command(level, f"noisewatch: {each.check.id}", _message(each)) for each in shown]
    rest = findings[len(shown) :]
    if rest:
        ids = ", ".join(each.check.id for each in rest)
        lines.append(workflow_command(level, f"noisewatch: {len(rest)} more", ids))
    return lines


def _message(finding: Finding) -> str:
    lines = [sentence(finding), *(culprit_line(each) for each in finding.answer.culprits[:_MOST_CULPRITS])]
    lines += [f"{name}: {command}" for name, command in commands_of(finding.answer.fix)]
    return "\n".join(lines)
