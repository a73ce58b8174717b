"""Goldens of every screen: one file for each screen, with few and many CPUs, at two sizes.

At some other sizes and numbers of CPUs, test_goldens.py tests properties.

    python -m tests.surfaces.tui.draw.goldens

rewrites them after a change of the screens. Look at each difference (git diff) before it is committed.
"""

from __future__ import annotations

from copy import copy
from functools import partial

from noisewatch.operations.advise import Advice
from noisewatch.surfaces.drawing.glyphs import TONED, UNICODE
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.tui.app.keys import help_rows
from noisewatch.surfaces.tui.overlays.calibration import CalibrationOverlay
from noisewatch.surfaces.tui.overlays.trace import TraceOverlay
from noisewatch.surfaces.tui.screens.table import rows_of_screen
from noisewatch.surfaces.tui.state.baseline import baseline_of
from noisewatch.surfaces.tui.state.map_view import MapView, Quantity
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.surfaces.goldens import Draw, Goldens
from tests.surfaces.tui.crowd import crowded

COUNTS, OTHER_COUNTS = (16, 512), (2, 64)

_ADVICE = (
    "An interrupt of this device arrives on the CPU that its affinity names.",
    "Move it to the housekeeping CPUs:",
    "echo 0-1 > /proc/irq/205/smp_affinity_list",
)


def _screen(name: str, count: int, width: int, height: int) -> list[Row]:
    model = copy(crowded(count))
    model.go_to(name)
    return rows_of_screen(model, width, height, UNICODE)


def _map_in_half_blocks(width: int, height: int) -> list[Row]:
    model = copy(crowded(64))
    model.go_to(Screen.MAP)
    return rows_of_screen(model, width, height, TONED)


def _map_of(quantity: Quantity, width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.go_to(Screen.MAP)
    model.cursor, model.map = 45, MapView(quantity)
    return rows_of_screen(model, width, height, UNICODE)


def _filtered_culprits(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.go_to(Screen.CULPRITS)
    model.filter, model.is_typing = "!tick >100us", True
    return rows_of_screen(model, width, height, UNICODE)


def _earlier_overview(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.cursor = 45
    return rows_of_screen(model, width, height, UNICODE)


def _overview_with_baseline(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.baseline = baseline_of(model.history, 60)
    return rows_of_screen(model, width, height, UNICODE)


def _cpu_with_advice(width: int, height: int) -> list[Row]:
    model = copy(crowded(16))
    model.go_to(Screen.CPU)
    model.advice = Advice(model.listed()[0], _ADVICE, (("now", _ADVICE[-1]),))
    return rows_of_screen(model, width, height, UNICODE)


def _help(width: int, height: int) -> list[Row]:
    return help_rows(width, height)


def _calibration(width: int, height: int) -> list[Row]:
    return CalibrationOverlay.of(crowded(64).frame).rows(width, height, in_unicode=True)


def _trace(width: int, height: int) -> list[Row]:
    return TraceOverlay.of(crowded(64).frame).rows(width, height, in_unicode=True)


def _screens(counts: tuple[int, ...]) -> dict[str, Draw]:
    return {f"{name}-{count}": partial(_screen, name, count) for name in Screen for count in counts}


PICTURES: dict[str, Draw] = {
    **_screens(COUNTS),
    "map-64-half-blocks": _map_in_half_blocks,
    **{
        f"map-16-{quantity}": partial(_map_of, quantity)
        for quantity in (Quantity.INTERRUPTS, Quantity.CLOCK, Quantity.HEAT)
    },
    "overview-16-stepped-back": _earlier_overview,
    "overview-16-baseline": _overview_with_baseline,
    "cpu-16-advised": _cpu_with_advice,
    "culprits-16-filtered": _filtered_culprits,
    "help": _help,
    "calibration-announced": _calibration,
    "trace-announced": _trace,
}
GOLDENS = Goldens("tests.surfaces.tui.draw.goldens", PICTURES, ((80, 24), (140, 40)))
ALL = Goldens(GOLDENS.module, PICTURES | _screens(OTHER_COUNTS), (*GOLDENS.sizes, (120, 34), (300, 80)))
# Allowed blank rows, by screen: all below the end of a text, a fifth of the screen below lists, and some between parts.
ENDS_EARLY = frozenset({"help", "calibration", "trace"})
HAS_LISTS = frozenset({"overview", "map", "cpu", "events", "culprits"})
BLANK_ROWS_BETWEEN_PARTS = {
    "preflight": 1,
    "map": 1,
    "calibration": 1,
    "trace": 1,
    "cpu": 1,
}

if __name__ == "__main__":
    GOLDENS.write()
