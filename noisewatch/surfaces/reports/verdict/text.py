"""The verdict as text: on one screen, or with -v in full, with the verdict in the last line.

The brief report has the causes that block or are unknown, a line of warnings, and the basis of the verdict. It fits
24 rows of 80 columns: causes are shortened, the last ones first, until they fit. Commands are shown whole or not at
all, so they can be copied; a long command counts as the rows that it takes in a terminal. The full report shows all
causes and steps, all checks at a glance, and each finding, above the same last lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.cause_words import (
    chance_of,
    checks_of,
    commands_of_culprits,
    culprits_text,
    decisive_causes,
    floor_options,
    headline,
    is_of_floor,
    is_one_line,
    lead_details,
    other_culprits_of,
    short_title,
    shorten,
    steps_against,
    summary_of_verdict,
    title_of,
    warnings_of,
)
from noisewatch.judgement.causes import Cause, causes_of, order_findings
from noisewatch.judgement.finding_words import (
    commands_of,
    counts_text,
    culprit_line,
    describe_limit_of,
    describe_seconds,
    label,
    measurement_text,
    remark_on_commands,
    unnamed_culprits,
)
from noisewatch.judgement.rules import MICRO
from noisewatch.judgement.terms import FOR_GOOD, NOW, STEP, TRY, UNDO, Status
from noisewatch.judgement.verdict import Finding, Verdict
from noisewatch.patterns import regex
from noisewatch.surfaces.drawing.accents import Accents, accent_lines, first_figure
from noisewatch.surfaces.drawing.colours import Meaning, paint, paint_row, plain_row, style_of_label
from noisewatch.surfaces.drawing.marks import grid, legend, marks_by_area, paint_mark
from noisewatch.surfaces.drawing.wraps import wrap, wrap_around
from noisewatch.surfaces.reports.machine.text import describe_platform
from noisewatch.surfaces.reports.topics import VERDICT
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.text import printable
from noisewatch.units import describe_count

_ROWS, _WIDTH = 24, 80
_MOST_CAUSES = 3  # causes shown with more than their title
_TITLE_ROWS = 2
_OPEN_ROWS = (3, 2, 1)  # rows of an open cause, by level of detail
_GAP = 2
RUNS = "runs"  # the label of the command of a culprit's process
_LABEL = 11  # columns for labels such as `all fixes`
_MEANINGS: dict[str, Meaning] = {"STABLE": "good", "UNSTABLE": "bad", "UNKNOWN": "doubt"}
NO_CALIBRATION = "No calibration was run: settings and counters were judged, but not the noise floor."
_SETTINGS_ONLY = "No sample was taken: load, tasks and interrupts of the CPUs are unknown."
_NOTHING_ASKED = "No check gave an answer: the selected checks need a sample or a calibration, or do not apply here."
# The level with the title alone. Level 1 drops further culprits, level 2 also the undo and the culprit's own command.
_MOST_STEPS = 3


def brief_lines(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> list[str]:
    """Return the report's lines except for the last one, which has the verdict."""
    above, below = head_lines(verdict, options), basis_lines(verdict, causes, options)
    decisive = decisive_causes(causes)
    width = max(options.width, NARROWEST)
    rows = _ROWS * max(_WIDTH, width) // min(width, _WIDTH) if width < _WIDTH else _ROWS
    room = rows - _rows_of([*above, *below], width) - 1
    body = _fit_causes(decisive, verdict.case, room - 2, options)
    return [*above, *(["", *body] if body else []), "", *below]


def head_lines(verdict: Verdict, options: RenderOptions) -> list[str]:
    """Return the verdict with the target CPUs, and a remark if the commands are for another machine."""
    word = verdict.verdict.upper()
    first, *more = wrap_indented(f"{word}   {headline(verdict)}", options.width, 0, len(word) + 3)
    remark = remark_on_commands(verdict)
    accents = _culprits_of(causes_of(verdict))
    first, *more = accent_lines([first, *more], accents, options.in_colour)
    return [paint_outcome(first, word, options), *more, *(wrap_indented(remark, options.width, 0) if remark else [])]


def _culprits_of(causes: Iterable[Cause]) -> Accents:
    """Return the style of each name of the causes' culprits."""
    culprits = [culprit for cause in causes for finding in cause.findings for culprit in finding.answer.culprits]
    names = {name for culprit in culprits for name in (printable(culprit.label), printable(culprit.name))}
    return dict.fromkeys(names, "culprit")


def _command(line: str, options: RenderOptions) -> str:
    return paint(line, "command") if options.in_colour else line


def paint_outcome(line: str, word: str, options: RenderOptions) -> str:
    """Return the line with the verdict's word in its colour."""
    return line.replace(word, paint(word, _MEANINGS[word]), 1) if options.in_colour else line


def basis_lines(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> list[str]:
    """Return the warnings by cost, the detectable change, where to find the rest, and the basis of the verdict."""
    width = options.width
    lines = [part for line in _sentences(verdict, causes) for part in wrap_indented(line, width, 1)]
    lines += _detection(verdict.case, width)
    warnings = warnings_of(causes, verdict.case)
    if warnings is not None:
        lines[:0] = _join_items(f"{warnings.heading}:  ", warnings.costliest, width)
    has_fixes = any(cause.fix is not None for cause in causes)
    lines += [""] if lines else []
    if has_fixes:
        command = f"noisewatch preflight{_options_of(verdict)} --fix-script fix.sh --undo-script undo.sh"
        lines.append(f" {'all fixes':<{_LABEL}}{_command(command, options)}")
    lines += _details(verdict, causes, options)
    configured_by = verdict.case.rules.configured_by
    lines += [f" with options of {printable(configured_by)}"] if configured_by is not None else []
    return [*lines, *wrap_indented(_basis(verdict), width, 1, 3)]


def _detection(case: Case, width: int) -> list[str]:
    """Return the table of `--detect`, if it was given."""
    share = case.rules.budget.detect
    if share is None:
        return []
    from noisewatch.surfaces.reports.calibration.detection import detect_lines

    return ["", *(f" {line}" for line in detect_lines(case.calibrated, share, width - 1))]


def _sentences(verdict: Verdict, causes: Sequence[Cause]) -> Iterator[str]:
    case = verdict.case
    if all(finding.status in (Status.IGNORED, Status.NOT_APPLICABLE) for finding in verdict.findings):
        yield _NOTHING_ASKED
    if not any(is_of_floor(cause) for cause in decisive_causes(causes)):
        yield from filter(None, [chance_of(case)])
    if case.calibrated is None:
        yield NO_CALIBRATION
    else:
        # imported here: only a verdict with a calibration needs it
        from noisewatch.surfaces.reports.calibration.detection import change_sentence

        yield change_sentence(case.calibrated)
    if case.interval is None:
        yield _SETTINGS_ONLY if case.no_sample_reason is None else f"No sample was taken: {case.no_sample_reason}."


def _details(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> list[str]:
    """Return how to show all checks and how to explain the first cause, in one line if both fit."""
    unknown = len([finding for finding in verdict.findings if finding.status == Status.UNKNOWN])
    counts_text = f"{len(verdict.findings)} checks" + (f", {unknown} unknown" if unknown else "")
    line = f" {'details':<{_LABEL}}-v ({counts_text})"
    command = f"noisewatch explain {causes[0].findings[0].check.id if causes else VERDICT}"
    both, shown = f"{line}    why: {command}", _command(command, options)
    alone = f" {'why':<{_LABEL}}{shown}"
    if options.is_verbose:
        return [alone]
    if len(both) <= options.width:
        return [f"{line}    why: {shown}"]
    return [*wrap_indented(line.strip(), options.width, 1, 3), alone]


def _options_of(verdict: Verdict) -> str:
    """Return the options with which a further preflight judges the same CPUs with the same profile."""
    case, snapshot = verdict.case, verdict.case.snapshot
    words = []
    if snapshot.target.chosen_by == "as requested":
        words.append(f" --cpus {cpu_list_argument(case.target)}")
    if case.rules.is_profile_given and verdict.profile != MICRO:
        words.append(f" --profile {verdict.profile}")
    return "".join(words) if snapshot.is_live else " …"


def _basis(verdict: Verdict) -> str:
    """Return `CPU 1 · profile shared (virtual machine) · 3 s sample, 3 s calibration`."""
    case, snapshot, rules = verdict.case, verdict.case.snapshot, verdict.case.rules
    reason = f" ({rules.profile_reason.removeprefix('a ')})" if rules.profile_reason is not None else ""
    words = [name_cpus(case.target), f"profile {verdict.profile}{reason}", describe_seconds(verdict)]
    words += [] if snapshot.is_live else [snapshot.machine_name]
    words += _changed_rules(verdict)
    tuned = snapshot.settings.tuned
    words += [tuned.summary] if tuned is not None and tuned.sessions else []
    return printable(" · ".join(words))


def _changed_rules(verdict: Verdict) -> Iterator[str]:
    """Yield the effects of options on the verdict: `17 checks not asked`, `1 limit changed`."""
    rules = verdict.case.rules
    left_out = sum(
        rules.ignored_reason(finding.check.id, finding.check.area) is not None for finding in verdict.findings
    )
    if left_out:
        yield f"{describe_count(left_out, 'check')} not asked"
    if rules.severity_by_id:
        yield f"severity of {describe_count(len(rules.severity_by_id), 'check')} changed"
    if rules.value_by_limit:
        yield f"{describe_count(len(rules.value_by_limit), 'limit')} changed"


def _join_items(start: str, items: Sequence[str], width: int) -> list[str]:
    """Return the items after `start`, separated by dots; an item is broken only if it is longer than a line."""
    further = len(start) + 1 if width >= _WIDTH else 3
    lines, indent, line = [], 1, start
    for index, item in enumerate(items):
        piece = item + ("  ·  " if index < len(items) - 1 else "")
        length = indent + len(line)
        if length + len(piece.rstrip()) > width and line.strip() and (index or length + 10 > width):
            lines += wrap_indented(line.rstrip(), width, indent, further)
            indent, line = further, ""
        line += piece
    return [*lines, *wrap_indented(line.rstrip(), width, indent, further)]


def _fit_causes(causes: Sequence[Cause], case: Case, room: int, options: RenderOptions) -> list[str]:
    """Return the causes in as much detail as fits, and the number of causes that do not fit."""
    width = max(options.width, NARROWEST)
    levels = [0 if at < _MOST_CAUSES else _MOST_STEPS for at in range(len(causes))]
    texts = [_brief_cause(at + 1, cause, case, levels[at], options) for at, cause in enumerate(causes)]
    left = len(causes)

    def needed() -> int:
        return sum(_rows_of(text, width) for text in texts[:left]) + (left < len(causes))

    while needed() > room and min(levels) < _MOST_STEPS:
        at = max(number for number, level in enumerate(levels) if level == min(levels))
        levels[at] += 1
        texts[at] = _brief_cause(at + 1, causes[at], case, levels[at], options)
    while left > 1 and needed() > room:
        left -= 1
    lines = [line for text in texts[:left] for line in text]
    return [*lines, f"   … and {len(causes) - left} more: -v"] if left < len(causes) else lines


def _brief_cause(number: int, cause: Cause, case: Case, level: int, options: RenderOptions) -> list[str]:
    """Return the cause's title with the limits at the right, and its steps at this level of detail."""
    margin, width = 5, max(options.width, NARROWEST)
    title = short_title(cause, case)
    lines = _title_lines(title.text, title.limits, width, margin)
    lines = accent_lines(lines, _culprits_of([cause]) | first_figure(title.text), options.in_colour)
    shown = paint_mark(cause.gravity, options.in_unicode, options.in_colour)
    lines[0] = f"{number:>2} {shown} {lines[0].lstrip()}"
    if level == _MOST_STEPS:
        return lines
    others, details = other_culprits_of(cause, case), lead_details(cause, case)
    if details and level < 2:
        lines.append(shorten(f"{'':{margin}}{RUNS:<{STEP}}{details}", width))
    if others and level == 0:
        lines.append(shorten(f"{'':{margin}}{'who':<{STEP}}{', '.join(others)}", width))
    return lines + _steps(cause, case, level, margin, options)


def _title_lines(text: str, limits: str | None, width: int, margin: int) -> list[str]:
    """Return the title in at most two rows, with the limits at the end of its last row if they fit there."""
    lines = _cut(wrap_indented(text, width, margin), _TITLE_ROWS, width)
    if limits is None:
        return lines
    end = f"({limits})"
    if len(lines[-1]) + _GAP + len(end) <= width:
        room = min(width, _WIDTH) - len(lines[-1])
        lines[-1] += " " * max(room - len(end), _GAP) + end
    elif len(lines) < _TITLE_ROWS:
        lines += wrap_indented(end, width, margin)
    return lines


def _cut(lines: list[str], max_lines: int, width: int) -> list[str]:
    """Return at most `max_lines` lines; the last one ends with `…` if there are more."""
    if len(lines) <= max_lines:
        return lines
    last = lines[max_lines - 1]
    indent = last[: len(last) - len(last.lstrip())]
    rest = " ".join(line.strip() for line in lines[max_lines - 1 :])
    return [*lines[: max_lines - 1], indent + shorten(rest, width - len(indent))]


def _steps(cause: Cause, case: Case, level: int, margin: int, options: RenderOptions) -> list[str]:
    """Return the cause's commands and advice at this level of detail."""
    width = max(options.width, NARROWEST)
    tries = floor_options(cause, case)
    if tries:
        lines = wrap_options(f"{TRY:<{STEP}}", tries, width, margin)
        return accent_lines(lines, dict.fromkeys(tries, "command"), options.in_colour)
    if cause.way is not None:
        return _cut(wrap_indented(checks_of(cause), width, margin, margin + STEP), _OPEN_ROWS[level], width)
    steps = steps_against(cause) if not is_one_line(cause) else []
    has_now = any(name == NOW for name, _ in steps)
    shown_labels = {0: {NOW, UNDO, TRY}, 1: {NOW, UNDO, TRY}, 2: {NOW, TRY}}[level] | (set() if has_now else {FOR_GOOD})
    shown: list[tuple[str, str]] = []
    label = ""
    for name, line in steps:
        label = name or label  # further lines of a long command have no label
        shown += [(name, line)] if label in shown_labels else []
    return _step_lines(shown, margin, options)


def _step_lines(steps: Iterable[tuple[str, str]], margin: int, options: RenderOptions) -> list[str]:
    """Return the steps after their labels; advice is wrapped, commands are not."""
    lines: list[str] = []
    for name, line in steps:
        if name == TRY:
            width = max(options.width, NARROWEST)
            advice = wrap_around_commands(f"{name:<{STEP}}{line}", width, margin, margin + STEP)
            commands: Accents = dict.fromkeys(_COMMAND.findall(line), "command")
            lines += accent_lines(advice, commands, options.in_colour)
        else:
            shown = line if name == FOR_GOOD else _command(line, options)  # which may be prose
            lines.append(f"{' ' * margin}{name:<{STEP}}{shown}")
    return lines


def wrap_options(start: str, options: Sequence[str], width: int, margin: int) -> list[str]:
    """Return `try   --calibration auto   or   --samples 60`, with no option broken."""
    lines, line = [], f"{' ' * margin}{start}"
    for index, option in enumerate(options):
        piece = ("    or    " if index else "") + option
        if index and len(line) + len(piece) > width:
            lines.append(line)
            line, piece = " " * margin + f"{'or':<{STEP}}", option
        line += piece
    return [*lines, line]


def _rows_of(lines: Sequence[str], width: int) -> int:
    """Return the number of rows that the lines take in a terminal of this width."""
    return sum(max(-(-len(_ESCAPE.sub("", line)) // width), 1) for line in lines)


NARROWEST = 20
_ESCAPE = regex(r"\x1b\[[\d;]*m")
# `sudo noisewatch trace --cpus 3`: its last word ends before the sentence's full stop
_COMMAND = regex(r"sudo(?: [-\w./=,]*[-\w/=])+|noisewatch [a-z]+(?: [a-z]+(?:-[a-z]+)+| --?[-\w]+(?: [\w,./-]*\w)?)*")


def wrap_around_commands(text: str, width: int, indent: int, further: int) -> list[str]:
    """Wrap the text, with lines after the first indented by `further`; a command is never broken."""
    return wrap_around(printable(text), width, _COMMAND, " " * indent, " " * further, min_width=NARROWEST)


def wrap_indented(text: str, width: int, indent: int, further: int | None = None) -> list[str]:
    """Wrap the text, with lines after the first indented by `further`; there is at least one line."""
    first = " " * indent
    following = first if further is None else " " * min(further, max(width, NARROWEST) // 2)
    return wrap(printable(text), width, first, following, keep="hyphens", min_width=NARROWEST) or [""]


_COLOURED_STATUSES = (Status.FAIL, Status.WARN, Status.UNKNOWN)
_INDENT = "        "
_MOST_CULPRITS = 5


def render(verdict: Verdict, options: RenderOptions) -> str:
    """Return the report of `preflight --format text`, wrapped at the width; commands are not wrapped.

    The brief report fits a terminal of 24 rows. A verbose report shows all details of causes and checks above the same
    last lines. A quiet report is only the last line.
    """
    causes = causes_of(verdict)
    lines = (
        []
        if options.is_quiet
        else [*_verbose_lines(verdict, causes, options), *basis_lines(verdict, causes, options)]
        if options.is_verbose
        else brief_lines(verdict, causes, options)
    )
    summary = summary_of_verdict(verdict, options.exit_status, causes)
    (summary,) = accent_lines([summary], _culprits_of(causes), options.in_colour)
    return "\n".join([*lines, paint_outcome(summary, verdict.verdict.upper(), options)]) + "\n"


def _verbose_lines(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> Iterator[str]:
    """Yield the machine, all causes with all of their steps, all checks and their findings, and the noise floor."""
    yield from head_lines(verdict, options)
    target = verdict.case.snapshot.target
    about = (
        describe_platform(verdict.case.snapshot),
        f"{name_cpus(target.cpus)} ({target.chosen_by})",
        measurement_text(verdict),
    )
    yield from wrap_indented(" · ".join(about), options.width, 0)
    yield from _to_do(verdict, causes, options)
    yield from _all_checks(verdict, options)
    yield from _all_findings(verdict, causes, options)
    yield ""
    for line in _calibration_lines(verdict, options.width):
        yield from [line] if "  " in line else wrap_indented(line, options.width, 0)
    yield ""


def _to_do(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> Iterator[str]:
    if not causes:
        return
    yield from ["", paint("WHAT TO DO", "title") if options.in_colour else "WHAT TO DO"]
    margin = len(str(len(causes))) + 4
    for number, cause in enumerate(causes, start=1):
        yield from _cause(number, cause, verdict, margin, options)


def _cause(number: int, cause: Cause, verdict: Verdict, margin: int, options: RenderOptions) -> Iterator[str]:
    """Yield the cause's number, mark and title, the commands, and the checks that the commands fix."""
    items = cause.findings[0].answer.items if is_one_line(cause) else ()
    title = cause.findings[0].answer.said if items else title_of(cause, verdict.case)
    title += f" ({cause.findings[0].check.id})" if is_one_line(cause) else ""
    accents = _culprits_of([cause]) | first_figure(title)
    first, *more = accent_lines(wrap_indented(title, options.width, margin), accents, options.in_colour)
    shown = paint_mark(cause.gravity, options.in_unicode, options.in_colour)
    yield f"{number:>{margin - 3}} {shown} {first.strip()}"
    yield from more
    for item in items:
        yield from wrap_indented(item, options.width, margin + 2, margin + 4)
    if is_one_line(cause) and not floor_options(cause, verdict.case):
        return
    culprits = culprits_text(cause, title)
    if culprits is not None:
        yield from wrap_indented(f"{'who':<{STEP}}{culprits}", options.width, margin, margin + STEP)
    for index, command in enumerate(commands_of_culprits(cause)):
        text = f"{'' if index else RUNS:<{STEP}}{command}"
        yield from wrap_indented(text, options.width, margin, margin + STEP)
    tries = floor_options(cause, verdict.case)
    if tries:
        yield from wrap_options(f"{TRY:<{STEP}}", tries, options.width, margin)
    yield from _step_lines(steps_against(cause), margin, options)
    yield from wrap_indented(checks_of(cause), options.width, margin, margin + STEP)


def _all_checks(verdict: Verdict, options: RenderOptions) -> Iterator[str]:
    """Yield one character for each check, and the meaning of the characters."""
    findings = verdict.findings
    by_area = marks_by_area((finding.check.area, finding.gravity(verdict.is_strict)) for finding in findings)
    yield from ["", *wrap_indented(f"ALL {len(findings)} CHECKS   {counts_text(verdict)}", options.width, 0, 2)]
    drawn = paint_row if options.in_colour else plain_row
    for row in grid(by_area, max(options.width - 2, NARROWEST), options.in_unicode):
        yield f"  {drawn(row)}".rstrip()
    line, length = "", 0
    for pieces in legend(options.in_unicode):
        more = sum(len(text) for text, _ in pieces)
        if length and length + 3 + more > options.width:
            yield line
            line, length = "", 0
        line, length = f"{line}{'   ' if length else '  '}{drawn(pieces)}", length + 3 + more
    yield line


def _all_findings(verdict: Verdict, causes: Sequence[Cause], options: RenderOptions) -> Iterator[str]:
    """Yield the findings in the order of the causes, then by gravity.

    Findings that are unknown or do not apply for the same reason are merged.
    """
    of_causes = [finding for cause in causes for finding in cause.findings]
    ids_of_causes = {finding.check.id for finding in of_causes}
    rest = [finding for finding in order_findings(verdict, causes) if finding.check.id not in ids_of_causes]
    yield ""
    for findings in _merged_findings([*of_causes, *rest]):
        yield from _describe(findings, verdict, options)


def _merged_findings(findings: Iterable[Finding]) -> list[list[Finding]]:
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
    # imported here: only a verdict with a calibration needs it
    from noisewatch.surfaces.reports.calibration.text import REALTIME_REMARK, floor_lines

    remarks = [REALTIME_REMARK] if calibrated.calibration.samples.is_realtime else []
    return [*floor_lines(calibrated, width), *remarks]


def _describe(findings: list[Finding], verdict: Verdict, options: RenderOptions) -> list[str]:
    finding = findings[0]
    answer = finding.answer
    text = (
        answer.said + describe_limit_of(finding)
        if answer.status in (Status.FAIL, Status.WARN, Status.PASS)
        else answer.reason
    )
    names = ", ".join(merged.check.id for merged in findings)
    first, *more = wrap_indented(f"{names} ({finding.weight})", options.width, len(_INDENT))
    status_text = label(finding, verdict)
    is_painted = options.in_colour and finding.status in _COLOURED_STATUSES
    status = paint(status_text, style_of_label(status_text)) if is_painted else status_text
    lines = [f"{status}{' ' * (len(_INDENT) - len(status_text))}{first.strip()}", *more]
    lines += wrap_indented(text or "", options.width, len(_INDENT))
    if finding.answered_by:
        lines.append(f"{_INDENT}answered by {finding.answered_by}")
    culprits = [_INDENT + culprit_line(culprit) for culprit in unnamed_culprits(finding, text or "")]
    if len(culprits) > _MOST_CULPRITS + 1:
        culprits[_MOST_CULPRITS:] = [f"{_INDENT}… and {len(culprits) - _MOST_CULPRITS} more"]
    lines += culprits
    for item in answer.items:
        lines += wrap_indented(item, options.width, len(_INDENT) + 2, len(_INDENT) + 4)
    lines += [
        f"{_INDENT}{name + ':':<{STEP + 1}}{command if name == FOR_GOOD else _command(command, options)}"
        for name, command in commands_of(answer.fix)
    ]
    return lines
