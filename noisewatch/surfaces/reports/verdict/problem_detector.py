"""The verdict for a custom plugin of the node problem detector: one line, which becomes a node's condition.

UNSTABLE, 5 fail (2 blocking): tasks-on-target: hog (pid 900): 50.0% of CPU 2 (l...
https://github.com/kubernetes/node-problem-detector/blob/master/docs/custom_plugin_monitor.md
"""

from __future__ import annotations

from noisewatch.judgement.finding_words import by_gravity, scope_text, sentence
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable

_GRAVEST_FIRST = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED)
_MOST_BYTES = 80  # the detector's default for max_output_length, which cuts bytes, not characters


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format problem-detector`, with the gravest finding."""
    findings_by_gravity = by_gravity(verdict)
    word = verdict.verdict.upper()
    counts = verdict.counts
    by_status = {Status.FAIL: counts.failing, Status.WARN: f"{counts.warn} warn", Status.UNKNOWN: counts.unanswered}
    for gravity in _GRAVEST_FIRST:
        if findings_by_gravity[gravity]:
            worst = findings_by_gravity[gravity][0]
            return _line(f"{word}, {by_status[worst.status]}: {worst.check.id}: {sentence(worst)}")
    return _line(f"{word}: {scope_text(verdict)}")


def describe_trouble(message: str) -> str:
    """Return the condition for trouble that prevented a verdict."""
    return _line(f"UNKNOWN: {message}")


def _line(line: str) -> str:
    """Return the text in ASCII, so a character is a byte, cut to the largest number of bytes allowed."""
    text = printable(line).encode("ascii", "replace").decode()
    return (text if len(text) <= _MOST_BYTES else text[: _MOST_BYTES - 3] + "...") + "\n"
