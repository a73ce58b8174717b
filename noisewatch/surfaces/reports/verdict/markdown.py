"""The verdict in Markdown, to paste into an issue: faults with culprits and fixes, and the other checks folded away.

Names from the machine are shown unchanged, but not as markup: a sentence with anything that could be markup becomes a
code span, which has neither mentions nor links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch import __version__
from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.causes import Cause, causes_of, order_findings
from noisewatch.judgement.finding_words import (
    by_gravity,
    commands_of,
    counts_text,
    culprit_line,
    describe_host,
    label,
    measurement_text,
    remark_on_commands,
    sentence,
)
from noisewatch.judgement.fixes.fix import Fix
from noisewatch.judgement.noise.budget import NoiseFloor
from noisewatch.judgement.noise.by_work import chance_line, floors_by_work_of
from noisewatch.judgement.terms import Gravity, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.drawing.tables import MOST_BYTES, Markdown, code, prose
from noisewatch.surfaces.reports.calibration.detection import change_sentence, detect_lines
from noisewatch.surfaces.reports.calibration.text import FLOOR_CELLS
from noisewatch.surfaces.reports.parts.sections import Section, Table, markdown_of_sections, plain_chart
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable
from noisewatch.units import describe_chance, describe_ns

_MOST_CULPRITS = 10
_WIDTH = 100  # columns of a block of code
_CALM = (Gravity.PASSED, Gravity.LEFT_OUT)


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format markdown`."""
    return markdown_of_sections(sections_of(verdict), MOST_BYTES)


def sections_of(verdict: Verdict) -> Iterator[Section]:
    """Yield the verdict, the particulars, the faults with remedies, the gravest first, and the other checks."""
    yield Section(f"noisewatch preflight: {verdict.verdict.upper()}", level=2, steps=[(counts_text(verdict), ())])
    yield Section(facts=list(_particulars(verdict)))
    detection = detect_lines(verdict.case.calibrated, verdict.case.budget.detect, _WIDTH)
    if detection:
        yield Section(chart=plain_chart(detection))
    yield from _faults(verdict)
    yield from _rest(verdict)


def _particulars(verdict: Verdict) -> Iterator[tuple[str, str]]:
    calibrated = verdict.case.calibrated
    target, reason = verdict.case.snapshot.target, verdict.case.rules.profile_reason
    yield "target", f"{name_cpus(target.cpus)} ({target.chosen_by})"
    yield "profile", verdict.profile if reason is None else f"{verdict.profile} ({reason})"
    yield "machine", describe_host(verdict.case.snapshot)
    yield "measured", measurement_text(verdict)
    yield "noise floor", _floor(verdict)
    yield "chance", "not measured" if calibrated is None else chance_line(calibrated)
    yield "smallest change", "not measured" if calibrated is None else change_sentence(calibrated)
    yield "noisewatch", __version__


def _floor(verdict: Verdict) -> str:
    calibrated = verdict.case.calibrated
    if calibrated is None:
        return "not measured"
    by_work = floors_by_work_of(calibrated) if calibrated.budget.work is None else None
    floors = {calibrated.floors_of: calibrated.floor} if by_work is None else by_work.floor_by_work
    texts = [f"{name} {_cv(floor, calibrated.chance_of(floor))}" for name, floor in floors.items() if floor is not None]
    return f"CV of samples of {describe_ns(calibrated.budget.at_ns)}: {', '.join(texts)}" if texts else "not measured"


def _cv(floor: NoiseFloor, chance: float | None) -> str:
    chance_text = "unknown" if chance is None else describe_chance(chance)
    return f"{FLOOR_CELLS['CV'](floor)} ({FLOOR_CELLS['90% interval'](floor)}; chance {chance_text})"


def _faults(verdict: Verdict) -> Iterator[Section]:
    """Yield a table of all faults, then a section for each cause or finding that has culprits or commands."""
    causes = causes_of(verdict)
    of_causes = {finding.check.id for cause in causes for finding in cause.findings}
    wrong = [finding for finding in order_findings(verdict, causes) if finding.gravity(verdict.is_strict) not in _CALM]
    rows = [(label(finding, verdict), code(finding.check.id), finding.weight, sentence(finding)) for finding in wrong]
    if rows:
        yield Section(table=Table(("status", "check", "severity", "finding"), rows))
    remark = remark_on_commands(verdict) if rows else None
    if remark is not None:
        yield Section(steps=[(remark, ())])
    for number, cause in enumerate(causes, 1):
        names = ", ".join(code(finding.check.id) for finding in cause.findings)
        yield from _to_do(f"{number}. {names}", cause.findings, cause.fix, _advice(cause))
    for finding in wrong:
        if finding.check.id not in of_causes:
            yield from _to_do(code(finding.check.id), [finding], finding.answer.fix)


def _advice(cause: Cause) -> list[str]:
    target = [] if cause.target is None else [f"choose other target CPUs: --cpus {cpu_list_argument(cause.target)}"]
    return [*([] if cause.advice is None else [printable(cause.advice)]), *target]


def _to_do(title: str, findings: Sequence[Finding], fix: Fix | None, advice: Sequence[str] = ()) -> Iterator[Section]:
    """Yield a section with culprits, advice and commands, if there are any."""
    culprits = list(dict.fromkeys(culprit_line(culprit) for finding in findings for culprit in finding.answer.culprits))
    if len(culprits) > _MOST_CULPRITS:
        culprits[_MOST_CULPRITS:] = [f"… and {len(culprits) - _MOST_CULPRITS} more"]
    commands = commands_of(fix)
    steps = [*((text, ()) for text in advice), *([("", commands)] if commands else [])]
    if culprits or steps:
        yield Section(title, chart=plain_chart(culprits), steps=steps)


def _rest(verdict: Verdict) -> Iterator[Section]:
    """Yield the checks that passed, did not apply or were not asked, folded."""
    passed = [code(finding.check.id) for finding in by_gravity(verdict)[Gravity.PASSED]]
    absent, ignored = (_with_reasons(verdict, status) for status in (Status.NOT_APPLICABLE, Status.IGNORED))
    items = [f"pass: {', '.join(passed)}"] if passed else []
    items += [f"not applicable: {item}" for item in absent] + [f"not asked: {item}" for item in ignored]
    if items:
        summary = f"{len(passed)} pass, {len(absent)} not applicable, {len(ignored)} not asked"
        yield Section(summary, sentences=list(map(Markdown, items)), is_folded=True)


def _with_reasons(verdict: Verdict, status: str) -> list[str]:
    return [
        f"{code(finding.check.id)}: {prose(sentence(finding))}"
        for finding in verdict.findings
        if finding.status == status
    ]
