"""What the screen shows: the newest frame, the history of each CPU, and how the user wants to see it."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field

from noisewatch.surfaces.frame import HOUSEKEEPING, TARGET, CpuLine, CulpritLine, Frame
from noisewatch.surfaces.tui.glyphs import GRAVE_NS

HISTORY_LENGTH = 400  # as wide as a terminal gets
SORTS = ("cost", "rate", "cpu")


@dataclass(slots=True)
class Picture:
    """The newest frame and what led to it. All histories are equally long: one place is one interval."""

    frame: Frame | None = None
    interval_count: int = 0
    disturbed_count: int = 0
    own_cpu_share: float | None = None
    history_by_cpu: dict[int, deque[float | None]] = field(default_factory=dict)

    def add(self, frame: Frame) -> None:
        """Takes in the next frame; the first look has no rates and leaves no mark in the history."""
        self.frame = frame
        if frame.seconds <= 0:
            return
        lost_by_cpu = {line.cpu: line.stolen_ns_per_s for line in frame.cpus}
        for cpu in lost_by_cpu.keys() - self.history_by_cpu.keys():
            self.history_by_cpu[cpu] = deque([None] * min(self.interval_count, HISTORY_LENGTH), maxlen=HISTORY_LENGTH)
        for cpu, history in self.history_by_cpu.items():
            history.append(lost_by_cpu.get(cpu))
        self.interval_count += 1
        self.disturbed_count += any(
            line.role == TARGET and (line.stolen_ns_per_s or 0) >= GRAVE_NS for line in frame.cpus
        )


@dataclass(slots=True)
class ScreenModel:
    """The only state of the monitor. Frozen, it shows the picture that it was frozen at, and goes on collecting."""

    live: Picture = field(default_factory=Picture)
    frozen: Picture | None = None
    shows_all_cpus: bool = False
    sort: str = SORTS[0]
    offset: int = 0
    trouble: str | None = None
    _own_cpu: tuple[float, float] | None = None

    @property
    def shown(self) -> Picture:
        return self.frozen or self.live

    @property
    def frame(self) -> Frame | None:
        return self.shown.frame

    @property
    def interval_count(self) -> int:
        return self.live.interval_count

    @property
    def history_by_cpu(self) -> dict[int, deque[float | None]]:
        return self.live.history_by_cpu

    def add(self, frame: Frame) -> None:
        """Takes in the next frame."""
        self.live.add(frame)

    def measure_own_cost(self, screen_cpu_s: float, wall_s: float) -> None:
        """Our share of one CPU since the last call: this process and the sampler's."""
        sampler_cpu_s = self.live.frame.sampler_cpu_s if self.live.frame is not None else None
        if sampler_cpu_s is None:
            return
        used_s = screen_cpu_s + sampler_cpu_s
        if self._own_cpu is not None and wall_s > self._own_cpu[1]:
            self.live.own_cpu_share = (used_s - self._own_cpu[0]) / (wall_s - self._own_cpu[1])
        self._own_cpu = (used_s, wall_s)

    def toggle_freeze(self) -> None:
        self.frozen = deepcopy(self.live) if self.frozen is None else None

    def next_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]

    def scroll(self, lines: int, room: int) -> None:
        """Moves the CPUs by so many rows, of which `room` are shown."""
        count = len(self.frame.cpus) if self.frame is not None else 0
        self.offset = max(min(self.offset + lines, count - room), 0)

    def frozen_for_s(self) -> float:
        """How far the picture lies behind."""
        if self.frame is None or self.live.frame is None:
            return 0.0
        return (self.live.frame.taken_at_ns - self.frame.taken_at_ns) / 1e9


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
