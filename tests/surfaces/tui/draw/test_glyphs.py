"""Figures fit their columns, and levels are distinguishable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisewatch.surfaces.drawing.glyphs import ASCII, OFFLINE_MARK, UNICODE, Glyphs, glyphs_for
from noisewatch.surfaces.tui.draw.levels import level_of, level_pieces, style_of, tall_rows
from noisewatch.surfaces.tui.state.noise import LEVELS_NS, OFFLINE_NS

# A CPU loses a second a second at most; estimates of a broken counter may claim some more.
_LOSSES = st.floats(0, 1e12)


@given(_LOSSES, _LOSSES)
def test_a_greater_loss_is_never_a_lower_level(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert level_of(less) <= level_of(more)


@given(_LOSSES)
def test_every_level_has_its_character(ns: float) -> None:
    assert len(UNICODE.ramp[level_of(ns)] + ASCII.ramp[level_of(ns)]) == 2


def test_both_ramps_have_a_character_for_nothing_and_one_for_each_level() -> None:
    assert len(ASCII.ramp) == len(UNICODE.ramp) == len(LEVELS_NS) + 1


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_all_characters_of_a_ramp_differ_and_take_one_column(glyphs: Glyphs) -> None:
    characters = glyphs.ramp + glyphs.unknown + glyphs.quiet + glyphs.not_followed + OFFLINE_MARK
    assert len(set(characters)) == len(characters)
    assert {cell_len(character) for character in characters} == {1}


def test_without_unicode_only_ascii_is_drawn() -> None:
    text = ASCII.ramp + ASCII.unknown + ASCII.quiet + ASCII.not_followed + ASCII.estimate + ASCII.dash + ASCII.bullet
    assert text.isascii()


@pytest.mark.parametrize(
    ("encoding", "glyphs"), [("utf-8", UNICODE), ("UTF8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII)]
)
def test_the_encoding_selects_the_glyphs(encoding: str | None, glyphs: Glyphs) -> None:
    assert glyphs_for(encoding) is glyphs


def test_an_unknown_loss_has_a_style_of_its_own() -> None:
    assert style_of(None) not in {style_of(lost_ns) for lost_ns in (0.0, 500_000.0, 5_000_000.0)}


def test_a_bar_of_several_rows_grows_on_the_scale_of_the_levels() -> None:
    rows = tall_rows([0.0, 1_000_000.0, 200_000_000.0, 900_000_000.0, None, OFFLINE_NS], 2, UNICODE)
    assert ["".join(text for text, _ in row) for row in rows] == ["  ██  ", "_███?x"]
    assert level_pieces([0.0, 1.0], UNICODE) == [("_", "faint"), ("▁", "calm")]
    assert tall_rows([1.0], 4, UNICODE)[-1] == [("▄", "calm")]
    between = ["".join(text for text, _ in row) for row in tall_rows([1_000_000.0, 2_000_000.0, 3_000_000.0], 8, ASCII)]
    assert between[3:5] == [" +@", "@@@"]
