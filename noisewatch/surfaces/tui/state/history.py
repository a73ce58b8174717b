"""The last hour of frames: columns of noise per CPU, each frame as the line that it came as, compressed, and spikes."""

from __future__ import annotations

import math
import zlib
from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import KINDS, Frame
from noisewatch.operations.frame.line import Standing, decode_frame, encode_frame, standing_of
from noisewatch.surfaces.tui.draw.glyphs import GRAVE_NS, OFFLINE_NS, worst_of

# Two minutes, at an interval a second: what lasts less than a quarter of them is not usual yet, and what goes on for
# longer is; so are bursts that come as often. A slow rise is no spike at any moment.
USUAL_INTERVALS = 120
# Times that the upper quartile lies above the median. Were the noise normally distributed, that would be six standard
# deviations; of 120 intervals the quartile is itself so inexact that four are exceeded in every hour.
_LEAST_SPREADS = 8
_LEAST_KNOWN = 10  # intervals; from fewer nobody can say how much they vary, and it has to be twice as much
_DOUBLE = 2  # times the noise before: on a noisy machine, too, something else came


def spikes_in(losses: Sequence[float | None]) -> list[int]:
    """The places at which a spike begins, of noise in ns/s, the oldest first; None is unknown."""
    return [at for at in range(len(losses)) if is_spike_at(losses, at)]


def is_spike_at(losses: Sequence[float | None], at: int) -> bool:
    """Whether one begins there: the limit is crossed, or the noise doubles above it, or stands out of what was usual.

    What is unknown neither begins one nor ends it.
    """
    lost = losses[at]
    if lost is None or lost < GRAVE_NS:
        return False
    place = next((place for place in range(at - 1, -1, -1) if losses[place] is not None), None)
    if place is None:
        return False
    was = losses[place] or 0.0
    if was < GRAVE_NS or lost >= _DOUBLE * was:
        return True
    return _stands_out(losses, at, lost) and not _stands_out(losses, place, was)


def _stands_out(losses: Sequence[float | None], at: int, lost: float) -> bool:
    """Whether as much as is called grave came on top of what was usual, and more than that usually varies.

    Where nothing is known of the time before, nothing was usual.
    """
    if lost < GRAVE_NS:  # most of them, on a quiet machine
        return False
    before = sorted(each for each in losses[max(at - USUAL_INTERVALS, 0) : at] if each is not None)
    if not before:
        return False
    middle, usual = before[len(before) // 2], before[len(before) * 3 // 4]
    least = _LEAST_SPREADS * (usual - middle) if len(before) >= _LEAST_KNOWN else usual
    return lost - usual >= max(GRAVE_NS, least)


CAPACITY = 3600  # an hour of intervals of a second
_MOST_SHOWN = 3  # at once: that of the cursor, that of an event, and another one
_FASTEST = 1  # of zlib: a frame of 500 CPUs takes a millisecond
_MOST_TOGETHER = 8
_MOST_BYTES = 1 << 16  # zlib looks back 32 kB: longer lines gain nothing from each other
_END = b"\n"


class KeptLines:
    """Lines without their ends are numbered from 0; at least the last `capacity` are kept.

    They are compressed as they come together: half the bytes, and half the time, of each alone.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._count = 0
        self._packs: deque[tuple[int, bytes]] = deque()  # the number of the first line of each
        self._fresh: list[bytes] = []  # behind all of these
        self._fresh_bytes = 0
        self._opened: tuple[int, list[bytes]] = -1, []  # the pack that was asked for last

    def add(self, line: bytes) -> None:
        """The next one."""
        self._fresh.append(line.rstrip(_END))
        self._fresh_bytes += len(line)
        self._count += 1
        if len(self._fresh) >= _MOST_TOGETHER or self._fresh_bytes >= _MOST_BYTES:
            self._packs.append((self._count - len(self._fresh), zlib.compress(_END.join(self._fresh), _FASTEST)))
            self._fresh, self._fresh_bytes = [], 0
        while len(self._packs) > 1 and self._packs[1][0] <= self._count - self._capacity:
            self._packs.popleft()

    def line(self, number: int) -> bytes:
        """One that is kept."""
        behind = number - (self._count - len(self._fresh))
        if behind >= 0:
            return self._fresh[behind]
        first, pack = self._packs[bisect_right(self._packs, number, key=itemgetter(0)) - 1]
        if self._opened[0] != first:
            self._opened = first, zlib.decompress(pack).split(_END)
        return self._opened[1][number - first]


class History:
    """Intervals are numbered from 0; of a long session only the last ones are kept."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._lines = KeptLines(capacity)
        self._standing: deque[tuple[int, Standing]] = deque()  # what lines leave out, and since which interval
        self._noise_by_cpu: dict[int, array[float]] = {}
        self._worst = _column(capacity)
        self._noisy = array("L", [0]) * capacity  # intervals up to this one with too much
        self._unknown = array("L", [0]) * capacity  # and in which that could not be known
        self._total_noisy = self._total_unknown = 0
        self._shown: dict[int, Frame] = {}  # the last that were asked for
        self._kinds_of: int | None = None
        self._kinds: dict[int, tuple[Mapping[str, float], float | None]] = {}  # by the interval, of that CPU
        self.count = 0

    @property
    def first(self) -> int:
        """The number of the oldest interval that is kept."""
        return max(self.count - self.capacity, 0)

    def add(self, frame: Frame, line: bytes | None = None) -> None:
        """Takes in the next frame that has rates; `line` is what it came as."""
        at = self.count % self.capacity
        self._keep_standing(standing_of(frame))
        self._lines.add(line or encode_frame(frame))
        for column in self._noise_by_cpu.values():
            column[at] = math.nan
        for cpu in frame.cpus:
            column = self._noise_by_cpu.setdefault(cpu.cpu, _column(self.capacity))
            known = OFFLINE_NS if cpu.role == Role.OFFLINE else cpu.stolen_ns_per_s
            column[at] = math.nan if known is None else known
        worst = worst_of(cpu.stolen_ns_per_s for cpu in frame.cpus if cpu.role == Role.TARGET)
        self._worst[at] = math.nan if worst is None else worst
        self._total_noisy += (worst or 0) >= GRAVE_NS
        self._total_unknown += worst is None
        self._noisy[at], self._unknown[at] = self._total_noisy, self._total_unknown
        self.count += 1

    def _keep_standing(self, standing: Standing) -> None:
        if not self._standing or self._standing[-1][1] != standing:
            self._standing.append((self.count, standing))
        while len(self._standing) > 1 and self._standing[1][0] <= self.first:
            self._standing.popleft()

    def frame(self, number: int) -> Frame:
        """The frame of an interval that is kept. Raises IndexError for another."""
        if not self.first <= number < self.count:
            raise IndexError(f"interval {number} is not kept")
        if number not in self._shown:
            self._shown = {**dict(list(self._shown.items())[1 - _MOST_SHOWN :]), number: self._decoded(number)}
        return self._shown[number]

    def _decoded(self, number: int) -> Frame:
        at = bisect_right(self._standing, number, key=lambda since: since[0]) - 1
        return decode_frame(self._lines.line(number), self._standing[at][1])

    def noise_by_kind(self, cpu: int, numbers: range) -> dict[str, list[float | None]]:
        """The noise of each kind on the CPU, ns/s; None where a frame may not tell. Frames are looked into once."""
        if self._kinds_of != cpu:
            self._kinds_of, self._kinds = cpu, {}
        for number in numbers:
            if number not in self._kinds:
                self._kinds[number] = _by_kind(self._decoded(number), cpu)
        self._kinds = {number: self._kinds[number] for number in numbers}
        told = [self._kinds[number] for number in numbers]
        kinds = {kind for lost, _ in told for kind in lost}
        return {kind: [lost.get(kind, others) for lost, others in told] for kind in kinds}

    @property
    def kept(self) -> range:
        """All intervals that are kept."""
        return range(self.first, self.count)

    def noisy_within(self, numbers: range) -> tuple[int, int]:
        """In how many of these intervals, all of them kept, a target CPU had too much noise; and may have had."""
        if not numbers:
            return 0, 0
        first, last = numbers[0], numbers[-1] % self.capacity
        worst, at = self.worst([first])[0], first % self.capacity
        noisy = self._noisy[last] - self._noisy[at] + ((worst or 0) >= GRAVE_NS)
        return noisy, self._unknown[last] - self._unknown[at] + (worst is None)

    def cpus_over_limit(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Those of the CPUs that had too much noise in one of these intervals, all of them kept."""
        is_over = float(GRAVE_NS).__le__  # NaN, which is unknown, is not
        columns = ((cpu, self._noise_by_cpu.get(cpu)) for cpu in cpus)
        return [cpu for cpu, column in columns if column is not None and any(map(is_over, self._part(column, numbers)))]

    def unread_cpus(self, cpus: Iterable[int], numbers: range) -> list[int]:
        """Those of the CPUs whose noise was unknown in one of these intervals, all of them kept."""
        columns = ((cpu, self._noise_by_cpu.get(cpu)) for cpu in cpus)
        return [cpu for cpu, column in columns if column is None or math.isnan(sum(self._part(column, numbers)))]

    def noise(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """The noise of the CPU, ns/s; None is unknown, not kept, or offline."""
        return [None if lost == OFFLINE_NS else lost for lost in self.lane(cpu, numbers)]

    def lane(self, cpu: int, numbers: Iterable[int]) -> list[float | None]:
        """The same to be drawn: OFFLINE_NS where the CPU was offline: known to have had no noise."""
        return self._read(self._noise_by_cpu.get(cpu), numbers)

    def worst(self, numbers: Iterable[int]) -> list[float | None]:
        """The noise of the noisiest target CPU, ns/s."""
        return self._read(self._worst, numbers)

    def worst_number(self) -> int:
        """The interval with the most noise on a target CPU, the newest of equals; none where all are unknown."""
        numbers = range(self.first, self.count)
        lost = dict(zip(numbers, self.worst(numbers), strict=True))
        return max(numbers, key=lambda number: (-1.0 if lost[number] is None else lost[number] or 0.0, number))

    def spikes(self) -> list[int]:
        """The intervals that are kept in which a spike of a target CPU begins."""
        return [self.first + at for at in spikes_in(self.worst(range(self.first, self.count)))]

    def is_spike(self, number: int) -> bool:
        """Whether one begins in that interval."""
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
        """The values of these intervals, all of them kept."""
        begin, end = numbers.start % self.capacity, (numbers.stop - 1) % self.capacity + 1
        return column[begin:end] if begin < end else column[begin:] + column[:end]


def _column(capacity: int) -> array[float]:
    return array("f", [math.nan]) * capacity


def _by_kind(frame: Frame, cpu: int) -> tuple[Mapping[str, float], float | None]:
    """The noise of each kind, and of all others: none, where the frame tells all."""
    taken = next((line.taken_ns_per_s for line in frame.cpus if line.cpu == cpu), None)
    if taken is not None:
        return {kind: ns for kind, ns in zip(KINDS, taken, strict=True) if ns}, 0.0
    lost: dict[str, float] = defaultdict(float)
    for line in frame.culprits:
        if line.cpu == cpu:
            lost[line.kind] += line.stolen_ns_per_s
    return (dict(lost), 0.0) if frame.tells_all_of(cpu) else ({}, None)
