"""Everything collected from the frames of a session, independent of what the screen shows."""

from __future__ import annotations

import struct
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from noisewatch.cpus import CpuSet
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CulpritLine, Frame, PlaceLine
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.events.kinds import Event, EventKind
from noisewatch.surfaces.tui.events.log import EventLog
from noisewatch.surfaces.tui.state.clock_history import ClockHistory
from noisewatch.surfaces.tui.state.folding import FoldedLine, cpus_of, what_is_same
from noisewatch.surfaces.tui.state.history import CAPACITY, CpuReadings, History
from noisewatch.surfaces.tui.state.irq_history import IrqHistory, describe_moves
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, NOT_FOLLOWED_NS
from noisewatch.surfaces.tui.state.run_history import RunHistory

_ENTRY = struct.Struct("<qiif")  # hash of the culprit, CPU, thread, ns/s
_NO_THREAD = 0
_MOST_UNPACKED = 256  # intervals

_MOST_LANES = 256  # of culprits

_Entry = tuple[int, int, float]  # CPU, thread, ns/s
_Entries = Mapping[int, list[_Entry]]
_Asked = tuple[int, int | None, CpuSet | None, bool]  # hash of the culprit, thread, CPUs, whether on housekeeping CPUs
_NS_PER_S = 1_000_000_000
_STEPPED_NS = _NS_PER_S // 2  # a larger step: the clock was set, or the machine was suspended
_MOST_STEPS = 1000
_Key = tuple[float, ...]
_MISSED, _LEAST_SILENCE_S = 3, 3.0


@dataclass(slots=True)
class _Lane:
    """The noise of one culprit by interval, beginning with interval `begin`."""

    begin: int
    noise: list[float | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Interval:
    """The packed culprits of one interval, and the CPUs whose culprits may be incomplete."""

    packed: bytes
    unknown: CpuSet
    misses_target: bool
    misses_housekeeping: bool

    def noise(self, line: CulpritLine, noise_by_cpu: Mapping[int, float], ever_on: CpuSet) -> float | None:
        """Return the culprit's noise (ns/s) on its noisiest CPU, or None if unknown.

        NOT_FOLLOWED_NS if the frame may leave the culprit out. `ever_on` are all CPUs on which it was observed.
        """
        most = max(noise_by_cpu.values(), default=None)
        if self.unknown and (most or 0.0) < GRAVE_NS and not self.unknown.isdisjoint(ever_on):
            return None
        if most is not None:
            return most
        misses = self.misses_housekeeping if line.role == Role.HOUSEKEEPING else self.misses_target
        return NOT_FOLLOWED_NS if misses else 0.0


def _by_cpu(entries: Iterable[_Entry], tid: int | None, cpus: CpuSet | None) -> Mapping[int, float]:
    """Return the noise by CPU of one thread (`tid`), or of all threads together, on the given CPUs (None: all CPUs)."""
    noise_by_cpu: dict[int, float] = {}
    for cpu, thread, noise in entries:
        if (cpus is None or cpu in cpus) and (tid is None or tid == thread):
            noise_by_cpu[cpu] = noise_by_cpu.get(cpu, 0.0) + noise
    return noise_by_cpu


class CulpritHistory:
    """The noise of each culprit by interval, numbered as in History; about 5 MB an hour."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.count = 0
        self._intervals: deque[_Interval] = deque(maxlen=capacity)
        self._unpacked: dict[int, _Entries] = {}
        self._last_unknown = -1  # the interval in which a CPU could not be read
        self._lanes: dict[_Asked, _Lane] = {}  # the last queries, least recently used first

    def add(self, frame: Frame) -> None:
        """Append the culprits of the next interval."""
        self.count += 1
        packed = b"".join(
            _ENTRY.pack(hash(what_is_same(line)), line.cpu, line.tid or _NO_THREAD, line.stolen_ns_per_s)
            for line in frame.culprits
        )
        unknown = frozenset(
            line.cpu for line in frame.cpus if line.stolen_ns_per_s is None and line.role != Role.OFFLINE
        )
        if unknown:
            self._last_unknown = self.count - 1
        misses_target = frame.is_cut and frame.culprits[-1].role != Role.HOUSEKEEPING
        self._intervals.append(_Interval(packed, unknown, misses_target, frame.is_cut))

    def noise(self, line: CulpritLine, numbers: Iterable[int], cpus: CpuSet | None = None) -> list[float | None]:
        """Return the culprit's noise (ns/s) by interval, on the CPU where it is highest; `cpus` None is all CPUs.

        A folded line is all threads of the culprit together, another line only its own thread. NOT_FOLLOWED_NS where
        the culprit was not among the costliest. None where one of its CPUs could not be read and the noise on the
        others is not grave, or the interval is not kept.
        """
        what = hash(what_is_same(line))
        tid = None if isinstance(line, FoldedLine) else line.tid
        first = self.count - len(self._intervals)
        if (
            isinstance(numbers, range)
            and max(first, self._last_unknown + 1) <= numbers.start < numbers.stop <= self.count
        ):
            return self._measured_noise(line, (what, tid, cpus, line.role == Role.HOUSEKEEPING), numbers, first)
        asked = list(numbers)
        cpus_by_interval = [
            _by_cpu(self._entries(number, first).get(what, ()), tid, cpus) if first <= number < self.count else None
            for number in asked
        ]
        ever_on = frozenset(cpus_of(line)).union(*(cpus for cpus in cpus_by_interval if cpus))
        return [
            None if cpus is None else self._intervals[number - first].noise(line, cpus, ever_on)
            for number, cpus in zip(asked, cpus_by_interval, strict=True)
        ]

    def _measured_noise(self, line: CulpritLine, asked: _Asked, numbers: range, first: int) -> list[float | None]:
        """Return the culprit's noise in intervals in which all CPUs could be read, decoding each interval only once."""
        what, tid, cpus, _ = asked
        lane = self._lanes.pop(asked, None)
        if lane is None or not lane.begin <= numbers.start <= lane.begin + len(lane.noise):
            lane = _Lane(numbers.start)
        for number in range(lane.begin + len(lane.noise), numbers.stop):
            noise_by_cpu = _by_cpu(self._entries(number, first).get(what, ()), tid, cpus)
            lane.noise.append(self._intervals[number - first].noise(line, noise_by_cpu, frozenset()))
        del lane.noise[: numbers.start - lane.begin]
        lane.begin = numbers.start
        self._lanes[asked] = lane
        if len(self._lanes) > _MOST_LANES:
            del self._lanes[next(iter(self._lanes))]
        return lane.noise[: len(numbers)]

    def _entries(self, number: int, first: int) -> _Entries:
        """Return the culprits of an interval by hash, from a cache of the last intervals."""
        if number not in self._unpacked:
            entries: dict[int, list[_Entry]] = defaultdict(list)
            for what, cpu, tid, noise in _ENTRY.iter_unpack(self._intervals[number - first].packed):
                entries[what].append((cpu, tid, noise))
            self._unpacked[number] = dict(entries)
            if len(self._unpacked) > _MOST_UNPACKED:
                del self._unpacked[next(iter(self._unpacked))]
        return self._unpacked[number]


class WallTimes:
    """The offsets of local time from CLOCK_MONOTONIC, with their starts; setting the clock begins a new one."""

    def __init__(self) -> None:
        self._since_ns: deque[int] = deque(maxlen=_MOST_STEPS)
        self._ahead_ns: deque[int] = deque(maxlen=_MOST_STEPS)

    def add(self, frame: Frame) -> None:
        """Record the frame's offset if it stepped. Frames have to come in order."""
        if frame.wall_ns is None:
            return
        ahead_ns = frame.wall_ns + (frame.ahead_s or 0) * _NS_PER_S - frame.taken_at_ns
        if not self._ahead_ns or abs(ahead_ns - self._ahead_ns[-1]) > _STEPPED_NS:
            self._since_ns.append(
                frame.taken_at_ns - round(frame.seconds * _NS_PER_S) + 1
            )  # just behind the frame before, which had its own offset
            self._ahead_ns.append(ahead_ns)

    def at(self, at_ns: int) -> str | None:
        """Return the machine's local time (`14:02:31`) at a CLOCK_MONOTONIC in ns, or None if no frame has one."""
        if not self._ahead_ns:
            return None
        step = max(bisect_right(self._since_ns, at_ns) - 1, 0)
        return _clock_face(at_ns + self._ahead_ns[step])


def wall_clock_of(frame: Frame | None) -> str | None:
    """Return the machine's local time at the end of the frame's interval, or None without a frame or a local time."""
    return (
        None
        if frame is None or frame.wall_ns is None
        else _clock_face(frame.wall_ns + (frame.ahead_s or 0) * _NS_PER_S)
    )


def _clock_face(local_ns: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(local_ns // _NS_PER_S % 86_400))


class CpuPlaces:
    """The last known place of each CPU; a CPU that went offline keeps its place."""

    def __init__(self) -> None:
        self.by_cpu: Mapping[int, PlaceLine] | None = None
        self._keys: dict[int, _Key] = {}

    def add(self, places: Sequence[PlaceLine] | None) -> None:
        """Update the places from a frame; None changes nothing."""
        if places is None:
            return
        self.by_cpu = {**(self.by_cpu or {}), **{place.cpu: place for place in places}}
        self._keys = _keys(self.by_cpu)

    def ordered(self, cpus: Iterable[int]) -> list[int]:
        """Return the CPUs by node, package, cache, core and sibling; CPUs without a known place are last, by number."""
        return sorted(cpus, key=lambda cpu: (cpu not in self._keys, self._keys.get(cpu, ()), cpu))


def _keys(place_by_cpu: Mapping[int, PlaceLine]) -> dict[int, _Key]:
    """Return the sort key of each CPU's place; unknown parts sort last.

    Caches and cores are identified by their first CPU, because their numbers may have gaps.
    """
    first_by_cache: dict[str, int] = {}
    for cpu, place in sorted(place_by_cpu.items()):
        if place.cache is not None:
            first_by_cache.setdefault(place.cache, cpu)
    last = float("inf")
    return {
        cpu: (
            last if place.node is None else place.node,
            last if place.package is None else place.package,
            last if place.cache is None else first_by_cache[place.cache],
            min(place.siblings or (cpu,)),
        )
        for cpu, place in place_by_cpu.items()
    }


@dataclass(slots=True)
class Collected:
    """Everything collected from a session's frames; it keeps growing while the picture is frozen."""

    history: History = field(default_factory=History)
    newest: Frame | None = None
    begin_ns: int | None = None  # CLOCK_MONOTONIC of the first frame
    log: EventLog = field(default_factory=EventLog)
    wall_times: WallTimes = field(default_factory=WallTimes)
    irqs: IrqHistory = field(default_factory=IrqHistory)
    clocks: ClockHistory = field(default_factory=ClockHistory)
    cpu_readings: CpuReadings = field(default_factory=CpuReadings)
    culprit_noise: CulpritHistory = field(default_factory=CulpritHistory)
    cpu_places: CpuPlaces = field(default_factory=CpuPlaces)
    runs: RunHistory = field(default_factory=RunHistory)
    pace_s: float = 1.0  # requested time between frames
    trouble: str | None = None
    silence: str | None = None  # why the picture is old, if frames stopped

    def take_in(self, frame: Frame, line: bytes | None = None) -> None:
        """Add the next frame, and its encoded line; the first frame has no rates, and is not added to the history."""
        number = self.history.count
        self.log.compare(self.newest, frame, number)
        for text in describe_moves(self.irqs.follow(frame, number), frozenset(frame.target)):
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
        """Return the kept interval that contains the time; `newest` is the interval being added."""
        kept = range(self.history.first, newest)
        return kept.start + bisect_left(kept, at_ns / 1e9, key=lambda number: self.clocks.end_time_s(number) or 0.0)

    @property
    def is_stale(self) -> bool:
        """Whether the newest frame no longer shows the current state of the machine."""
        return self.trouble is not None or self.silence is not None

    @property
    def longest_silence_s(self) -> float:
        """The longest time without a frame for which the newest frame still counts as current."""
        return max(_MISSED * self.pace_s, _LEAST_SILENCE_S)

    def notice_silence(self, silent_s: float) -> None:
        """Set or clear `silence` after `silent_s` seconds without a frame."""
        if self.newest is None or self.newest.is_last or self.is_recorded:
            return
        is_late = silent_s > self.longest_silence_s
        self.silence = f"no frame for {silent_s:.0f} s: the sampler is stopped or gets no CPU time" if is_late else None

    def why_late(self, frame: Frame | None) -> str | None:
        """Return why the frame's interval is far longer than requested, or None if it is not; recordings are exempt."""
        if frame is None or frame.origin is not None or frame.seconds <= self.longest_silence_s:
            return None
        return f"no frame for {frame.seconds:.1f} s: the machine is overloaded, or the monitor was stopped"

    @property
    def is_recorded(self) -> bool:
        """Whether the shown machine is a recording or a copied tree."""
        return self.newest is not None and self.newest.origin is not None

    @property
    def places(self) -> Mapping[int, PlaceLine] | None:
        """The last known place of each CPU, or None if no place is known."""
        return self.cpu_places.by_cpu

    def in_order(self, cpus: Iterable[int]) -> list[int]:
        """Return the CPUs by node, last-level cache, core and sibling, or by number where places are unknown."""
        return self.cpu_places.ordered(cpus)
