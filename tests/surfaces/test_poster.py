"""Posters: a title that is never cut short silently, and rows as large as they fit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import get_args

import pytest

from noisewatch.surfaces.drawing.colours import Meaning
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.picture import THEMES, Theme
from noisewatch.surfaces.poster import HEIGHT, WIDTH, Body, Poster, poster_svg
from noisewatch.surfaces.raster import png_of


def _rows(count: int, text: str = "row") -> Body:
    return lambda _columns, _lines: [[(f"{text} {number}", "plain")] for number in range(count)]


def _poster(title: str = "a title", bodies: Sequence[Body] = (_rows(3),)) -> Poster:
    return Poster("heading", title, "good", bodies, ["a long source " * 20, "source"])


def _texts(svg: str) -> list[str]:
    return [
        (element.text or "").replace("\xa0", " ")
        for element in ElementTree.fromstring(svg).iter()
        if "text" in element.tag
    ]


def _scale(svg: str) -> float:
    match = re.search(r"scale\(([\d.]+)\)", svg)
    assert match is not None
    return float(match[1])


def _lowest(svg: str) -> float:
    """Return the lower edge of the rows in the picture's own units."""
    group = re.search(r"translate\(60 (\d+)\)", svg)
    assert group is not None
    bases = [float(base) for base in re.findall(r'<text class="[^"]*" x="\d+" y="(\d+)"', svg)]
    return int(group[1]) + (max(bases) + 6) * _scale(svg)


def test_a_poster_is_sixteen_to_nine() -> None:
    root = ElementTree.fromstring(poster_svg(_poster(), THEMES["dark"]))
    assert int(root.attrib["width"]) * 9 == int(root.attrib["height"]) * 16


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("meaning", get_args(Meaning))
def test_a_poster_of_any_meaning_and_theme_is_drawn(theme: Theme, meaning: Meaning) -> None:
    svg = poster_svg(Poster("heading", "title", meaning, [_rows(1)], ["source"]), theme)
    assert f'fill="{theme.background}"' in svg
    assert png_of(svg).startswith(b"\x89PNG")


@pytest.mark.parametrize("length", [1, 40, 100, 200, 350])
def test_a_whole_title_is_shown_however_long_it_is(length: int) -> None:
    title = ("word " * length)[:length].strip()
    texts = _texts(poster_svg(_poster(title), THEMES["dark"]))
    assert title in " ".join(texts)


def test_a_title_that_fits_in_no_size_ends_with_an_ellipsis() -> None:
    texts = _texts(poster_svg(_poster("word " * 400), THEMES["dark"]))
    assert any(text.endswith(" …") for text in texts)


def test_words_stay_within_the_picture() -> None:
    svg = poster_svg(_poster("W" * 900, [_rows(60, "x" * 400)]), THEMES["dark"])
    for line in re.findall(r'<text x="60"[^>]*textLength="([\d.]+)"', svg):
        assert 60 + float(line) <= WIDTH


@pytest.mark.parametrize("count", [1, 15, 20, 25, 30, 33])
def test_rows_are_as_large_as_they_fit(count: int) -> None:
    svg = poster_svg(_poster(bodies=[_rows(count)]), THEMES["dark"])
    assert f"row {count - 1}" in _texts(svg)
    assert _lowest(svg) <= HEIGHT - 60
    next_scale = _scale(svg) + 0.1
    assert next_scale > 1.6 or _lowest(svg) / _scale(svg) * next_scale > HEIGHT - 60


def test_the_first_body_that_fits_is_shown() -> None:
    texts = _texts(poster_svg(_poster(bodies=[_rows(70, "whole"), _rows(20, "short")]), THEMES["dark"]))
    assert "short 19" in texts
    assert "whole 0" not in texts


def test_if_no_body_fits_the_last_is_cut() -> None:
    svg = poster_svg(_poster(bodies=[_rows(70, "whole"), _rows(60, "short")]), THEMES["dark"])
    assert "short 0" in _texts(svg)
    assert "short 59" not in _texts(svg)
    assert _lowest(svg) <= HEIGHT - 60


def test_the_source_that_fits_is_shown() -> None:
    assert "source" in _texts(poster_svg(_poster(), THEMES["dark"]))


def test_rows_get_the_columns_that_fit() -> None:
    def body(columns: int, _lines: int) -> list[Row]:
        return [[("#" * columns, "plain")]]

    svg = poster_svg(_poster(bodies=[body]), THEMES["dark"])
    widths = re.findall(r'<text class="[^"]*" x="0" y="18" textLength="(\d+)"', svg)
    assert [60 + int(width) * _scale(svg) <= WIDTH - 60 for width in widths] == [True]
