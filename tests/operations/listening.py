"""A listener for the progress of operations and of a series of repetitions, for tests."""

from __future__ import annotations

from noisewatch.machine.spinning.calibration.run import Progress
from noisewatch.operations.run.judging import JudgedRepetition
from noisewatch.operations.run.series import RunBeginning


class SilentListener:
    """A listener that keeps remarks and prints nothing."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None: ...

    def on_calibrating(self, progress: Progress) -> None: ...

    def on_waiting(self, reasons: str, left_s: float) -> None: ...

    def on_remark(self, text: str) -> None:
        self.remarks.append(text)

    def on_done(self) -> None: ...

    def on_begin(self, beginning: RunBeginning) -> None: ...

    def on_repetition(self, judged: JudgedRepetition) -> None: ...
