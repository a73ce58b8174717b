"""Cleaning of names for a terminal."""

from __future__ import annotations

import pytest

from noisewatch.text import clean


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("kworker/0:1H", "kworker/0:1H"),
        ("Ünïcödé 日本", "Ünïcödé 日本"),
        ("a\x1b[31mb\x07", "a·[31mb·"),
        ("a\nb\tc\rd", "a·b·c·d"),
        ("a\u202eb\u200bc\x85d\x9be", "a·b·c·d·e"),
        ("a\udcffb", "a·b"),
        ("", ""),
    ],
)
def test_control_characters_are_replaced_by_dots(name: str, shown: str) -> None:
    assert clean(name) == shown
