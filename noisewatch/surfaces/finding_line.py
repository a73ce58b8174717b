"""The gate's answers as a frame carries them: those that a reader has to know of, in words."""

from __future__ import annotations

from dataclasses import dataclass

from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.finding_words import (
    FAILED,
    OPEN,
    UNANSWERED,
    WARNED,
    by_gravity,
    commands_of,
    sentence,
)

TELLING = (FAILED, UNANSWERED, WARNED, OPEN)
_LONGEST_SENTENCE = 400  # a frame is a line that crosses a pipe each second


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A check that did not pass. `gravity` is what that does to the verdict, `fix` the first command that helps."""

    id: str
    gravity: str
    said: str
    fix: str | None = None


def finding_lines(verdict: Verdict) -> tuple[FindingLine, ...]:
    """What failed, was left open or gives a warning, the gravest first."""
    found = by_gravity(verdict)
    return tuple(_line(finding, gravity) for gravity in TELLING for finding in found[gravity])


def _line(finding: Finding, gravity: str) -> FindingLine:
    said = sentence(finding)
    said = said if len(said) <= _LONGEST_SENTENCE else said[: _LONGEST_SENTENCE - 1] + "…"
    fix = next((command for _, command in commands_of(finding.answer.fix)), None)
    return FindingLine(finding.check.id, gravity, said, fix)
