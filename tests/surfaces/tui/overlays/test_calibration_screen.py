"""The calibration's page in the monitor: its chart is never cut above the axis that it is read by."""

from __future__ import annotations

from functools import cache

import pytest

from noisewatch.judgement.case import Calibrated
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.calibrate import CalibrateOptions, calibrate
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from tests import MACHINES
from tests.operations.listening import SilentListener
from tests.surfaces.tui.crowd import crowded
from tests.surfaces.tui.framing import text_of

_HEADING = "gaps by length"


@cache
def _recorded() -> Calibrated:
    """That of a host with gaps of many lengths."""
    machine = Recording(str(MACHINES / "host-calibration.nw"))
    return calibrate(machine, CalibrateOptions(), SilentListener()).calibrated


def _pages(width: int, height: int) -> list[list[str]]:
    """What is seen, scrolled a screen at a time."""
    screen = CalibrationOverlay.of(crowded(4).frame)
    screen.finish(_recorded())
    pages: list[list[str]] = []
    for offset in range(0, 10 * height, height - 2):
        screen.offset = offset
        rows: list[Row] = screen.rows(width, height, in_unicode=True)
        pages.append([text_of(row) for row in rows[1:-1]])
        if screen.offset < offset:
            break
    return pages


@pytest.mark.parametrize(("width", "height"), [(w, h) for w in (60, 80, 100, 140) for h in range(12, 61, 2)])
def test_a_screenful_with_the_heading_of_the_chart_has_its_axis_too(width: int, height: int) -> None:
    seen = [page for page in _pages(width, height) if any(_HEADING in line for line in page)]
    assert seen
    after = seen[0][next(at for at, line in enumerate(seen[0]) if _HEADING in line) :]
    assert any("µs" in line and "│" not in line for line in after), "\n".join(after)
