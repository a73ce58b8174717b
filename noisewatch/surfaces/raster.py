"""Pictures as pixels: an SVG as PNG, and several SVGs as an animated GIF or PNG, for programs that play no SVG.

https://www.w3.org/Graphics/GIF/spec-gif89a.txt and https://www.w3.org/TR/png-3/#apng-frame-based-animation
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noisewatch.errors import UsageError
from noisewatch.patterns import regex
from noisewatch.surfaces.picture import FONT, svg_of

if TYPE_CHECKING:
    from PIL.Image import Image

GIF, PNG = ".gif", ".png"
_FONT_FOLDER = "/usr/share/fonts/truetype/dejavu"
_MOST_PIXELS = 150_000_000  # of all frames together; a GIF of them takes about this many bytes of memory
_SIZE = regex(r'width="(\d+)" height="(\d+)"')
_COLOURS = 256  # most colours of a palette
_SAMPLED_WIDTH = 480  # pixels of a picture's width from which the palette is made
_LEAST_MS = 20  # most programs play shorter frames of a GIF slowly


def scaled(svg: str, factor: float) -> str:
    """Return the SVG `factor` times as large. Its content does not change; PNG and GIF get as many pixels."""
    if factor == 1:
        return svg
    width, height = (max(round(side * factor), 1) for side in _size(svg))
    return _SIZE.sub(f'width="{width}" height="{height}"', svg, count=1)


def _size(svg: str) -> tuple[int, int]:
    """Return the width and height of a picture, which are in its first tag."""
    match = _SIZE.search(svg)
    assert match is not None
    return int(match[1]), int(match[2])


def require_raster(is_animated: bool = False) -> None:
    """Raise UsageError if a library or a font for PNG, or for an animated GIF or PNG, is missing."""
    png_of(svg_of([], 1, ""))
    if is_animated:
        try:
            import PIL.Image  # noqa: F401
        except ImportError as error:
            raise UsageError(
                "an animated GIF or PNG needs the package pillow (pip install noisewatch[png]); an SVG does not"
            ) from error


def png_of(svg: str) -> bytes:
    """Return the picture as PNG; equal pictures make equal bytes.

    Raise UsageError if a library or font is missing, or if the picture is too large.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError("a PNG needs the package resvg-py (pip install noisewatch[png]); an SVG does not") from error
    if not Path(_FONT_FOLDER).is_dir():
        raise UsageError(f"a PNG needs the font {FONT} in {_FONT_FOLDER} (Debian: apt-get install fonts-dejavu-core)")
    _refuse_too_large([svg])
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True, font_dirs=[_FONT_FOLDER], font_family=FONT)
    )


def _refuse_too_large(svgs: Sequence[str]) -> None:
    width, height = _size(svgs[0])
    if width * height * len(svgs) > _MOST_PIXELS:
        frames = f" in {len(svgs)} frames" if len(svgs) > 1 else ""
        choose = "a shorter time (--from, --to), " if len(svgs) > 1 else ""
        raise UsageError(
            f"{width} × {height} pixels{frames} are too many for one file (at most {_MOST_PIXELS // 10**6} million "
            f"pixels): choose {choose}a smaller --size or a smaller --scale"
        )


def animation_of(svgs: Sequence[str], seconds: Sequence[float], form: str, background: str) -> bytes:
    """Return pictures of one size as an animation in the format `.gif` or `.png`, which repeats without end.

    Each picture is shown for its number of seconds, on the background (`#rrggbb`). All have one palette of 256 colours,
    so that only changed parts are stored. Raise UsageError if a library or font is missing, or if the pictures have too
    many pixels.
    """
    require_raster(is_animated=True)
    _refuse_too_large(svgs)
    from PIL import Image

    pngs = [png_of(svg) for svg in svgs]
    palette = _palette_of(pngs, background)
    frames = [_decode(png, background).quantize(palette=palette, dither=Image.Dither.NONE) for png in pngs]
    written = io.BytesIO()
    frames[0].save(
        written,
        format=form.removeprefix("."),
        save_all=True,
        append_images=frames[1:],
        duration=[max(round(length * 1000), _LEAST_MS) for length in seconds],
        loop=0,
        optimize=True,
    )
    return written.getvalue()


def _decode(png: bytes, background: str) -> Image:
    """Return the picture without transparency, which would make its round corners black."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, background), picture).convert("RGB")


def _palette_of(pngs: Sequence[bytes], background: str) -> Image:
    """Return a picture with the palette of all pictures, from a part of the pixels of each."""
    from PIL import Image

    samples = []
    for png in pngs:
        whole = _decode(png, background)
        part = max(whole.width // _SAMPLED_WIDTH, 1)
        samples.append(whole.resize((-(-whole.width // part), -(-whole.height // part)), Image.Resampling.NEAREST))
    together = Image.new("RGB", (samples[0].width, sum(sample.height for sample in samples)))
    top = 0
    for sample in samples:
        together.paste(sample, (0, top))
        top += sample.height
    return together.quantize(_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
