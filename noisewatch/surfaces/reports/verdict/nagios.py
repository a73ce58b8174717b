"""The verdict for Nagios, Icinga and compatible tools: a status line, performance data, more lines.

NOISEWATCH CRITICAL: 1 block, 0 warn, 0 unknown, 80 pass: tasks-on-target (CPUs 2-3, …) | 'blocking_fail'=1
FAIL tasks-on-target (blocking): hog (pid 900): 50.0% of CPU 2 (limit 1.0%)
https://www.monitoring-plugins.org/doc/guidelines.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    unnamed_culprits,
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
_MOST_BYTES = 1_000  # NRPE passes on 1,023 bytes in a packet of version 2, and cuts the rest
_MOST_SUMMARY_BYTES, _MOST_LINE_BYTES = 300, 200
_MOST_PERFORMANCE_BYTES = 600
_REST_BYTES = 60  # room for the line that counts the findings that are left out
_DIGITS = 6


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format nagios` in at most 1,000 bytes.

    The status line counts all failures, warnings and unknown checks. The lines below describe as many of them as fit,
    the gravest first, and the last line counts the others.
    """
    state = _STATES[FORMATS["nagios"].exit_status(verdict)]
    summary = _cut(f"{_SERVICE} {state}: {_summary(verdict)}", _MOST_SUMMARY_BYTES)
    lines = [f"{summary} | {' '.join(_first_within(_MOST_PERFORMANCE_BYTES, _performance(verdict)))}"]
    room = _MOST_BYTES - len(lines[0].encode()) - 1
    findings, remarks = ([_cut(_text(line), _MOST_LINE_BYTES) for line in part] for part in _long_output(verdict))
    shown = _first_within(room, findings)
    if len(shown) < len(findings):
        shown = _first_within(room - _REST_BYTES, findings)
        return "\n".join([*lines, *shown, f"and {len(findings) - len(shown)} more: noisewatch preflight", ""])
    room -= sum(len(line.encode()) + 1 for line in shown)
    return "\n".join([*lines, *shown, *_first_within(room, remarks), ""])


def _first_within(max_bytes: int, texts: Iterable[str]) -> list[str]:
    """Return the first texts that, with a separator after each, take at most `max_bytes`."""
    kept: list[str] = []
    for text in texts:
        max_bytes -= len(text.encode()) + 1
        if max_bytes < 0:
            break
        kept.append(text)
    return kept


def _cut(text: str, max_bytes: int) -> str:
    """Return the text, cut to at most `max_bytes` with `…` at the end."""
    encoded, end = text.encode(), "…"
    if len(encoded) <= max_bytes:
        return text
    return encoded[: max_bytes - len(end.encode())].decode(errors="ignore") + end


def describe_trouble(message: str) -> str:
    """Return the status line for trouble that prevented a verdict."""
    return _cut(f"{_SERVICE} {_STATES[3]}: {_text(message)}", _MOST_BYTES - 1) + "\n"


def _summary(verdict: Verdict) -> str:
    findings_by_gravity = by_gravity(verdict)
    worst = [
        finding.check.id for finding in (*findings_by_gravity[Gravity.FAILED], *findings_by_gravity[Gravity.UNANSWERED])
    ]
    names = f": {describe_names(worst, _MOST_NAMED)}" if worst else ""
    return _text(f"{counts_text(verdict)}{names} ({scope_text(verdict)})")


def _long_output(verdict: Verdict) -> tuple[list[str], list[str]]:
    """Return a line for each finding that did not pass, the gravest first, and lines on the machine and the noise."""
    findings = [
        f"{label(finding, verdict)} {finding.check.id} ({finding.weight}): {_statement(finding)}"
        for finding in order_findings(verdict, causes_of(verdict))
        if finding.gravity(verdict.is_strict) in _SHOWN_GRAVITIES
    ]
    calibrated = verdict.case.calibrated
    chances = [] if calibrated is None else [chance_line(calibrated)]
    return findings, [*chances, measurement_text(verdict), describe_host(verdict.case.snapshot)]


def _statement(finding: Finding) -> str:
    """Return the finding's sentence, and unless that names all culprits, the first one and the number of the others."""
    text = sentence(finding)
    culprits = unnamed_culprits(finding, text)
    if not culprits:
        return text
    return f"{text}; {culprit_line(culprits[0])}" + (f" and {len(culprits) - 1} more" if len(culprits) > 1 else "")


def _text(line: str) -> str:
    """Return a line without pipes, which would begin the performance data."""
    return printable(line).replace("|", "·")


def _performance(verdict: Verdict) -> Iterator[str]:
    """Yield counts, the chance, and the figures of checks that can block: always the same, so that they can be graphed.

    Prometheus' format has the figures of all checks.
    """
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
        if value is not None and finding.severity == Severity.BLOCKING:
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
