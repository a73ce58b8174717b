"""Styled lines drawn as SVG pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style

from noisewatch.surfaces.drawing.colours import LEVEL_COLOURS
from noisewatch.surfaces.picture import THEMES, Still, Theme, animated_svg, kind_of_shape, path_of, svg_of_lines

_SVG = "{http://www.w3.org/2000/svg}"
_HUES = range(1, 8)


def _line(text: str, style: str = "") -> list[Segment]:
    return [Segment(text, Style.parse(style))]


def _texts(svg: str) -> list[str]:
    elements = ElementTree.fromstring(svg).iter(f"{_SVG}text")
    return [(element.text or "").replace("\xa0", " ") for element in elements]


def _luminance(colour: str) -> float:
    """Return the relative luminance: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    values = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(colour: str, other: str) -> float:
    low, high = sorted((_luminance(colour), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize(
    "style", ["", "dim", "bright_black", *(f"color({number})" for number in (*_HUES, *LEVEL_COLOURS))]
)
def test_every_colour_is_legible(theme: Theme, style: str) -> None:
    assert _contrast(theme.look(Style.parse(style)).colour, theme.background) >= 4


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_reversed_text_is_legible(theme: Theme) -> None:
    for number in _HUES:
        look = theme.look(Style.parse(f"bold reverse color({number})"))
        assert look.background is not None
        assert _contrast(look.colour, look.background) >= 4


def test_a_light_colour_of_the_dark_theme_is_dark_in_the_light_theme() -> None:
    style = Style.parse("color(195)")  # nearly white
    assert _luminance(THEMES["dark"].look(style).colour) > 0.5
    assert _luminance(THEMES["light"].look(style).colour) < 0.2


def test_words_are_whole_and_begin_in_their_columns() -> None:
    svg = svg_of_lines([_line("a & b <c>      last")], 30, "noisewatch · host")
    elements = list(ElementTree.fromstring(svg).iter(f"{_SVG}text"))[1:]
    assert [(element.text, element.get("x"), element.get("textLength")) for element in elements] == [
        ("a\xa0&\xa0b\xa0<c>", "0", "108"),
        ("last", "180", "48"),
    ]
    assert "clip" not in svg


def test_a_wide_character_takes_two_columns() -> None:
    elements = list(ElementTree.fromstring(svg_of_lines([_line("計   b")], 30, "x")).iter(f"{_SVG}text"))[1:]
    assert [(element.get("x"), element.get("textLength")) for element in elements] == [("0", "24"), ("60", "12")]


@pytest.mark.parametrize(
    ("columns", "words"), [(60, "noisewatch · a-host-of-some-name"), (30, "noisewatch"), (20, None)]
)
def test_a_title_that_does_not_fit_is_shortened_or_omitted(columns: int, words: str | None) -> None:
    svg = svg_of_lines([_line("█")], columns, "noisewatch · a-host-of-some-name")
    assert _texts(svg) == ([words] if words else [])


def test_backgrounds_and_blocks_are_drawn_before_text() -> None:
    svg = svg_of_lines([[*_line("█a", "red"), *_line("b", "reverse")]], 3, "x")
    body = ElementTree.fromstring(svg).find(f"{_SVG}g")
    assert body is not None
    assert [element.get("d") or element.text for element in body] == ["M24 0h12v24h-12z", "M0 24V0h12V24z", "a", "b"]


def test_neighbouring_blocks_are_one_outline() -> None:
    assert path_of("▁▁█", 2, 24) == "M24 48V45h24V24h12V48z"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("───", "M0 11h36v2h-36z"),
        ("│", "M5 0h2v24h-2z"),
        ("├", "M5 11h7v2h-7zM5 0h2v24h-2z"),
        ("┐", "M0 11h7v2h-7zM5 11h2v13h-2z"),
        ("▌▐", "M0 0h6v24h-6zM18 0h6v24h-6z"),
        ("▀▀", "M0 0h24v12h-24z"),
        ("⠁⠀⢀", "M3 3h0M33 21h0"),
        ("▚", "M0 0h6v12h-6zM6 12h6v12h-6z"),
    ],
)
def test_lines_and_blocks_reach_the_edges_of_their_cells(text: str, path: str) -> None:
    assert path_of(text, 0, 0) == path


def test_corners_meet_their_lines() -> None:
    ends = {"╭": ("6 24", "12 12"), "╮": ("6 24", "0 12"), "╰": ("6 0", "12 12"), "╯": ("6 0", "0 12")}
    for corner, (_, side) in ends.items():
        x, y = side.split()
        assert f"{x} {int(y) - 1}" in path_of(corner, 0, 0) or f"{x} {int(y) + 1}" in path_of(corner, 0, 0)


def test_letters_and_symbols_are_not_shapes() -> None:
    assert [kind_of_shape(character) for character in "a ●"] == [None] * 3
    assert [kind_of_shape(character) for character in "⠁░█─"] == ["dots", "░", "fill", "fill"]


def test_an_empty_braille_character_draws_no_path() -> None:
    assert "<path" not in svg_of_lines([_line("⠀")], 3, "x")


_STILLS = [
    Still([_line("stays"), _line("one")], 1.0),
    Still([_line("stays"), _line("two")], 2.0),
    Still([_line("stays"), _line("one"), _line("more")], 1.0),
]


def _keyframes(svg: str) -> dict[str, str]:
    return dict(re.findall(r"@keyframes (\w+)\{((?:[\d.]+%\{visibility:\w+\})+)\}", svg))


def _animations(svg: str) -> dict[str, str | None]:
    """Return the animation of each text, or None for a text that does not move."""
    body = ElementTree.fromstring(svg).find(f"{_SVG}g")
    assert body is not None
    animations: dict[str, str | None] = {}
    for element in body:
        name = (element.get("class") or "").split()[-1] if element.tag == f"{_SVG}g" else None
        animations |= {text.text or "": name for text in element.iter(f"{_SVG}text")}
    return animations


def test_each_frame_is_shown_for_its_interval() -> None:
    svg = animated_svg(_STILLS, 10, "x")
    animations, keyframes = _animations(svg), _keyframes(svg)
    assert ".a{animation:4s step-end infinite}" in svg
    assert animations["stays"] is None
    assert keyframes[animations["one"] or ""] == (
        "0.000%{visibility:visible}25.000%{visibility:hidden}75.000%{visibility:visible}"
    )
    assert keyframes[animations["two"] or ""] == (
        "0.000%{visibility:hidden}25.000%{visibility:visible}75.000%{visibility:hidden}"
    )


def test_equal_text_in_several_frames_is_drawn_once() -> None:
    svg = animated_svg(_STILLS, 10, "x")
    assert sorted(_texts(svg)) == ["more", "one", "stays", "two"]


def test_without_animation_the_first_frame_is_visible() -> None:
    svg = animated_svg(_STILLS, 10, "x")
    hidden = set(re.findall(r"\.(k\d+)\{visibility:hidden;", svg))
    assert {text for text, name in _animations(svg).items() if name not in hidden} == {"stays", "one"}
    assert "prefers-reduced-motion" in svg


def test_an_animation_runs_no_script_and_fetches_nothing() -> None:
    svg = animated_svg(_STILLS, 10, "x").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert [word for word in ("http", "<script", "url(", "@import", "<image", "<foreignObject") if word in svg] == []


def test_frames_that_never_change_are_not_animated() -> None:
    assert "animation" not in animated_svg([_STILLS[0], _STILLS[0]], 10, "x")
