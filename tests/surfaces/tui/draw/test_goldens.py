"""Every screen is drawn like its golden, and at all sizes it fits, and is not empty where it could show something."""

from __future__ import annotations

from itertools import groupby

import pytest

from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.draw.goldens import ALL, DRAWN, GOLDENS, HAS_LISTS, MAY_BE_PARTED, MAY_END_EARLY

_EDGES = "│| ─╮╯╰╭├┤"


@pytest.mark.parametrize("name", DRAWN)
def test_a_screen_looks_as_it_did(name: str) -> None:
    if change := GOLDENS.change(name):
        pytest.fail(change, pytrace=False)


@pytest.mark.parametrize("name", ALL.drawn)
def test_a_screen_is_no_larger_than_the_terminal(name: str) -> None:
    assert ALL.too_large(name) == []


@pytest.mark.parametrize("name", ALL.drawn)
def test_no_row_is_blank_that_is_not_said_to_be(name: str) -> None:
    screen = name.partition("-")[0]
    blank = dict(ALL.blank(name))
    most = MAY_BE_PARTED.get(screen, 0)
    for (width, height), runs in blank.items():
        below = height if screen in MAY_END_EARLY else height // 5 if screen in HAS_LISTS else most
        assert [run for run in runs[:-1] if len(run) > most] == [], (width, height)
        assert len(runs[-1]) <= below, (width, height)


@pytest.mark.parametrize("name", [each for each in ALL.drawn if each.partition("-")[0] in tuple(Screen)])
def test_no_screen_is_half_empty_at_the_left(name: str) -> None:
    """Text in the right half of a row would hide from the other test that the left half is blank."""
    for width, height in ALL.sizes:
        shown = [line[: width // 2].strip(_EDGES) for line in ALL.lines(name, width, height)]
        blank = [len([*run]) for has_text, run in groupby(shown, bool) if not has_text]
        assert max(blank, default=0) <= height // 4, (width, height)


def test_no_golden_is_left_of_a_screen_that_is_gone() -> None:
    assert GOLDENS.stale() == set()
