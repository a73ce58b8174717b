"""The colours of exported pictures, from a palette of their own: dark for screens and light for paper.

The eight hues stay distinct for people who confuse red and green, or blue and yellow (simulated after Machado et al.,
2009), and each has a contrast of 4 or more with the background.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping

from rich.color import Color, ColorType
from rich.style import Style

from noisewatch.records import dataclass

Rgb = tuple[int, int, int]

# The tones of levels on paper, by their numbers in a terminal: each is darker than the one before it.
_TONES_ON_PAPER: Mapping[int, str] = {
    233: "#f4f6f8",
    235: "#e2e7ee",
    54: "#c6a4e0",
    126: "#cc62ac",
    203: "#c03434",
    215: "#82280c",
    229: "#3a1000",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a piece of text; colours are `#rrggbb`. `background` is None if it is the picture's."""

    colour: str
    background: str | None = None
    is_bold: bool = False
    is_underlined: bool = False


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a terminal. `dim_share` is the share of its own colour that dim text keeps."""

    background: str
    text: str
    bar: str  # of the title
    hues: tuple[str, ...]  # in the order of the terminal's: black, red, green, yellow, blue, magenta, cyan, white
    bright_black: str
    dim_share: float
    is_light: bool

    def look(self, style: Style | None) -> Look:
        """Return the look of a terminal's style in this theme."""
        if style is None:
            return Look(self.text)
        colour, background = self._hex(style.color, self.text), self._hex(style.bgcolor, self.background)
        if style.dim:
            colour = _mixed(colour, background, self.dim_share)
        if style.reverse:
            colour, background = background, colour
        return Look(
            colour, None if background == self.background else background, bool(style.bold), bool(style.underline)
        )

    def _hex(self, colour: Color | None, default: str) -> str:
        if colour is None or colour.is_default:
            return default
        if colour.type == ColorType.STANDARD and colour.number is not None:
            return self._of_sixteen(colour.number)
        if self.is_light and colour.number is not None and colour.number in _TONES_ON_PAPER:
            return _TONES_ON_PAPER[colour.number]
        rgb = tuple(colour.get_truecolor())
        return _hexed(_for_paper(rgb) if self.is_light else rgb)

    def _of_sixteen(self, number: int) -> str:
        """Return one of the sixteen colours; bright ones are a little nearer to the text's colour."""
        if number < len(self.hues):
            return self.hues[number]
        hue = self.hues[number - len(self.hues)]
        return self.bright_black if number == len(self.hues) else _mixed(hue, self.text, 0.75)


DARK = Theme(
    background="#0d1117",
    text="#c9d1d9",
    bar="#161b22",
    hues=("#484f58", "#d55240", "#5bb738", "#ffd166", "#5c7cf0", "#ff5fa2", "#4dd0e1", "#c9d1d9"),
    bright_black="#757b81",
    dim_share=0.62,
    is_light=False,
)
LIGHT = Theme(
    background="#ffffff",
    text="#1f2328",
    bar="#eef1f4",
    hues=("#8c959f", "#e0324d", "#2c8342", "#665214", "#142474", "#cf22c0", "#11565f", "#1f2328"),
    bright_black="#6c767c",
    dim_share=0.72,
    is_light=True,
)
THEMES: Mapping[str, Theme] = {"dark": DARK, "light": LIGHT}


def _rgb(colour: str) -> Rgb:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hexed(rgb: tuple[int, ...]) -> str:
    return "#" + "".join(f"{value:02x}" for value in rgb)


def _mixed(colour: str, other: str, share: float) -> str:
    """Mix two colours; `share` is that of the first one."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    return _hexed(tuple(round(share * one + (1 - share) * two) for one, two in pairs))


def _for_paper(rgb: tuple[int, ...]) -> tuple[int, ...]:
    """Return a colour for paper that is as far from white as the given one is from black."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(value / 255 for value in rgb))
    return tuple(round(value * 255) for value in colorsys.hls_to_rgb(hue, 1 - lightness, saturation))
