"""The verdict in Markdown, to paste into an issue: faults with culprits and fixes, the rest folded away.

Names from the machine are shown unchanged and cannot act as markup: a sentence with anything that could be markup
becomes a code span, in which there are neither mentions nor links.
"""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch import __version__
from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.causes import Cause, causes_of, in_order
from noisewatch.judgement.finding_words import (
    by_gravity,
    commands_of,
    counts,
    culprit_line,
    describe_host,
    label,
    measured,
    remark_on_commands,
    sentence,
)
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import chance_line, floors_by_work_of
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.calibration.detection import change_sentence, detect_lines
from noisewatch.surfaces.reports.calibration.text import FLOOR_CELLS
from noisewatch.surfaces.reports.parts.sections import markdown_of_commands
from noisewatch.surfaces.reports.parts.tables import MOST_BYTES, cell, code, facts_table, fenced, fitting, prose, table
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable
from noisewatch.units import describe_chance, describe_ns

_MOST_CULPRITS = 10
_WIDTH = 100  # columns of a block of code


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format markdown`."""
    return markdown_of_verdict(verdict, MOST_BYTES)


def markdown_of_verdict(verdict: Verdict, most_bytes: int) -> str:
    """Return as many of the parts, the gravest first, as fit in `most_bytes`; empty if not even the first does."""
    parts = [_headline(verdict), _particulars(verdict), *_detection(verdict), *_findings(verdict), *_rest(verdict)]
    return fitting(parts, most_bytes)


def _headline(verdict: Verdict) -> str:
    return f"### noisewatch preflight: {verdict.verdict.upper()}\n\n{counts(verdict)}\n"


def _particulars(verdict: Verdict) -> str:
    calibrated = verdict.case.calibrated
    target, reason = verdict.case.snapshot.target, verdict.case.rules.profile_reason
    rows = (
        ("target", f"{name_cpus(target.cpus)} ({target.chosen_by})"),
        ("profile", verdict.profile if reason is None else f"{verdict.profile} ({reason})"),
        ("machine", describe_host(verdict.case.snapshot)),
        ("measured", measured(verdict)),
        ("noise floor", _floor(verdict)),
        ("chance", "not measured" if calibrated is None else chance_line(calibrated)),
        ("smallest change", "not measured" if calibrated is None else change_sentence(calibrated)),
        ("noisewatch", __version__),
    )
    return facts_table(rows)


def _floor(verdict: Verdict) -> str:
    calibrated = verdict.case.calibrated
    if calibrated is None:
        return "not measured"
    by_work = floors_by_work_of(calibrated) if calibrated.budget.work is None else None
    floors = {calibrated.floors_of: calibrated.floor} if by_work is None else by_work.floor_by_work
    texts = [f"{name} {_cv(floor, calibrated.chance_of(floor))}" for name, floor in floors.items() if floor is not None]
    return f"CV of samples of {describe_ns(calibrated.budget.at_ns)}: {', '.join(texts)}" if texts else "not measured"


def _detection(verdict: Verdict) -> list[str]:
    """Return the table of `--detect` as a block of code; nothing if it was not requested."""
    lines = detect_lines(verdict.case.calibrated, verdict.case.budget.detect, _WIDTH)
    return [fenced("text", lines)] if lines else []


def _cv(floor: NoiseFloor, chance: float | None) -> str:
    chance_text = "unknown" if chance is None else describe_chance(chance)
    return f"{FLOOR_CELLS['CV'](floor)} ({FLOOR_CELLS['90% interval'](floor)}; chance {chance_text})"


def _findings(verdict: Verdict) -> list[str]:
    """Return a table of all faults, then a section for each cause or finding that has culprits or commands."""
    causes = causes_of(verdict)
    of_causes = {finding.check.id for cause in causes for finding in cause.findings}
    wrong = [finding for finding in in_order(verdict, causes) if finding.gravity(verdict.is_strict) not in _CALM]
    if not wrong:
        return []
    rows = [
        (label(finding, verdict), code(finding.check.id), finding.weight, cell(sentence(finding))) for finding in wrong
    ]
    remark = remark_on_commands(verdict)
    remarks = [f"{remark}\n"] if remark else []
    others = [finding for finding in wrong if finding.check.id not in of_causes]
    return [
        table(("status", "check", "severity", "what was found"), rows),
        *remarks,
        *filter(None, (_of_cause(number, cause) for number, cause in enumerate(causes, 1))),
        *filter(None, (_section(code(finding.check.id), [finding], finding.answer.fix, []) for finding in others)),
    ]


_CALM = (Gravity.PASSED, Gravity.LEFT_OUT)


def _of_cause(number: int, cause: Cause) -> str:
    """Return the section of a cause, with its checks, and its fix once."""
    advice = [cause.advice] if cause.advice is not None else []
    if cause.target is not None:
        advice.append(f"choose other target CPUs: --cpus {cpu_list_argument(cause.target)}")
    names = ", ".join(code(finding.check.id) for finding in cause.findings)
    return _section(f"{number}. {names}", cause.findings, cause.fix, advice)


def _section(heading: str, findings: Sequence[Finding], fix: Fix | None, advice: Sequence[str]) -> str:
    """Return culprits, advice and commands; empty if there are none."""
    culprits = list(dict.fromkeys(culprit_line(culprit) for finding in findings for culprit in finding.answer.culprits))
    if len(culprits) > _MOST_CULPRITS:
        culprits[_MOST_CULPRITS:] = [f"… and {len(culprits) - _MOST_CULPRITS} more"]
    fences = [fenced("text", culprits)] if culprits else []
    fences += [f"{prose(printable(sentence_text))}\n" for sentence_text in advice]
    fences += markdown_of_commands(commands_of(fix))
    return "\n".join([f"#### {heading}\n", *fences]) if fences else ""


def _rest(verdict: Verdict) -> list[str]:
    """Return the checks that passed, did not apply or were not asked, folded."""
    passed = [code(finding.check.id) for finding in by_gravity(verdict)[Gravity.PASSED]]
    absent, ignored = (_with_reasons(verdict, status) for status in (Status.NOT_APPLICABLE, Status.IGNORED))
    if not (passed or absent or ignored):
        return []
    summary = f"{len(passed)} pass, {len(absent)} not applicable, {len(ignored)} not asked"
    items = [f"- pass: {', '.join(passed)}"] if passed else []
    items += [f"- not applicable: {item}" for item in absent] + [f"- not asked: {item}" for item in ignored]
    return ["\n".join(["<details>", f"<summary>{summary}</summary>", "", *items, "", "</details>", ""])]


def _with_reasons(verdict: Verdict, status: str) -> list[str]:
    return [
        f"{code(finding.check.id)}: {prose(sentence(finding))}"
        for finding in verdict.findings
        if finding.status == status
    ]
