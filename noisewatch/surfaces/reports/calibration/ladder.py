"""The noise floor as a ladder: for each length of samples, or kind of work, where its CV lies beside the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

from noisewatch.judgement.noise.budget import Budget, NoiseFloor
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, in_ascii, runs
from noisewatch.units import describe_chance, describe_ns, share_text

_LEAST_SHARE, _DECADES = 1e-4, 4  # the axis: a CV from 0.01 % to 100 %
_LEAST_WHISKERS = 16  # columns
_AFTER = f"{'worst sample':>12}  {'MDE':>6}"
_WITH_ALL = 100  # columns from which the interval, the worst sample and whiskers fit next to each other


def ladder_rows(
    floors: Sequence[NoiseFloor], budget: Budget, width: int, glyphs: Glyphs, names: Sequence[str] = ()
) -> list[Row]:
    """A heading and a row for each length of samples, or for each name; none wider than `width`. No floors, no rows."""
    if not floors:
        return []
    columns = _columns(floors, width, names)
    widths = [max(map(len, column)) for column in columns]
    texts = [
        "  ".join(cell.rjust(wide) for cell, wide in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]
    after = [_after(floor, width, glyphs) for floor in floors]
    right = max((len(each) for each in after), default=0)
    room = width - len(texts[0]) - 2 - (right + 2 if right else 0)
    if room < _LEAST_WHISKERS:
        room = 0
    rows = [_heading(texts[0], room, right, budget, width, glyphs)]
    for floor, text, said in zip(floors, texts[1:], after, strict=True):
        style: Style = "strong" if floor.sample_ns == budget.at_ns and not names else "plain"
        row: Row = [(f"{text}  ", style), *(_whiskers(floor, budget, room, glyphs) if room else [])]
        rows.append([*row, (f"  {said:>{right}}" if right and room else "", style)])
    return [_fitting(row, width, glyphs) for row in rows]


def _columns(floors: Sequence[NoiseFloor], width: int, names: Sequence[str]) -> list[list[str]]:
    """The columns before the whiskers, each with its heading."""
    said = names or [describe_ns(floor.sample_ns) for floor in floors]
    marked = [text + ("*" if floor.extrapolated else " ") for text, floor in zip(said, floors, strict=True)]
    columns = [
        ["kind of work" if names else "samples of", *marked],
        ["CV", *(share_text(floor.cv_expected) for floor in floors)],
    ]
    if width >= _WITH_ALL:
        said = [f"{share_text(floor.cv_low)} to {share_text(floor.cv_high)}" for floor in floors]
        columns.append(["90 % interval", *said])
    columns.append(["chance", *(describe_chance(floor.chance) for floor in floors)])
    if width < _WITH_ALL:
        columns.append(["MDE", *(share_text(floor.smallest_change_share) for floor in floors)])
    return columns


def _after(floor: NoiseFloor, width: int, glyphs: Glyphs) -> str:
    """What stands behind the whiskers: the worst sample, at least so long where that is not bounded; and the MDE."""
    if width < _WITH_ALL:
        return ""
    least = "≥ " if glyphs.has_braille else ">= "
    worst = f"{'' if floor.bounded else least}×{floor.max_inflation:.2f}"
    return f"{worst:>12}  {share_text(floor.smallest_change_share):>6}"


def _place(share: float, room: int) -> int:
    """The column of a CV; what is beyond the axis stands at its end."""
    at = math.log10(max(share, _LEAST_SHARE) / _LEAST_SHARE) / _DECADES
    return min(max(int(at * room), 0), room - 1)


def _heading(text: str, room: int, right: int, budget: Budget, width: int, glyphs: Glyphs) -> Row:
    axis = [" "] * room
    said = f"{'┊' if glyphs.has_braille else ':'}budget {share_text(budget.max_cv)}"
    labels = [(_place(budget.max_cv, room), said)] if room else []
    labels += [(_place(10.0 ** (power - 4), room), share_text(10.0 ** (power - 4))) for power in (0, 4, 2, 1, 3)]
    for place, label in labels if room else []:
        at = max(min(place, room - len(label)), 0)
        if set(axis[max(at - 1, 0) : at + len(label) + 1]) == {" "} and at + len(label) <= room:
            axis[at : at + len(label)] = label
    behind = f"  {_AFTER:>{right}}" if right and room else ""
    return [(f"{text}  {''.join(axis)}{behind}", "faint")]


def _whiskers(floor: NoiseFloor, budget: Budget, room: int, glyphs: Glyphs) -> Row:
    """`··┣━●━┫··┊··`: the interval with what is expected in it, and where the budget lies."""
    dot, line, ends, middle, limit = ("·", "━", "┣┫", "●", "┊") if glyphs.has_braille else (".", "-", "[]", "o", ":")
    cells: list[Piece] = [(dot, "faint")] * room
    at = _place(budget.max_cv, room)
    cells[at] = (limit, "strong")
    style = _style(floor, budget)
    low, high = _place(floor.cv_low, room), _place(floor.cv_high, room)
    for column in range(low, high + 1):
        cells[column] = (line, style)
    cells[low], cells[high] = (ends[0], style), (ends[1], style)
    cells[_place(floor.cv_expected, room)] = (middle, style)
    return runs(cells)


def _style(floor: NoiseFloor, budget: Budget) -> Style:
    """Within the budget, above it, or nobody can say."""
    if floor.extrapolated:
        return "unknown"
    return "calm" if budget.is_met_by(floor) else "grave" if budget.is_exceeded_by(floor) else "notable"


def _fitting(row: Row, width: int, glyphs: Glyphs) -> Row:
    """Cut where even the figures find no room."""
    fitted: Row = []
    for text, style in row:
        kept = (text if glyphs.has_braille else in_ascii(text))[: max(width, 0)]
        fitted.append((kept, style))
        width -= len(kept)
    return fitted
