"""The machine's history in the monitor, read once when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from noisewatch.machine.history_file import usual_path
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.history.view import HistoryView, read_history
from noisewatch.records import dataclass
from noisewatch.surfaces.reports.history.json import json_of_history
from noisewatch.surfaces.reports.history.text import history_lines, markdown_of_history
from noisewatch.surfaces.tui.draw.text_row import Row
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, OverlayState, Show, result_or_reason

_ELSEWHERE = "Only this host keeps a history: a recording, or a copy, has none to show."


@dataclass(slots=True)
class HistoryOverlay(Overlay):
    """The moves of speed and noise of the target CPUs with their changes; of other CPUs if the targets have none."""

    pauses_sampler: ClassVar[bool] = False
    names_target: ClassVar[bool] = False
    view: HistoryView | None = None

    @classmethod
    def of(cls, frame: Frame | None) -> Self:
        """Return the overlay for the frame's target CPUs, of which there may be none."""
        return cls(frame.target, origin=frame.origin) if frame is not None else cls(())

    @property
    def costs_nothing(self) -> bool:
        return True

    def measure(self, access: MachineAccess, show: Show) -> Callable[[], None]:
        """Read the history from the file of the options, or the usual one; return the function that stores it."""
        if self.origin is not None:
            return lambda: self.finish(_ELSEWHERE)

        def read() -> HistoryView:
            named = access.preflight_options().history if access.preflight_options is not None else None
            return read_history(named or usual_path(), frozenset(self.target), or_others=True)

        result = result_or_reason(read)
        return lambda: self.finish(result)

    def finish(self, result: HistoryView | str) -> None:
        """Store the history, or the reason of the failure."""
        self.state = OverlayState.OVER
        if isinstance(result, str):
            self.failure = result
        else:
            self.view = result

    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        return self.framed("history of this machine", self._lines(width, in_unicode), width, height, "", in_unicode)

    def _lines(self, width: int, in_unicode: bool) -> list[str]:
        if self.failure is not None or self.view is None:
            return self.message(width)
        return list(history_lines(self.view, width, in_unicode, is_verbose=True))

    def announcement(self) -> list[str]:
        return ["Reads the history of this machine …"]

    def reports(self) -> dict[str, str]:
        """Return the history as files, by suffix."""
        if self.view is None:
            return {}
        return {"json": json_of_history(self.view), "md": markdown_of_history(self.view, is_verbose=True)}
