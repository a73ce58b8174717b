"""Every screen is drawn like its golden, fits at all sizes, and has no avoidable blank rows."""

from __future__ import annotations

from itertools import groupby

import pytest

from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.tui.draw.goldens import ALL, BLANK_ROWS_BETWEEN_PARTS, ENDS_EARLY, GOLDENS, HAS_LISTS, PICTURES

_EDGES = "│| ─╮╯╰╭├┤"


@pytest.mark.parametrize("name", PICTURES)
def test_a_screen_is_equal_to_its_golden(name: str) -> None:
    if change := GOLDENS.change(name):
        pytest.fail(change, pytrace=False)


@pytest.mark.parametrize("name", ALL.pictures)
def test_a_screen_is_no_larger_than_the_terminal(name: str) -> None:
    assert ALL.too_large(name) == []


@pytest.mark.parametrize("name", ALL.pictures)
def test_only_declared_rows_are_blank(name: str) -> None:
    screen = name.partition("-")[0]
    blank = dict(ALL.blank(name))
    most = BLANK_ROWS_BETWEEN_PARTS.get(screen, 0)
    for (width, height), runs in blank.items():
        below = height if screen in ENDS_EARLY else height // 5 if screen in HAS_LISTS else most
        assert [run for run in runs[:-1] if len(run) > most] == [], (width, height)
        assert len(runs[-1]) <= below, (width, height)


@pytest.mark.parametrize("name", [name for name in ALL.pictures if name.partition("-")[0] in tuple(Screen)])
def test_no_screen_is_half_empty_at_the_left(name: str) -> None:
    """A row with text only in its right half is not blank for the test above."""
    for width, height in ALL.sizes:
        left_halves = [line[: width // 2].strip(_EDGES) for line in ALL.lines(name, width, height)]
        blank = [len([*run]) for has_text, run in groupby(left_halves, bool) if not has_text]
        assert max(blank, default=0) <= height // 4, (width, height)


def test_every_golden_has_a_screen() -> None:
    assert GOLDENS.stale() == set()
