"""The checks of the shown interval: fixes by cause, all checks at a glance, and the basis of the verdict.

A cause has one row. The selected cause also has its fix, the checks that the fix settles, and why they matter. At a
glance, a check is its name or, without enough room, a character in its area's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from noisewatch.cpus import cpu_list_argument
from noisewatch.judgement.answer import describe_limit
from noisewatch.judgement.terms import FIXES, HELPS, NOW, OPEN, SEE, STEP, TRY, Area, Gravity, tally
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.surfaces.drawing.glyphs import Glyphs
from noisewatch.surfaces.drawing.marks import grid, legend, marks_by_area
from noisewatch.surfaces.drawing.panel import Section, Space
from noisewatch.surfaces.drawing.text_row import (
    Piece,
    Row,
    Style,
    cut,
    fact,
    first_that_fits,
    fit_text,
    justify,
    length,
)
from noisewatch.surfaces.drawing.wraps import wrap, wrap_all
from noisewatch.surfaces.tui.draw.side_panel import mark
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_value, short_seconds

if TYPE_CHECKING:
    from noisewatch.judgement.check import Check


_GRAVITIES = list(Gravity)
_NAME_GAP = 2


@cache
def all_checks() -> tuple[Check, ...]:
    """Return all checks, in the order of a frame's gravities; an earlier import would delay the first picture."""
    from noisewatch.judgement.catalogue import CATALOGUE

    return CATALOGUE


def check_named(name: str) -> Check | None:
    """Return the check with that id, or None: a recording of another version may contain other checks."""
    return next((check for check in all_checks() if check.id == name), None)


def grid_rows(gravities: str, width: int, glyphs: Glyphs, selected: Area | None = None) -> list[Row]:
    """Return one character per check, by area in columns, the gravest first; the `selected` area is highlighted."""
    checks = checks_with_gravities(gravities)
    by_area = marks_by_area((Area(check.area), gravity) for check, gravity in checks)
    rows = [_with_selected_area(row, selected) for row in grid(by_area, width, glyphs.has_braille)]
    legend_row: Row = [piece for row in legend(glyphs.has_braille) for piece in (*row, ("   ", "plain"))]
    return [cut(row, width) for row in (*rows, legend_row)]


def named_rows(gravities: str, width: int, glyphs: Glyphs) -> list[Row]:
    """Return all checks by name, in columns, the gravest first."""
    checks = sorted(checks_with_gravities(gravities), key=lambda rated_check: _GRAVITIES.index(rated_check[1]))
    widest = max((len(check.id) for check, _ in checks), default=0) + 2
    columns = max((width + _NAME_GAP) // (widest + _NAME_GAP), 1)
    height = -(-len(checks) // columns)
    return [_named_row(checks[index::height], widest, glyphs) for index in range(height)]


def _named_row(checks: Sequence[tuple[Check, Gravity]], widest: int, glyphs: Glyphs) -> Row:
    row: Row = []
    for check, gravity in checks:
        text, style = mark(gravity, glyphs)
        name_style: Style = "faint" if gravity in (Gravity.PASSED, Gravity.LEFT_OUT) else style
        row += [(f"{text} ", style), (f"{check.id:<{widest - 2 + _NAME_GAP}}", name_style)]
    return row


def checks_with_gravities(gravities: str) -> list[tuple[Check, Gravity]]:
    """Return the frame's checks with their gravities, or nothing for a frame of a version with other checks."""
    checks = all_checks()
    if len(gravities) != len(checks):
        return []
    return [(check, _GRAVITIES[int(place)]) for check, place in zip(checks, gravities, strict=True)]


def _with_selected_area(row: Row, area: Area | None) -> Row:
    return [(text, "selected") if area is not None and text.strip() == area else (text, style) for text, style in row]


NOT_NOW = "the check neither fails nor warns in this snapshot, and is not unknown"
_LONGEST_TITLE = 150
_NARROW = 60
_NAMES_SHARE = 0.4


def cause_list(
    listing: Listing[FindingLine], frame: Frame, width: int, room: int, glyphs: Glyphs, is_selected: bool
) -> list[Row]:
    """Return a row for each finding that fits, the selected finding among them."""
    if room < 1 or not listing.lines:
        return []
    first = listing.first_in(room)
    rows = [_row(finding, frame, width, glyphs) for finding in listing.lines[first : first + room]]
    if not is_selected:
        return rows
    at = listing.at - first
    text = f"-    {listing.lines[listing.at].id}" if listing.is_gone else "".join(text for text, _ in rows[at])
    rows[at] = [(fit_text(text, width), "selected")]
    return rows


def describe_hidden(listing: Listing[FindingLine], shown: int) -> str:
    """Return how many findings are hidden above and below the shown ones; empty if none are."""
    first = listing.first_in(shown) if shown > 0 else 0
    counts = {"above": first, "below": len(listing.lines) - first - shown}
    return ", ".join(f"{count} more {where}" for where, count in counts.items() if count > 0)


def _row(finding: FindingLine, frame: Frame, width: int, glyphs: Glyphs) -> Row:
    """Return a cause's mark, number and text, and its checks at the right; or the check and its finding."""
    text, style = mark(finding.gravity, glyphs)
    if finding.cause is None:
        # `no such file (/sys/…)` for `/sys/…: no such file`, because narrow screens cut the end
        path, colon, why = finding.said.partition(": ")
        message = f"{why} ({path})" if colon and path.startswith("/") and " " not in path else finding.said
        return cut([(f"{text}    ", style), (f"{finding.id}  ", "strong"), (message, "plain")], width)
    number: Row = [(f"{text} ", style), (f"{finding.cause:<2} ", "strong")]
    if width < _NARROW:
        return cut([*number, (finding.id, "strong")], width)
    all_names = "  " + ", ".join(member.id for member in _findings_of_cause(frame, finding.cause))
    first_name = f"  {finding.id}, …"
    names = [choice for choice in (all_names, first_name) if len(choice) <= width * _NAMES_SHARE] or [first_name]
    whole = _cause_text(frame, finding.cause)
    room = width - length(number)
    for cause_text in (whole, f"{whole.partition('; ')[0]}; …"):
        for names_text in (*names, ""):  # the detail below names the checks too
            if len(cause_text) + len(names_text) <= room:
                return justify([*number, (cause_text, "plain")], [(names_text, "faint")], width)
    return justify([*number, (whole, "plain")], [(names[0], "faint")], width)


def _findings_of_cause(frame: Frame, number: int) -> list[FindingLine]:
    return [finding for finding in frame.findings if finding.cause == number]


def _cause_text(frame: Frame, number: int) -> str:
    """Return the cause's own text, or else as many of its findings as fit."""
    cause = frame.causes[number - 1]
    if cause.said is not None:
        return cause.said
    first, *more = (member.said for member in _findings_of_cause(frame, number))
    for text in more:
        if len(first) + len(text) <= _LONGEST_TITLE:
            first += f"; {text}"
    return first


def cause_detail(
    model: ScreenModel, frame: Frame, listing: Listing[FindingLine], width: int, glyphs: Glyphs
) -> list[Row]:
    """Return the cause's text, its commands (fix, undo, make permanent), and the checks that they fix."""
    finding = listing.selected
    if finding is None:
        return [[("all checks that were asked pass" if frame.passed else "no check was asked", "plain")]]
    if listing.is_gone:
        return _wrap_rows([f"{finding.id}: {NOT_NOW}"], width)
    if finding.cause is None or finding.cause > len(frame.causes):
        check = check_named(finding.id)
        asked = [check.question] if check is not None else []
        rows = [
            *_wrap_rows([*asked, finding.said], width),
            *_step(NOW if finding.is_command else TRY, finding.fix, width),
        ]
        return [*rows, *(explain_cause(frame, finding, width) if model.opens_check else [])]
    cause = frame.causes[finding.cause - 1]
    rows = _wrap_rows([_cause_text(frame, finding.cause)], width - 2)
    rows = [
        [mark(finding.gravity, glyphs) if index == 0 else (" ", "plain"), (" ", "plain"), *row]
        for index, row in enumerate(rows)
    ]
    for purpose, line in cause.steps:
        rows += _step(purpose, line, width)
    members = _findings_of_cause(frame, finding.cause)
    settled = [member.id for member in members if member.id in cause.settles]
    others = [member.id for member in members if member.id not in cause.settles]
    label = OPEN if cause.is_open else HELPS if settled or cause.command else SEE
    rows += _step(FIXES, ", ".join(settled), width) + _step(label, ", ".join(others), width)
    return [*rows, *(explain_cause(frame, finding, width) if model.opens_check else [])]


def _step(purpose: str, line: str | None, width: int) -> list[Row]:
    return [cut(fact(purpose, line, STEP), width)] if line else []


def explain_cause(frame: Frame, finding: FindingLine | None, width: int) -> list[Row]:
    """Return each check of the cause with its question and finding, why it matters, its remedy and its limits."""
    if finding is None:
        return []
    members = [finding] if finding.cause is None else _findings_of_cause(frame, finding.cause)
    lines: list[str] = []
    for member in members:
        check = check_named(member.id)
        lines += ["", f"{member.id} ({member.weight}): {check.question if check is not None else ''}".rstrip(" :")]
        lines += [member.said] if finding.cause is not None else []
        if check is not None:
            lines += [f"why: {check.why}", f"what helps: {check.remedy}"]
            lines += [f"limit: {describe_limit(one)}" for one in check.limits]
    return _wrap_rows(lines, width)


def _wrap_rows(lines: Iterable[str], width: int) -> list[Row]:
    return [[(line, "plain")] for line in wrap_all(lines, width)]


_KEYS = (
    ("q", "quit"),
    ("p", "run preflight"),
    ("up down", "select"),
    ("enter", "why"),
    ("v", "all checks"),
    ("y", "copy fix"),
    ("F", "fix script"),
    ("c", "calibrate"),
    ("esc", "back"),
)
_DETAIL_SHARE = 0.65
_LEAST_DETAIL, _LEAST_LISTED = 4, 3  # rows
_LEAST_COLUMN, _GAP = 90, 3
_NOT_ASKED = "not asked here; p runs preflight, which asks it"
_MAY_APPLY = f"{_NOT_ASKED}, or it does not apply"


def preflight_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, space: Space) -> list[Row]:
    """Return the selected cause, all causes, all checks, and the basis; without frames, all causes come first."""
    frame, width, glyphs = model.frame, space.inside, space.glyphs
    if frame is None or frame.verdict is None:
        text: Row = [("no verdict yet", "faint")]
        return space.draw([Section("preflight", [text], height=space.room, has_heading=True)])
    room = space.height - space.is_framed  # rows of all sections, including a title row for each
    if (expanded := _expanded_checks(model, frame, width, glyphs)) is not None:
        return space.draw([_visible_section(model, *expanded, room - 1)])
    listing, area = model.findings(), model.area
    detail = (
        brief_rows(frame, area, width, glyphs)
        if area is not None
        else cause_detail(model, frame, listing, width, glyphs)
    )
    basis = _basis(model, frame) if space.is_framed else []
    checks = grid_rows(frame.gravities, width, glyphs, area) if frame.gravities else []
    if not space.is_framed and len(listing.lines) + len(detail) + len(checks) + 3 > room:
        checks = []
    free = room - sum(1 + len(part) for part in (basis, checks) if part) - 2
    least_listed = _LEAST_LISTED if space.is_framed else 0
    max_detail = free - least_listed if model.opens_check else int(free * _DETAIL_SHARE)
    shown = min(len(detail), max(max_detail, _LEAST_DETAIL, free - len(listing.lines)))
    causes = cause_list(listing, frame, width, min(len(listing.lines), free - shown), glyphs, is_selected=area is None)
    left = free - shown - len(causes)
    if checks:
        choices = (in_columns(frame, width, glyphs), named_rows(frame.gravities, width, glyphs))
        opened = next((rows for rows in choices if len(rows) <= len(checks) + left), [])
        left, checks = left - max(len(opened) - len(checks), 0), opened or checks
    if left > 0 and not model.opens_check and area is None:
        detail = [*detail, *explain_cause(frame, listing.selected, width)]
    title, position = _title(frame, listing.selected, area), _position(frame, listing, area)
    sections = [
        Section(title, _cut(model, detail, shown + left), position, shown + left),
        _causes_section(frame, causes, describe_hidden(listing, len(causes)), space),
        Section(f"all {len(frame.gravities)} checks", checks, f"{_heading(frame)} · v all"),
        Section("basis of the verdict", basis),
    ]
    if not space.is_framed:
        sections = [sections[1], sections[0], sections[2]]
    return space.draw(section for section in sections if section.inside > 0)


def _causes_section(frame: Frame, causes: list[Row], hidden: str, space: Space) -> Section:
    """Return the causes; without a frame, their heading counts the checks, which may not have their own section."""
    if not space.is_framed:
        return Section("", [_list_heading(frame, hidden, space.width), *causes], has_heading=True)
    rates = f"rates over {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "without rates"
    return Section(f"what to do, the gravest first, {rates}", causes, hidden, is_active=True)


def _cut(model: ScreenModel, rows: list[Row], room: int) -> list[Row]:
    """Return the visible rows, and a last row that counts the hidden ones and names the key that shows them."""
    if len(rows) <= room or room < 2:
        return rows[: max(room, 0)]
    first = min(model.check_offset, len(rows) - room) if model.opens_check else 0
    model.check_offset = first
    shown, below = rows[first : first + room - 1], len(rows) - first - room + 1
    if below == 1:
        return [*shown, rows[-1]]
    key = "pgdn" if model.opens_check else "enter"
    return [*shown, [(f"… {below} more rows below: {key}", "faint")]]


def _expanded_checks(model: ScreenModel, frame: Frame, width: int, glyphs: Glyphs) -> tuple[str, list[Row]] | None:
    """Return title and rows of all checks, or of one area, or None if neither is expanded."""
    if model.shows_all_checks:
        return f"all {len(frame.gravities)} checks", all_rows(frame, width, glyphs)
    if model.area is not None and model.opens_check:
        return model.area, whole_rows(frame, model.area, width, glyphs)
    return None


def _visible_section(model: ScreenModel, title: str, rows: list[Row], room: int) -> Section:
    """Return a section with the visible rows, and with their position if not all are visible."""
    first = max(min(model.check_offset, len(rows) - room), 0)
    model.check_offset = first
    right = "esc back" if len(rows) <= room else f"{first + 1} to {first + room} of {len(rows)} rows · esc back"
    return Section(title, rows[first : first + max(room, 0)], right, room)


def _heading(frame: Frame) -> str:
    over = f"last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "no sample"
    return f"{tally(frame.number_of)}; {over}, without calibration"


def _list_heading(frame: Frame, hidden: str, width: int) -> Row:
    """Return the heading: counts of checks, and `hidden` at the right; details of the counts are dropped if needed."""
    right: Row = [(f"  {hidden}", "faint")] if hidden else []
    heading = _heading(frame)
    choices = [heading, heading.rpartition(", ")[0], heading.partition("; ")[0]]
    return justify([(f" {first_that_fits(choices, width - 1 - length(right))}", "heading")], right, width)


def _title(frame: Frame, selected: FindingLine | None, area: Area | None) -> str:
    if area is not None:
        return area
    if selected is None:
        return "nothing to do"
    if selected.cause is None:
        return selected.id
    return "fix first" if selected.cause == 1 else "then"


def _position(frame: Frame, listing: Listing[FindingLine], area: Area | None) -> str:
    if area is not None:
        return "enter opens it"
    selected = listing.selected
    if selected is None or selected.cause is None:
        return ""
    count = len(frame.causes)
    copies = " · y copy" if frame.command_against(selected) is not None else ""
    return f"cause {selected.cause} of {count} · enter why{copies}"


def _basis(model: ScreenModel, frame: Frame) -> list[Row]:
    """Return rows on the noise floor, the sample, and the command for scripts."""
    floor = "not measured; c calibrates the target CPUs, and p runs the whole preflight with a calibration"
    if model.is_recorded:
        floor = "c shows the recording's calibration, if it has one"
    if model.calibration is not None and model.calibrated_at_ns is not None:
        ago = max(frame.taken_at_ns - model.calibrated_at_ns, 0) / 1e9
        floor = f"calibrated {ago:.0f} s before this snapshot; c shows the calibration"
    sample = f"the last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "none: settings only"
    cpus = f" --cpus {cpu_list_argument(frame.target)}" if frame.target else ""
    command = f"noisewatch preflight{cpus} --wait 300 --lock || exit 1"
    lines = (("noise floor", floor), ("sample", sample), ("in a script", command))
    return [fact(name, text, 13) for name, text in lines]


def areas_of(frame: Frame) -> list[Area]:
    """Return the areas that have checks, in the order of the screen."""
    used_areas = {check.area for check, _ in checks_with_gravities(frame.gravities)}
    return [area for area in Area if area in used_areas]


def brief_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """Return one row for each check of the area, the gravest first."""
    return [cut([*head, answer], width) for head, answer in _answers(frame, area, glyphs)]


def _answers(frame: Frame, area: Area, glyphs: Glyphs) -> list[tuple[Row, Piece]]:
    """Return each check's mark and name, with its finding or, for a passed check, its answer or question."""
    text_by_check = {finding.id: finding.said for finding in frame.findings}
    checks = _checks_of_area(frame, area)
    widest = max((len(check.id) for check, _ in checks), default=0)
    answers: list[tuple[Row, Piece]] = []
    for check, gravity in checks:
        text, style = mark(gravity, glyphs)
        name: Piece = (f"{check.id:<{widest}}  ", "strong" if check.id in text_by_check else "plain")
        answer: Piece = (
            (text_by_check[check.id], "plain")
            if check.id in text_by_check
            else (_answer_or_question(frame, check, gravity), "faint")
        )
        answers.append(([(f"{text} ", style), name], answer))
    return answers


def _answer_or_question(frame: Frame, check: Check, gravity: Gravity) -> str:
    """Return a passed or inapplicable check's answer or, if it is missing, its question or why it was not asked."""
    if check.asks_calibration and gravity == Gravity.LEFT_OUT:
        return _NOT_ASKED
    if frame.answers is not None and check.id in frame.answers:
        return frame.answers[check.id]
    if gravity == Gravity.LEFT_OUT:
        return _MAY_APPLY if frame.answers is None else _NOT_ASKED
    return check.question


def _checks_of_area(frame: Frame, area: Area) -> list[tuple[Check, Gravity]]:
    checks = [(check, gravity) for check, gravity in checks_with_gravities(frame.gravities) if check.area == area]
    return sorted(checks, key=lambda rated_check: _GRAVITIES.index(rated_check[1]))


def whole_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """Return each check of the area with its finding, its question, why it matters, and its limits."""
    rows: list[Row] = []
    for (head, (answer, style)), (check, _) in zip(
        _answers(frame, area, glyphs), _checks_of_area(frame, area), strict=True
    ):
        lines = [] if answer == check.question else [check.question]
        lines += [f"why: {check.why}"]
        lines += [f"limit: {one.name}: {describe_value(one.value, one.unit)}" for one in check.limits]
        has_room = length(head) + len(answer) <= width
        rows.append(cut([*head, (answer, style)] if has_room else head, width))
        lines = lines if has_room else [answer, *lines]
        rows += [[(f"    {part}", "faint")] for line in lines for part in wrap(line, width - 4, "", "  ")]
    return rows


def all_rows(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """Return all areas, one below the other."""
    rows: list[Row] = []
    for area in areas_of(frame):
        rows += [[(area, "heading")], *brief_rows(frame, area, width, glyphs)]
    return rows


def in_columns(frame: Frame, width: int, glyphs: Glyphs) -> list[Row]:
    """Return all areas in as many readable columns as fit; an area may continue in the next column."""
    count = max((width + _GAP) // (_LEAST_COLUMN + _GAP), 1)
    wide = (width + _GAP) // count - _GAP
    rows = all_rows(frame, wide, glyphs)
    height = -(-len(rows) // count)
    return [_joined_columns(rows[index::height], wide) for index in range(height)]


def _joined_columns(rows: Sequence[Row], wide: int) -> Row:
    row: Row = []
    for part in rows:
        row += [*part, (" " * (wide - length(part) + _GAP), "plain")]
    return row
