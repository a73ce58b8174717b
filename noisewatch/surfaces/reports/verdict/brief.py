"""The verdict on one screen: blocking causes, open ones, warnings in a line, and what the verdict rests on.

It fits 24 rows of 80 columns: causes are shortened, the last ones first, until they fit. A command is shown whole or
not at all; one that is longer than a line counts the rows that a terminal needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisewatch.cpus import cpu_list_argument, name_cpus
from noisewatch.judgement.case import Case
from noisewatch.judgement.cause_words import checks_of, is_one_line, steps_against
from noisewatch.judgement.causes import Cause
from noisewatch.judgement.effect_words import (
    chance_of,
    deciding,
    headline,
    is_of_floor,
    others_of,
    short_title,
    shortened,
    tries_of,
    warnings_of,
)
from noisewatch.judgement.finding_words import remark_on_commands, seconds_measured
from noisewatch.judgement.rules import MICRO
from noisewatch.judgement.terms import FOR_GOOD, NOW, STEP, TRY, UNDO, Status
from noisewatch.judgement.verdict import Verdict
from noisewatch.surfaces.reports.parts.colours import Meaning, painted
from noisewatch.surfaces.reports.parts.marks import MEANINGS, mark_of
from noisewatch.surfaces.reports.topics.names import VERDICT
from noisewatch.surfaces.reports.verdict.formats import RenderOptions
from noisewatch.surfaces.reports.verdict.wrapping import NARROWEST, wrapped, wrapped_around_commands
from noisewatch.text import printable
from noisewatch.units import describe_count

_ROWS, _WIDTH = 24, 80
_MOST_CAUSES = 3  # the causes of which more than the title is shown
_TITLE_ROWS = 2
_OPEN_ROWS = (3, 2, 1)  # by level
_GAP = 2
_LABEL = 11  # columns of `all fixes` and `details`
_MEANINGS: dict[str, Meaning] = {"STABLE": "good", "UNSTABLE": "bad", "UNKNOWN": "doubt"}
NO_CALIBRATION = "No calibration was run: settings and counters, no measured noise floor."
_SETTINGS_ONLY = "No sample was taken: load, tasks and interrupts of the CPUs are unknown."
_NOTHING_ASKED = "No check could run: those selected need a sample or a calibration."
_MOST_STEPS = 3  # the level of detail with the title alone; lower levels drop further culprits first, then the undo


def brief_lines(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> list[str]:
    """Return the report's lines except for the last one, which has the verdict."""
    above, below = head_lines(verdict, occasion), basis_lines(verdict, causes, occasion)
    found = deciding(causes)
    width = max(occasion.width, NARROWEST)
    rows = _ROWS * max(_WIDTH, width) // min(width, _WIDTH) if width < _WIDTH else _ROWS
    room = rows - _rows_of([*above, *below], width) - 1
    body = _fitted_causes(found, verdict.case, room - 2, occasion)
    return [*above, *(["", *body] if body else []), "", *below]


def head_lines(verdict: Verdict, occasion: RenderOptions) -> list[str]:
    """Return the verdict with the target CPUs, and a remark if the commands are for another machine."""
    word = verdict.verdict.upper()
    first, *more = wrapped(f"{word}   {headline(verdict)}", occasion.width, 0, len(word) + 3)
    remark = remark_on_commands(verdict)
    return [of_outcome(first, word, occasion), *more, *(wrapped(remark, occasion.width, 0) if remark else [])]


def of_outcome(line: str, word: str, occasion: RenderOptions) -> str:
    """Return the line with the verdict's word in its colour."""
    return line.replace(word, painted(word, _MEANINGS[word]), 1) if occasion.in_colour else line


def basis_lines(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> list[str]:
    """Return the warnings by cost, which change shows, where to find the rest, and what the verdict rests on."""
    width = occasion.width
    lines = [part for line in _sentences(verdict, causes) for part in wrapped(line, width, 1)]
    lines += _detection(verdict.case, width)
    warnings = warnings_of(causes, verdict.case)
    if warnings is not None:
        lines[:0] = _joined(f"{warnings.heading}:  ", warnings.costliest, width)
    has_fixes = any(cause.fix is not None for cause in causes)
    lines += [""] if lines else []
    if has_fixes:
        command = f"noisewatch preflight{_options_of(verdict)} --fix-script fix.sh --undo-script undo.sh"
        lines.append(f" {'all fixes':<{_LABEL}}{command}")
    lines += _details(verdict, causes, occasion)
    configured_by = verdict.case.rules.configured_by
    lines += [f" with options of {printable(configured_by)}"] if configured_by is not None else []
    return [*lines, *wrapped(_basis(verdict), width, 1, 3)]


def _detection(case: Case, width: int) -> list[str]:
    """Return the table of `--detect`, if that was given."""
    share = case.rules.budget.detect
    if share is None:
        return []
    from noisewatch.surfaces.reports.calibration.detection import detect_lines

    return ["", *(f" {line}" for line in detect_lines(case.calibrated, share, width - 1))]


def _sentences(verdict: Verdict, causes: Sequence[Cause]) -> Iterator[str]:
    case = verdict.case
    if all(finding.status in (Status.IGNORED, Status.NOT_APPLICABLE) for finding in verdict.findings):
        yield _NOTHING_ASKED
    if not any(is_of_floor(cause) for cause in deciding(causes)):
        yield from filter(None, [chance_of(case)])
    if case.calibrated is None:
        yield NO_CALIBRATION
    else:
        # imported here, as most verdicts are without one
        from noisewatch.surfaces.reports.calibration.detection import change_sentence

        yield change_sentence(case.calibrated)
    if case.interval is None:
        yield _SETTINGS_ONLY if case.no_sample_reason is None else f"No sample was taken: {case.no_sample_reason}."


def _details(verdict: Verdict, causes: Sequence[Cause], occasion: RenderOptions) -> list[str]:
    """Return how to show all checks and how to have the first cause explained; in one line if both fit."""
    unknown = len([each for each in verdict.findings if each.status == Status.UNKNOWN])
    counted = f"{len(verdict.findings)} checks" + (f", {unknown} unknown" if unknown else "")
    line = f" {'details':<{_LABEL}}-v ({counted})"
    command = f"noisewatch explain {causes[0].findings[0].check.id if causes else VERDICT}"
    both, alone = f"{line}    why: {command}", f" {'why':<{_LABEL}}{command}"
    if occasion.is_verbose:
        return [alone]
    return [both] if len(both) <= occasion.width else [*wrapped(line.strip(), occasion.width, 1, 3), alone]


def _options_of(verdict: Verdict) -> str:
    """Return the options without which the same command would judge something else."""
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
    words = [name_cpus(case.target), f"profile {verdict.profile}{reason}", seconds_measured(verdict)]
    words += [] if snapshot.is_live else [snapshot.machine_name]
    words += _changed_rules(verdict)
    return printable(" · ".join(words))


def _changed_rules(verdict: Verdict) -> Iterator[str]:
    """Yield what options exclude from the verdict or weigh differently: `17 checks not asked`, `1 limit changed`."""
    rules = verdict.case.rules
    left_out = sum(rules.why_ignored(each.check.id, each.check.area) is not None for each in verdict.findings)
    if left_out:
        yield f"{describe_count(left_out, 'check')} not asked"
    if rules.severity_by_id:
        yield f"severity of {describe_count(len(rules.severity_by_id), 'check')} changed"
    if rules.value_by_limit:
        yield f"{describe_count(len(rules.value_by_limit), 'limit')} changed"


def _joined(start: str, items: Sequence[str], width: int) -> list[str]:
    """Return the items after `start`, separated by dots; an item is broken only if it is longer than a line."""
    further = len(start) + 1 if width >= _WIDTH else 3
    lines, line = [], f" {start}"
    for at, item in enumerate(items):
        piece = item + ("  ·  " if at < len(items) - 1 else "")
        if len(line) + len(piece.rstrip()) > width and line.strip() and (at or len(line) + 10 > width):
            lines.append(line.rstrip())
            line = " " * further
        line += piece
    return [part for each in (*lines, line.rstrip()) for part in wrapped(each.lstrip(), width, _indent(each), further)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fitted_causes(causes: Sequence[Cause], case: Case, room: int, occasion: RenderOptions) -> list[str]:
    """Return the causes in as much detail as fits, and the number of causes that do not fit."""
    width = max(occasion.width, NARROWEST)
    levels = [0 if at < _MOST_CAUSES else _MOST_STEPS for at in range(len(causes))]
    texts = [_cause(at + 1, cause, case, levels[at], occasion) for at, cause in enumerate(causes)]
    left = len(causes)

    def needed() -> int:
        return sum(_rows_of(text, width) for text in texts[:left]) + (left < len(causes))

    while needed() > room and min(levels) < _MOST_STEPS:
        at = max(number for number, level in enumerate(levels) if level == min(levels))
        levels[at] += 1
        texts[at] = _cause(at + 1, causes[at], case, levels[at], occasion)
    while left > 1 and needed() > room:
        left -= 1
    lines = [line for text in texts[:left] for line in text]
    return [*lines, f"   … and {len(causes) - left} more: -v"] if left < len(causes) else lines


def _cause(number: int, cause: Cause, case: Case, level: int, occasion: RenderOptions) -> list[str]:
    """Return the cause's title with the limits at the right, and its steps at this level of detail."""
    margin, width = 5, max(occasion.width, NARROWEST)
    title = short_title(cause, case)
    lines = _titled(title.text, title.limits, width, margin)
    mark, meaning = mark_of(cause.gravity, occasion.in_unicode), MEANINGS[cause.gravity]
    shown = painted(mark, meaning) if occasion.in_colour and meaning is not None else mark
    lines[0] = f"{number:>2} {shown} {lines[0].lstrip()}"
    if level == _MOST_STEPS:
        return lines
    others = others_of(cause, case)
    if others and level == 0:
        lines.append(shortened(f"{'':{margin}}{'who':<{STEP}}{', '.join(others)}", width))
    return lines + _steps(cause, case, level, margin, width)


def _titled(text: str, limits: str | None, width: int, margin: int) -> list[str]:
    """Return the title in at most two rows, with the limits at the end of its last row if they fit there."""
    lines = _cut(wrapped(text, width, margin), _TITLE_ROWS, width)
    if limits is None:
        return lines
    end = f"({limits})"
    if len(lines[-1]) + _GAP + len(end) <= width:
        room = min(width, _WIDTH) - len(lines[-1])
        lines[-1] += " " * max(room - len(end), _GAP) + end
    elif len(lines) < _TITLE_ROWS:
        lines += wrapped(end, width, margin)
    return lines


def _cut(lines: list[str], most: int, width: int) -> list[str]:
    """Return at most `most` lines; the last one ends with `…` if there are more."""
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    indent = last[: len(last) - len(last.lstrip())]
    rest = " ".join(line.strip() for line in lines[most - 1 :])
    return [*lines[: most - 1], indent + shortened(rest, width - len(indent))]


def _steps(cause: Cause, case: Case, level: int, margin: int, width: int) -> list[str]:
    """Return the commands and advice of this level of detail."""
    tries = tries_of(cause, case)
    if tries:
        return wrapped_options(f"{TRY:<{STEP}}", tries, width, margin)
    if cause.way is not None:
        return _cut(wrapped(checks_of(cause), width, margin, margin + STEP), _OPEN_ROWS[level], width)
    steps = steps_against(cause) if not is_one_line(cause) else []
    has_now = any(name == NOW for name, _ in steps)
    wanted = {0: {NOW, UNDO, TRY}, 1: {NOW, UNDO, TRY}, 2: {NOW, TRY}}[level] | (set() if has_now else {FOR_GOOD})
    lines: list[str] = []
    label = ""
    for name, line in steps:
        label = name or label  # further lines of a long command have no label
        if label not in wanted:
            continue
        if label == TRY:
            lines += wrapped_around_commands(f"{name:<{STEP}}{line}", width, margin, margin + STEP)
        else:
            lines.append(f"{' ' * margin}{name:<{STEP}}{line}")
    return lines


def wrapped_options(start: str, options: Sequence[str], width: int, margin: int) -> list[str]:
    """Return `try   --calibration auto   or   --samples 60`, with no option broken."""
    lines, line = [], f"{' ' * margin}{start}"
    for at, option in enumerate(options):
        piece = ("    or    " if at else "") + option
        if at and len(line) + len(piece) > width:
            lines.append(line)
            line, piece = " " * margin + f"{'or':<{STEP}}", option
        line += piece
    return [*lines, line]


def _rows_of(lines: Sequence[str], width: int) -> int:
    """Return the number of rows that the lines take in a terminal of this width."""
    return sum(max(-(-len(_plain(line)) // width), 1) for line in lines)


def _plain(line: str) -> str:
    return line if "\x1b" not in line else "".join(part.partition("m")[2] for part in f"m{line}".split("\x1b"))
