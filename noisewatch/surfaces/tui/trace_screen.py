"""Following the target CPUs in the monitor: announced, then one stretch after the other until it is left."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from noisewatch.errors import NoisewatchError
from noisewatch.machine import Machine
from noisewatch.sources.cpulist import CpuSet, format_cpu_list, name_cpus
from noisewatch.sources.snapshot import Wish
from noisewatch.surfaces.following import Followed, Watch, follow
from noisewatch.surfaces.frame import Frame
from noisewatch.surfaces.reports.trace_text import text_of_followed
from noisewatch.surfaces.tui.calibration_screen import ANNOUNCED, OVER, RUNNING
from noisewatch.surfaces.tui.rows import Row

STRETCH_S = 5.0

_NO_TARGET = "There is no target CPU to follow."


@dataclass(slots=True)
class TraceScreen:
    """What is shown between the key that asks for it and the one that goes back: the last stretch that is over."""

    target: tuple[int, ...]
    refusal: str | None = None
    source: str | None = None  # what is looked at instead of this host
    state: str = ANNOUNCED
    done_s: float = 0.0
    count: int = 0
    followed: Followed | None = None
    failure: str | None = None
    offset: int = 0

    @classmethod
    def of(cls, frame: Frame | None) -> TraceScreen:
        """For the CPUs that the frame is about."""
        if frame is None or not frame.target:
            return cls((), _NO_TARGET)
        return cls(frame.target, source=frame.source)

    @property
    def can_start(self) -> bool:
        return self.state == ANNOUNCED and self.refusal is None

    def take(self, result: Followed | str) -> None:
        """A stretch is over; of a recording there is but one, and after a failure no other."""
        self.done_s, self.count = 0.0, self.count + 1
        if isinstance(result, str):
            self.state, self.failure = OVER, f"Nothing could be followed: {result}"
        else:
            self.followed = result
            self.state = OVER if self.source is not None else RUNNING

    def rows(self, width: int, height: int, in_unicode: bool) -> list[Row]:
        """The screen's rows."""
        room = max(height - 2, 1)
        lines = [line for text in self._lines(width) for line in textwrap.wrap(text, max(width, 10)) or [""]]
        if self.followed is not None and self.failure is None:
            lines = [line[:width] for line in self._lines(width)]
        self.offset = max(min(self.offset, len(lines) - room), 0)
        shown = lines[self.offset : self.offset + room]
        title: Row = [(f"following {name_cpus(self.target)}"[:width], "title")]
        filled: list[Row] = [[(line, "plain")] for line in shown]
        filled += [[] for _ in range(height - 2 - len(filled))]
        return [title, *filled, [(self._keys()[:width], "faint")]][:height]

    def _lines(self, width: int) -> list[str]:
        if self.refusal is not None or self.failure is not None:
            return [self.refusal or self.failure or ""]
        if self.followed is not None:
            return text_of_followed(self.followed, width).splitlines()
        return [f"following: {self.done_s:.1f} of {STRETCH_S:g} s"] if self.state == RUNNING else self._announcement()

    def _announcement(self) -> list[str]:
        if self.source is not None:
            return [f"Shows what was followed in the {self.source}, if anything was."]
        listed = format_cpu_list(self.target)
        return [
            f"Follows CPU {listed} by the kernel's trace, {STRETCH_S:g} s and then again, while your benchmark runs.",
            "",
            "Each interruption there takes about a microsecond longer meanwhile. Without root, or without tracefs, the "
            "kernel's counters have to do.",
        ]

    def _keys(self) -> str:
        if self.state == RUNNING:
            return f"esc stops   stretch {self.count + 1}: {self.done_s:.0f} of {STRETCH_S:g} s"
        return f"{'enter starts   ' if self.can_start else ''}esc goes back"


def follow_machine(open_machine: Callable[[], Machine] | None, cpus: CpuSet, watch: Watch) -> Followed | str:
    """One stretch of the machine, or what was followed in its recording; the reason where there is none."""
    if open_machine is None:
        return "there is no machine"
    try:
        return follow(open_machine(), Wish(cpus), STRETCH_S, watch)
    except NoisewatchError as error:
        return str(error)
