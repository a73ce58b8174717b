"""The calibration's page in the monitor: its chart is never cut off above its axis."""

from __future__ import annotations

import json
from functools import cache

import pytest

from noisewatch.judgement.case import Calibrated
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.calibrate import CalibrateOptions, calibrate
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from tests import MACHINES
from tests.operations.listening import SilentListener
from tests.surfaces.tui.crowd import crowded
from tests.surfaces.tui.framing import text_of

_HEADING = "how long each gap lasted"


@cache
def _recorded_calibration() -> Calibrated:
    """Return the calibration of a host that has gaps of many lengths."""
    machine = Recording(str(MACHINES / "host-calibration.nw"))
    return calibrate(machine, CalibrateOptions(), SilentListener()).calibrated


@cache
def _finished_overlay() -> CalibrationOverlay:
    screen = CalibrationOverlay.of(crowded(4).frame)
    screen.finish(_recorded_calibration())
    return screen


def _page(width: int, height: int, offset: int = 0) -> list[str]:
    screen = _finished_overlay()
    screen.offset = offset
    rows: list[Row] = screen.rows(width, height, in_unicode=True)
    return [text_of(row) for row in rows[1:-1]]


def _pages(width: int, height: int) -> list[list[str]]:
    """Return all pages, scrolling by one screen."""
    pages: list[list[str]] = []
    for offset in range(0, 10 * height, height - 2):
        pages.append(_page(width, height, offset))
        if _finished_overlay().offset < offset:
            break
    return pages


@pytest.mark.parametrize(("width", "height"), [(w, h) for w in (60, 80, 140) for h in (*range(12, 61, 6), 24, 40)])
def test_the_first_page_has_the_whole_histogram_with_its_axis(width: int, height: int) -> None:
    first = _page(width, height)
    heading = next(at for at, line in enumerate(first) if _HEADING in line)
    assert any("1 µs" in line and "100 ms" in line for line in first[heading:]), "\n".join(first)


@pytest.mark.parametrize(("width", "height"), [(20, 5), (60, 20), (80, 24), (140, 40), (300, 80)])
def test_the_first_page_shows_the_predicted_samples(width: int, height: int) -> None:
    assert any("25 samples" in line for line in _page(width, height))


def test_the_details_are_on_the_following_pages() -> None:
    first, *others = _pages(100, 34)
    assert not any("longest gaps" in line for line in first)
    assert any("longest gaps" in line for page in others for line in page)


def test_on_a_high_screen_the_details_are_below_the_picture() -> None:
    first = _page(300, 80)
    assert any("interpreted work in blocks of about 1 ms: median" in line for line in first)
    assert sum(not line.strip() for line in first) < 10


def test_figures_and_picture_are_exported() -> None:
    screen = CalibrationOverlay.of(crowded(4).frame)
    assert screen.reports() == {}
    screen.finish(_recorded_calibration())
    reports = screen.reports()
    assert json.loads(reports["json"])["noise_floor"][0]["sample_ns"] == 10**6
    assert "100 ms │" in reports["md"]
    assert reports["md"].count("```") == 4
