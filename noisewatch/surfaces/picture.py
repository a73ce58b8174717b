"""The monitor's screen as a picture that looks the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

from noisewatch.errors import UsageError

_FONT = "DejaVu Sans Mono"
_FONT_FOLDER = "/usr/share/fonts/truetype/dejavu"


def plain_svg(svg: str) -> str:
    """Textual's SVG with a font that has the block characters, and is the system's: nothing is fetched."""
    without_download = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal-0", without_download.replace("Fira Code", _FONT))


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
