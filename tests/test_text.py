"""Names as a terminal may see them."""

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
def test_what_a_terminal_must_not_see_is_a_dot(name: str, shown: str) -> None:
    assert clean(name) == shown
