"""Draw the text that a command printed to a terminal, with its colours, like the monitor's pictures.

`python -m tests.written.terminal_text printed.txt COLUMNS picture.svg picture.png`
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from noisewatch.surfaces.picture import svg_of_lines
from noisewatch.surfaces.raster import png_of

TITLE = "noisewatch run"


def svg_of_text(printed: str, columns: int) -> str:
    """Return printed text as SVG. Its lines must not be wider than the columns."""
    console = Console(width=columns, force_terminal=True, color_system="256")
    lines = [list(Text.from_ansi(line).render(console)) for line in printed.splitlines()]
    return svg_of_lines([Segment.adjust_line_length(line, columns) for line in lines], columns, TITLE)


def main(source: str, columns: str, *pictures: str) -> None:
    """Write each of the pictures, as SVG or PNG by its suffix."""
    svg = svg_of_text(Path(source).read_text("utf-8"), int(columns))
    for picture in map(Path, pictures):
        picture.write_bytes(png_of(svg) if picture.suffix == ".png" else svg.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
