"""How every screen looked when somebody last looked at it: a file for each screen and number of CPUs.

    python -m tests.surfaces.tui.draw.goldens

writes them anew after a change of the screens. Look at each difference (git diff) before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path

from noisewatch.operations.advise import Advice
from noisewatch.surfaces.tui.app.keys import KEYS_IN_HELP, help_rows
from noisewatch.surfaces.tui.draw.glyphs import UNICODE
from noisewatch.surfaces.tui.draw.line_view import strip_of
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.trace import TraceOverlay
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.baseline import baseline_of
from noisewatch.surfaces.tui.state.screen_model import SCREENS, Screen
from tests.surfaces.tui.crowd import crowded

FOLDER = Path(__file__).parent / "goldens"
SIZES = ((40, 10), (80, 24), (140, 40), (200, 60))
COUNTS = (4, 16, 64, 512)

_ADVICE = (
    "An interrupt of this device arrives on the CPU that its affinity names.",
    "Move it to the housekeeping CPUs:",
    "echo 0-1 > /proc/irq/205/smp_affinity_list",
)

Draw = Callable[[int, int], list[Row]]


def _screen(name: str, count: int, width: int, height: int) -> list[Row]:
    model = copy(crowded(count))
    model.go_to(name)
    return rows_of_screen(model, width, height, UNICODE)


def _filtered(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.go_to(Screen.CULPRITS)
    model.filter, model.is_typing = "!tick >100us", True
    return rows_of_screen(model, width, height, UNICODE)


def _stepped_back(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.cursor = 45
    return rows_of_screen(model, width, height, UNICODE)


def _compared(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.baseline = baseline_of(model.history, 60)
    return rows_of_screen(model, width, height, UNICODE)


def _advised(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.go_to(Screen.CPU)
    model.advice = Advice(model.listed()[0], _ADVICE)
    return rows_of_screen(model, width, height, UNICODE)


def _help(width: int, height: int) -> list[Row]:
    return help_rows(KEYS_IN_HELP, width, height)


def _calibration(width: int, height: int) -> list[Row]:
    return CalibrationOverlay.of(crowded(64).frame).rows(width, height, in_unicode=True)


def _trace(width: int, height: int) -> list[Row]:
    return TraceOverlay.of(crowded(64).frame).rows(width, height, in_unicode=True)


DRAWN: dict[str, Draw] = {
    **{f"{name}-{count}": partial(_screen, name, count) for name in SCREENS for count in COUNTS},
    "overview-16-stepped-back": _stepped_back,
    "overview-16-baseline": _compared,
    "cpu-16-advised": _advised,
    "culprits-16-filtered": _filtered,
    "help": _help,
    "calibration-announced": _calibration,
    "trace-announced": _trace,
}


def path_of(name: str) -> Path:
    """Where the golden is kept."""
    return FOLDER / f"{name}.txt"


def draw(name: str) -> str:
    """The screen at all sizes, as text; blanks at the end of a row are left out."""
    return "".join(_at_size(name, width, height) for width, height in SIZES)


def _at_size(name: str, width: int, height: int) -> str:
    rows = [strip_of(row, width).text.rstrip() for row in DRAWN[name](width, height)]
    return "\n".join([f"{f'{name} at {width}x{height} ':=<{width}}", *rows]) + "\n"


def main() -> None:
    """Writes all of them, and removes those that are no screen any more."""
    FOLDER.mkdir(exist_ok=True)
    for stale in set(FOLDER.glob("*.txt")) - set(map(path_of, DRAWN)):
        stale.unlink()
    for name in DRAWN:
        path_of(name).write_text(draw(name), encoding="utf-8")


if __name__ == "__main__":
    main()
