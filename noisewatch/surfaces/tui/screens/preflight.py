"""What the checks say of the snapshot that is shown: by cause what to do, all of them at a glance, what it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from noisewatch.cpus import format_cpu_list
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.surfaces.tui.draw.check_grid import check_named, grid_rows, mark, named_rows
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.panel import joined, panel
from noisewatch.surfaces.tui.draw.text_row import Row, cut, ends, fitted
from noisewatch.surfaces.tui.screens.headlines import preflight_headline
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.surfaces.tui.state.selection import Listing
from noisewatch.units import describe_value, short_seconds

_KEYS = (
    ("q", "quit"),
    ("p", "run preflight"),
    ("up down", "select"),
    ("enter", "why"),
    ("y", "copy fix"),
    ("c", "calibrate"),
    ("esc", "back"),
)
NOT_NOW = "in this snapshot it neither fails nor warns, and is not unknown"
_STEP = 9  # columns of `settles` and the like
_LONGEST_TITLE = 150
_DETAIL_SHARE, _FRAMED_SHARE, _NAMES_SHARE = 0.4, 0.65, 0.4
_LEAST_DETAIL, _LEAST_LISTED, _LEAST_WITH_BASIS = 4, 3, 16  # rows
_NARROW = 60


def preflight_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS, _framed, preflight_headline)


def _framed(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Panels that share their edges: what is selected, all causes, all checks, what it rests on."""
    frame, room = model.frame, width - 4
    if frame is None or frame.verdict is None:
        return panel("preflight", [[("no verdict yet", "faint")]], width, height, glyphs)
    listing = model.findings()
    detail = _detail(model, frame, listing, room, glyphs)
    basis = _basis(model, frame) if height >= _LEAST_WITH_BASIS else []
    checks = grid_rows(frame.gravities, room, glyphs) if frame.gravities else []
    free = height - 1 - sum(1 + len(part) for part in (basis, checks) if part) - 2
    most = free - _LEAST_LISTED if model.opens_check else int(free * _FRAMED_SHARE)
    shown = min(len(detail), max(most, _LEAST_DETAIL, free - len(listing.lines)))
    causes = _listed(listing, frame, room, min(len(listing.lines), free - shown), glyphs)
    left = free - shown - len(causes)
    named = named_rows(frame.gravities, room, glyphs) if left > 0 and checks else []
    if 0 < len(named) - len(checks) <= left:
        left, checks = left - len(named) + len(checks), named
    if left > 0 and not model.opens_check:
        detail = [*detail, *_why(frame, listing.selected, room)]
    parts = (
        (_title(frame, listing.selected), _position(frame, listing), detail[: shown + left], shown + left),
        ("what to do, the gravest first", "arrows select", causes, len(causes)),
        (f"all {len(frame.gravities)} checks", _heading(frame), checks, len(checks)),
        ("what this rests on", "", basis, len(basis)),
    )
    drawn: list[Row] = []
    for title, right, rows, count in parts:
        if count > 0:
            part = panel(title, rows, width, count + 2, glyphs, right)
            drawn = joined(drawn, part, glyphs) if drawn else part
    return drawn


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Without frames: the causes, and below them the selected one."""
    frame = model.frame
    if frame is None or frame.verdict is None:
        return [[(" no verdict yet", "faint")]]
    listing = model.findings()
    whole = _detail(model, frame, listing, width - 1, glyphs) if listing.lines else []
    most = height - 2 if model.opens_check else max(int(height * _DETAIL_SHARE), height - 2 - len(listing.lines))
    detail = whole[: max(most, 0)]
    rows = _listed(listing, frame, width, max(height - 2 - len(detail), 0), glyphs)
    grid = grid_rows(frame.gravities, width - 1, glyphs) if frame.gravities else []
    left = height - 3 - len(rows) - len(detail)
    has_grid = bool(grid) and len(grid) <= left
    below: list[Row] = [[], *grid] if has_grid else []
    if not has_grid and not model.opens_check and detail == whole:
        detail = [*detail, *_why(frame, listing.selected, width - 1)[: max(left, 0)]]
    return [
        [(f" {_heading(frame)}", "heading")],
        *rows,
        *([[]] if detail else []),
        *([(" ", "plain"), *row] for row in detail),
        *([(" ", "plain"), *row] if row else row for row in below),
    ]


def _heading(frame: Frame) -> str:
    over = f"last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "no sample"
    return f"{frame.counts}; {over}, no calibration"


def _title(frame: Frame, selected: FindingLine | None) -> str:
    if selected is None:
        return "nothing to do"
    if selected.cause is None:
        return selected.id
    return "fix first" if selected.cause == 1 else "then"


def _position(frame: Frame, listing: Listing[FindingLine]) -> str:
    selected = listing.selected
    if selected is None or selected.cause is None:
        return ""
    count = len(frame.causes)
    return f"cause {selected.cause} of {count} · y copy · enter why"


def _listed(listing: Listing[FindingLine], frame: Frame, width: int, room: int, glyphs: Glyphs) -> list[Row]:
    """As many as there is room for, the selected one among them."""
    if room < 1 or not listing.lines:
        return []
    first = listing.first_in(room)
    rows = [_row(each, frame, width, glyphs) for each in listing.lines[first : first + room]]
    at = listing.at - first
    text = f"-    {listing.lines[listing.at].id}" if listing.is_gone else "".join(text for text, _ in rows[at])
    rows[at] = [(fitted(text, width), "selected")]
    return rows


def _row(finding: FindingLine, frame: Frame, width: int, glyphs: Glyphs) -> Row:
    """Its mark and number, what is wrong, and the checks at the right; of no cause its name first."""
    text, style = mark(finding.gravity, glyphs)
    if finding.cause is None:
        return cut([(f"{text}    ", style), (f"{finding.id}  ", "strong"), (finding.said, "plain")], width)
    number: Row = [(f"{text} ", style), (f"{finding.cause:<2} ", "strong")]
    if width < _NARROW:
        return cut([*number, (finding.id, "strong")], width)
    names = "  " + ", ".join(each.id for each in _of_cause(frame, finding.cause))
    names = names if len(names) <= width * _NAMES_SHARE else f"  {finding.id}, …"
    return ends([*number, (_said(frame, finding.cause), "plain")], [(names, "faint")], width)


def _of_cause(frame: Frame, number: int) -> list[FindingLine]:
    return [each for each in frame.findings if each.cause == number]


def _said(frame: Frame, number: int) -> str:
    """What is wrong, in one sentence after the other as far as they fit."""
    cause = frame.causes[number - 1]
    if cause.said is not None:
        return cause.said
    first, *more = (each.said for each in _of_cause(frame, number))
    for each in more:
        if len(first) + len(each) <= _LONGEST_TITLE:
            first += f"; {each}"
    return first


def _detail(model: ScreenModel, frame: Frame, listing: Listing[FindingLine], width: int, glyphs: Glyphs) -> list[Row]:
    """What is wrong, what to do now, to undo and to keep it, and which checks that settles."""
    finding = listing.selected
    if finding is None:
        return [[("all checks that were asked pass" if frame.passed else "no check was asked", "plain")]]
    if listing.is_gone:
        return _wrapped([f"{finding.id}: {NOT_NOW}"], width)
    if finding.cause is None or finding.cause > len(frame.causes):
        check = check_named(finding.id)
        asked = [check.question] if check is not None else []
        rows = [*_wrapped([*asked, finding.said], width), *_step("fix", finding.fix, width)]
        return [*rows, *(_why(frame, finding, width) if model.opens_check else [])]
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
    label = "open" if cause.is_open else "helps" if settled or cause.command else "about"
    rows += _step("settles", ", ".join(settled), width) + _step(label, ", ".join(others), width)
    return [*rows, *(_why(frame, finding, width) if model.opens_check else [])]


def _step(purpose: str, line: str | None, width: int) -> list[Row]:
    return [cut([(f"{purpose:<{_STEP}}", "faint"), (line, "plain")], width)] if line else []


def _why(frame: Frame, finding: FindingLine | None, width: int) -> list[Row]:
    """Of each check of the cause: what it asks and says, why that matters, its limits."""
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
            lines += [f"limit: {one.name}: {describe_value(one.value, one.unit)}" for one in check.limits]
    return _wrapped(lines, width)


def _wrapped(lines: Iterable[str], width: int) -> list[Row]:
    parts = (textwrap.wrap(line, max(width, 10), subsequent_indent="  ") or [""] for line in lines)
    return [[(part, "plain")] for each in parts for part in each]


def _basis(model: ScreenModel, frame: Frame) -> list[Row]:
    """The noise floor, the sample, and how a script asks the same."""
    floor = "not measured: c calibrates the target CPUs, p runs all of preflight with a calibration"
    if model.calibration is not None and model.calibrated_at_ns is not None:
        ago = max(frame.taken_at_ns - model.calibrated_at_ns, 0) / 1e9
        floor = f"calibrated {ago:.0f} s before this: c shows it"
    sample = f"the last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "none: settings only"
    cpus = format_cpu_list(frame.target)
    lines = (
        ("noise floor", floor),
        ("sample", sample),
        ("in a script", f"noisewatch preflight --cpus {cpus} --wait 300 --lock || exit 1"),
    )
    return [[(f"{name:<13}", "faint"), (said, "plain")] for name, said in lines]
