"""What the frames of a session have told so far, whatever of it is shown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import field

from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.places import PlaceLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.irq_moves import told
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from noisewatch.surfaces.tui.runs.history import RunHistory
from noisewatch.surfaces.tui.state.clock_history import ClockHistory
from noisewatch.surfaces.tui.state.cpu_order import CpuPlaces
from noisewatch.surfaces.tui.state.cpu_readings import CpuReadings
from noisewatch.surfaces.tui.state.culprit_history import CulpritHistory
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.irq_history import IrqHistory
from noisewatch.surfaces.tui.state.wall_times import WallTimes, wall_clock_of

_MISSED, _LEAST_SILENCE_S = 3, 3.0


@dataclass(slots=True)
class Collected:
    """Goes on while the picture stands."""

    history: History = field(default_factory=History)
    newest: Frame | None = None
    begin_ns: int | None = None  # when the machine was looked at first
    log: EventLog = field(default_factory=EventLog)
    wall_times: WallTimes = field(default_factory=WallTimes)
    irqs: IrqHistory = field(default_factory=IrqHistory)
    clocks: ClockHistory = field(default_factory=ClockHistory)
    cpu_readings: CpuReadings = field(default_factory=CpuReadings)
    culprit_noise: CulpritHistory = field(default_factory=CulpritHistory)
    cpu_places: CpuPlaces = field(default_factory=CpuPlaces)
    runs: RunHistory = field(default_factory=RunHistory)
    pace_s: float = 1.0  # at which frames are to come
    trouble: str | None = None
    silence: str | None = None  # where no frames come any more

    def take_in(self, frame: Frame, line: bytes | None = None) -> None:
        """The next frame, and what it came as; the first look has no rates, and no place in the history."""
        number = self.history.count
        self.log.compare(self.newest, frame, number)
        for text in told(self.irqs.follow(frame, number), frozenset(frame.target)):
            self.log.add(Event(frame.taken_at_ns, EventKind.IRQ, text, number))
        for at_ns, text, about in self.runs.follow(frame):
            self.log.add(Event(at_ns, EventKind.RUN, text, self._interval_at(at_ns, number), about))
        if (late := self.why_late(frame)) is not None:
            self.log.add(Event(frame.taken_at_ns, EventKind.MONITOR, late, number))
        self.begin_ns = frame.taken_at_ns if self.begin_ns is None else self.begin_ns
        self.newest = frame
        self.wall_times.add(frame)
        self.cpu_places.add(frame.places)
        if frame.seconds > 0:
            self.history.add(frame, line)
            self.irqs.add(frame)
            self.culprit_noise.add(frame)
            self.clocks.add(frame, self.irqs)
            self.cpu_readings.add(frame)

    def _interval_at(self, at_ns: int, newest: int) -> int:
        """The interval that the time is in, of those that are kept; `newest` is the one that comes now."""
        kept = range(self.history.first, newest)
        return kept.start + bisect_left(kept, at_ns / 1e9, key=lambda number: self.clocks.taken_at_s(number) or 0.0)

    @property
    def frame(self) -> Frame | None:
        """The frame that is shown."""
        return self.newest

    @property
    def is_stale(self) -> bool:
        """Whether the newest picture is no longer what is."""
        return self.trouble is not None or self.silence is not None

    @property
    def longest_silence_s(self) -> float:
        """Without a frame for longer than this, what is shown is not what is."""
        return max(_MISSED * self.pace_s, _LEAST_SILENCE_S)

    def notice_silence(self, silent_s: float) -> None:
        """So long nothing has come."""
        if self.newest is None or self.newest.is_last or self.is_recorded:
            return
        is_late = silent_s > self.longest_silence_s
        self.silence = f"no frame for {silent_s:.0f} s: the sampler is stopped or gets no CPU time" if is_late else None

    def why_late(self, frame: Frame | None) -> str | None:
        """Return why the frame's interval is far longer than the pace, or None if it is not; recordings have any."""
        if frame is None or frame.origin is not None or frame.seconds <= self.longest_silence_s:
            return None
        return f"no frame for {frame.seconds:.1f} s: the machine is overloaded, or the monitor was stopped"

    @property
    def is_recorded(self) -> bool:
        """Whether it is a recording, or a copied tree, that is shown."""
        return self.newest is not None and self.newest.origin is not None

    @property
    def places(self) -> Mapping[int, PlaceLine] | None:
        """The last known place of each CPU; None where nothing is known of any."""
        return self.cpu_places.by_cpu

    def in_order(self, cpus: Iterable[int]) -> list[int]:
        """The CPUs by node, last-level cache, core and sibling; by number where their places are unknown."""
        return self.cpu_places.ordered(cpus)

    def wall_clock(self, at: Frame | int | None = None) -> str | None:
        """The machine's local time of a frame, at a CLOCK_MONOTONIC in ns, or of what is shown: `14:02:31`."""
        at = at if at is not None else self.frame
        return self.wall_times.at(at) if isinstance(at, int) else wall_clock_of(at)

    def behind_s(self) -> float:
        """How far the picture lies behind."""
        frame, newest = self.frame, self.newest
        return 0.0 if frame is None or newest is None else (newest.taken_at_ns - frame.taken_at_ns) / 1e9

    def into_s(self) -> float:
        """How far the picture lies in a recording: the seconds since the first look at the machine."""
        frame, begin_ns = self.frame, self.begin_ns
        return 0.0 if frame is None or begin_ns is None else (frame.taken_at_ns - begin_ns) / 1e9
