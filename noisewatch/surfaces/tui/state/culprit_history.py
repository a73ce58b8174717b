"""The noise and the rate of each culprit by interval, over the last hour."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.kinds import Role
from noisewatch.operations.frame.frame import CulpritLine, Frame
from noisewatch.surfaces.tui.state.folding import FoldedLine, cpus_of, culprit_identity
from noisewatch.surfaces.tui.state.noise import GRAVE_NS, NOT_FOLLOWED_NS
from noisewatch.surfaces.tui.state.ring import CAPACITY

_ENTRY = struct.Struct("<qiiff")  # hash of the culprit, CPU, thread, ns/s, times/s
_NO_THREAD = 0
_MOST_UNPACKED = 256  # intervals

_Entry = tuple[int, int, float, float]  # CPU, thread, ns/s, times/s (0: unknown)
_Entries = Mapping[int, list[_Entry]]


class _Interval(Struct, frozen=True):
    """The packed culprits of one interval, and the CPUs whose culprits may be incomplete."""

    packed: bytes
    unknown: CpuSet
    misses_target: bool
    misses_housekeeping: bool

    def noise(self, line: CulpritLine, noise_by_cpu: Mapping[int, float], ever_on: CpuSet) -> float | None:
        """Return the culprit's noise (ns/s) on its noisiest CPU, or None if unknown.

        Return NOT_FOLLOWED_NS if the frame may leave the culprit out. `ever_on` are all CPUs where it was observed.
        """
        highest = max(noise_by_cpu.values(), default=None)
        if self.unknown and (highest or 0.0) < GRAVE_NS and not self.unknown.isdisjoint(ever_on):
            return None
        if highest is not None:
            return highest
        misses = self.misses_housekeeping if line.role == Role.HOUSEKEEPING else self.misses_target
        return NOT_FOLLOWED_NS if misses else 0.0


def _by_cpu(entries: Iterable[_Entry], tid: int | None, cpus: CpuSet | None) -> Mapping[int, float]:
    """Return the noise by CPU of thread `tid` (None: all threads together), on the given CPUs (None: all CPUs)."""
    noise_by_cpu: dict[int, float] = {}
    for cpu, thread, noise, _ in entries:
        if (cpus is None or cpu in cpus) and (tid is None or tid == thread):
            noise_by_cpu[cpu] = noise_by_cpu.get(cpu, 0.0) + noise
    return noise_by_cpu


class CulpritHistory:
    """The noise of each culprit by interval, numbered as in History; about 6 MB per hour."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.count = 0
        self._intervals: deque[_Interval] = deque(maxlen=capacity)
        self._unpacked: dict[int, _Entries] = {}

    def add(self, frame: Frame) -> None:
        """Append the culprits of the next interval."""
        self.count += 1
        packed = b"".join(
            _ENTRY.pack(
                hash(culprit_identity(line)),
                line.cpu,
                line.tid or _NO_THREAD,
                line.stolen_ns_per_s,
                line.rate_per_s or 0.0,
            )
            for line in frame.culprits
        )
        unknown = frozenset(
            line.cpu for line in frame.cpus if line.stolen_ns_per_s is None and line.role != Role.OFFLINE
        )
        misses_target = frame.is_cut and frame.culprits[-1].role != Role.HOUSEKEEPING
        self._intervals.append(_Interval(packed, unknown, misses_target, frame.is_cut))

    def noise(self, line: CulpritLine, numbers: Sequence[int], cpus: CpuSet | None = None) -> list[float | None]:
        """Return the culprit's noise (ns/s) by interval, on the CPU where it is highest; `cpus` None is all CPUs.

        A folded line stands for all the culprit's threads, any other line for its own thread. The noise is
        NOT_FOLLOWED_NS if the culprit was not among the costliest. It is None if the interval is not kept, or if
        a CPU of the culprit could not be read and the noise on its other CPUs is not grave.
        """
        what = hash(culprit_identity(line))
        tid = None if isinstance(line, FoldedLine) else line.tid
        first = self.count - len(self._intervals)
        cpus_by_interval = [
            _by_cpu(self._entries(number, first).get(what, ()), tid, cpus) if first <= number < self.count else None
            for number in numbers
        ]
        ever_on = frozenset(cpus_of(line)).union(*(cpus for cpus in cpus_by_interval if cpus))
        return [
            None if cpus is None else self._intervals[number - first].noise(line, cpus, ever_on)
            for number, cpus in zip(numbers, cpus_by_interval, strict=True)
        ]

    def rates(self, line: CulpritLine, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Return the rate and the noise (ns/s) of the line's thread on its CPU by interval, since its last gap.

        A gap is an interval in which the thread did not run there, or in which its rate is unknown.
        """
        what, first = hash(culprit_identity(line)), self.count - len(self._intervals)
        rates: list[tuple[float, float]] = []
        for number in reversed(numbers):
            entries = self._entries(number, first).get(what, ()) if first <= number < self.count else ()
            mine = [entry for entry in entries if entry[0] == line.cpu and entry[1] == (line.tid or _NO_THREAD)]
            if len(mine) != 1 or mine[0][3] <= 0:
                break
            rates.append((mine[0][3], mine[0][2]))
        return rates[::-1]

    def _entries(self, number: int, first: int) -> _Entries:
        """Return an interval's culprits by hash; the intervals read last are cached.

        With the cache, a picture of the overview with 60 culprits takes 1.2 ms instead of 1.6.
        """
        if number not in self._unpacked:
            entries: dict[int, list[_Entry]] = defaultdict(list)
            for what, cpu, tid, noise, rate in _ENTRY.iter_unpack(self._intervals[number - first].packed):
                entries[what].append((cpu, tid, noise, rate))
            self._unpacked[number] = dict(entries)
            if len(self._unpacked) > _MOST_UNPACKED:
                del self._unpacked[next(iter(self._unpacked))]
        return self._unpacked[number]
