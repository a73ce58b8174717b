"""The verdict for Nagios, Icinga and compatible tools: a status line, performance data, more lines.

NOISEWATCH CRITICAL: 1 block, 0 warn, 0 unknown, 80 pass: tasks-on-target (CPUs 2-3, …) | 'blocking_fail'=1
FAIL tasks-on-target (blocking): hog (pid 900): 50.0% of CPU 2 (limit 1.0%)
https://www.monitoring-plugins.org/doc/guidelines.html
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from noisewatch.judgement.causes import causes_of, order_findings
from noisewatch.judgement.finding_words import (
    by_gravity,
    counts_text,
    culprit_line,
    describe_host,
    label,
    measurement_text,
    scope_text,
    sentence,
)
from noisewatch.judgement.noise.by_work import chance_line, chance_within_budget
from noisewatch.judgement.terms import Gravity, Severity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.verdict.formats import FORMATS, RenderOptions, figure_of
from noisewatch.text import printable
from noisewatch.units import describe_names

_SERVICE = "NOISEWATCH"
_STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_UNITS = {"share": ("%", 100.0), "ns": ("s", 1e-9), "us": ("s", 1e-6), "µs": ("s", 1e-6), "ms": ("s", 1e-3),
          "s": ("s", 1.0), "kB": ("KB", 1.0)}  # fmt: skip
_SHOWN_GRAVITIES = (Gravity.FAILED, Gravity.UNANSWERED, Gravity.WARNED, Gravity.OPEN, Gravity.NOTED)
_MOST_NAMED = 3
_MOST_CULPRITS = 3
_MOST_BYTES = 8_000  # Nagios reads 8 KiB
_DIGITS = 6


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format nagios`; if it is too long, its last lines are left out."""
    state = _STATES[FORMATS["nagios"].exit_status(verdict)]
    lines = [f"{_SERVICE} {state}: {_summary(verdict)} | {' '.join(_performance(verdict))}"]
    room = _MOST_BYTES - len(lines[0].encode())
    for line in map(_text, _long_output(verdict)):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def describe_trouble(message: str) -> str:
    """Return the status line for trouble that prevented a verdict."""
    return f"{_SERVICE} {_STATES[3]}: {_text(message)}\n"


def _summary(verdict: Verdict) -> str:
    findings_by_gravity = by_gravity(verdict)
    worst = [
        finding.check.id for finding in (*findings_by_gravity[Gravity.FAILED], *findings_by_gravity[Gravity.UNANSWERED])
    ]
    names = f": {describe_names(worst, _MOST_NAMED)}" if worst else ""
    return _text(f"{counts_text(verdict)}{names} ({scope_text(verdict)})")


def _long_output(verdict: Verdict) -> Iterator[str]:
    for finding in order_findings(verdict, causes_of(verdict)):
        if finding.gravity(verdict.is_strict) in _SHOWN_GRAVITIES:
            yield f"{label(finding, verdict)} {finding.check.id} ({finding.weight}): {sentence(finding)}"
            yield from map(culprit_line, finding.answer.culprits[:_MOST_CULPRITS])
    yield describe_host(verdict.case.snapshot)
    yield measurement_text(verdict)
    if verdict.case.calibrated is not None:
        yield chance_line(verdict.case.calibrated)


def _text(line: str) -> str:
    """Return a line without pipes, which would begin the performance data."""
    return printable(line).replace("|", "·")


def _performance(verdict: Verdict) -> Iterator[str]:
    counts = verdict.counts
    yield f"'blocking_fail'={counts.blocking_fail};;0;0"
    yield f"'fail'={counts.fail};;;0"
    yield f"'warn'={counts.warn};;;0"
    yield f"'blocking_unknown'={counts.blocking_unknown};;;0"
    yield f"'unknown'={counts.unknown};;;0"
    calibrated = verdict.case.calibrated
    chance = None if calibrated is None else chance_within_budget(calibrated).value
    if chance is not None:
        yield f"'noise_floor_chance'={_number(chance * 100)}%;;;0;100"
    for finding in verdict.findings:
        value = figure_of(finding.answer.measured)
        if value is not None:
            yield _datum(finding, value)


def _datum(finding: Finding, value: float) -> str:
    unit, factor = _UNITS.get(finding.answer.unit or "", ("", 1.0))
    limit, threshold = finding.answer.limit, _threshold(finding, value, factor)
    is_above = limit is not None and value > limit
    is_warning = finding.severity != Severity.BLOCKING or (finding.status == Status.WARN and is_above)
    warn, crit = (threshold, "") if is_warning else ("", threshold)
    label = finding.check.id.replace("'", "''")
    return f"'{label}'={_number(value * factor)}{unit};{warn};{crit}".rstrip(";")


def _threshold(finding: Finding, value: float, factor: float) -> str:
    """Return the range of values without an alert, or an empty text if Nagios and the check would judge differently."""
    limit = finding.answer.limit
    if limit is None or value < 0 or limit < 0 or finding.severity == Severity.INFORMATION:
        return ""
    upper = _number(limit * factor)
    range_by_status = {
        Status.FAIL: "" if value == limit else upper if value > limit else f"{upper}:",
        Status.WARN: upper,
        Status.PASS: upper if value <= limit else f"{upper}:",
    }
    return range_by_status.get(finding.status, "")


def _number(value: float) -> str:
    """Format a number in digits, without an exponent."""
    return f"{Decimal(f'{value:.{_DIGITS}g}'):f}" if value % 1 else f"{value:.0f}"
