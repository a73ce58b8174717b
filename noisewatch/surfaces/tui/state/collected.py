"""What the frames of a session have told so far, whatever of it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.frame.places import PlaceLine
from noisewatch.surfaces.tui.events.irq_moves import told
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from noisewatch.surfaces.tui.state.clock_history import ClockHistory
from noisewatch.surfaces.tui.state.cpu_order import CpuPlaces
from noisewatch.surfaces.tui.state.history import History
from noisewatch.surfaces.tui.state.irq_history import IrqHistory
from noisewatch.surfaces.tui.state.wall_times import WallTimes


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
    cpu_places: CpuPlaces = field(default_factory=CpuPlaces)

    def take_in(self, frame: Frame, line: bytes | None = None) -> None:
        """The next frame, and what it came as; the first look has no rates, and no place in the history."""
        number = self.history.count
        self.log.compare(self.newest, frame, number)
        for text in told(self.irqs.follow(frame, number), frozenset(frame.target)):
            self.log.add(Event(frame.taken_at_ns, EventKind.IRQ, text, number))
        self.begin_ns = frame.taken_at_ns if self.begin_ns is None else self.begin_ns
        self.newest = frame
        self.wall_times.add(frame)
        self.cpu_places.add(frame.places)
        if frame.seconds > 0:
            self.history.add(frame, line)
            self.irqs.add(frame)
            self.clocks.add(frame, self.irqs)

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
