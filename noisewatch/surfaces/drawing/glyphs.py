"""Characters to draw with, in Unicode and in ASCII, and bars of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.surfaces.drawing.text_row import Piece, Row, Style, join_styles

OFFLINE_MARK = "x"


class Glyphs(Struct, frozen=True, eq=False):  # hashing all fields for each mark would be slow
    """The characters to draw with; `ramp` has a character for no noise, and one for each level."""

    ramp: str
    unknown: str  # a figure that is unknown
    quiet: str  # no noise in a lane: a line along its foot
    not_followed: str  # a culprit that was not recorded, because it was not among the costliest
    estimate: str
    at_least: str
    dash: str
    bullet: str
    cursor: str
    cause: str  # the sign before the name of a culprit
    bar: str
    empty: str
    failing: str
    passing: str
    siblings: str  # brackets next to the CPUs of one core: for the first, the middle and the last CPU
    line: str  # a vertical line over several rows
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
    """Return the block characters if the terminal's encoding and font have them, or else ASCII characters.

    `terminal` is TERM, `colours` is rich's name of its colour system.
    """
    is_utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
    if not is_utf8 or terminal.startswith(_FEW_GLYPHS):
        return ASCII
    return TONED if colours in _WITH_TONES else UNICODE


def tall_bars(heights: Sequence[int | None], marks: Sequence[Piece], rows: int, glyphs: Glyphs) -> list[Row]:
    """Return one bar per column, in its mark's style; heights are in eighths of a row, None draws only the mark."""
    steps = len(glyphs.ramp) - 1
    drawn: list[Row] = []
    for above in range(rows - 1, -1, -1):
        pieces = [
            (mark if above == 0 else " ", style)
            if filled is None
            else (glyphs.ramp[max(min(filled - above * steps, steps), 0)], style)
            for (mark, style), filled in zip(marks, heights, strict=True)
        ]
        drawn.append(join_styles(pieces))
    return drawn


def bar(share: float, room: int, style: Style, glyphs: Glyphs, rest: str = " ") -> Row:
    """Return a bar that fills a share of `room` columns; `rest` fills the other columns."""
    filled = min(round(share * room), room)
    return [((glyphs.empty if style == "faint" else glyphs.bar) * filled, style), (rest * (room - filled), "faint")]
