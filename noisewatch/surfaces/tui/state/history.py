"""The last hour: the frames, each CPU's noise, interrupts and temperature by interval, and noise spikes.

A frame is kept as its compressed line. A reading of interrupts or temperature for the map takes one byte: 4 MB after an
hour of 512 CPUs. Rates are exact to 5%, which is enough for levels. The local time and the places of CPUs, which seldom
change, are kept as well.
"""

from __future__ import annotations

import math
import time
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import (
    KINDS,
    Frame,
    PlaceLine,
    StableFields,
    decode_frame,
    encode_frame,
    stable_fields,
)
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, OFFLINE_NS, worst_of
from noisewatch.surfaces.tui.state.ring import CAPACITY, Changes, Ring, Rings
from noisewatch.units import NS_PER_S

# Two minutes, at one interval per second. Noise in more than a quarter of these intervals is usual, so noise that
# lasts for more than half a minute becomes usual.
USUAL_INTERVALS = 120
# A multiple of the distance from median to upper quartile: six standard deviations of normally distributed noise. The
# quartile of 120 intervals is so inexact that noise exceeds four deviations in every hour.
_LEAST_SPREADS = 8
_LEAST_MEASURED = 10  # intervals; fewer do not show how noise varies, so unusual noise is then at least twice the usual
_DOUBLE = 2  # noise that grows by this factor has a new source, even on a noisy machine


def spikes_in(losses: Sequence[float | None]) -> list[int]:
    """Return the indices of the intervals in which a noise spike begins. `losses` are in ns/s; None means unknown."""
    return [index for index in range(len(losses)) if is_spike_at(losses, index)]


def is_spike_at(losses: Sequence[float | None], at: int) -> bool:
    """Return whether a spike begins at index `at`.

    A spike begins if noise crosses the limit, doubles above it, or begins to exceed usual noise. Unknown noise neither
    begins nor ends a spike.
    """
    lost = losses[at]
    if lost is None or lost < GRAVE_NS:
        return False
    place = next((place for place in range(at - 1, -1, -1) if losses[place] is not None), None)
    if place is None:
        return False
    noise_before = losses[place] or 0.0
    if noise_before < GRAVE_NS or lost >= _DOUBLE * noise_before:
        return True
    return _is_unusual(losses, at, lost) and not _is_unusual(losses, place, noise_before)


def _is_unusual(losses: Sequence[float | None], at: int, lost: float) -> bool:
    """Return whether noise exceeds usual noise by a grave amount, and by more than usual noise varies.

    If all earlier noise is unknown, return false.
    """
    if lost < GRAVE_NS:  # on a quiet machine, most intervals return here
        return False
    before = sorted(noise for noise in losses[max(at - USUAL_INTERVALS, 0) : at] if noise is not None)
    if not before:
        return False
    middle, usual = before[len(before) // 2], before[len(before) * 3 // 4]
    least = _LEAST_SPREADS * (usual - middle) if len(before) >= _LEAST_MEASURED else usual
    return lost - usual >= max(GRAVE_NS, least)


_MOST_SHOWN = 3  # decoded frames to keep: the cursor's, an event's, and one more
_FASTEST = 1  # compression level of zlib, at which a frame of 500 CPUs takes a millisecond


class History:
    """The last `capacity` intervals of a session, numbered from 0."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._lines: deque[bytes] = deque(maxlen=capacity)  # compressed frames
        self._omitted_fields = Changes[StableFields]()  # the fields that lines leave out, by interval
        self._noise = Rings[int, float]("f", math.nan, capacity)  # noise of each CPU; NaN means unknown
        self._worst = Ring("f", math.nan, capacity)
        self._noisy = Ring("L", 0, capacity)  # number of intervals up to this one with noise over the limit
        self._unknown = Ring("L", 0, capacity)  # number of intervals up to this one with unknown noise
        self._unstable = Ring("L", 0, capacity)  # number of intervals up to this one with an unstable verdict
        self._total_noisy = self._total_unknown = self._total_unstable = 0
        self._shown: dict[int, Frame] = {}  # the last decoded frames, by interval
        self._kinds_of: int | None = None
        self._kinds: dict[int, tuple[Mapping[str, float], float | None]] = {}  # by interval, for the CPU `_kinds_of`

    @property
    def count(self) -> int:
        """The number of intervals so far."""
        return self._worst.count

    @property
    def first(self) -> int:
        """The number of the oldest kept interval."""
        return self._worst.first

    @property
    def kept(self) -> range:
        """The range of all kept intervals."""
        return self._worst.kept

    def add(self, frame: Frame, line: bytes | None = None) -> None:
        """Append the next frame, which has rates. `line` is its encoded line; without it the frame is encoded."""
        omitted = stable_fields(frame)
        if self._omitted_fields.last != omitted:
            self._omitted_fields.add(self.count, omitted)
        self._omitted_fields.forget(self.first)
        self._lines.append(zlib.compress(line or encode_frame(frame), _FASTEST))
        noise_by_cpu = {cpu.cpu: OFFLINE_NS if cpu.role == Role.OFFLINE else cpu.stolen_ns_per_s for cpu in frame.cpus}
        self._noise.add({cpu: math.nan if noise_ns is None else noise_ns for cpu, noise_ns in noise_by_cpu.items()})
        worst = worst_of(cpu.stolen_ns_per_s for cpu in frame.cpus if cpu.role == Role.TARGET)
        self._worst.add(math.nan if worst is None else worst)
        self._total_noisy += (worst or 0) >= GRAVE_NS
        self._total_unknown += worst is None
        self._total_unstable += frame.verdict == "unstable"
        self._unstable.add(self._total_unstable)
        self._noisy.add(self._total_noisy)
        self._unknown.add(self._total_unknown)

    def frame(self, number: int) -> Frame:
        """Return the frame of a kept interval. Raise IndexError if the interval is not kept."""
        if not self.first <= number < self.count:
            raise IndexError(f"interval {number} is not kept")
        if number not in self._shown:
            self._shown = {**dict(list(self._shown.items())[1 - _MOST_SHOWN :]), number: self._decode(number)}
        return self._shown[number]

    def _decode(self, number: int) -> Frame:
        return decode_frame(zlib.decompress(self._lines[number - self.first]), self._omitted_fields.at(number)[1])

    def noise_by_kind(self, cpu: int, numbers: range) -> dict[str, list[float | None]]:
        """Return the CPU's noise (ns/s) by kind and interval; None if the frame may leave out culprits.

        The results are cached for the last CPU, so that its frames are not decoded again: drawing the screen of one CPU
        takes 1.5 ms instead of 4.6 with 4 CPUs, and 4.5 ms instead of 44 with 512.
        """
        if self._kinds_of != cpu:
            self._kinds_of, self._kinds = cpu, {}
        for number in numbers:
            if number not in self._kinds:
                self._kinds[number] = _by_kind(self._decode(number), cpu)
        self._kinds = {number: self._kinds[number] for number in numbers}
        kinds_by_interval = [self._kinds[number] for number in numbers]
        kinds = {kind for lost, _ in kinds_by_interval for kind in lost}
        return {kind: [lost.get(kind, others) for lost, others in kinds_by_interval] for kind in kinds}

    def count_noisy(self, numbers: range) -> tuple[int, int]:
        """Return the number of kept intervals with a target CPU's noise over the limit, and with unknown noise."""
        if not numbers:
            return 0, 0
        first, last = numbers[0], numbers[-1]
        worst = self.worst([first])[0]
        noisy = self._noisy.at(last) - self._noisy.at(first) + ((worst or 0) >= GRAVE_NS)
        return noisy, self._unknown.at(last) - self._unknown.at(first) + (worst is None)

    def count_unstable(self, numbers: range) -> int:
        """Return the number of kept intervals with an unstable verdict."""
        if not numbers:
            return 0
        first = self.frame(numbers[0]).verdict == "unstable"
        return self._unstable.at(numbers[-1]) - self._unstable.at(numbers[0]) + first

    def cpus_over_limit(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Return the CPUs whose noise was over the limit in at least one of the kept intervals."""
        is_over = float(GRAVE_NS).__le__  # false for NaN, which is unknown
        return [cpu for cpu in cpus if any(map(is_over, self._noise.read(cpu, numbers)))]

    def unknown_cpus(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Return the CPUs whose noise was unknown in at least one of the kept intervals."""
        return [cpu for cpu in cpus if math.isnan(sum(self._noise.read(cpu, numbers)))]

    def noise(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's noise (ns/s) by interval; None if it is unknown, not kept, or the CPU was offline."""
        return [None if lost == OFFLINE_NS else lost for lost in self.lane(cpu, numbers)]

    def lane(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's noise (ns/s) to draw: OFFLINE_NS if the CPU was offline, None if unknown or not kept."""
        return none_if_nan(self._noise.read(cpu, numbers))

    def worst(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the noise (ns/s) of the noisiest target CPU by interval; None if it is unknown or not kept."""
        return none_if_nan(self._worst.read(numbers))

    def worst_number(self) -> int:
        """Return the interval with the most noise on a target CPU, or the newest if all are unknown or equal."""
        numbers = self.kept
        lost = dict(zip(numbers, self.worst(numbers), strict=True))
        return max(numbers, key=lambda number: (-1.0 if lost[number] is None else lost[number] or 0.0, number))

    def spikes(self, cpu: int | None = None) -> list[int]:
        """Return the kept intervals in which a spike begins: of the CPU, or by default of any target CPU."""
        losses = self.worst(self.kept) if cpu is None else self.noise(cpu, self.kept)
        return [self.first + at for at in spikes_in(losses)]

    def is_spike(self, number: int) -> bool:
        """Return whether a spike of a target CPU begins in the interval."""
        numbers = range(max(number - 2 * USUAL_INTERVALS, self.first), number + 1)
        return bool(numbers) and is_spike_at(self.worst(numbers), len(numbers) - 1)


def none_if_nan(values: Iterable[float]) -> list[float | None]:
    """Return the values with None instead of NaN."""
    return [None if value != value else value for value in values]  # NaN does not equal itself


def _by_kind(frame: Frame, cpu: int) -> tuple[Mapping[str, float], float | None]:
    """Return the CPU's noise (ns/s) by kind, and the noise of all other kinds: 0, or None if the frame is cut."""
    ns_by_kind = next((line.taken_ns_per_s for line in frame.cpus if line.cpu == cpu), None)
    if ns_by_kind is not None:
        return {kind: ns for kind, ns in zip(KINDS, ns_by_kind, strict=True) if ns}, 0.0
    lost: dict[str, float] = defaultdict(float)
    for line in frame.culprits:
        if line.cpu == cpu:
            lost[line.kind] += line.stolen_ns_per_s
    return (dict(lost), 0.0) if frame.has_all_culprits_of(cpu) else ({}, None)


_UNKNOWN, _MOST = 0, 255
_STEPS = 8  # steps per doubling of a rate


class CpuReadings:
    """Interrupt rates and temperatures by interval, numbered as in History."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._rates = Rings[int, int]("B", _UNKNOWN, capacity)
        self._degrees = Rings[int, int]("B", _UNKNOWN, capacity)

    def add(self, frame: Frame) -> None:
        """Append the readings of the next interval."""
        rates = {line.cpu: line.interrupts_per_s for line in frame.cpus if line.interrupts_per_s is not None}
        self._rates.add({cpu: _in_a_byte(_STEPS * math.log2(1 + max(rate, 0))) for cpu, rate in rates.items()})
        self._degrees.add({cpu: _in_a_byte(max(celsius, 0)) for cpu, celsius in celsius_by_cpu(frame).items()})

    def interrupts(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's interrupts of all kinds per second, by interval; None means unknown or not kept."""
        values = self._rates.read(cpu, numbers)
        return [None if not value else 2 ** ((value - 1) / _STEPS) - 1 for value in values]

    def celsius(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the temperature (°C) of the CPU's core, or else of its package, by interval; None if unknown."""
        return [None if not value else float(value - 1) for value in self._degrees.read(cpu, numbers)]


def _in_a_byte(value: float) -> int:
    return min(1 + round(value), _MOST)


def celsius_by_cpu(frame: Frame) -> dict[int, float]:
    """Return the temperature of each CPU's core, or of its package if the core's is unknown."""
    if frame.clock is None:
        return {}
    celsius_by_cpu: dict[int, float] = {}
    for package in frame.clock.packages:
        if package.celsius is not None:
            celsius_by_cpu.update(dict.fromkeys(cpus_in(package.cpus), package.celsius))
    return {
        **celsius_by_cpu,
        **{figures.cpu: figures.celsius for figures in frame.clock.cpus if figures.celsius is not None},
    }


def cpus_in(text: str | None) -> CpuSet:
    """Return the CPUs in a kernel's CPU list, or no CPU if the list is None or malformed."""
    try:
        return parse_cpu_list(text or "")
    except Malformed:
        return frozenset()


_STEPPED_NS = NS_PER_S // 2  # a larger step: the clock was set, or the machine was suspended
_MOST_STEPS = 1000
_Key = tuple[float, ...]


class WallTimes:
    """The offsets of local time from CLOCK_MONOTONIC, and when each began: a clock that is set has a new offset."""

    def __init__(self) -> None:
        self._ahead_ns = Changes[int](_MOST_STEPS)

    def add(self, frame: Frame) -> None:
        """Store the frame's offset if it differs from the last offset. Frames must come in order."""
        if frame.wall_ns is None:
            return
        ahead_ns = frame.wall_ns + (frame.ahead_s or 0) * NS_PER_S - frame.taken_at_ns
        last_ns = self._ahead_ns.last
        if last_ns is None or abs(ahead_ns - last_ns) > _STEPPED_NS:
            # the new offset holds from just after the previous frame, which had the old one
            self._ahead_ns.add(frame.taken_at_ns - round(frame.seconds * NS_PER_S) + 1, ahead_ns)

    def at(self, at_ns: int) -> str | None:
        """Return the machine's local time (`14:02:31`) at a CLOCK_MONOTONIC time (ns), or None if unknown."""
        return _clock_face(at_ns + self._ahead_ns.at(at_ns)[1]) if self._ahead_ns.last is not None else None


def wall_clock_of(frame: Frame | None) -> str | None:
    """Return the machine's local time at the end of the frame's interval, or None if unknown or without a frame."""
    return (
        None if frame is None or frame.wall_ns is None else _clock_face(frame.wall_ns + (frame.ahead_s or 0) * NS_PER_S)
    )


def _clock_face(local_ns: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(local_ns // NS_PER_S % 86_400))


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

    def sort(self, cpus: Iterable[int]) -> list[int]:
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
