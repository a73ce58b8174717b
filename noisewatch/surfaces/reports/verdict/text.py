"""The verdict for people: failing first, passing collapsed, the verdict in the last line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.finding_words import (
    commands_of,
    culprit_line,
    describe_limit_of,
    label,
    remark_on_commands,
    summary_of_verdict,
)
from noisewatch.judgement.rules import SHARED
from noisewatch.judgement.terms import Gravity, Outcome, Severity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.model.interval.disturbance import Disturbance
from noisewatch.surfaces.reports.calibration.text import REALTIME_REMARK, floor_lines
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.parts.colours import Meaning, painted, style_of_label
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable

_LABELS = {Status.UNKNOWN: "unknown", Status.PASS: "pass", Status.NOT_APPLICABLE: "n/a", Status.IGNORED: "ignored"}
_TELLING = (Status.FAIL, Status.WARN, Status.UNKNOWN)
_MEANINGS: Mapping[str, Meaning] = {Outcome.STABLE: "good", Outcome.UNSTABLE: "bad", Outcome.UNKNOWN: "doubt"}
_INDENT = "        "
_MOST_CULPRITS = 5
_MOST_OPEN = 6
NO_CALIBRATION = "No calibration was run: this rests on settings and counters, not on a measured noise floor."
_NOTHING_ASKED = "No check could run: those selected need a sample or a calibration, or were ignored."
_SETTINGS_ONLY = "No sample was taken: interrupts, load and tasks on the target CPUs are unknown."
_GUEST = "A guest cannot answer some of these; --profile shared judges by measurement."


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format text`."""
    return text_of_verdict(verdict, occasion.exit_status, occasion.width, occasion.in_colour, occasion.is_verbose)


def text_of_verdict(verdict: Verdict, exit_status: int, width: int, in_colour: bool, is_verbose: bool = False) -> str:
    """The whole report, its lines wrapped at `width` but for commands, which are there to be copied.

    What is only information has a line each, and what passed its name; `is_verbose` tells everything of all.
    """
    told = verdict.findings if is_verbose else _worth_telling(verdict)
    lines = [_headline(verdict), ""]
    for findings in _in_order(told, verdict.is_strict):
        lines += _describe(findings, verdict, width, in_colour)
    remark = remark_on_commands(verdict)
    lines += ["", remark] if remark else []
    if not is_verbose:
        lines += [*_notes(verdict, width, in_colour), *_collapsed(verdict, told, width)]
    lines += ["", *_calibration_lines(verdict)]
    if verdict.case.interval is None and verdict.case.no_sample_reason is None:
        lines.append(_SETTINGS_ONLY)
    if verdict.profile != SHARED and any(each.is_unknown and each.check.is_hidden_from_guests for each in told):
        lines += [_GUEST] if verdict.case.is_guest else []
    if all(finding.status in (Status.IGNORED, Status.NOT_APPLICABLE) for finding in verdict.findings):
        lines.append(_NOTHING_ASKED)
    word = verdict.verdict.upper()
    summary = summary_of_verdict(verdict, exit_status).replace(
        word, painted(word, _MEANINGS[verdict.verdict]) if in_colour else word, 1
    )
    return "\n".join([*lines, summary]) + "\n"


def _calibration_lines(verdict: Verdict) -> list[str]:
    """The noise floor, or that there is none."""
    calibrated = verdict.case.calibrated
    if calibrated is None:
        return [NO_CALIBRATION]
    if not calibrated.floors:
        return ["Too little was measured for a noise floor."]
    remarks = [REALTIME_REMARK] if calibrated.calibration.samples.is_realtime else []
    return [*floor_lines(calibrated.floors), *remarks]


def _headline(verdict: Verdict) -> str:
    case = verdict.case
    sample = f"{case.interval.seconds:.1f} s sample" if case.interval is not None else "no sample"
    if case.calibrated is not None:
        calibration = case.calibrated.calibration
        sample += f" · {calibration.seconds:.1f} s calibration ({calibration.samples.core} core)"
    target = case.snapshot.target
    file = case.rules.configured_by
    return (
        f"noisewatch preflight · {name_cpus(target.cpus)} ({target.chosen_by}) · "
        f"profile {verdict.profile} · {sample}\n{describe_platform(case.snapshot)}"
        + (f"\nwith options of {printable(file)}" if file is not None else "")
    )


def _worth_telling(verdict: Verdict) -> list[Finding]:
    """What fails, warns or leaves a question open; many open questions that do not block are told by name only."""
    telling = [each for each in verdict.findings if each.status in _TELLING and each.severity != Severity.INFORMATION]
    opened = [each for each in telling if each.status == Status.UNKNOWN and not each.is_blocking_unknown]
    if len(_in_order(opened, verdict.is_strict)) <= _MOST_OPEN:
        return telling
    return [each for each in telling if each.status != Status.UNKNOWN or each.is_blocking_unknown]


def _notes(verdict: Verdict, width: int, in_colour: bool) -> list[str]:
    """What is worth knowing, in a sentence each."""
    lines = []
    for finding in verdict.notes:
        wrapped = _wrapped(f"{finding.check.id} ({finding.weight}): {finding.answer.said}", width)
        lines += [_labelled(finding, verdict, in_colour) + wrapped[0].strip(), *wrapped[1:]]
    return lines


def _labelled(finding: Finding, verdict: Verdict, in_colour: bool) -> str:
    """Its status, as wide as the column that it stands in."""
    said = label(finding, verdict)
    is_plain = not in_colour or finding.status not in _TELLING
    return (said if is_plain else painted(said, style_of_label(said))) + " " * (len(_INDENT) - len(said))


def _in_order(findings: Iterable[Finding], is_strict: bool) -> list[list[Finding]]:
    """The gravest first; unknowns, and those that do not apply, of one reason together."""

    def gravity(finding: Finding) -> tuple[int, int]:
        return gravities.index(finding.gravity(is_strict)), statuses.index(finding.status)

    gravities, statuses = list(Gravity), [Status.FAIL, Status.WARN, *Status]

    grouped: dict[object, list[Finding]] = {}
    for finding in sorted(findings, key=gravity):
        is_alone = finding.status in (Status.FAIL, Status.WARN, Status.PASS)
        key = (
            (finding.check.id,)
            if is_alone
            else (finding.status, finding.weight, finding.answer.reason, finding.answered_by)
        )
        grouped.setdefault(key, []).append(finding)
    return list(grouped.values())


def _describe(findings: list[Finding], verdict: Verdict, width: int, in_colour: bool) -> list[str]:
    finding = findings[0]
    answer = finding.answer
    padded = _labelled(finding, verdict, in_colour)
    said = (
        answer.said + describe_limit_of(finding)
        if answer.status in (Status.FAIL, Status.WARN, Status.PASS)
        else answer.reason
    )
    names = ", ".join(each.check.id for each in findings)
    lines = [f"{padded}{names} ({finding.weight})", *_wrapped(said or "", width)]
    if finding.answered_by:
        lines.append(f"{_INDENT}answered by {finding.answered_by}")
    lines += _culprits(answer.culprits, said or "")
    lines += [f"{_INDENT}{name + ':':<9}{command}" for name, command in commands_of(answer.fix)]
    return lines


def _culprits(culprits: tuple[Disturbance, ...], already_said: str) -> list[str]:
    """All of them from the costliest on, unless the sentence has named each; the rest alone would look like all."""
    if all(_is_named(each, already_said) for each in culprits):
        return []
    lines = [_INDENT + culprit_line(each) for each in culprits]
    if len(lines) > _MOST_CULPRITS + 1:
        lines[_MOST_CULPRITS:] = [f"{_INDENT}… and {len(lines) - _MOST_CULPRITS} more"]
    return lines


def _is_named(culprit: Disturbance, said: str) -> bool:
    """With its CPU: unattributed time is called the same on each."""
    label = f"{culprit.name} ({culprit.process})" if culprit.process is not None else f"{culprit.name}:"
    return label in said and re.search(rf"\bCPU {culprit.cpu}\b", said) is not None


def _collapsed(verdict: Verdict, told: Sequence[Finding], width: int) -> list[str]:
    """The rest by name, what is ignored as long as one line holds it; --verbose tells the reasons."""
    lines = []
    already_told = {each.check.id for each in told}
    for status in (Status.UNKNOWN, Status.PASS, Status.NOT_APPLICABLE, Status.IGNORED):
        hint = " (--verbose shows why)" if status == Status.UNKNOWN else ""
        there_are = [each.check.id for each in verdict.findings if each.status == status]
        names = [name for name in there_are if name not in already_told]
        if names:
            more = " more" if len(names) < len(there_are) else ""
            wrapped = _wrapped(f"{len(names)}{more}{hint}: {', '.join(names)}", width)
            if status == Status.IGNORED and len(wrapped) > 1:
                wrapped = [f"{len(names)} (--verbose lists them)"]
            lines += [f"{_LABELS[status]:<8}{wrapped[0].strip()}", *wrapped[1:]]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        printable(text), max(width, 40), initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
    )
