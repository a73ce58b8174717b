"""Every picture of a calibration is drawn as it was when somebody last looked at it."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from noisewatch.surfaces.tui.draw.text_row import length
from tests.surfaces.reports.calibration.goldens import DRAWN, FOLDER, SIZES, draw, path_of

_ANEW = "If that is how it should look: python -m tests.surfaces.reports.calibration.goldens, and look at git diff."


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_looks_as_it_did(name: str) -> None:
    path = path_of(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    now = draw(name)
    if now != before:
        changed = unified_diff(before.splitlines(), now.splitlines(), "as it was", "as it is", n=1, lineterm="")
        pytest.fail("\n".join([*changed, _ANEW]), pytrace=False)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_keeps_to_its_size(name: str) -> None:
    for width, height in SIZES:
        rows = DRAWN[name](width, height)
        assert len(rows) <= height
        assert max(map(length, rows)) <= width


def test_no_golden_is_left_of_a_picture_that_is_gone() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {path_of(name).name for name in DRAWN}
