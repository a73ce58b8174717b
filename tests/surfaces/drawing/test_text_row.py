"""Rows of styled text, cut to a width in columns."""

from __future__ import annotations

import pytest

from noisewatch.surfaces.drawing.text_row import cut, justify, text_of


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("culprit", 7, "culprit"),
        ("culprit", 6, "culpr…"),
        ("abc  ", 3, "abc"),
        ("日本語日本", 10, "日本語日本"),
        ("日本語日本", 7, "日本語…"),
        ("日本語日本", 6, "日本 …"),
    ],
)
def test_an_ellipsis_marks_lost_text_of_any_width(text: str, width: int, expected: str) -> None:
    assert text_of(cut([(text, "plain")], width)) == expected


def test_a_row_of_wide_characters_keeps_its_right_end() -> None:
    assert text_of(justify([("日本語日本", "plain")], [("end", "plain")], 10)) == "日本語…end"
