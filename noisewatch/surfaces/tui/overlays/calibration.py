"""The calibration in the monitor: announced, running with its histogram growing, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import NoisewatchError
from noisewatch.judgement.case import Calibrated
from noisewatch.kernel.calibration import CalibrationOptions
from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.model.calibration.figures import Calibration
from noisewatch.operations.calibrate import CalibrateOptions, LiveGaps, calibrate
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.progress import ProgressListener
from noisewatch.surfaces.reports.calibration.live_lines import live_lines
from noisewatch.surfaces.reports.calibration.text import cause_lines, conclusion_lines, cpu_lines, histogram_lines
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState, QuietListener, Show, wrapped

SECONDS = 5.0
_LEAST_CHART = 8  # rows: a heading, four for bars, and the axes


@dataclass(slots=True)
class CalibrationOverlay(Overlay):
    """A calibration, whose histogram can be seen growing."""

    live: LiveGaps = field(default_factory=LiveGaps)
    result: Calibrated | None = None
    drawn: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # by size: a chart is dear to draw

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        """The calibration, or that of the recording."""

        result = _calibrated(access, frozenset(self.target), _Listener(self, show))
        return lambda: self.finish(result)

    def finish(self, result: Calibrated | str) -> None:
        """Takes in what came of it."""
        self.state = OverlayState.OVER
        if isinstance(result, str):
            self.failure = f"Nothing was measured: {result}"
        else:
            self.result = result

    @property
    def calibration(self) -> Calibration | None:
        return self.result.calibration if self.result is not None else None

    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        """The screen's rows."""
        return self.framed("calibration of", self._lines(width, max(height - 2, 1), in_unicode), width, height)

    def _lines(self, width: int, height: int, in_unicode: bool) -> list[str]:
        if self.refusal is not None:
            return wrapped([self.refusal], width)
        if self.state == OverlayState.RUNNING:
            return live_lines(self.live, width, height, in_unicode)
        if self.result is None:
            return wrapped([self.failure] if self.failure is not None else self._announcement(), width)
        if (width, height) not in self.drawn:
            self.drawn = {(width, height): self._drawn(self.result, width, height, in_unicode)}
        return self.drawn[width, height]

    def _drawn(self, result: Calibrated, width: int, height: int, in_unicode: bool) -> list[str]:
        """The chart as low as it has to be to stand on one screenful with its axis, or else whole on the next one."""
        text = wrapped([*conclusion_lines(result), "", *cpu_lines(result.calibration), ""], width)
        room = height - len(text) % height
        if room < _LEAST_CHART:
            text, room = [*text, *([""] * room)], height
        charts = histogram_lines(result.calibration, width, in_unicode, room)
        return [*text, *charts, *cause_lines(result, width)]

    def _announcement(self) -> list[str]:
        if self.origin is not None:
            return [f"Shows the calibration that belongs to the {self.origin}, if there is one."]
        listed = format_cpu_list(self.target)
        return [
            f"For {SECONDS:g} s a loop keeps CPU {listed} busy, all of it, to measure what takes time from it.",
            "",
            "A benchmark that runs there now would be disturbed. All other CPUs are left alone; the monitor pauses.",
        ]


class _Listener(QuietListener):
    """Has the histogram grow."""

    def __init__(self, screen: CalibrationOverlay, show: Show) -> None:
        super().__init__(show)
        self._screen = screen

    def on_calibrating(self, progress: Progress) -> None:
        self._show(lambda: self._screen.live.take(progress))


def _calibrated(access: MachineAccess, cpus: CpuSet, listener: ProgressListener) -> Calibrated | str:
    """The calibration of the machine, or that of its recording; the reason where there is none."""
    options = CalibrateOptions(
        machine=MachineOptions(cpus=format_cpu_list(cpus)), calibration=CalibrationOptions(SECONDS)
    )
    try:
        return calibrate(access.opened(), options, listener).calibrated
    except NoisewatchError as error:
        return str(error)
