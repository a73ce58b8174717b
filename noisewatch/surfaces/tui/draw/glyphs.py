"""Characters and levels of noise on one logarithmic scale, readable without colour."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from math import log

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.surfaces.reports.parts.colours import Meaning
from noisewatch.surfaces.tui.draw.text_row import Piece, Row, Style, runs
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, LEVELS_NS, NOTABLE_NS, OFFLINE_NS
from noisewatch.units import short_duration

_LEAST_NS = 1_000  # noise from which the first level grows
OFFLINE_MARK = "x"


class Glyphs(Struct, frozen=True, eq=False):  # hashing all fields for each mark would be slow
    """The characters to draw with: `ramp` has one for no noise and one for each level, `unknown` is for no figure."""

    ramp: str
    unknown: str
    quiet: str  # no noise in a lane: a line along its foot
    not_followed: str  # a culprit that was not among the costliest, which alone are known
    estimate: str
    at_least: str
    dash: str
    bullet: str
    cursor: str
    cause: str  # before the name of a culprit
    bar: str
    empty: str
    failing: str
    passing: str
    siblings: str  # next to CPUs of one core: the first, one between, the last
    line: str  # vertical, over several rows
    halves: str  # two values in one character: only the upper one, only the lower one
    over: str  # two values in one character, over the limit: the upper one, the lower one, both
    has_braille: bool  # dots in two columns of four: two levels in one character
    has_tones: bool = False  # whether the terminal shows 256 colours, so that a level can be a tone


UNICODE = Glyphs(
    ramp=" ▁▂▃▄▅▆▇█",
    unknown="?",
    quiet="_",
    not_followed=".",
    estimate="~",
    at_least="≥",
    dash="–",
    bullet="·",
    cursor="▲",
    cause="◂",
    bar="█",
    empty="░",
    failing="✗",
    passing="✓",
    siblings="┐┤┘",
    line="┃",
    halves="▀▄",
    over="▴▾◆",
    has_braille=True,
)
ASCII = Glyphs(
    ramp=" .:-=+*#@",
    unknown="?",
    quiet="_",
    not_followed=",",
    estimate="~",
    at_least=">",
    dash="-",
    bullet="|",
    cursor="^",
    cause="<",
    bar="#",
    empty=".",
    failing="X",
    passing="+",
    siblings="\\|/",
    line="|",
    halves='"_',
    over="^v#",
    has_braille=False,
)
TONED = replace(UNICODE, has_tones=True)


_WITH_TONES = ("256", "truecolor")
_FEW_GLYPHS = ("linux", "vt", "ansi", "cons")  # consoles whose fonts lack most block characters


def glyphs_for(encoding: str | None, terminal: str = "", colours: str | None = None) -> Glyphs:
    """Return block characters if the terminal's encoding and font have them, or else ASCII.

    `terminal` is TERM, `colours` is rich's name of its colour system.
    """
    is_utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
    if not is_utf8 or terminal.startswith(_FEW_GLYPHS):
        return ASCII
    return TONED if colours in _WITH_TONES else UNICODE


def level_of(noise_ns_per_s: float) -> int:
    """Return the level of noise: 0 for none, up to 8 for a fifth of all time and more."""
    return bisect_right(LEVELS_NS, noise_ns_per_s)


def style_of(noise_ns_per_s: float | None) -> Meaning:
    """Return the style of noise; it repeats what the figure shows."""
    if noise_ns_per_s is None:
        return "unknown"
    if noise_ns_per_s >= GRAVE_NS:
        return "grave"
    return "notable" if noise_ns_per_s >= NOTABLE_NS else "calm"


def level_pieces(noise: Iterable[float | None], glyphs: Glyphs) -> Row:
    """Return one character for each value, with runs of one style joined."""
    return runs(_marks_of(noise, glyphs))


def mark_of(noise: float | None, glyphs: Glyphs) -> Piece:
    return _marks_of((noise,), glyphs)[0]


def tall_rows(noise: Sequence[float | None], height: int, glyphs: Glyphs) -> list[Row]:
    """Return bars in `height` rows on the scale of levels: half height from 1 ms/s, full height from 200 ms/s."""
    if height == 1:
        return [level_pieces(noise, glyphs)]
    steps = len(glyphs.ramp) - 1
    marks = _marks_of(noise, glyphs)
    heights = [None if lost is None or lost < LEVELS_NS[0] else _height_of(lost, height * steps) for lost in noise]
    return tall_bars(heights, marks, height, glyphs)


def tall_bars(heights: Sequence[int | None], marks: Sequence[Piece], rows: int, glyphs: Glyphs) -> list[Row]:
    """Return one bar a column, in eighths of a row and the style of its mark; None draws the mark in the lowest row."""
    steps = len(glyphs.ramp) - 1
    drawn: list[Row] = []
    for above in range(rows - 1, -1, -1):
        pieces = [
            (mark if above == 0 else " ", style)
            if filled is None
            else (glyphs.ramp[max(min(filled - above * steps, steps), 0)], style)
            for (mark, style), filled in zip(marks, heights, strict=True)
        ]
        drawn.append(runs(pieces))
    return drawn


def bar(share: float, room: int, style: Style, glyphs: Glyphs, rest: str = " ") -> Row:
    """Return a bar that fills its share of `room` columns, and `rest` in all others."""
    filled = min(round(share * room), room)
    return [((glyphs.empty if style == "faint" else glyphs.bar) * filled, style), (rest * (room - filled), "faint")]


def level_legend(glyphs: Glyphs) -> str:
    """Return every second level with the noise at which it begins."""
    return "  ".join(f"{glyphs.ramp[level]} {short_duration(LEVELS_NS[level - 1])}" for level in (2, 4, 6, 8))


def scale_label(row: int, height: int) -> str:
    """Return the noise whose bar ends in a row of `tall_rows`, counted from below; of several levels the highest."""
    level = row * len(LEVELS_NS) // height
    begins_here = level * height > (row - 1) * len(LEVELS_NS)
    return short_duration(LEVELS_NS[level - 1]) if begins_here and level > 1 and height > 1 else ""


def _height_of(lost: float, most: int) -> int:
    """Return the height of a bar, at most `most`; any noise is at least 1 and so visible."""
    level = level_of(lost)
    if level == len(LEVELS_NS):
        return most
    low, high = max(LEVELS_NS[level - 1], _LEAST_NS), LEVELS_NS[level]
    beyond = max(log(lost / low) / log(high / low), 0.0)
    return max(int((level + beyond) / len(LEVELS_NS) * most), 1)


_BOUNDS_NS = sorted({*LEVELS_NS, NOTABLE_NS, GRAVE_NS})  # the beginnings of levels and styles


def _marks_of(noise: Iterable[float | None], glyphs: Glyphs) -> list[Piece]:
    steps = _steps_of(glyphs)
    return [
        steps[bisect_right(_BOUNDS_NS, lost)] if lost is not None and lost >= 0 else _sign_of(lost, glyphs)
        for lost in noise
    ]


@cache
def _steps_of(glyphs: Glyphs) -> tuple[Piece, ...]:
    """Return the marks of noise: below all bounds, then from each bound on."""
    return (glyphs.quiet, "faint"), *((glyphs.ramp[level_of(bound)], style_of(bound)) for bound in _BOUNDS_NS)


def _sign_of(lost: float | None, glyphs: Glyphs) -> Piece:
    """Return the mark for unknown noise, an offline CPU, or a culprit that is not followed."""
    if lost is None:
        return glyphs.unknown, "unknown"
    return (OFFLINE_MARK if lost == OFFLINE_NS else glyphs.not_followed), "faint"
