"""The verdict for people: what to do, by cause, the gravest first; all checks at a glance; the verdict, last."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from noisewatch.cpus import name_cpus
from noisewatch.judgement.cause_words import (
    BY_HAND,
    STEP,
    culprits_of,
    is_one_line,
    script_hint,
    settled_by,
    steps_against,
    title_of,
)
from noisewatch.judgement.causes import Cause, Way, causes_of, in_order
from noisewatch.judgement.finding_words import (
    commands_of,
    counts,
    culprit_line,
    describe_limit_of,
    label,
    measured,
    remark_on_commands,
    summary_of_verdict,
    unnamed_culprits,
)
from noisewatch.judgement.rules import SHARED
from noisewatch.judgement.terms import Outcome, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.patterns import regex
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.parts.colours import Meaning, painted, style_of_label
from noisewatch.surfaces.reports.parts.marks import MEANINGS, Pieces, grid, legend, mark_of, marks_by_area
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable

_TELLING = (Status.FAIL, Status.WARN, Status.UNKNOWN)
_MEANINGS: Mapping[str, Meaning] = {Outcome.STABLE: "good", Outcome.UNSTABLE: "bad", Outcome.UNKNOWN: "doubt"}
_INDENT = "        "
_UNBROKEN = "\0"  # stands for a blank where no line may end: printable text has none
# `sudo noisewatch trace --cpus 3`: its last word ends before the sentence's full stop
_COMMAND = regex(r"sudo(?: [-\w./=,]*[-\w/=])+|noisewatch [a-z]+(?: --?[-\w]+(?: [\w,./-]*\w)?)*")
_NARROWEST = 40
_MOST_CULPRITS = 5
NO_CALIBRATION = "No calibration was run: this rests on settings and counters, not on a measured noise floor."
_NOTHING_ASKED = "No check could run: those selected need a sample or a calibration, or were ignored."
_SETTINGS_ONLY = "No sample was taken: interrupts, load and tasks on the target CPUs are unknown."
_GUEST = "A guest cannot answer some of these; --profile shared judges by measurement."


def render(verdict: Verdict, occasion: RenderOptions) -> str:
    """All of `preflight --format text`, its lines wrapped at the width but for commands, which are there to be copied.

    Where it is verbose, all is told of each finding, in the order of the causes.
    """
    causes = causes_of(verdict)
    lines = [*_head(verdict, occasion), *_to_do(verdict, causes, occasion), *_all_checks(verdict, occasion)]
    if occasion.is_verbose:
        lines += _each_finding(verdict, causes, occasion)
    is_guest_told = any(each.way == Way.PROFILE for each in causes)
    basis = _basis(verdict, is_guest_told, occasion.width)
    lines += ["", *(part for line in basis for part in ([line] if "  " in line else _wrapped(line, occasion.width, 0)))]
    summary = summary_of_verdict(verdict, occasion.exit_status)
    word = verdict.verdict.upper()
    return "\n".join([*lines, summary.replace(word, _of_outcome(verdict, occasion), 1)]) + "\n"


def _of_outcome(verdict: Verdict, occasion: RenderOptions) -> str:
    word = verdict.verdict.upper()
    return painted(word, _MEANINGS[verdict.verdict]) if occasion.in_colour else word


def _head(verdict: Verdict, occasion: RenderOptions) -> Iterator[str]:
    """The verdict and its counts; the machine, why these CPUs, and what was measured."""
    case, word = verdict.case, verdict.verdict.upper()
    said = f"{word}  {counts(verdict)} · profile {verdict.profile}, exit {occasion.exit_status}"
    first, *more = _wrapped(said, occasion.width, 0, len(word) + 2)
    yield from [first.replace(word, _of_outcome(verdict, occasion), 1), *more]
    target = f"{name_cpus(case.target)} ({case.snapshot.target.chosen_by})"
    about = f"{describe_platform(case.snapshot)} · {target} · {measured(verdict)}"
    yield from _wrapped(about, occasion.width, 0)
    if case.rules.configured_by is not None:
        yield printable(f"with options of {case.rules.configured_by}")


def _to_do(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> Iterator[str]:
    if not causes:
        return
    remark = remark_on_commands(verdict)
    yield from ["", *_wrapped(f"WHAT TO DO   {remark}" if remark else "WHAT TO DO", occasion.width, 0)]
    margin = len(str(len(causes))) + 4
    for number, cause in enumerate(causes, start=1):
        yield from _cause(number, cause, verdict, margin, occasion)
    script = script_hint(verdict)
    hints = [f"all of this as a script: {script}"] if script is not None else []
    hints += ["what helps otherwise: noisewatch explain CHECK"] if any(map(is_one_line, causes)) else []
    yield from (f" {hint}" for hint in hints)


def _cause(number: int, cause: Cause, verdict: Verdict, margin: int, occasion: RenderOptions) -> Iterator[str]:
    """Its number and mark, its title, the commands, and the checks that they settle."""
    items = cause.findings[0].answer.items if is_one_line(cause) else ()
    title = cause.findings[0].answer.said if items else title_of(cause, verdict.case)
    title += f" ({cause.findings[0].check.id})" if is_one_line(cause) else ""
    first, *more = _wrapped(title, occasion.width, margin)
    mark, meaning = mark_of(cause.gravity, occasion.in_unicode), MEANINGS[cause.gravity]
    shown = painted(mark, meaning) if occasion.in_colour and meaning is not None else mark
    yield f"{number:>{margin - 3}} {shown} {first.strip()}"
    yield from more
    for item in items:
        yield from _wrapped(item, occasion.width, margin + 2, margin + 4)
    if is_one_line(cause):
        return
    culprits = culprits_of(cause, title)
    if culprits is not None:
        yield from _wrapped(f"{'who':<{STEP}}{culprits}", occasion.width, margin, margin + STEP)
    for name, line in steps_against(cause):
        if name == BY_HAND:
            yield from _wrapped_around_commands(f"{name:<{STEP}}{line}", occasion.width, margin, margin + STEP)
        else:
            yield f"{' ' * margin}{name:<{STEP}}{line}"
    yield from _wrapped(settled_by(cause), occasion.width, margin, margin + STEP)


def _all_checks(verdict: Verdict, occasion: RenderOptions) -> Iterator[str]:
    """One character a check, and what the characters mean."""
    findings = verdict.findings
    by_area = marks_by_area((each.check.area, each.gravity(verdict.is_strict)) for each in findings)
    hint = "" if occasion.is_verbose else "   -v tells each"
    yield from ["", f"ALL {len(findings)} CHECKS{hint}"]
    for row in grid(by_area, max(occasion.width - 2, _NARROWEST), occasion.in_unicode):
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
    """In the order of the causes, then by gravity; unknowns, and those that do not apply, of one reason together."""
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


def _basis(verdict: Verdict, is_guest_told: bool, width: int) -> Iterator[str]:
    """What the verdict rests on: the noise floor, the sample, and what more could be asked."""
    yield from _calibration_lines(verdict, width)
    case = verdict.case
    if case.interval is None:
        yield _SETTINGS_ONLY if case.no_sample_reason is None else f"No sample was taken: {case.no_sample_reason}."
    is_hidden = any(each.is_unknown and each.check.is_hidden_from_guests for each in verdict.findings)
    if verdict.profile != SHARED and case.is_guest and is_hidden and not is_guest_told:
        yield _GUEST
    if all(finding.status in (Status.IGNORED, Status.NOT_APPLICABLE) for finding in verdict.findings):
        yield _NOTHING_ASKED


def _calibration_lines(verdict: Verdict, width: int) -> list[str]:
    """The noise floor, or that there is none."""
    calibrated = verdict.case.calibrated
    if calibrated is None:
        return [NO_CALIBRATION]
    if not calibrated.floors:
        return ["Too little was measured for a noise floor."]
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
    first, *more = _wrapped(f"{names} ({finding.weight})", occasion.width, len(_INDENT))
    lines = [_labelled(finding, verdict, occasion) + first.strip(), *more]
    lines += _wrapped(said or "", occasion.width, len(_INDENT))
    for item in answer.items:
        lines += _wrapped(item, occasion.width, len(_INDENT) + 2, len(_INDENT) + 4)
    if finding.answered_by:
        lines.append(f"{_INDENT}answered by {finding.answered_by}")
    lines += _culprits(finding, said or "")
    lines += [f"{_INDENT}{name + ':':<9}{command}" for name, command in commands_of(answer.fix)]
    return lines


def _labelled(finding: Finding, verdict: Verdict, occasion: RenderOptions) -> str:
    """Its status, as wide as the column that it stands in."""
    said = label(finding, verdict)
    is_plain = not occasion.in_colour or finding.status not in _TELLING
    return (said if is_plain else painted(said, style_of_label(said))) + " " * (len(_INDENT) - len(said))


def _culprits(finding: Finding, already_said: str) -> list[str]:
    lines = [_INDENT + culprit_line(each) for each in unnamed_culprits(finding, already_said)]
    if len(lines) > _MOST_CULPRITS + 1:
        lines[_MOST_CULPRITS:] = [f"{_INDENT}… and {len(lines) - _MOST_CULPRITS} more"]
    return lines


def _wrapped_around_commands(text: str, width: int, indent: int, further: int) -> list[str]:
    """The same; a command within the sentence stays on one line, however long it is, to be copied."""
    kept = _COMMAND.sub(lambda found: found[0].replace(" ", _UNBROKEN), printable(text))
    room, first, following = max(width, _NARROWEST), " " * indent, " " * further
    lines = textwrap.wrap(
        kept,
        room,
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_UNBROKEN, " ") for line in lines]


def _wrapped(text: str, width: int, indent: int, further: int | None = None) -> list[str]:
    """The lines, each indented, those after the first by `further`; at least one."""
    room, first = max(width, _NARROWEST), " " * indent
    following = first if further is None else " " * further
    wrapped = textwrap.wrap(
        printable(text), room, initial_indent=first, subsequent_indent=following, break_on_hyphens=False
    )
    return wrapped or [""]
