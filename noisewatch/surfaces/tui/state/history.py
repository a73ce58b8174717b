"""The last hour of frames: noise, interrupts and temperature of each CPU by interval, the frames, and noise spikes.

A frame is kept as its compressed line. A reading of interrupts or temperature, which the map shows next to noise and
clock, takes one byte: 4 MB after an hour of 512 CPUs. Rates are exact to 5%, more than a level needs.
"""

from __future__ import annotations

import math
import zlib
from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from noisewatch.cpus import CpuSet, parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, Frame
from noisewatch.operations.frame.line import StableFields, decode_frame, encode_frame, stable_fields
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, OFFLINE_NS, worst_of

# Two minutes, at an interval a second: noise that lasts less than a quarter of them is not usual yet, noise that lasts
# longer is; so are bursts that come as often. A slow rise is never a spike.
USUAL_INTERVALS = 120
# A multiple of the distance from median to upper quartile. For normally distributed noise it would be six standard
# deviations; of 120 intervals the quartile is itself so inexact that four are exceeded in every hour.
_LEAST_SPREADS = 8
_LEAST_MEASURED = 10  # intervals; fewer do not show how much noise varies, and a spike has to double it
_DOUBLE = 2  # times the noise before: a new source of noise, also on a noisy machine


def spikes_in(losses: Sequence[float | None]) -> list[int]:
    """Return the indices at which a noise spike begins, the oldest first. `losses` are in ns/s; None is unknown."""
    return [at for at in range(len(losses)) if is_spike_at(losses, at)]


def is_spike_at(losses: Sequence[float | None], at: int) -> bool:
    """Return whether a spike begins at index `at`.

    A spike begins where noise crosses the limit, doubles above it, or stands out of usual noise. Unknown noise neither
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

    Without any known noise before, usual noise counts as none, and nothing stands out.
    """
    if lost < GRAVE_NS:  # most intervals, on a quiet machine
        return False
    before = sorted(noise for noise in losses[max(at - USUAL_INTERVALS, 0) : at] if noise is not None)
    if not before:
        return False
    middle, usual = before[len(before) // 2], before[len(before) * 3 // 4]
    least = _LEAST_SPREADS * (usual - middle) if len(before) >= _LEAST_MEASURED else usual
    return lost - usual >= max(GRAVE_NS, least)


CAPACITY = 3600  # an hour of intervals of a second
_MOST_SHOWN = 3  # frames at once: of the cursor, of an event, and another one
_FASTEST = 1  # of zlib: a frame of 500 CPUs takes a millisecond
_MOST_TOGETHER = 8
_MOST_BYTES = 1 << 16  # zlib looks back 32 kB: longer lines gain nothing from each other
_END = b"\n"


class KeptLines:
    """The last lines, numbered from 0 and without line ends; at least the last `capacity` lines are kept.

    Consecutive lines are compressed together, which takes half the bytes and half the time of single lines.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._count = 0
        self._packs: deque[tuple[int, bytes]] = deque()  # number of the first line, compressed lines
        self._fresh: list[bytes] = []  # the newest lines, not compressed yet
        self._fresh_bytes = 0
        self._opened: tuple[int, list[bytes]] = -1, []  # the pack that was read last

    def add(self, line: bytes) -> None:
        """Append the next line."""
        self._fresh.append(line.rstrip(_END))
        self._fresh_bytes += len(line)
        self._count += 1
        if len(self._fresh) >= _MOST_TOGETHER or self._fresh_bytes >= _MOST_BYTES:
            self._packs.append((self._count - len(self._fresh), zlib.compress(_END.join(self._fresh), _FASTEST)))
            self._fresh, self._fresh_bytes = [], 0
        while len(self._packs) > 1 and self._packs[1][0] <= self._count - self._capacity:
            self._packs.popleft()

    def line(self, number: int) -> bytes:
        """Return a kept line by its number."""
        behind = number - (self._count - len(self._fresh))
        if behind >= 0:
            return self._fresh[behind]
        first, pack = self._packs[bisect_right(self._packs, number, key=itemgetter(0)) - 1]
        if self._opened[0] != first:
            self._opened = first, zlib.decompress(pack).split(_END)
        return self._opened[1][number - first]


class History:
    """The last `capacity` intervals of a session, numbered from 0."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._lines = KeptLines(capacity)
        self._omitted_fields: deque[tuple[int, StableFields]] = (
            deque()
        )  # first interval, and the fields that lines leave out
        self._noise_by_cpu: dict[int, array[float]] = {}
        self._worst = _column(capacity)
        self._noisy = array("L", [0]) * capacity  # number of intervals up to this one with noise over the limit
        self._unknown = array("L", [0]) * capacity  # number of intervals up to this one with unknown noise
        self._total_noisy = self._total_unknown = 0
        self._shown: dict[int, Frame] = {}  # the last decoded frames, by interval
        self._kinds_of: int | None = None
        self._kinds: dict[int, tuple[Mapping[str, float], float | None]] = {}  # by interval, of CPU `_kinds_of`
        self.count = 0

    @property
    def first(self) -> int:
        """The number of the oldest kept interval."""
        return max(self.count - self.capacity, 0)

    def add(self, frame: Frame, line: bytes | None = None) -> None:
        """Append the next frame, which has rates. `line` is its encoded line; without it the frame is encoded."""
        at = self.count % self.capacity
        self._keep_omitted_fields(stable_fields(frame))
        self._lines.add(line or encode_frame(frame))
        for column in self._noise_by_cpu.values():
            column[at] = math.nan
        for cpu in frame.cpus:
            column = self._noise_by_cpu.setdefault(cpu.cpu, _column(self.capacity))
            noise_ns = OFFLINE_NS if cpu.role == Role.OFFLINE else cpu.stolen_ns_per_s
            column[at] = math.nan if noise_ns is None else noise_ns
        worst = worst_of(cpu.stolen_ns_per_s for cpu in frame.cpus if cpu.role == Role.TARGET)
        self._worst[at] = math.nan if worst is None else worst
        self._total_noisy += (worst or 0) >= GRAVE_NS
        self._total_unknown += worst is None
        self._noisy[at], self._unknown[at] = self._total_noisy, self._total_unknown
        self.count += 1

    def _keep_omitted_fields(self, omitted: StableFields) -> None:
        if not self._omitted_fields or self._omitted_fields[-1][1] != omitted:
            self._omitted_fields.append((self.count, omitted))
        while len(self._omitted_fields) > 1 and self._omitted_fields[1][0] <= self.first:
            self._omitted_fields.popleft()

    def frame(self, number: int) -> Frame:
        """Return the frame of a kept interval. Raise IndexError if the interval is not kept."""
        if not self.first <= number < self.count:
            raise IndexError(f"interval {number} is not kept")
        if number not in self._shown:
            self._shown = {**dict(list(self._shown.items())[1 - _MOST_SHOWN :]), number: self._decoded(number)}
        return self._shown[number]

    def _decoded(self, number: int) -> Frame:
        at = bisect_right(self._omitted_fields, number, key=lambda since: since[0]) - 1
        return decode_frame(self._lines.line(number), self._omitted_fields[at][1])

    def noise_by_kind(self, cpu: int, numbers: range) -> dict[str, list[float | None]]:
        """Return the CPU's noise (ns/s) by kind, one value an interval; None where a frame may leave some culprits out.

        Each frame is decoded once as long as the same CPU is asked for.
        """
        if self._kinds_of != cpu:
            self._kinds_of, self._kinds = cpu, {}
        for number in numbers:
            if number not in self._kinds:
                self._kinds[number] = _by_kind(self._decoded(number), cpu)
        self._kinds = {number: self._kinds[number] for number in numbers}
        kinds_by_interval = [self._kinds[number] for number in numbers]
        kinds = {kind for lost, _ in kinds_by_interval for kind in lost}
        return {kind: [lost.get(kind, others) for lost, others in kinds_by_interval] for kind in kinds}

    @property
    def kept(self) -> range:
        """The range of all kept intervals."""
        return range(self.first, self.count)

    def count_noisy(self, numbers: range) -> tuple[int, int]:
        """Return the number of kept intervals with a target CPU's noise over the limit, and with unknown noise."""
        if not numbers:
            return 0, 0
        first, last = numbers[0], numbers[-1] % self.capacity
        worst, at = self.worst([first])[0], first % self.capacity
        noisy = self._noisy[last] - self._noisy[at] + ((worst or 0) >= GRAVE_NS)
        return noisy, self._unknown[last] - self._unknown[at] + (worst is None)

    def cpus_over_limit(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Return the CPUs whose noise was over the limit in at least one of the kept intervals."""
        is_over = float(GRAVE_NS).__le__  # NaN, which is unknown, is not
        columns = ((cpu, self._noise_by_cpu.get(cpu)) for cpu in cpus)
        return [cpu for cpu, column in columns if column is not None and any(map(is_over, self._part(column, numbers)))]

    def unknown_cpus(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Return the CPUs whose noise was unknown in at least one of the kept intervals."""
        columns = ((cpu, self._noise_by_cpu.get(cpu)) for cpu in cpus)
        return [cpu for cpu, column in columns if column is None or math.isnan(sum(self._part(column, numbers)))]

    def noise(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's noise (ns/s) by interval; None where it is unknown, not kept, or the CPU was offline."""
        return [None if lost == OFFLINE_NS else lost for lost in self.lane(cpu, numbers)]

    def lane(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's noise (ns/s) to be drawn: OFFLINE_NS where it was offline, None where it is unknown."""
        return self._read(self._noise_by_cpu.get(cpu), numbers)

    def worst(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the noise (ns/s) of the noisiest target CPU by interval; None where it is unknown or not kept."""
        return self._read(self._worst, numbers)

    def worst_number(self) -> int:
        """Return the interval with the most noise on a target CPU, or the newest if all are unknown or equal."""
        numbers = self.kept
        lost = dict(zip(numbers, self.worst(numbers), strict=True))
        return max(numbers, key=lambda number: (-1.0 if lost[number] is None else lost[number] or 0.0, number))

    def spikes(self) -> list[int]:
        """Return the kept intervals in which a spike of a target CPU begins."""
        return [self.first + at for at in spikes_in(self.worst(self.kept))]

    def is_spike(self, number: int) -> bool:
        """Return whether a spike of a target CPU begins in the interval."""
        numbers = range(max(number - 2 * USUAL_INTERVALS, self.first), number + 1)
        return bool(numbers) and is_spike_at(self.worst(numbers), len(numbers) - 1)

    def _read(self, column: array[float] | None, numbers: Iterable[int]) -> list[float | None]:
        if column is None:
            return [None for _ in numbers]
        first, count, capacity = self.first, self.count, self.capacity
        if isinstance(numbers, range) and numbers.step == 1 and first <= numbers.start < numbers.stop <= count:
            # NaN, which is unknown, is not itself
            return [None if value != value else value for value in self._part(column, numbers)]
        values = (column[number % capacity] if first <= number < count else math.nan for number in numbers)
        return [None if math.isnan(value) else value for value in values]

    def _part(self, column: array[float], numbers: range) -> array[float]:
        begin, end = numbers.start % self.capacity, (numbers.stop - 1) % self.capacity + 1
        return column[begin:end] if begin < end else column[begin:] + column[:end]


def _column(capacity: int) -> array[float]:
    return array("f", [math.nan]) * capacity


def _by_kind(frame: Frame, cpu: int) -> tuple[Mapping[str, float], float | None]:
    """Return the CPU's noise (ns/s) by kind, and of all other kinds: 0, or None if the frame omits some."""
    ns_by_kind = next((line.taken_ns_per_s for line in frame.cpus if line.cpu == cpu), None)
    if ns_by_kind is not None:
        return {kind: ns for kind, ns in zip(KINDS, ns_by_kind, strict=True) if ns}, 0.0
    lost: dict[str, float] = defaultdict(float)
    for line in frame.culprits:
        if line.cpu == cpu:
            lost[line.kind] += line.stolen_ns_per_s
    return (dict(lost), 0.0) if frame.tells_all_of(cpu) else ({}, None)


_UNKNOWN, _MOST = 0, 255
_STEPS = 8  # per doubling of a rate


class CpuReadings:
    """Interrupt rates and temperatures by interval, numbered as in History."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self._rates: dict[int, array[int]] = {}
        self._degrees: dict[int, array[int]] = {}

    def add(self, frame: Frame) -> None:
        """Append the readings of the next interval."""
        at, self.count = self.count % self.capacity, self.count + 1
        rates = {line.cpu: line.interrupts_per_s for line in frame.cpus if line.interrupts_per_s is not None}
        self._put(self._rates, at, {cpu: round(_STEPS * math.log2(1 + max(rate, 0))) for cpu, rate in rates.items()})
        self._put(self._degrees, at, {cpu: round(max(celsius, 0)) for cpu, celsius in celsius_by_cpu(frame).items()})

    def _put(self, columns: dict[int, array[int]], at: int, value_by_cpu: Mapping[int, int]) -> None:
        for cpu in value_by_cpu.keys() - columns.keys():
            columns[cpu] = array("B", [_UNKNOWN]) * self.capacity
        for cpu, column in columns.items():
            value = value_by_cpu.get(cpu)
            column[at] = _UNKNOWN if value is None else min(1 + value, _MOST)

    def interrupts(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the CPU's interrupts of all kinds per second, by interval; None is unknown or not kept."""
        return [
            None if not value else 2 ** ((value - 1) / _STEPS) - 1 for value in self._read(self._rates, cpu, numbers)
        ]

    def celsius(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """Return the temperature of the CPU's core, or else its package, by interval; None is unknown or not kept."""
        return [None if not value else float(value - 1) for value in self._read(self._degrees, cpu, numbers)]

    def _read(self, columns: Mapping[int, array[int]], cpu: int, numbers: Iterable[int]) -> list[int]:
        first, count, column = max(self.count - self.capacity, 0), self.count, columns.get(cpu)
        if column is None:
            return [_UNKNOWN for _ in numbers]
        return [column[number % self.capacity] if first <= number < count else _UNKNOWN for number in numbers]


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
    """Return the CPUs of a list that the kernel wrote, or no CPU if the list cannot be parsed."""
    try:
        return parse_cpu_list(text or "")
    except Malformed:
        return frozenset()
