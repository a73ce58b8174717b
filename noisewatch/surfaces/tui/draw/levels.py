"""Levels of noise on a logarithmic scale, readable without colour."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from math import log

from noisewatch.kinds import Role
from noisewatch.surfaces.drawing.colours import LEVEL_STYLES
from noisewatch.surfaces.drawing.glyphs import OFFLINE_MARK, Glyphs, tall_bars
from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, join_styles
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, LEVELS_NS, NOTABLE_NS, OFFLINE_NS
from noisewatch.units import short_duration

_GREY = (Role.HOUSEKEEPING,)
_LEAST_NS = 1_000  # noise (ns/s) at which a bar of the first level begins to grow


def level_of(noise_ns_per_s: float) -> int:
    """Return the level of noise: 0 for none, up to 8 for at least a fifth of the time."""
    return bisect_right(LEVELS_NS, noise_ns_per_s)


def style_of(noise_ns_per_s: float | None, glyphs: Glyphs | None = None, role: Role | None = None) -> Style:
    """Return the style of noise: calm, notable, grave or unknown; with tones, the colour of its level.

    On a housekeeping CPU noise is grey, because it disturbs no target CPU.
    """
    if noise_ns_per_s is None:
        return "unknown"
    if role in _GREY:
        return "faint"
    if glyphs is not None and glyphs.has_tones and (level := level_of(noise_ns_per_s)):
        return LEVEL_STYLES[level - 1]
    if noise_ns_per_s >= GRAVE_NS:
        return "grave"
    return "notable" if noise_ns_per_s >= NOTABLE_NS else "calm"


def level_pieces(noise: Iterable[float | None], glyphs: Glyphs, role: Role | None = None) -> Row:
    """Return one character for each value, grey for a housekeeping CPU; neighbours with the same style are joined."""
    return join_styles(_marks_of(noise, glyphs, role))


def mark_of(noise: float | None, glyphs: Glyphs, role: Role | None = None) -> Piece:
    return _marks_of((noise,), glyphs, role)[0]


def tall_rows(noise: Sequence[float | None], height: int, glyphs: Glyphs, role: Role | None = None) -> list[Row]:
    """Return bars in `height` rows on the scale of levels: half height at 1 ms/s, full height at 200 ms/s or more."""
    if height == 1:
        return [level_pieces(noise, glyphs, role)]
    steps = len(glyphs.ramp) - 1
    marks = _marks_of(noise, glyphs, role)
    heights = [None if lost is None or lost < LEVELS_NS[0] else _height_of(lost, height * steps) for lost in noise]
    return tall_bars(heights, marks, height, glyphs)


def level_legend(glyphs: Glyphs) -> str:
    """Return the legend: every second level, with the lowest noise of that level."""
    return "  ".join(f"{glyphs.ramp[level]} {short_duration(LEVELS_NS[level - 1])}" for level in (2, 4, 6, 8))


def height_keys(glyphs: Glyphs) -> list[str]:
    """Return legends of the bars' heights, from long to short, then an empty text."""
    shortest = "  ".join(f"{glyphs.ramp[level]} {short_duration(LEVELS_NS[level - 1])}" for level in (4, 8))
    return [f"noise/s as bars: {level_legend(glyphs)}", level_legend(glyphs), shortest, ""]


def scale_label(row: int, height: int) -> str:
    """Return the label of row `row` of `tall_rows`, from below: the highest level whose bar ends there, or empty."""
    level = row * len(LEVELS_NS) // height
    begins_here = level * height > (row - 1) * len(LEVELS_NS)
    return short_duration(LEVELS_NS[level - 1]) if begins_here and level > 1 and height > 1 else ""


def _height_of(lost: float, max_height: int) -> int:
    """Return the height of a bar, at most `max_height`; any noise has at least height 1, so it is visible."""
    level = level_of(lost)
    if level == len(LEVELS_NS):
        return max_height
    low, high = max(LEVELS_NS[level - 1], _LEAST_NS), LEVELS_NS[level]
    beyond = max(log(lost / low) / log(high / low), 0.0)
    return max(int((level + beyond) / len(LEVELS_NS) * max_height), 1)


_BOUNDS_NS = sorted({*LEVELS_NS, NOTABLE_NS, GRAVE_NS})  # lower bounds of levels and styles


def _marks_of(noise: Iterable[float | None], glyphs: Glyphs, role: Role | None) -> list[Piece]:
    steps = _steps_of(glyphs, role in _GREY)
    return [
        steps[bisect_right(_BOUNDS_NS, lost)] if lost is not None and lost >= 0 else _sign_of(lost, glyphs)
        for lost in noise
    ]


@cache
def _steps_of(glyphs: Glyphs, is_grey: bool) -> tuple[Piece, ...]:
    """Return the marks of noise: one for noise below all bounds, then for each bound one for noise that reaches it."""
    role = Role.HOUSEKEEPING if is_grey else None
    steps = ((glyphs.ramp[level_of(bound)], style_of(bound, glyphs, role)) for bound in _BOUNDS_NS)
    return (glyphs.quiet, "faint"), *steps


def _sign_of(lost: float | None, glyphs: Glyphs) -> Piece:
    """Return the mark for unknown noise, an offline CPU, or a culprit that is not followed."""
    if lost is None:
        return glyphs.unknown, "unknown"
    return (OFFLINE_MARK if lost == OFFLINE_NS else glyphs.not_followed), "faint"
