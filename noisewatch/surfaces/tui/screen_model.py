"""What the screen shows: the newest frame, the history of each CPU, and how the user wants to see it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from noisewatch.surfaces.frame import HOUSEKEEPING, TARGET, CpuLine, CulpritLine, Frame

HISTORY_LENGTH = 400  # as wide as a terminal gets
SORTS = ("cost", "rate", "cpu")


@dataclass(slots=True)
class ScreenModel:
    """The only state of the monitor. Frozen, it keeps collecting and shows the frame that it was frozen at."""

    frame: Frame | None = None
    newest: Frame | None = None
    is_frozen: bool = False
    shows_all_cpus: bool = False
    sort: str = SORTS[0]
    offset: int = 0
    interval_count: int = 0
    disturbed_count: int = 0
    own_cpu_share: float | None = None
    trouble: str | None = None
    history_by_cpu: dict[int, deque[float | None]] = field(default_factory=dict)
    _own_cpu: tuple[float, float] | None = None

    def add(self, frame: Frame) -> None:
        """Takes in the next frame; figures that are not known yet leave no mark in the history."""
        self.newest = frame
        if frame.seconds > 0:
            self.interval_count += 1
            self.disturbed_count += frame.verdict == "unstable"
            for line in frame.cpus:
                history = self.history_by_cpu.setdefault(line.cpu, deque(maxlen=HISTORY_LENGTH))
                history.append(line.stolen_ns_per_s)
        if not self.is_frozen:
            self.frame = frame

    def measure_own_cost(self, screen_cpu_s: float, wall_s: float) -> None:
        """Our share of one CPU since the last call: this process and the sampler's."""
        sampler_cpu_s = self.newest.sampler_cpu_s if self.newest is not None else None
        if sampler_cpu_s is None:
            return
        used_s = screen_cpu_s + sampler_cpu_s
        if self._own_cpu is not None and wall_s > self._own_cpu[1]:
            self.own_cpu_share = (used_s - self._own_cpu[0]) / (wall_s - self._own_cpu[1])
        self._own_cpu = (used_s, wall_s)

    def toggle_freeze(self) -> None:
        self.is_frozen = not self.is_frozen
        if not self.is_frozen:
            self.frame = self.newest

    def next_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]

    def frozen_for_s(self) -> float:
        """How far the picture lies behind."""
        if self.frame is None or self.newest is None:
            return 0.0
        return (self.newest.taken_at_ns - self.frame.taken_at_ns) / 1e9


def sorted_cpus(model: ScreenModel, room: int) -> list[CpuLine]:
    """The CPUs in their own order where all find room; else target CPUs first, the most disturbed on top."""
    if model.frame is None:
        return []
    lines = list(model.frame.cpus)
    if len(lines) <= room or model.sort == "cpu":
        return lines

    def weight(line: CpuLine) -> float:
        return (line.interrupts_per_s if model.sort == "rate" else line.stolen_ns_per_s) or 0

    return sorted(lines, key=lambda line: (line.role != TARGET, -weight(line), line.cpu))


def sorted_culprits(model: ScreenModel) -> list[CulpritLine]:
    """Who disturbed the target CPUs (or all, if asked), as sorted by the user."""
    if model.frame is None:
        return []
    shown = [line for line in model.frame.culprits if model.shows_all_cpus or line.role != HOUSEKEEPING]
    if model.sort == "cpu":
        return sorted(shown, key=lambda line: (line.cpu, -line.stolen_ns_per_s))
    if model.sort == "rate":
        return sorted(shown, key=lambda line: -(line.rate_per_s or 0))
    return sorted(shown, key=lambda line: -line.stolen_ns_per_s)


def still(frame: Frame) -> ScreenModel:
    """A model that shows one frame, for a picture without a terminal."""
    model = ScreenModel()
    model.add(replace(frame, is_last=True))
    return model
