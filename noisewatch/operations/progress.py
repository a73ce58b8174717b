"""Who is told how far an operation is: a terminal's last lines, or an overlay of the monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from noisewatch.machine.spinning.calibration.run import Progress


class ProgressListener(Protocol):
    """Is told in the thread that measures; each method but on_done may raise CannotMeasure to end the operation."""

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        """So much of the sample, the trace or the recording is over."""

    def on_calibrating(self, progress: Progress) -> None:
        """So much of the microbenchmark is over; its buffers are live."""

    def on_waiting(self, reasons: str, left_s: float) -> None:
        """The machine is not stable yet: who or which check keeps it from that, and the time left to wait."""

    def on_remark(self, text: str) -> None:
        """Something that the report does not tell."""

    def on_done(self) -> None:
        """A part is over; what was drawn may go."""
