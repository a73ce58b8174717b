"""Listeners to an operation's progress: the last lines of a terminal, or an overlay of the monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress


class ProgressListener(Protocol):
    """A listener to progress, called in the measuring thread.

    Each method except on_done may end the operation by raising CannotMeasure.
    """

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        """Show that `done_s` of `total_s` seconds have passed; `doing` names the work, such as `sampling`."""

    def on_calibrating(self, progress: Progress) -> None:
        """Show the microbenchmark's progress; its buffers are live."""

    def on_waiting(self, reasons: str, left_s: float) -> None:
        """Show why the machine is not stable yet, and the time left to wait."""

    def on_remark(self, text: str) -> None:
        """Show a remark at once; the report may repeat it."""

    def on_done(self) -> None:
        """Remove the drawn progress because one part of the work is done."""
