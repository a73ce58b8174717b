"""The sixth screen: what the checks say of the snapshot that is shown, and the fix for one of them."""

from __future__ import annotations

import textwrap
from functools import cache

from noisewatch.judgement.terms import label_of
from noisewatch.operations.frame.frame import FindingLine, Frame
from noisewatch.surfaces.reports.parts.colours import style_of_label
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row, cut, fitted
from noisewatch.surfaces.tui.screens.page import page
from noisewatch.surfaces.tui.state.screen_model import ScreenModel
from noisewatch.units import short_seconds

_KEYS = (("q", "quit"), ("p", "run preflight"), ("arrows", "select"), ("y", "copy fix"), ("esc", "back"))
_NARROW = 60
NOT_NOW = "in this snapshot it neither fails nor warns, and is not unknown"
_LABEL, _ID = 8, 30
_DETAIL_SHARE = 0.4


def preflight_rows(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The whole screen."""
    return page(model, width, height, glyphs, _body, _KEYS)


def _body(model: ScreenModel, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    frame = model.frame
    if frame is None or frame.verdict is None:
        return [[(" no verdict yet", "faint")]]
    listing = model.findings()
    selected = listing.selected
    detail = _detail(selected, listing.is_gone, width)[: int(height * _DETAIL_SHARE)] if selected is not None else []
    room = max(height - 1 - len(detail), 0)
    first = listing.first_in(room)
    rows = [_row(each, width) for each in listing.lines[first : first + room]]
    if selected is not None and rows:
        row = _gone_row(selected, width) if listing.is_gone else rows[listing.at - first]
        rows[listing.at - first] = [(fitted("".join(text for text, _ in row), width), "selected")]
    rows = [[(_heading(frame), "heading")], *rows]
    return [*rows, *detail]


def _heading(frame: Frame) -> str:
    over = f"last {short_seconds(frame.judged_s)}" if frame.judged_s is not None else "no sample"
    return f" {frame.counts}; {over}, no calibration"


def _row(finding: FindingLine, width: int) -> Row:
    label = label_of(finding.status, finding.gravity)
    style = style_of_label(label)
    if width < _NARROW:
        return cut([(f" {label:<{_LABEL}}", style), (finding.id, "strong")], width)
    row: Row = [(f" {label:<{_LABEL}}", style), (_named(finding.id, _ID), "strong"), (finding.said, "plain")]
    return cut(row, width)


def _gone_row(finding: FindingLine, width: int) -> Row:
    return cut([(f" {'-':<{_LABEL}}", "faint"), (finding.id, "strong")], width)


def _named(name: str, wide: int) -> str:
    return fitted(name if len(name) <= wide else name[: wide - 1] + "…", wide) + " "


@cache
def _questions() -> dict[str, str]:
    """By the check's id. Imported once they are asked for: the monitor's first picture comes first."""
    from noisewatch.judgement.catalogue import CATALOGUE

    return {each.id: each.question for each in CATALOGUE}


def _detail(finding: FindingLine, is_gone: bool, width: int) -> list[Row]:
    """The whole sentence and the command, which a row may have cut."""
    lines = [
        f"{finding.id} ({finding.weight}): {_questions().get(finding.id, '')}".rstrip(" :"),
        NOT_NOW if is_gone else finding.said,
    ]
    lines += [f"fix: {finding.fix}"] if finding.fix and not is_gone else []
    wrapped = (textwrap.wrap(line, max(width - 2, 10), subsequent_indent="  ") for line in lines)
    rows: list[Row] = [[(f" {part}", "plain")] for parts in wrapped for part in parts]
    return [[], *rows]
