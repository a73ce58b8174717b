"""Every picture of a calibration is drawn like its golden."""

from __future__ import annotations

import pytest

from tests.surfaces.reports.calibration.goldens import DRAWN, GOLDENS


@pytest.mark.parametrize("name", DRAWN)
def test_picture_matches_its_golden(name: str) -> None:
    if change := GOLDENS.change(name):
        pytest.fail(change, pytrace=False)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_keeps_to_its_size(name: str) -> None:
    assert GOLDENS.too_large(name) == []


def test_there_are_no_stale_goldens() -> None:
    assert GOLDENS.stale() == set()
