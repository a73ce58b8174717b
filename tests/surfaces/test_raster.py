"""Pictures as pixels: their size, their colours, and what is too large."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from rich.segment import Segment
from rich.style import Style

from noisewatch.errors import UsageError
from noisewatch.surfaces.picture import DARK, LIGHT, Theme, svg_of_lines
from noisewatch.surfaces.raster import animation_of, png_of, scaled


def _svg(text: str, style: str = "", columns: int = 30) -> str:
    return svg_of_lines([[Segment(text, Style.parse(style))]], columns, "title", LIGHT)


@pytest.mark.parametrize(("factor", "size"), [(1.0, (384, 78)), (2.0, (768, 156)), (0.5, (192, 39)), (0.001, (1, 1))])
def test_a_scaled_picture_has_as_many_pixels(factor: float, size: tuple[int, int]) -> None:
    with Image.open(io.BytesIO(png_of(scaled(_svg("a"), factor)))) as picture:
        assert picture.size == size


def test_too_many_pixels_are_refused() -> None:
    with pytest.raises(UsageError, match=r"19200 × 39000 pixels are too many .* choose a smaller --size or a smaller"):
        png_of(_svg("a").replace('width="384" height="78"', 'width="19200" height="39000"', 1))
    with pytest.raises(UsageError, match=r"pixels in 6000 frames are too many .* choose a shorter time"):
        animation_of([_svg("a")] * 6000, [1.0] * 6000, ".gif", "#ffffff")


@pytest.mark.parametrize("form", [".gif", ".png"])
def test_an_animation_keeps_the_colours_of_its_frames(form: str) -> None:
    styles = ("red", "green", "blue", "magenta", "cyan", "yellow")
    svgs = [_svg("█" * 4, style) for style in styles]
    with Image.open(io.BytesIO(animation_of(svgs, [0.5] * 6, form, "#ffffff"))) as animation:
        for number, svg in enumerate(svgs):
            animation.seek(number)
            with Image.open(io.BytesIO(png_of(svg))) as still:
                still_pixel, pixel = (
                    still.convert("RGB").getpixel((40, 60)),
                    animation.convert("RGB").getpixel((40, 60)),
                )
            assert isinstance(still_pixel, tuple)
            assert isinstance(pixel, tuple)
            assert all(abs(one - other) <= 8 for one, other in zip(still_pixel, pixel, strict=True))


@pytest.mark.parametrize(("theme", "corner"), [(LIGHT, (255, 255, 255)), (DARK, (13, 17, 23))])
def test_round_corners_have_the_background(theme: Theme, corner: tuple[int, int, int]) -> None:
    with Image.open(io.BytesIO(animation_of([_svg("a"), _svg("b")], [1, 1], ".gif", theme.background))) as animation:
        pixel = animation.convert("RGB").getpixel((0, 0))
        assert isinstance(pixel, tuple)
        assert all(abs(one - other) <= 8 for one, other in zip(pixel, corner, strict=True))


def test_equal_animations_are_equal_bytes() -> None:
    one, two = (animation_of([_svg("a"), _svg("b")], [1, 1], ".gif", "#ffffff") for _ in range(2))
    assert one == two
