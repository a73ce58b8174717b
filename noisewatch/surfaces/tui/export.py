"""The screen as a picture, and the figures of the interval that it shows, as files."""

from __future__ import annotations

import json
import re
import time

from noisewatch.surfaces.frame import Frame, encode_frame

FONT = "DejaVu Sans Mono"


def plain_picture(svg: str) -> str:
    """Textual's SVG with a font that has the block characters, and is the system's: nothing is fetched."""
    without_download = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal-0", without_download.replace("Fira Code", FONT))


def export(picture: str, frame: Frame | None, now: time.struct_time) -> str:
    """Writes them into the working folder, beside what is there; what was written, or why it could not be."""
    name = time.strftime("noisewatch-%Y%m%d-%H%M%S", now)
    figures = json.dumps(json.loads(encode_frame(frame)), indent=1) if frame is not None else "null"
    try:
        for suffix, text in (("svg", picture), ("json", figures)):
            with open(f"{name}.{suffix}", "x", encoding="utf-8") as file:
                file.write(text + "\n")
    except OSError as error:
        return f"nothing was written: {name}: {(error.strerror or str(error)).lower()}"
    return f"written: {name}.svg and .json"
