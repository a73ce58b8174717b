"""A listener for the progress of operations, for tests."""

from __future__ import annotations

from noisewatch.machine.spinning.calibration.run import Progress


class SilentListener:
    """Keeps the remarks, and says nothing."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None: ...

    def on_calibrating(self, progress: Progress) -> None: ...

    def on_waiting(self, reasons: str, left_s: float) -> None: ...

    def on_remark(self, text: str) -> None:
        self.remarks.append(text)

    def on_done(self) -> None: ...
