"""A calibration in the monitor: its announcement, a histogram that grows while it runs, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from noisewatch.cpus import format_cpu_list
from noisewatch.documents.document import SCHEMA, to_json
from noisewatch.judgement.case import Calibrated
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.figures import Calibration
from noisewatch.operations.calibrate import CalibratedTarget, CalibrateOptions, LiveGaps, calibrate
from noisewatch.operations.machines import MachineOptions
from noisewatch.surfaces.drawing.glyphs import ASCII, UNICODE
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.reports.calibration.json import describe_calibration, describe_noise
from noisewatch.surfaces.reports.calibration.picture import CalibrationPicture, live_rows, picture_rows
from noisewatch.surfaces.reports.calibration.report import WIDTH, detail_lines, opening_rows, sections_of
from noisewatch.surfaces.reports.parts.sections import markdown_of_sections
from noisewatch.surfaces.tui.overlays.overlay import (
    DISTURBS,
    MachineAccess,
    Overlay,
    OverlayState,
    QuietListener,
    Show,
    wrap_lines,
)

SECONDS = 5.0
_LEAST_ROWS = 18  # least rows of the picture; if fewer were left, the detectable change is shown below it
_MOST_ROWS = 48  # most rows of the picture; on a taller screen, the details follow on the same page


@dataclass(slots=True)
class CalibrationOverlay(Overlay[Calibrated]):
    """A calibration with a live histogram."""

    title = "calibration of"
    no_result = "No calibration: "
    live: LiveGaps = field(default_factory=LiveGaps)
    drawn: dict[tuple[int, int], Sequence[str | Row]] = field(default_factory=dict)  # by size, because drawing is slow

    def measure_once(self, access: MachineAccess, show: Show) -> Calibrated | str:
        """Calibrate, or read the recording's calibration."""
        options = CalibrateOptions(
            machine=MachineOptions(cpus=format_cpu_list(self.target)), calibration=CalibrationOptions(SECONDS)
        )
        return calibrate(access.open(), options, _Listener(self, show)).calibrated

    @property
    def calibration(self) -> Calibration | None:
        return self.result.calibration if self.result is not None else None

    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        glyphs = UNICODE if in_unicode else ASCII
        if self.state == OverlayState.RUNNING and self.origin is None:
            return live_rows(self.live, width, height, glyphs)
        if self.result is None:
            return self.message(width)
        if (width, height) not in self.drawn:
            opening, max_rows = opening_rows(self.result, width, glyphs), min(height, _MOST_ROWS)
            is_above = max_rows - len(opening) >= _LEAST_ROWS
            picture = CalibrationPicture.of(self.result)
            drawn = picture_rows(picture, width, max_rows - len(opening) if is_above else max_rows, glyphs)
            first = [*opening, *drawn] if is_above else drawn
            has_room = height >= _MOST_ROWS  # otherwise the details begin on the next page
            below: list[Row] = [[] for _ in range(1 if has_room else height - len(first))]
            below += [] if is_above else [*opening, []]
            self.drawn = {(width, height): [*first, *below, *wrap_lines(detail_lines(self.result, width), width)]}
        return self.drawn[width, height]

    def reports(self) -> dict[str, str]:
        """Return the figures and the picture as files, by suffix."""
        if self.result is None:
            return {}
        figures = {
            "schema": SCHEMA,
            "target": sorted(self.target),
            "calibration": describe_calibration(self.result),
            **describe_noise(self.result),
        }
        sections = sections_of(CalibratedTarget(frozenset(self.target), None, self.result), WIDTH, UNICODE)
        return {"json": to_json(figures, indent=1), "md": markdown_of_sections(sections)}

    def announcement(self) -> list[str]:
        if self.origin is not None:
            return [f"Looks for a calibration in the {self.origin} …"]
        listed = format_cpu_list(self.target)
        return [
            f"Spins on CPU {listed} for {SECONDS:g} s to measure what takes time from it.",
            "",
            DISTURBS,
        ]


class _Listener(QuietListener[CalibrationOverlay]):
    """A listener that adds the calibration's progress to the histogram."""

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: self._overlay.live.take(progress))
