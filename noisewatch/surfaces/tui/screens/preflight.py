"""The checks of the shown interval: fixes by cause, all checks at a glance, and the basis of the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noisewatch.cpus import cpu_list_argument
from noisewatch.judgement.terms import Area, Gravity, tally
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.surfaces.tui.draw.check_grid import found_in, grid_rows, mark, named_rows
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import joined, panel
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, cut, ends, first_that_fits, length
from noisewatch.surfaces.tui.screens.check_causes import cause_detail, cause_list, cause_why, unseen
from noisewatch.surfaces.tui.screens.headlines import preflight_headline
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_value, short_seconds

if TYPE_CHECKING:
    from noisewatch.judgement.check import Check

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
_DETAIL_SHARE, _FRAMED_SHARE = 0.4, 0.65
_LEAST_DETAIL, _LEAST_LISTED, _LEAST_WITH_BASIS = 4, 3, 16  # rows
_LEAST_COLUMN, _GAP = 90, 3
_NOT_ASKED = "not asked here: p asks it"
_MAY_APPLY = f"{_NOT_ASKED}, or it does not apply"
_ORDER = list(Gravity)


def preflight_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the rows of the whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, _framed, preflight_headline)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return panels that share edges: the selected cause, all causes, all checks, and the basis."""
    frame, room = model.frame, width - 4
    if frame is None or frame.verdict is None:
        return panel("preflight", [[("no verdict yet", "faint")]], width, height, glyphs)
    told = _told(model, frame, room, glyphs)
    if told is not None:
        return _scrolled(model, *told, width, height, glyphs)
    listing = model.findings()
    area = model.area
    detail = (
        brief_rows(frame, area, room, glyphs) if area is not None else cause_detail(model, frame, listing, room, glyphs)
    )
    basis = _basis(model, frame) if height >= _LEAST_WITH_BASIS else []
    checks = grid_rows(frame.gravities, room, glyphs, area) if frame.gravities else []
    free = height - 1 - sum(1 + len(part) for part in (basis, checks) if part) - 2
    most = free - _LEAST_LISTED if model.opens_check else int(free * _FRAMED_SHARE)
    shown = min(len(detail), max(most, _LEAST_DETAIL, free - len(listing.lines)))
    causes = cause_list(listing, frame, room, min(len(listing.lines), free - shown), glyphs, is_selected=area is None)
    left = free - shown - len(causes)
    if checks:
        opened = _opened(frame, room, len(checks) + left, glyphs)
        left, checks = left - max(len(opened) - len(checks), 0), opened or checks
    if left > 0 and not model.opens_check and area is None:
        detail = [*detail, *cause_why(frame, listing.selected, room)]
    parts = (
        (
            _title(frame, listing.selected, area),
            _position(frame, listing, area),
            _cut(model, detail, shown + left),
            shown + left,
        ),
        (f"what to do, the gravest first{_over(frame)}", unseen(listing, len(causes)), causes, len(causes)),
        (f"all {len(frame.gravities)} checks", f"{_heading(frame)} · v all", checks, len(checks)),
        ("what this rests on", "", basis, len(basis)),
    )
    drawn: list[Row] = []
    for title, right, rows, count in parts:
        if count > 0:
            part = panel(title, rows, width, count + 2, glyphs, right)
            drawn = joined(drawn, part, glyphs) if drawn else part
    return drawn


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


def _opened(frame: Frame, width: int, most: int, glyphs: Glyphs) -> list[Row]:
    """Return all areas with each check's finding, or else each check's name; empty if neither fits."""
    choices = (in_columns(frame, width, glyphs), named_rows(frame.gravities, width, glyphs))
    return next((rows for rows in choices if len(rows) <= most), [])


def _told(model: ScreenModel, frame: Frame, width: int, glyphs: Glyphs) -> tuple[str, list[Row]] | None:
    """Return title and rows of the checks that are shown in full, or None."""
    if model.tells_all_checks:
        return f"all {len(frame.gravities)} checks", all_rows(frame, width, glyphs)
    if model.area is not None and model.opens_check:
        return model.area, whole_rows(frame, model.area, width, glyphs)
    return None


def _scrolled(model: ScreenModel, title: str, rows: list[Row], width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return a panel with the visible part of the rows."""
    room = height - 2
    first = max(min(model.check_offset, len(rows) - room), 0)
    model.check_offset = first
    right = "esc back" if len(rows) <= room else f"{first + 1} to {first + room} of {len(rows)} rows · esc back"
    return panel(title, rows[first : first + room], width, height, glyphs, right)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Return the body without frames: the causes, and below them the selected one."""
    frame = model.frame
    if frame is None or frame.verdict is None:
        return [[(" no verdict yet", "faint")]]
    told = _told(model, frame, width - 1, glyphs)
    if told is not None:
        return _told_body(model, *told, height)
    listing, area = model.findings(), model.area
    whole = cause_detail(model, frame, listing, width - 1, glyphs) if listing.lines else []
    if area is not None:
        whole = [[(area, "heading")], *brief_rows(frame, area, width - 1, glyphs)]
    most = height - 2 if model.opens_check else max(int(height * _DETAIL_SHARE), height - 2 - len(listing.lines))
    detail = _cut(model, whole, max(most, 0))
    rows = cause_list(listing, frame, width, max(height - 2 - len(detail), 0), glyphs, is_selected=area is None)
    hidden = unseen(listing, len(rows))
    grid = grid_rows(frame.gravities, width - 1, glyphs, area) if frame.gravities else []
    left = height - 3 - len(rows) - len(detail)
    has_grid = bool(grid) and len(grid) <= left
    below: list[Row] = [[], *grid] if has_grid else []
    if not has_grid and not model.opens_check and detail == whole and area is None:
        detail = _cut(model, [*detail, *cause_why(frame, listing.selected, width - 1)], len(detail) + max(left, 0))
    return [
        _list_heading(frame, hidden, width),
        *rows,
        *([[]] if detail else []),
        *([(" ", "plain"), *row] for row in detail),
        *([(" ", "plain"), *row] if row else row for row in below),
    ]


def _told_body(model: ScreenModel, title: str, rows: list[Row], height: int) -> list[Row]:
    first = max(min(model.check_offset, len(rows) - height + 1), 0)
    model.check_offset = first
    shown = rows[first : first + max(height - 1, 0)]
    said = f" {title}: rows {first + 1} to {first + len(shown)} of {len(rows)}"
    head: Row = [(said, "heading")]
    return [head, *([(" ", "plain"), *row] for row in shown)]


def _over(frame: Frame) -> str:
    """Return the time over which rates are judged."""
    return f", rates over {short_seconds(frame.judged_s)}" if frame.judged_s is not None else ", without rates"


def _heading(frame: Frame) -> str:
    over = f"last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "no sample"
    return f"{tally(frame.number_of)}; {over}, no calibration"


def _list_heading(frame: Frame, hidden: str, width: int) -> Row:
    """Return the heading with counts and hidden rows; details of the counts are dropped first."""
    right: Row = [(f"  {hidden}", "faint")] if hidden else []
    heading = _heading(frame)
    choices = [heading, heading.rpartition(", ")[0], heading.partition("; ")[0]]
    return ends([(f" {first_that_fits(choices, width - 1 - length(right))}", "heading")], right, width)


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
    """Return the noise floor, the sample, and the command for scripts."""
    floor = "not measured: c calibrates the target CPUs, p runs all of preflight with a calibration"
    if model.is_recorded:
        floor = "c shows what the recording holds of it"
    if model.calibration is not None and model.calibrated_at_ns is not None:
        ago = max(frame.taken_at_ns - model.calibrated_at_ns, 0) / 1e9
        floor = f"calibrated {ago:.0f} s before this: c shows it"
    sample = f"the last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "none: settings only"
    cpus = f" --cpus {cpu_list_argument(frame.target)}" if frame.target else ""
    lines = (
        ("noise floor", floor),
        ("sample", sample),
        ("in a script", f"noisewatch preflight{cpus} --wait 300 --lock || exit 1"),
    )
    return [[(f"{name:<13}", "faint"), (said, "plain")] for name, said in lines]


def areas_of(frame: Frame) -> list[Area]:
    """Return the areas that have checks, in the order of the screen."""
    there = {check.area for check, _ in found_in(frame.gravities)}
    return [area for area in Area if area in there]


def brief_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """Return one row for each check, the gravest first."""
    return [cut([*head, told], width) for head, told in _answers(frame, area, glyphs)]


def _answers(frame: Frame, area: Area, glyphs: Glyphs) -> list[tuple[Row, Piece]]:
    """Return for each check its mark and name, and its finding; of a passed check its answer or question."""
    said = {each.id: each.said for each in frame.findings}
    found = _of_area(frame, area)
    widest = max((len(check.id) for check, _ in found), default=0)
    answers: list[tuple[Row, Piece]] = []
    for check, gravity in found:
        text, style = mark(gravity, glyphs)
        name: Piece = (f"{check.id:<{widest}}  ", "strong" if check.id in said else "plain")
        told: Piece = (said[check.id], "plain") if check.id in said else (_aside(frame, check, gravity), "faint")
        answers.append(([(f"{text} ", style), name], told))
    return answers


def _aside(frame: Frame, check: Check, gravity: Gravity) -> str:
    """Return the answer of a check that passed or does not apply, or its question if there is no answer."""
    if check.asks_calibration and gravity == Gravity.LEFT_OUT:
        return _NOT_ASKED
    if frame.answers is not None and check.id in frame.answers:
        return frame.answers[check.id]
    if gravity == Gravity.LEFT_OUT:
        return _MAY_APPLY if frame.answers is None else _NOT_ASKED
    return check.question


def _of_area(frame: Frame, area: Area) -> list[tuple[Check, Gravity]]:
    found = [(check, gravity) for check, gravity in found_in(frame.gravities) if check.area == area]
    return sorted(found, key=lambda each: _ORDER.index(each[1]))


def whole_rows(frame: Frame, area: Area, width: int, glyphs: Glyphs) -> list[Row]:
    """Return for each check of the area its finding, its question, why it matters, and its limits."""
    rows: list[Row] = []
    for (head, (told, style)), (check, _) in zip(_answers(frame, area, glyphs), _of_area(frame, area), strict=True):
        lines = [] if told == check.question else [check.question]
        lines += [f"why: {check.why}"]
        lines += [f"limit: {one.name}: {describe_value(one.value, one.unit)}" for one in check.limits]
        has_room = length(head) + len(told) <= width
        rows.append(cut([*head, (told, style)] if has_room else head, width))
        lines = lines if has_room else [told, *lines]
        for line in lines:
            parts = textwrap.wrap(line, max(width - 4, 10), subsequent_indent="  ")
            rows += [[(f"    {part}", "faint")] for part in parts]
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
    return [_beside(rows[at::height], wide) for at in range(height)]


def _beside(rows: Sequence[Row], wide: int) -> Row:
    row: Row = []
    for part in rows:
        row += [*part, (" " * (wide - length(part) + _GAP), "plain")]
    return row
