"""Every screen is drawn as it was when somebody last looked at it."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from noisewatch.surfaces.tui.draw.text_row import length
from tests.surfaces.tui.draw.goldens import DRAWN, FOLDER, SIZES, draw, path_of

_ANEW = "If that is how it should look: python -m tests.surfaces.tui.draw.goldens, and look at git diff."


@pytest.mark.parametrize("name", DRAWN)
def test_a_screen_looks_as_it_did(name: str) -> None:
    path = path_of(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    now = draw(name)
    if now != before:
        changed = unified_diff(before.splitlines(), now.splitlines(), "as it was", "as it is", n=1, lineterm="")
        pytest.fail("\n".join([*changed, _ANEW]), pytrace=False)


@pytest.mark.parametrize("name", DRAWN)
def test_a_screen_fills_its_size_and_no_more(name: str) -> None:
    for width, height in SIZES:
        rows = DRAWN[name](width, height)
        assert len(rows) <= height
        too_long = ["".join(text for text, _ in row) for row in rows if length(row) > width]
        assert too_long == []


def test_no_golden_is_left_of_a_screen_that_is_gone() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {path_of(name).name for name in DRAWN}
