"""The causes, one row each, and of the selected one its fix, the checks that it settles, and why they matter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from noisewatch.judgement.limit_words import describe_limit
from noisewatch.judgement.terms import FIXES, HELPS, NOW, OPEN, SEE, STEP, TRY
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.surfaces.tui.draw.check_grid import check_named, mark
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, cut, ends, fitted, length
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing

NOT_NOW = "in this snapshot it neither fails nor warns, and is not unknown"
_LONGEST_TITLE = 150
_NARROW = 60
_NAMES_SHARE = 0.4


def cause_list(
    listing: Listing[FindingLine], frame: Frame, width: int, room: int, glyphs: Glyphs, is_selected: bool
) -> list[Row]:
    """Return the causes that fit, the selected one among them."""
    if room < 1 or not listing.lines:
        return []
    first = listing.first_in(room)
    rows = [_row(each, frame, width, glyphs) for each in listing.lines[first : first + room]]
    if not is_selected:
        return rows
    at = listing.at - first
    text = f"-    {listing.lines[listing.at].id}" if listing.is_gone else "".join(text for text, _ in rows[at])
    rows[at] = [(fitted(text, width), "selected")]
    return rows


def unseen(listing: Listing[FindingLine], shown: int) -> str:
    """Return how many causes are above and below the shown ones."""
    first = listing.first_in(shown) if shown > 0 else 0
    counts = {"above": first, "below": len(listing.lines) - first - shown}
    return ", ".join(f"{count} more {where}" for where, count in counts.items() if count > 0)


def _row(finding: FindingLine, frame: Frame, width: int, glyphs: Glyphs) -> Row:
    """Return a cause's mark, number and text, with its checks at the right; without a cause, the check's id first."""
    text, style = mark(finding.gravity, glyphs)
    if finding.cause is None:
        said = _with_path_last(finding.said)
        return cut([(f"{text}    ", style), (f"{finding.id}  ", "strong"), (said, "plain")], width)
    number: Row = [(f"{text} ", style), (f"{finding.cause:<2} ", "strong")]
    if width < _NARROW:
        return cut([*number, (finding.id, "strong")], width)
    all_names = "  " + ", ".join(each.id for each in _of_cause(frame, finding.cause))
    first_name = f"  {finding.id}, …"
    names = [each for each in (all_names, first_name) if len(each) <= width * _NAMES_SHARE] or [first_name]
    whole = _said(frame, finding.cause)
    room = width - length(number)
    for said in (whole, f"{whole.partition('; ')[0]}; …"):
        for beside in (*names, ""):  # the detail below names the checks too
            if len(said) + len(beside) <= room:
                return ends([*number, (said, "plain")], [(beside, "faint")], width)
    return ends([*number, (whole, "plain")], [(names[0], "faint")], width)


def _with_path_last(said: str) -> str:
    """Return `no such file (/sys/…)` for `/sys/…: no such file`, as narrow screens cut the end."""
    path, colon, why = said.partition(": ")
    return f"{why} ({path})" if colon and path.startswith("/") and " " not in path else said


def _of_cause(frame: Frame, number: int) -> list[FindingLine]:
    return [each for each in frame.findings if each.cause == number]


def _said(frame: Frame, number: int) -> str:
    """Return what is wrong: the cause's text, or else as many findings as fit."""
    cause = frame.causes[number - 1]
    if cause.said is not None:
        return cause.said
    first, *more = (each.said for each in _of_cause(frame, number))
    for each in more:
        if len(first) + len(each) <= _LONGEST_TITLE:
            first += f"; {each}"
    return first


def cause_detail(
    model: ScreenModel, frame: Frame, listing: Listing[FindingLine], width: int, glyphs: Glyphs
) -> list[Row]:
    """Return what is wrong, the commands to fix it now, to undo that and to keep it, and the checks that it fixes."""
    finding = listing.selected
    if finding is None:
        return [[("all checks that were asked pass" if frame.passed else "no check was asked", "plain")]]
    if listing.is_gone:
        return _wrapped([f"{finding.id}: {NOT_NOW}"], width)
    if finding.cause is None or finding.cause > len(frame.causes):
        check = check_named(finding.id)
        asked = [check.question] if check is not None else []
        rows = [
            *_wrapped([*asked, finding.said], width),
            *_step(NOW if finding.is_command else TRY, finding.fix, width),
        ]
        return [*rows, *(cause_why(frame, finding, width) if model.opens_check else [])]
    cause = frame.causes[finding.cause - 1]
    rows = _wrapped([_said(frame, finding.cause)], width - 2)
    rows = [
        [mark(finding.gravity, glyphs) if at == 0 else (" ", "plain"), (" ", "plain"), *row]
        for at, row in enumerate(rows)
    ]
    for purpose, line in cause.steps:
        rows += _step(purpose, line, width)
    found = _of_cause(frame, finding.cause)
    settled = [each.id for each in found if each.id in cause.settles]
    others = [each.id for each in found if each.id not in cause.settles]
    label = OPEN if cause.is_open else HELPS if settled or cause.command else SEE
    rows += _step(FIXES, ", ".join(settled), width) + _step(label, ", ".join(others), width)
    return [*rows, *(cause_why(frame, finding, width) if model.opens_check else [])]


def _step(purpose: str, line: str | None, width: int) -> list[Row]:
    return [cut([(f"{purpose:<{STEP}}", "faint"), (line, "plain")], width)] if line else []


def cause_why(frame: Frame, finding: FindingLine | None, width: int) -> list[Row]:
    """Return for each check of the cause its question, its finding, why it matters, and its limits."""
    if finding is None:
        return []
    found = [finding] if finding.cause is None else _of_cause(frame, finding.cause)
    lines: list[str] = []
    for each in found:
        check = check_named(each.id)
        lines += ["", f"{each.id} ({each.weight}): {check.question if check is not None else ''}".rstrip(" :")]
        lines += [each.said] if finding.cause is not None else []
        if check is not None:
            lines += [f"why: {check.why}", f"what helps: {check.remedy}"]
            lines += [f"limit: {describe_limit(one)}" for one in check.limits]
    return _wrapped(lines, width)


def _wrapped(lines: Iterable[str], width: int) -> list[Row]:
    parts = (textwrap.wrap(line, max(width, 10), subsequent_indent="  ") or [""] for line in lines)
    return [[(part, "plain")] for each in parts for part in each]
