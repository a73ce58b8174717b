"""What a key asks for in the monitor: announced first, then running, then over; a title, lines to scroll, and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from noisewatch.sources.cpulist import name_cpus
from noisewatch.surfaces.frame import Frame
from noisewatch.surfaces.tui.text_row import Row

ANNOUNCED, RUNNING, OVER = "announced", "running", "over"
_NO_TARGET = "There is no target CPU."


@dataclass(slots=True)
class AskedScreen:
    """Between the key that asks for it and the one that goes back."""

    target: tuple[int, ...]
    refusal: str | None = None
    source: str | None = None  # what is looked at instead of this host
    state: str = ANNOUNCED
    failure: str | None = None
    offset: int = 0

    @classmethod
    def of(cls, frame: Frame | None) -> Self:
        """For the CPUs that the frame is about."""
        if frame is None or not frame.target:
            return cls((), _NO_TARGET)
        return cls(frame.target, source=frame.source)

    @property
    def can_start(self) -> bool:
        return self.state == ANNOUNCED and self.refusal is None

    def framed(self, title: str, lines: list[str], keys: str, width: int, height: int) -> list[Row]:
        """The lines, as far as they are scrolled, between a title and the keys."""
        room = max(height - 2, 1)
        self.offset = max(min(self.offset, len(lines) - (height - 2)), 0)
        filled: list[Row] = [[(line, "plain")] for line in lines[self.offset : self.offset + room]]
        filled += [[] for _ in range(height - 2 - len(filled))]
        first: Row = [(f"{title} {name_cpus(self.target)}"[:width], "title")]
        start = "enter starts   " if self.can_start else ""
        return [first, *filled, [((start + keys)[:width], "faint")]][:height]
