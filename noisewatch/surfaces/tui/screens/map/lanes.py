"""The lanes of the map: a level as height, in one line or several; or two CPUs in half blocks, each level a tone."""

from __future__ import annotations

from collections.abc import Sequence

from noisewatch.surfaces.reports.parts.colours import halves_style, tone_of
from noisewatch.surfaces.tui.draw.glyphs import OFFLINE_MARK, OFFLINE_NS, Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, length, runs
from noisewatch.surfaces.tui.screens.map.scales import Scale, Values

_EIGHTHS = 8


def lane_rows(values: Values, scale: Scale, lines: int, cursor: int | None, glyphs: Glyphs) -> list[Row]:
    """So many lines, from above; the column of the cursor has a line down, of the same style."""
    heights = [_eighths(value, scale, lines) for value in values]
    rows = []
    for line in range(lines):
        below = _EIGHTHS * (lines - 1 - line)
        cells = (
            _cell(value, height - below, scale, line == lines - 1, at == cursor, glyphs)
            for at, (value, height) in enumerate(zip(values, heights, strict=True))
        )
        rows.append(runs(cells))
    return rows


def _eighths(value: float | None, scale: Scale, lines: int) -> int:
    """Of the lines together; one line shows the level itself."""
    if value is None or value == OFFLINE_NS:
        return 0
    if lines == 1:
        return scale.level(value)
    return max(round(scale.height(value) * lines), min(scale.level(value), 1))


def _cell(value: float | None, eighths: int, scale: Scale, is_lowest: bool, is_cursor: bool, glyphs: Glyphs) -> Piece:
    """What is unknown, or offline, is said below, and not hidden by the cursor."""
    if value is None or value == OFFLINE_NS:
        if not is_lowest:
            return (glyphs.line, "strong") if is_cursor else (" ", "plain")
        sign, style = (glyphs.unknown, "unknown") if value is None else (OFFLINE_MARK, "faint")
        return sign, "selected" if is_cursor else style  # type: ignore[return-value]
    style = scale.style(value)
    if is_cursor:
        return glyphs.line, "strong" if style == "calm" else style
    return glyphs.ramp[max(min(eighths, _EIGHTHS), 0)], style


def pair_row(upper: Values, lower: Values | None, scale: Scale, cursor: int | None, glyphs: Glyphs) -> Row:
    """Two lanes in one line, or a single one that has a line to itself."""
    pairs: Sequence[tuple[float | None, float | None]] = [
        (one, two) for one, two in zip(upper, lower if lower is not None else [OFFLINE_NS] * len(upper), strict=True)
    ]
    return runs(_halves(one, two, scale, at == cursor, glyphs) for at, (one, two) in enumerate(pairs))


def _halves(upper: float | None, lower: float | None, scale: Scale, is_cursor: bool, glyphs: Glyphs) -> Piece:
    """What is over the limit fills the cell, and its sign says which of the two it is; then comes what is unknown."""
    over = scale.is_over(upper), scale.is_over(lower)
    if is_cursor and (any(over) or None not in (upper, lower)):
        return glyphs.line, "grave" if any(over) else "strong"
    if any(over):
        level = max(scale.level(value) for value in (upper, lower) if value is not None and scale.is_over(value))
        return glyphs.over[2 if all(over) else over.index(True)], halves_style(0, level)
    if None in (upper, lower):
        return glyphs.unknown, "selected" if is_cursor else "unknown"
    if upper == lower == OFFLINE_NS:
        return OFFLINE_MARK, "faint"
    levels = [None if value == OFFLINE_NS else scale.level(value or 0) for value in (upper, lower)]
    if levels[0] is None:
        return glyphs.halves[1], halves_style(levels[1], None)
    return glyphs.halves[0], halves_style(levels[0], levels[1])


def pair_legend(scale: Scale, width: int, glyphs: Glyphs) -> Row:
    """What the halves, tones and signs mean; the last ones go first where there is no room."""
    parts: list[Row] = [[(f" {glyphs.halves[0]} upper {glyphs.halves[1]} lower CPU ", "plain")]]
    quiet = scale.quiet or f"<{scale.in_words(scale.levels[1])}"
    for level in _first_levels() if scale.has_levels else ():
        said = quiet if level == 1 else scale.in_words(scale.levels[level - 1])
        parts.append([("  ", halves_style(level, level)), (f" {said} ", "plain")])
    signs = zip(glyphs.over, ("upper", "lower", "both"), strict=True)
    parts += [[(f" {' '.join(map(' '.join, signs))} {scale.marked} ", "plain")]] if scale.has_levels else []
    parts.append([(f" {glyphs.unknown} unknown ", "plain")])
    while len(parts) > 1 and sum(map(length, parts)) > width:
        parts.pop()
    return [piece for part in parts for piece in part]


def _first_levels() -> list[int]:
    """The level at which each tone but that of nothing begins."""
    return [level for level in range(1, _EIGHTHS + 1) if tone_of(level) != tone_of(level - 1)]


def style_of_label(is_target: bool, is_pointed: bool) -> Style:
    """Of the CPU that a key is about, of a target CPU, and of others."""
    return "selected" if is_pointed else "strong" if is_target else "faint"
