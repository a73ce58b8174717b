"""Posters: one result as a picture of 16:9 for a slide, whose title is its conclusion.

A poster has 1920 × 1080 units. Below the title, rows of styled text are drawn as large as they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct

from noisewatch.surfaces.drawing.text_row import Row, Style, first_that_fits, text_width
from noisewatch.surfaces.drawing.wraps import wrap
from noisewatch.surfaces.picture import (
    CELL_HEIGHT,
    CELL_WIDTH,
    CSS,
    Classes,
    Theme,
    draw_elements,
    elements_of,
    lines_of_rows,
)

WIDTH, HEIGHT = 1920, 1080
_MARGIN = 60
_ROOM = WIDTH - 2 * _MARGIN
_BAND = 18  # width of the band at the left, which has the colour of the conclusion
_LETTER = 0.6  # width of a letter, as a share of the font's size
_HEADING_SIZE, _HEADING_BASE = 26, 66
_TITLE_TOP = 92
_TITLE_SIZES = ((54, 2), (46, 3), (38, 4), (32, 6))  # size of the font, and the most lines
_LINE = 1.22  # height of a line, as a share of the font's size
_GAP = 26
_SOURCE_SIZE, _SOURCE_BASE = 22, HEIGHT - 28
_BODY_BOTTOM = HEIGHT - 66
_SCALES = (1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0)  # of the rows, in units of the monitor's pictures

Body = Callable[[int, int], Sequence[Row]]  # returns rows for a number of columns and lines


class Poster(Struct, frozen=True):
    """The content of a poster.

    `bodies` draw the rows below the title, from complete to short: the first one that fits is shown, as large as it
    fits. `source` are texts on the origin of the result, from long to short.
    """

    heading: str
    title: str
    style: Style  # of the band at the left: the meaning of the conclusion
    bodies: Sequence[Body]
    source: Sequence[str]


def poster_svg(poster: Poster, theme: Theme) -> str:
    """Return the poster as SVG; equal posters make equal bytes."""
    size, lines = _fit_title(poster.title)
    classes, line_height = Classes(), size * _LINE
    dim = theme.colour_of("faint")
    texts = [_text(_HEADING_BASE, _HEADING_SIZE, _cut(poster.heading, _HEADING_SIZE), dim)]
    texts += [
        _text(_TITLE_TOP + round((number + 0.8) * line_height), size, line, theme.text, is_bold=True)
        for number, line in enumerate(lines)
    ]
    top = _TITLE_TOP + round(len(lines) * line_height) + _GAP
    scale, rows = _fit_body(poster.bodies, _BODY_BOTTOM - top)
    elements = [
        element
        for number, line in enumerate(lines_of_rows(rows))
        for element in elements_of(line, number, theme, classes)
    ]
    source = first_that_fits(poster.source, _columns(_SOURCE_SIZE))
    texts.append(_text(_SOURCE_BASE, _SOURCE_SIZE, _cut(source, _SOURCE_SIZE), dim))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
        f"<title>{escape(poster.title)}</title>\n<style>{CSS}{classes.css()}</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{theme.background}"/>\n'
        f'<rect width="{_BAND}" height="{HEIGHT}" fill="{theme.colour_of(poster.style)}"/>\n{"".join(texts)}'
        f'<g transform="translate({_MARGIN} {top}) scale({scale:g})">\n{draw_elements(elements)}</g>\n</svg>\n'
    )


def _columns(size: int) -> int:
    """Return the number of letters of this size in a line."""
    return int(_ROOM / (size * _LETTER))


def _cut(text: str, size: int) -> str:
    return next(iter(wrap(text, _columns(size), max_lines=1)), "")


def _fit_title(title: str) -> tuple[int, list[str]]:
    """Return the largest size in which the title fits, and its lines. A title that fits in no size is cut."""
    for size, max_lines in _TITLE_SIZES:
        lines = wrap(title, _columns(size), keep="hyphens")
        if len(lines) <= max_lines:
            return size, lines
    size, max_lines = _TITLE_SIZES[-1]
    return size, wrap(title, _columns(size), max_lines=max_lines)


def _fit_body(bodies: Sequence[Body], height: int) -> tuple[float, Sequence[Row]]:
    """Return the scale and the rows of the first body that fits; if none does, the last body is cut."""
    scale, rows = _SCALES[-1], list[Row]()
    for body in bodies:
        for scale in _SCALES:
            columns, lines = int(_ROOM / (CELL_WIDTH * scale)), int(height / (CELL_HEIGHT * scale))
            rows = list(body(columns, lines))
            if len(rows) <= lines:
                return scale, rows
    return scale, rows[: int(height / (CELL_HEIGHT * scale))]


def _text(base: int, size: int, text: str, colour: str, is_bold: bool = False) -> str:
    style = f"font-size:{size}px" + (";font-weight:700" if is_bold else "")
    width = text_width(text) * size * _LETTER
    whole = escape(text.replace(" ", "\xa0"))  # SVG collapses several ordinary blanks to one
    return f'<text x="{_MARGIN}" y="{base}" textLength="{width:g}" fill="{colour}" style="{style}">{whole}</text>\n'
