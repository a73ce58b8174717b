"""Text on findings for all reports and screens: a finding's sentence, its limits, culprits and commands."""

from __future__ import annotations

import re
from collections import Counter

from noisewatch.cpus import name_cpus
from noisewatch.judgement.answer import Answer
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.terms import FOR_GOOD, NOW, UNDO, Gravity, Status, label_of, tally
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.kernel.system.platform import describe_machine
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.text import printable
from noisewatch.units import describe_rate, describe_value

_LONG_SAMPLE_S = 30.0  # settings may have changed during a longer sample, such as a recording


def by_gravity(verdict: Verdict) -> dict[Gravity, list[Finding]]:
    """Return all findings by gravity, the gravest first."""
    findings: dict[Gravity, list[Finding]] = {gravity: [] for gravity in Gravity}
    for finding in verdict.findings:
        findings[finding.gravity(verdict.is_strict)].append(finding)
    return findings


def sentence(finding: Finding) -> str:
    """Return the finding's text with its limit, or the reason why there is no answer."""
    answer = finding.answer
    if answer.status in (Status.UNKNOWN, Status.NOT_APPLICABLE, Status.IGNORED):
        by = f" (answered by {finding.answered_by})" if finding.answered_by else ""
        return printable((answer.reason or answer.said) + by)
    return printable(_with_limit(full_statement(answer), finding))


def _with_limit(text: str, finding: Finding) -> str:
    """Insert the limit after the clause that contains the measured share, or append it if there is no such clause."""
    measured, limit = finding.answer.measured, describe_limit_of(finding)
    is_share = finding.answer.unit == "share" and isinstance(measured, float)
    values = {f"{measured:.{digits}%}" for digits in (0, 1, 2)} if is_share else set()
    clauses = text.split("; ")
    index = next((index for index, clause in enumerate(clauses) if values & set(clause.split())), -1)
    clauses[index] += limit
    return "; ".join(clauses)


def full_statement(answer: Answer) -> str:
    """Return the answer's text and all of its items in one line."""
    return f"{answer.said}: {'; '.join(answer.items)}" if answer.items else answer.said


def describe_limit_of(finding: Finding) -> str:
    """Return ` (limit 5.0%)` or ` (minimum 300 s)` for a failure with a limit, else an empty text.

    A measured share that would be rounded to the limit is included: ` (5.020%, limit 5.0%)`.
    """
    answer = finding.answer
    if answer.limit is None or answer.status != Status.FAIL:
        return ""
    unit = answer.unit or ""
    limit, measured = describe_value(answer.limit, unit), answer.measured
    is_close = isinstance(measured, float) and measured != answer.limit and describe_value(measured, unit) == limit
    exactly = f"{measured:.3%}, " if is_close and unit == "share" else ""
    return f" ({exactly}{answer.limit_role} {limit})"


def culprit_line(culprit: Disturbance) -> str:
    """Return the culprit's CPU, kind, name and process with its rate and share, as far as known, in one line.

    The systemd unit, container and pod of its process follow, but no command line: reports may be published.
    """
    details = culprit.identity.details(with_arguments=False) if culprit.identity is not None else ""
    share = f" {culprit.share:.2%}" if culprit.share is not None else ""
    rate = f" {describe_rate(culprit.rate_per_s)}" if culprit.rate_per_s is not None and culprit.rhythm is None else ""
    mark = " (estimated)" if culprit.is_inferred else ""
    rhythm = f", {culprit.rhythm.text}" if culprit.rhythm is not None else ""
    figures = f"{culprit.label_with_kind}{rate}{share}{mark}{rhythm}"
    return printable(f"CPU {culprit.cpu}: {figures}{' · ' if details else ''}{details}")


def unnamed_culprits(finding: Finding, text: str) -> tuple[Disturbance, ...]:
    """Return all culprits, the costliest first, or none if the text names all. A partial list would look complete."""
    culprits = finding.answer.culprits
    return () if all(_is_named(culprit, text) for culprit in culprits) else culprits


def _is_named(culprit: Disturbance, text: str) -> bool:
    """Return whether the text names both the culprit and its CPU: unattributed time has the same name on all CPUs."""
    label = culprit.label if culprit.process is not None else f"{culprit.name}:"
    return label in text and re.search(rf"\bCPU {culprit.cpu}\b", text) is not None


def remark_on_commands(verdict: Verdict) -> str | None:
    """Return a remark that the commands are for another machine, or None if there are no such commands."""
    if verdict.case.snapshot.is_live or not any(finding.answer.fix for finding in verdict.findings):
        return None
    return "Run these commands on the recorded machine, not here."


def commands_of(fix: Fix | None) -> list[tuple[str, str]]:
    """Return the fix's commands as (label, command) pairs: now, undo, for good, and forget (undoes `for good`)."""
    if fix is None:
        return []
    named = ((NOW, fix.now), (UNDO, fix.undo), (FOR_GOOD, fix.persist), ("forget", fix.undo_persist))
    return [(name, printable(command)) for name, command in named if command]


def manual_step(fix: Fix | None) -> str | None:
    """Return the fix's persistent step if it is prose instead of a command, else None."""
    return printable(fix.persist) if fix is not None and fix.persist and not fix.persist_is_command else None


def label(finding: Finding, verdict: Verdict) -> str:
    """Return the finding's status as one word, in capitals if it decides the verdict."""
    return label_of(finding.status, finding.gravity(verdict.is_strict))


def counts_text(verdict: Verdict) -> str:
    """Return the number of findings by gravity: `2 block, 9 warn, 14 note, 3 unknown, 61 pass`."""
    number_of = Counter(finding.gravity(verdict.is_strict) for finding in verdict.findings)
    return tally(number_of) + (", strict" if verdict.is_strict else "")


def scope_text(verdict: Verdict) -> str:
    """Return the target CPUs and the profile: `CPUs 2-3, profile micro`."""
    return f"{name_cpus(verdict.case.target)}, profile {verdict.profile}"


def measurement_text(verdict: Verdict) -> str:
    """Return `3.0 s sample · 3.0 s calibration (native core)`. A long sample gets `, settings read after it`."""
    case = verdict.case
    if case.calibrated is None:
        return f"{_sample(verdict, 1)} · no calibration"
    calibration = case.calibrated.calibration
    text = f"{_sample(verdict, 1)} · {calibration.seconds:.1f} s calibration ({calibration.samples.core} core)"
    return printable(text)


def describe_seconds(verdict: Verdict) -> str:
    """Return `3 s sample, 3 s calibration`."""
    calibrated = verdict.case.calibrated
    calibration = "no" if calibrated is None else f"{calibrated.calibration.seconds:.0f} s"
    return f"{_sample(verdict, 0)}, {calibration} calibration"


def _sample(verdict: Verdict, digits: int) -> str:
    interval = verdict.case.interval
    if interval is None:
        return "no sample"
    return f"{interval.seconds:.{digits}f} s sample" + (
        ", settings read after it" if interval.seconds > _LONG_SAMPLE_S else ""
    )


def measured_seconds(verdict: Verdict) -> float:
    """Return the total length (s) of sample and calibration."""
    case = verdict.case
    sampled = 0.0 if case.interval is None else case.interval.seconds
    return sampled + (0.0 if case.calibrated is None else case.calibrated.calibration.seconds)


def describe_host(snapshot: Snapshot) -> str:
    """Describe the machine in one line without its host name, so it can be published."""
    return printable(" · ".join(describe_machine(snapshot.platform)) or "unknown")
