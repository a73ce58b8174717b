"""Tracing of the target CPUs in the monitor: an announcement, then windows one after another until it is closed."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from noisewatch.cpus import format_cpu_list
from noisewatch.model.calibration.gap_causes import Interruption
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.trace import KeptTrace, TraceOptions, TraceRun, follow
from noisewatch.surfaces.drawing.tables import align
from noisewatch.surfaces.drawing.text_row import Row
from noisewatch.surfaces.reports.parts.culprits import parts_in_words
from noisewatch.surfaces.reports.trace.text import text_of_followed
from noisewatch.surfaces.tui.overlays.overlay import (
    MachineAccess,
    Overlay,
    OverlayState,
    QuietListener,
    Show,
    wrap_lines,
)
from noisewatch.units import describe_ns

_WINDOW_S = 5.0
_KEPT_NS = 60_000_000_000
_MOST_KEPT = 20


@dataclass(frozen=True, slots=True)
class _Remembered:
    """An interruption of a CPU, at a CLOCK_MONOTONIC time."""

    at_ns: int
    cpu: int
    interruption: Interruption


@dataclass(slots=True)
class TraceOverlay(Overlay[TraceRun]):
    """The last traced window, while the next is traced, and the longest interruptions of the last minute."""

    title = "trace of"
    done_s: float = 0.0
    count: int = 0
    past: list[_Remembered] = field(default_factory=list)
    kept: KeptTrace = field(default_factory=KeptTrace)

    pauses_sampler = False

    def measure_once(self, access: MachineAccess, show: Show) -> TraceRun | str:
        """Trace one window."""
        options = TraceOptions(machine=MachineOptions(cpus=format_cpu_list(self.target)), seconds=_WINDOW_S)
        return follow(access.open(), options, _Listener(self, show), self.kept)

    def end(self) -> None:
        self.kept.close()

    def finish(self, result: TraceRun | str) -> None:
        """Store a traced window; a recording has only one, and a failure ends tracing."""
        self.done_s, self.count = 0.0, self.count + 1
        if isinstance(result, str):
            self.state, self.failure = OverlayState.OVER, f"No trace: {result}"
        else:
            self.result = result
            self._remember(result)
            self.state = OverlayState.OVER if self.origin is not None else OverlayState.RUNNING

    def _remember(self, followed: TraceRun) -> None:
        """Keep the longest interruptions of the last minute, and drop older ones."""
        if followed.trace is None:
            return
        begin_ns = followed.trace.begin_ns
        for cpu in followed.target:
            interruptions = followed.interruptions(cpu, _MOST_KEPT)
            self.past += [
                _Remembered(begin_ns + interruption.start_ns, cpu, interruption) for interruption in interruptions
            ]
        end_ns = begin_ns + followed.trace.length_ns
        recent = (remembered for remembered in self.past if end_ns - remembered.at_ns <= _KEPT_NS)
        self.past = heapq.nlargest(
            _MOST_KEPT, recent, key=lambda remembered: (remembered.interruption.length_ns, remembered.at_ns)
        )

    @property
    def doing(self) -> str:
        is_tracing = self.state == OverlayState.RUNNING and self.origin is None
        return f"window {self.count + 1}: {self.done_s:.0f} of {_WINDOW_S:g} s" if is_tracing else ""

    def lines(self, width: int, height: int, in_unicode: bool) -> Sequence[str | Row]:
        if self.result is not None and self.failure is None:
            return [*text_of_followed(self.result, width).splitlines(), *self._past_lines()]
        if self.state == OverlayState.RUNNING and self.origin is None:
            return wrap_lines([f"tracing: {self.done_s:.1f} of {_WINDOW_S:g} s"], width)
        return self.message(width)

    def _past_lines(self) -> list[str]:
        """Return the longest interruptions, if more than the shown window was traced."""
        trace = self.result.trace if self.result is not None else None
        if trace is None or self.count < 2:
            return []
        end_ns = trace.begin_ns + trace.length_ns
        rows = [
            [
                "",
                f"{(end_ns - remembered.at_ns) / 1e9:.1f} s",
                str(remembered.cpu),
                describe_ns(remembered.interruption.length_ns),
                who,
            ]
            for remembered in self.past
            if (who := parts_in_words(remembered.interruption.parts))
        ]
        table = align([["", "ago", "CPU", "length", "who"], *rows]).splitlines() if rows else []
        return ["", "the longest interruptions of the last minute", *table]

    def announcement(self) -> list[str]:
        if self.origin is not None:
            return [f"Looks for a trace in the {self.origin} …"]
        listed = format_cpu_list(self.target)
        return [
            f"Traces CPU {listed} in {_WINDOW_S:g} s windows while your benchmark runs.",
            "",
            "Tracing makes each interruption there about 1 µs longer. Without root or tracefs, counters are used.",
        ]


class _Listener(QuietListener[TraceOverlay]):
    """A listener that counts the seconds of a window."""

    def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
        is_news = int(done_s) != int(self._overlay.done_s)
        self._show(lambda: setattr(self._overlay, "done_s", done_s) if is_news else None)
