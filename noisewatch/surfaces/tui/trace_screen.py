"""Following the target CPUs in the monitor: announced, then one stretch after the other until it is left."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from noisewatch.errors import NoisewatchError
from noisewatch.machine import Machine
from noisewatch.sources.cpulist import CpuSet, format_cpu_list
from noisewatch.sources.snapshot import Wish
from noisewatch.surfaces.following import Followed, Watch, follow
from noisewatch.surfaces.reports.trace_text import text_of_followed
from noisewatch.surfaces.tui.asked_screen import OVER, RUNNING, AskedScreen
from noisewatch.surfaces.tui.text_row import Row

STRETCH_S = 5.0


@dataclass(slots=True)
class TraceScreen(AskedScreen):
    """The last stretch that is over, while the next one runs."""

    done_s: float = 0.0
    count: int = 0
    followed: Followed | None = None

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
        keys = "esc goes back"
        if self.state == RUNNING:
            keys = f"esc stops   stretch {self.count + 1}: {self.done_s:.0f} of {STRETCH_S:g} s"
        return self.framed("following", [line[:width] for line in self._lines(width)], keys, width, height)

    def _lines(self, width: int) -> list[str]:
        if self.followed is not None and self.failure is None:
            return text_of_followed(self.followed, width).splitlines()
        said = [self.refusal or self.failure or ""]
        if said == [""]:
            running = [f"following: {self.done_s:.1f} of {STRETCH_S:g} s"]
            said = running if self.state == RUNNING else self._announcement()
        return [part for line in said for part in textwrap.wrap(line, max(width, 10)) or [""]]

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


def follow_machine(open_machine: Callable[[], Machine] | None, cpus: CpuSet, watch: Watch) -> Followed | str:
    """One stretch of the machine, or what was followed in its recording; the reason where there is none."""
    if open_machine is None:
        return "there is no machine"
    try:
        return follow(open_machine(), Wish(cpus), STRETCH_S, watch)
    except NoisewatchError as error:
        return str(error)
