"""Fixes for the clocks of the target CPUs: of the checks of clock, idle states, heat and power."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from noisewatch.judgement.terms import Gravity
from noisewatch.operations.frame.frame import FindingLine
from noisewatch.surfaces.tui.draw.glyphs import Glyphs
from noisewatch.surfaces.tui.draw.text_row import Piece, Row
from noisewatch.surfaces.tui.state.screen_model import ScreenModel

# The checks of clock, idle states, heat and power. The catalogue is not imported: the first picture comes first.
CHECKS = frozenset(
    (
        *("governor-not-performance", "turbo-enabled", "frequency-window-open", "energy-preference-not-performance"),
        *("energy-bias-not-performance", "platform-profile-saves-power", "frequency-daemon-runs", "clock-capped"),
        *("clock-boosted-after-io", "uncore-frequency-moves", "deep-idle-states", "idle-cpus-spin", "throttled"),
        *("cooling-active", "processor-hot", "power-limit-lowered", "on-battery", "under-voltage"),
    )
)
_UNKNOWN = (Gravity.UNANSWERED, Gravity.OPEN)
_HELPED = (Gravity.FAILED, Gravity.WARNED)


def helpful(findings: Sequence[FindingLine]) -> list[FindingLine]:
    """Return the failed and warning checks of clock, idle states, heat and power, the gravest first."""
    found = [each for each in findings if each.id in CHECKS and each.gravity in _HELPED]
    return sorted(found, key=lambda each: _HELPED.index(each.gravity))


def help_rows(model: ScreenModel, width: int, glyphs: Glyphs) -> list[Row]:
    """Return two rows for each helpful check, its finding and its fix; without any, the checks that are unknown."""
    frame = model.frame
    if frame is None or frame.verdict is None:
        return [[("not judged yet", "faint")]]
    rows: list[Row] = []
    for each in helpful(frame.findings):
        sign: Piece = (f"{glyphs.failing} ", "grave") if each.gravity == Gravity.FAILED else ("! ", "notable")
        rows.append([sign, (each.said, "plain")])
        rows.append(
            [("    ", "plain"), (each.fix or "no command is known to fix it", "strong" if each.fix else "faint")]
        )
    unknown = [each.id for each in frame.findings if each.id in CHECKS and each.gravity in _UNKNOWN]
    if unknown and not rows:
        said = textwrap.wrap(
            f"? unknown: {', '.join(unknown)}", max(width, 10), subsequent_indent="  ", break_on_hyphens=False
        )
        return [[(line, "unknown")] for line in said]
    return rows or [[("no check of clock, idle states, heat or power fails or warns", "plain")]]
