"""Golden files of the pictures of a calibration, one per picture.

    python -m tests.surfaces.reports.calibration.goldens

writes them anew after a change. Look at each difference (git diff) before it is committed.
"""

from __future__ import annotations

from noisewatch.judgement.case import Calibrated
from noisewatch.kernel.calibration import BusyLoad
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad, LiveGaps
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.reports.calibration.report import contrast_of
from noisewatch.surfaces.reports.calibration.side_by_side import contrast_rows
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import OverlayState
from tests.surfaces.goldens import Draw, Goldens
from tests.surfaces.reports.calibration.calibrations import noisy, recorded, traced
from tests.surfaces.tui.overlays.live import buffer_of

_TARGET = frozenset({2, 3})


def _draw_overlay(calibrated: Calibrated, in_unicode: bool = True) -> Draw:
    screen = CalibrationOverlay((2, 3))
    screen.finish(calibrated)
    return lambda width, height: screen.rows(width, height, in_unicode)


def _draw_running_overlay() -> Draw:
    live = LiveGaps()
    lengths = [2_000 + 37 * number for number in range(200)] + [40_000, 45_000, 3_000_000]
    live.take(Progress(2.0, 5.0, {2: buffer_of(*lengths), 3: buffer_of(2_000, 2_100)}))
    screen = CalibrationOverlay((2, 3), state=OverlayState.RUNNING, live=live)
    return lambda width, height: screen.rows(width, height, in_unicode=True)


def _draw_contrast(loaded: Calibrated, load: BusyLoad, glyphs: Glyphs = UNICODE) -> Draw:
    contrast = contrast_of(CalibratedTarget(_TARGET, None, traced(), CalibratedUnderLoad(loaded, load, frozenset())))
    assert contrast is not None
    return lambda width, height: contrast_rows(contrast, width, height, glyphs)


_LOAD = BusyLoad(frozenset({0, 1}), 2, 0.99)
DRAWN: dict[str, Draw] = {
    "traced": _draw_overlay(traced()),
    "inferred": _draw_overlay(recorded()),
    "inferred-ascii": _draw_overlay(recorded(), in_unicode=False),
    "running": _draw_running_overlay(),
    "under-load": _draw_contrast(noisy(), _LOAD),
    "under-load-ascii": _draw_contrast(noisy(), _LOAD, ASCII),
    "under-load-isolated": _draw_contrast(traced(), _LOAD),
}
GOLDENS = Goldens("tests.surfaces.reports.calibration.goldens", DRAWN, ((60, 20), (80, 24), (120, 34), (140, 40)))

if __name__ == "__main__":
    GOLDENS.write()
