"""The machine's history in the monitor, read once when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from noisewatch.machine.history_file import usual_path
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.history import HistoryView, read_history
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.reports.history.json import json_of_history
from noisewatch.surfaces.reports.history.text import history_lines, markdown_of_history
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess, Overlay, Show

_ELSEWHERE = "A recording or a copy has no history: only this host keeps one."


@dataclass(slots=True)
class HistoryOverlay(Overlay[HistoryView]):
    """The history of the target CPUs' speed and noise, or of other CPUs if the target CPUs have none."""

    title: ClassVar[str] = "history of this machine"
    pauses_sampler: ClassVar[bool] = False
    names_target: ClassVar[bool] = False

    @classmethod
    def of(cls, frame: Frame | None) -> Self:
        """Return the overlay for the frame's target CPUs; without a target CPU it shows other CPUs' history."""
        return cls(frame.target, origin=frame.origin) if frame is not None else cls(())

    @property
    def costs_nothing(self) -> bool:
        return True

    def measure_once(self, access: MachineAccess, show: Show) -> HistoryView | str:
        """Read the history from the file in the options, or else from the usual file."""
        if self.origin is not None:
            return _ELSEWHERE
        named = access.preflight_options().history if access.preflight_options is not None else None
        return read_history(named or usual_path(), frozenset(self.target), or_others=True)

    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        if self.failure is not None or self.result is None:
            return self.message(width)
        return list(history_lines(self.result, width, in_unicode, is_verbose=True))

    def announcement(self) -> list[str]:
        return ["Reads the history of this machine …"]

    def reports(self) -> dict[str, str]:
        """Return the history as files, by suffix."""
        if self.result is None:
            return {}
        return {"json": json_of_history(self.result), "md": markdown_of_history(self.result, is_verbose=True)}
