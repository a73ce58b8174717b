"""Frames around parts of a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.panel import inner_size, is_framed, join_frames, panel, side_by_side
from noisewatch.surfaces.drawing.text_row import Row, length
from tests.surfaces.tui.framing import text_of


def _lines(rows: list[Row]) -> list[str]:
    return [text_of(row) for row in rows]


def test_a_frame_has_its_title_left_and_its_keys_right() -> None:
    rows = panel("culprits", [[("one", "plain")]], 30, 4, UNICODE, right="by cost · / filter")
    assert _lines(rows) == [
        "╭─ culprits ─────── by cost ─╮",
        "│ one                        │",
        "│                            │",
        "╰────────────────────────────╯",
    ]


def test_without_unicode_a_frame_is_drawn_in_ascii() -> None:
    assert _lines(panel("a", [], 9, 2, ASCII)) == ["+- a ---+", "+-------+"]


def test_two_frames_share_an_edge() -> None:
    upper, lower = (panel(name, [[(name, "plain")]], 12, 3, UNICODE) for name in ("up", "low"))
    assert _lines(join_frames(upper, lower, UNICODE)) == [
        "╭─ up ─────╮",
        "│ up       │",
        "├─ low ────┤",
        "│ low      │",
        "╰──────────╯",
    ]


def test_frames_are_drawn_side_by_side() -> None:
    one = panel("a", [], 8, 2, UNICODE)
    assert _lines(side_by_side(one, one))[1] == "╰──────╯╰──────╯"


@pytest.mark.parametrize(("width", "height", "expected"), [(70, 24, True), (69, 24, False), (120, 23, False)])
def test_small_screens_have_no_frames(width: int, height: int, expected: bool) -> None:
    assert is_framed(width, height) is expected


_WORDS = st.text(st.sampled_from("ab ·漢é"), max_size=30)


@given(_WORDS, _WORDS, st.lists(_WORDS, max_size=5), st.integers(0, 40), st.integers(0, 8))
def test_a_frame_has_the_requested_size(title: str, right: str, words: list[str], width: int, height: int) -> None:
    rows = panel(title, [[(word, "plain")] for word in words], width, height, UNICODE, right)
    assert [length(row) for row in rows] == [width] * height
    assert inner_size(width, height)[0] <= max(width - 4, 0)
