"""How the calibration's pictures looked when somebody last looked at them: a file for each.

    python -m tests.surfaces.reports.calibration.goldens

writes them anew after a change. Look at each difference (git diff) before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from noisewatch.judgement.case import Calibrated
from noisewatch.kernel.busy_load import BusyLoad
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.operations.calibrate import CalibratedTarget, CalibratedUnderLoad, LiveGaps
from noisewatch.surfaces.reports.calibration.report import contrast_of
from noisewatch.surfaces.reports.calibration.side_by_side import contrast_rows
from noisewatch.surfaces.tui.draw.glyphs import ASCII, UNICODE, Glyphs
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.overlay import OverlayState
from tests.surfaces.reports.calibration.calibrations import noisy, recorded, traced
from tests.surfaces.tui.framing import text_of
from tests.surfaces.tui.overlays.live import buffer_of

FOLDER = Path(__file__).parent / "goldens"
SIZES = ((60, 20), (80, 24), (120, 34), (140, 40))
_TARGET = frozenset({2, 3})

Draw = Callable[[int, int], list[Row]]


def _over(calibrated: Calibrated, in_unicode: bool = True) -> Draw:
    screen = CalibrationOverlay((2, 3))
    screen.finish(calibrated)
    return lambda width, height: screen.rows(width, height, in_unicode)


def _running() -> Draw:
    live = LiveGaps()
    lengths = [2_000 + 37 * number for number in range(200)] + [40_000, 45_000, 3_000_000]
    live.take(Progress(2.0, 5.0, {2: buffer_of(*lengths), 3: buffer_of(2_000, 2_100)}))
    screen = CalibrationOverlay((2, 3), state=OverlayState.RUNNING, live=live)
    return lambda width, height: screen.rows(width, height, in_unicode=True)


def _contrast(loaded: Calibrated, load: BusyLoad, glyphs: Glyphs = UNICODE) -> Draw:
    contrast = contrast_of(CalibratedTarget(_TARGET, None, traced(), CalibratedUnderLoad(loaded, load, frozenset())))
    assert contrast is not None
    return lambda width, height: contrast_rows(contrast, width, height, glyphs)


_LOAD = BusyLoad(frozenset({0, 1}), 2, 0.99)
DRAWN: dict[str, Draw] = {
    "traced": _over(traced()),
    "inferred": _over(recorded()),
    "inferred-ascii": _over(recorded(), in_unicode=False),
    "running": _running(),
    "under-load": _contrast(noisy(), _LOAD),
    "under-load-ascii": _contrast(noisy(), _LOAD, ASCII),
    "under-load-isolated": _contrast(traced(), _LOAD),
}


def path_of(name: str) -> Path:
    """Where the golden is kept."""
    return FOLDER / f"{name}.txt"


def draw(name: str) -> str:
    """The picture at all sizes, as text; blanks at the end of a row are left out."""
    return "".join(_at_size(name, width, height) for width, height in SIZES)


def _at_size(name: str, width: int, height: int) -> str:
    rows = [text_of(row).rstrip() for row in DRAWN[name](width, height)]
    return "\n".join([f"{f'{name} at {width}x{height} ':=<{width}}", *rows]) + "\n"


def main() -> None:
    """Writes all of them, and removes those that are no picture any more."""
    FOLDER.mkdir(exist_ok=True)
    for stale in set(FOLDER.glob("*.txt")) - set(map(path_of, DRAWN)):
        stale.unlink()
    for name in DRAWN:
        path_of(name).write_text(draw(name), encoding="utf-8")


if __name__ == "__main__":
    main()
