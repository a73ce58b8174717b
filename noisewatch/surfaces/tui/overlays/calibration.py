"""The calibration in the monitor: announced, running with its histogram growing, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.errors import NoisewatchError
from noisewatch.judgement.case import Calibrated, calibrated_with
from noisewatch.judgement.noise_floor import Budget
from noisewatch.kernel.calibration import CalibrationWish
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.replay import Recording
from noisewatch.machine.spinning.calibration.run import Progress, Watch
from noisewatch.model.calibration.figures import Calibration
from noisewatch.operations.calibrate import calibrate_cpus
from noisewatch.operations.live_gaps import LiveGaps
from noisewatch.surfaces.reports.calibration.live_lines import live_lines
from noisewatch.surfaces.reports.calibration.text import cause_lines, conclusion_lines, cpu_lines, histogram_lines
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.overlay import OVER, RUNNING, Overlay, Show, Sources, wrapped

SECONDS = 5.0
_LEAST_CHART = 8  # rows: a heading, four for bars, and the axes


@dataclass(slots=True)
class CalibrationScreen(Overlay):
    """A calibration, whose histogram can be seen growing."""

    live: LiveGaps = field(default_factory=LiveGaps)
    result: Calibrated | None = None
    drawn: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # by size: a chart is dear to draw

    def measure(self, sources: Sources, show: Show) -> Callable[[], None]:
        """The calibration, or that of the recording."""

        def watch(progress: Progress) -> None:
            show(lambda: self.live.take(progress))

        result = calibrate_machine(sources.open_machine, frozenset(self.target), watch)
        return lambda: self.finish(result)

    def finish(self, result: Calibrated | str) -> None:
        """Takes in what came of it."""
        self.state = OVER
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
        if self.state == RUNNING:
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
        if self.source is not None:
            return [f"Shows the calibration that belongs to the {self.source}, if there is one."]
        listed = format_cpu_list(self.target)
        return [
            f"For {SECONDS:g} s a loop keeps CPU {listed} busy, all of it, to measure what takes time from it.",
            "",
            "A benchmark that runs there now would be disturbed. All other CPUs are left alone; the monitor pauses.",
        ]


def calibrate_machine(open_machine: Callable[[], Machine] | None, cpus: CpuSet, watch: Watch) -> Calibrated | str:
    """The calibration of the machine, or that of its recording; the reason where there is none."""
    if open_machine is None:
        return "there is no machine"
    try:
        machine = open_machine()
        if isinstance(machine, Recording):
            machine.go_to_aside()
        asked, task_reader = SnapshotOptions(cpus), TaskReader()
        snapshot = read_snapshot(machine, asked, task_reader)
        measured = calibrate_cpus(
            machine,
            snapshot,
            cpus,
            CalibrationWish(SECONDS),
            watch,
            lambda: read_snapshot(machine, asked, task_reader, snapshot),
        )
        if isinstance(measured, str):
            return measured
        return calibrated_with(measured.samples, Budget(), cpus, measured.meanwhile)
    except NoisewatchError as error:
        return str(error)
