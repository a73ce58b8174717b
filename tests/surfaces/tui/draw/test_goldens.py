"""Every screen is drawn as it was when somebody last looked at it."""

from __future__ import annotations

import pytest

from tests.surfaces.tui.draw.goldens import DRAWN, GOLDENS, MAY_BE_PARTED, MAY_END_EARLY


@pytest.mark.parametrize("name", DRAWN)
def test_a_screen_looks_as_it_did(name: str) -> None:
    if change := GOLDENS.change(name):
        pytest.fail(change, pytrace=False)


@pytest.mark.parametrize("name", DRAWN)
def test_a_screen_is_no_larger_than_the_terminal(name: str) -> None:
    assert GOLDENS.too_large(name) == []


@pytest.mark.parametrize("name", DRAWN)
def test_no_row_is_blank_that_is_not_said_to_be(name: str) -> None:
    screen = name.partition("-")[0]
    blank = dict(GOLDENS.blank(name))
    if screen in MAY_END_EARLY:
        blank = {size: runs[:-1] for size, runs in blank.items()}
    most = MAY_BE_PARTED.get(screen, 0)
    wrong = {size: [run for run in runs if len(run) > most] for size, runs in blank.items()}
    assert {size: runs for size, runs in wrong.items() if runs} == {}


def test_no_golden_is_left_of_a_screen_that_is_gone() -> None:
    assert GOLDENS.stale() == set()
