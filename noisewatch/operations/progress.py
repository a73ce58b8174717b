"""Who watches an examination of the machine: a terminal's last lines, or a screen of the monitor."""

from __future__ import annotations

from typing import Protocol

from noisewatch.machine.spinning.calibration.run import Progress


class ProgressListener(Protocol):
    """Is told how far it is; may raise CannotMeasure to end it."""

    def samples(self, doing: str, done_s: float, total_s: float) -> None:
        """So much of the sample is over."""

    def calibrates(self, progress: Progress) -> None:
        """So much of the microbenchmark is."""

    def remarks(self, text: str) -> None:
        """Something that the report does not tell."""

    def rests(self) -> None:
        """A part is over; what was drawn may go."""
