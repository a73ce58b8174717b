"""The verdict as text: what to do, by cause, the gravest first; all checks at a glance; the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.cause_words import checks_of, culprits_of, is_one_line, steps_against, title_of
from noisewatch.judgement.causes import Cause, causes_of, in_order
from noisewatch.judgement.effect_words import summary_of_verdict, tries_of
from noisewatch.judgement.finding_words import (
    commands_of,
    counts,
    culprit_line,
    describe_limit_of,
    label,
    measured,
    unnamed_culprits,
)
from noisewatch.judgement.terms import STEP, TRY, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.parts.colours import painted, style_of_label
from noisewatch.surfaces.reports.parts.marks import MEANINGS, Pieces, grid, legend, mark_of, marks_by_area
from noisewatch.surfaces.reports.verdict.brief import basis_lines, brief_lines, head_lines, of_outcome, wrapped_options
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.wrapping import NARROWEST, wrapped, wrapped_around_commands

_TELLING = (Status.FAIL, Status.WARN, Status.UNKNOWN)
_INDENT = "        "
_MOST_CULPRITS = 5


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """Return the report of `preflight --format text`, wrapped at the width; commands are not wrapped, to be copied.

    It fits a terminal of 24 rows. A verbose report precedes it with all details of causes and checks, so that both end
    in the same lines.
    """
    causes = causes_of(verdict)
    lines = (
        [*_everything(verdict, causes, occasion), *basis_lines(verdict, causes, occasion)]
        if occasion.is_verbose
        else brief_lines(verdict, causes, occasion)
    )
    summary = summary_of_verdict(verdict, occasion.exit_status, causes)
    return "\n".join([*lines, of_outcome(summary, verdict.verdict.upper(), occasion)]) + "\n"


def _everything(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> Iterator[str]:
    """Yield the machine, all causes with all of their steps, all checks and their findings, and the noise floor."""
    yield from head_lines(verdict, occasion)
    target = verdict.case.snapshot.target
    about = (
        describe_platform(verdict.case.snapshot),
        f"{name_cpus(target.cpus)} ({target.chosen_by})",
        measured(verdict),
    )
    yield from wrapped(" · ".join(about), occasion.width, 0)
    yield from _to_do(verdict, causes, occasion)
    yield from _all_checks(verdict, occasion)
    yield from _each_finding(verdict, causes, occasion)
    yield ""
    for line in _calibration_lines(verdict, occasion.width):
        yield from [line] if "  " in line else wrapped(line, occasion.width, 0)
    yield ""


def _to_do(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> Iterator[str]:
    if not causes:
        return
    yield from ["", "WHAT TO DO"]
    margin = len(str(len(causes))) + 4
    for number, cause in enumerate(causes, start=1):
        yield from _cause(number, cause, verdict, margin, occasion)


def _cause(number: int, cause: Cause, verdict: Verdict, margin: int, occasion: RenderOptions) -> Iterator[str]:
    """Yield the cause's number and mark, its title, the commands, and the checks that they settle."""
    items = cause.findings[0].answer.items if is_one_line(cause) else ()
    title = cause.findings[0].answer.said if items else title_of(cause, verdict.case)
    title += f" ({cause.findings[0].check.id})" if is_one_line(cause) else ""
    first, *more = wrapped(title, occasion.width, margin)
    mark, meaning = mark_of(cause.gravity, occasion.in_unicode), MEANINGS[cause.gravity]
    shown = painted(mark, meaning) if occasion.in_colour and meaning is not None else mark
    yield f"{number:>{margin - 3}} {shown} {first.strip()}"
    yield from more
    for item in items:
        yield from wrapped(item, occasion.width, margin + 2, margin + 4)
    if is_one_line(cause) and not tries_of(cause, verdict.case):
        return
    culprits = culprits_of(cause, title)
    if culprits is not None:
        yield from wrapped(f"{'who':<{STEP}}{culprits}", occasion.width, margin, margin + STEP)
    tries = tries_of(cause, verdict.case)
    if tries:
        yield from wrapped_options(f"{TRY:<{STEP}}", tries, occasion.width, margin)
    for name, line in steps_against(cause):
        if name == TRY:
            yield from wrapped_around_commands(f"{name:<{STEP}}{line}", occasion.width, margin, margin + STEP)
        else:
            yield f"{' ' * margin}{name:<{STEP}}{line}"
    yield from wrapped(checks_of(cause), occasion.width, margin, margin + STEP)


def _all_checks(verdict: Verdict, occasion: RenderOptions) -> Iterator[str]:
    """Yield one character for each check, and the meaning of the characters."""
    findings = verdict.findings
    by_area = marks_by_area((each.check.area, each.gravity(verdict.is_strict)) for each in findings)
    yield from ["", *wrapped(f"ALL {len(findings)} CHECKS   {counts(verdict)}", occasion.width, 0, 2)]
    for row in grid(by_area, max(occasion.width - 2, NARROWEST), occasion.in_unicode):
        yield f"  {_drawn(row, occasion)}".rstrip()
    line, length = "", 0
    for pieces in legend(occasion.in_unicode):
        more = sum(len(text) for text, _ in pieces)
        if length and length + 3 + more > occasion.width:
            yield line
            line, length = "", 0
        line, length = f"{line}{'   ' if length else '  '}{_drawn(pieces, occasion)}", length + 3 + more
    yield line


def _drawn(pieces: Pieces, occasion: RenderOptions) -> str:
    return "".join(
        painted(text, meaning) if occasion.in_colour and meaning is not None else text for text, meaning in pieces
    )


def _each_finding(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> Iterator[str]:
    """Yield the findings in the order of the causes, then by gravity.

    Findings that are unknown or do not apply for the same reason are merged.
    """
    of_causes = [finding for cause in causes for finding in cause.findings]
    told = {each.check.id for each in of_causes}
    rest = [each for each in in_order(verdict, causes) if each.check.id not in told]
    yield ""
    for findings in _together([*of_causes, *rest]):
        yield from _describe(findings, verdict, occasion)


def _together(findings: Iterable[Finding]) -> list[list[Finding]]:
    grouped: dict[object, list[Finding]] = {}
    for finding in findings:
        is_alone = finding.status in (Status.FAIL, Status.WARN, Status.PASS)
        key = (
            (finding.check.id,)
            if is_alone
            else (finding.status, finding.weight, finding.answer.reason, finding.answered_by)
        )
        grouped.setdefault(key, []).append(finding)
    return list(grouped.values())


def _calibration_lines(verdict: Verdict, width: int) -> list[str]:
    """Return the table of the noise floor, if it was measured."""
    calibrated = verdict.case.calibrated
    if calibrated is None or not calibrated.floors:
        return []
    # imported here, as most verdicts are without one
    from noisewatch.surfaces.reports.calibration.text import REALTIME_REMARK, floor_lines

    remarks = [REALTIME_REMARK] if calibrated.calibration.samples.is_realtime else []
    return [*floor_lines(calibrated, width), *remarks]


def _describe(findings: list[Finding], verdict: Verdict, occasion: RenderOptions) -> list[str]:
    finding = findings[0]
    answer = finding.answer
    said = (
        answer.said + describe_limit_of(finding)
        if answer.status in (Status.FAIL, Status.WARN, Status.PASS)
        else answer.reason
    )
    names = ", ".join(each.check.id for each in findings)
    first, *more = wrapped(f"{names} ({finding.weight})", occasion.width, len(_INDENT))
    lines = [_labelled(finding, verdict, occasion) + first.strip(), *more]
    lines += wrapped(said or "", occasion.width, len(_INDENT))
    for item in answer.items:
        lines += wrapped(item, occasion.width, len(_INDENT) + 2, len(_INDENT) + 4)
    if finding.answered_by:
        lines.append(f"{_INDENT}answered by {finding.answered_by}")
    lines += _culprits(finding, said or "")
    lines += [f"{_INDENT}{name + ':':<{STEP + 1}}{command}" for name, command in commands_of(answer.fix)]
    return lines


def _labelled(finding: Finding, verdict: Verdict, occasion: RenderOptions) -> str:
    """Return the finding's status, padded to its column."""
    said = label(finding, verdict)
    is_plain = not occasion.in_colour or finding.status not in _TELLING
    return (said if is_plain else painted(said, style_of_label(said))) + " " * (len(_INDENT) - len(said))


def _culprits(finding: Finding, already_said: str) -> list[str]:
    lines = [_INDENT + culprit_line(each) for each in unnamed_culprits(finding, already_said)]
    if len(lines) > _MOST_CULPRITS + 1:
        lines[_MOST_CULPRITS:] = [f"{_INDENT}… and {len(lines) - _MOST_CULPRITS} more"]
    return lines
