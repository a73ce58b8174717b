"""The monitor's screen, and rows of styled text, as pictures that look the same everywhere."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from noisewatch.errors import UsageError
from noisewatch.surfaces.reports.parts.colours import ROW_STYLES

_FONT = "DejaVu Sans Mono"
_FONT_FOLDER = "/usr/share/fonts/truetype/dejavu"


def plain_svg(svg: str) -> str:
    """Textual's SVG with a font that has the block characters, and is the system's: nothing is fetched."""
    without_download = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal-0", without_download.replace("Fira Code", _FONT))


_BACKGROUND, _FOREGROUND = (13, 17, 23), (201, 209, 217)
_SIXTEEN = (  # the terminal's colours in an exported picture: black, red, green, yellow, blue, magenta, cyan, white
    (
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (255, 209, 102),
        (88, 166, 255),
        (255, 95, 162),
        (77, 208, 225),
        (177, 186, 196),
    ),
    (
        (110, 118, 129),
        (255, 161, 152),
        (86, 211, 100),
        (255, 221, 140),
        (121, 192, 255),
        (255, 140, 190),
        (130, 225, 238),
        (255, 255, 255),
    ),
)


def svg_of(rows: Sequence[Sequence[tuple[str, str]]], width: int, title: str) -> str:
    """Rows of styled text as they would stand in a terminal of `width` columns; the same bytes each time."""
    from rich.console import Console  # for pictures alone
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row in rows:
        console.print(Text.assemble(*((text, ROW_STYLES[style]) for text, style in row)), no_wrap=True, crop=True)
    svg = console.export_svg(
        title=title, theme=TerminalTheme(_BACKGROUND, _FOREGROUND, *map(list, _SIXTEEN)), unique_id="noisewatch"
    )
    return plain_svg(svg)


def png_of(svg: str) -> bytes:
    """The same picture as PNG; the same bytes each time. Raises UsageError where a library or the font is missing."""
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError("a PNG needs the package resvg-py (pip install noisewatch[png]); an SVG does not") from error
    if not Path(_FONT_FOLDER).is_dir():
        raise UsageError(f"a PNG needs the font {_FONT} in {_FONT_FOLDER} (Debian: apt-get install fonts-dejavu-core)")
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True, font_dirs=[_FONT_FOLDER], font_family=_FONT)
    )
