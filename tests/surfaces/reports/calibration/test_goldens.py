"""Every picture of a calibration is drawn like its golden."""

from __future__ import annotations

import pytest

from tests.surfaces.reports.calibration.goldens import DRAWN, GOLDENS


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_looks_as_it_did(name: str) -> None:
    if change := GOLDENS.change(name):
        pytest.fail(change, pytrace=False)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_keeps_to_its_size(name: str) -> None:
    assert GOLDENS.too_large(name) == []


def test_no_golden_is_left_of_a_picture_that_is_gone() -> None:
    assert GOLDENS.stale() == set()
