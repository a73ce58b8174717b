"""Who is told of each repetition as it is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from noisewatch.operations.progress import ProgressListener

if TYPE_CHECKING:
    from noisewatch.operations.run.series import JudgedRepetition


class RunListener(ProgressListener, Protocol):
    """A progress listener of a series."""

    def on_repetition(self, judged: JudgedRepetition) -> None:
        """One more repetition is over, and known for what it was."""
