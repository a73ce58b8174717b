"""The clock of each CPU, interval after interval: four bytes of each, 7 MB after an hour of 512 CPUs; heat and power.

From Linux 5.19 on x86 tells the clock that was counted up to a CPU's last tick. Of a CPU without a tick in the interval
it is old, or only what the driver asked for: such clocks are kept, and said to be stale.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from enum import StrEnum
from typing import Self, TypeVar

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import Frame
from noisewatch.records import dataclass
from noisewatch.surfaces.tui.state.heat_and_power import share_of_heat, share_of_power, times_limited
from noisewatch.surfaces.tui.state.history import CAPACITY
from noisewatch.surfaces.tui.state.irq_history import IrqHistory

DROP = 0.05  # of the clock: what falls by more, within as many intervals as these, is a drop
_DROPS_WITHIN = 10
_TENS = 4  # digits of kHz that `each` leaves out
_UNKNOWN = 0
_KNOWS_TICKS, _BY_HEAT, _BY_POWER, _UNCOUNTED = 1, 2, 4, 8
N = TypeVar("N", int, float)


class ClockGraph(StrEnum):
    """Whose clock is drawn over time: that of the slowest target CPU, of each of them, or their mean."""

    SLOWEST = "slowest"
    EACH = "each"
    MEAN = "mean"

    @property
    def following(self) -> ClockGraph:
        """The next one, and after the last the first."""
        graphs = tuple(ClockGraph)
        return graphs[(graphs.index(self) + 1) % len(graphs)]


@dataclass(frozen=True, slots=True)
class ClockRange:
    """Clocks of one CPU in some intervals, in kHz; `age_s` is the time since its last tick with a clock, 0 where that
    was in the last of the intervals.

    None is unknown, and of the age: no tick was seen as far back as is kept, where `knows_ticks`. Lowest and highest
    are those of intervals with a tick, where there is any.
    """

    lowest_khz: int
    highest_khz: int
    last_khz: int
    age_s: float | None
    knows_ticks: bool = True  # whether it is known of all these intervals whether the CPU had one
    is_stale: bool = False  # no interval is known to have had one: the clocks tell of no spread


class ToldFigures:
    """Of which CPUs each figure was told: `age` of a clock, `heat`, `slowed`, `limited` by power, `C0`, and idle
    states by their names.

    What was shown once keeps its column.
    """

    def __init__(self) -> None:
        self.cpus: defaultdict[str, set[int]] = defaultdict(set)
        self.idle_names: tuple[str, ...] = ()  # the lightest first

    @classmethod
    def of(cls, frame: Frame) -> Self:
        """Those of one frame."""
        told = cls()
        told.add(frame)
        return told

    def names(self, cpus: Set[int]) -> set[str]:
        """Of what was told of any of these CPUs."""
        return {name for name, told in self.cpus.items() if not told.isdisjoint(cpus)}

    def add(self, frame: Frame) -> None:
        """And what this frame tells."""
        if frame.clock is None:
            return
        self.idle_names = frame.clock.idle_names or self.idle_names
        for each in frame.clock.cpus:
            shares = zip(frame.clock.idle_names, each.idle_shares or (), strict=False)
            told = {name for name, share in shares if share is not None}
            told |= {"heat"} if each.celsius is not None else set()
            slowed = (each.slowed_ms, each.throttles, each.power_limit_count)
            told |= {"slowed"} if any(figure is not None for figure in slowed) else set()
            told |= {"limited"} if each.power_limit_count else set()
            told |= {"C0"} if each.awake_share is not None else set()
            for name in told:
                self.cpus[name].add(each.cpu)


class ClockHistory:
    """Goes by the numbers of History's intervals."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self._at_s = array("d")
        self._khz_by_cpu: dict[int, array[int]] = {}  # negative: stale
        self._slowest = array("i")
        self._last_whole = _UNKNOWN  # the slowest, when it was known last
        self._means = array("f")
        self._each: dict[int, frozenset[int]] = {}  # what was asked last of `each` ...
        self._each_of: Sequence[int] = ()  # ... and of which CPUs
        self._flags = array("B")
        self._heat, self._power = array("f"), array("f")  # of what is critical, and of the limit
        self._limited: Mapping[str, int] = {}  # times that each power limit was reached, since boot
        self.told = ToldFigures()

    def add(self, frame: Frame, irqs: IrqHistory) -> None:
        """Takes in the next interval of the history; `irqs` know which interrupts are ticks."""
        at, self.count = self.count % self.capacity, self.count + 1
        ticks = {label for label, setting in irqs.settings.items() if setting.kind == Kind.TICK}
        ticked = {cpu for line in frame.irqs or () if line.label in ticks for cpu in line.cpus}
        flags = _KNOWS_TICKS if ticks and frame.irqs is not None else 0
        slowed_by = {each.by for each in frame.conditions.throttled if each.times}
        flags |= _BY_HEAT if "heat" in slowed_by else 0
        flags |= _BY_POWER if self._is_limited(frame) or "power" in slowed_by else 0
        flags |= _UNCOUNTED if any(each.times is None for each in frame.conditions.throttled) else 0
        _put(self._flags, at, flags)
        self.told.add(frame)
        _put(self._heat, at, share_of_heat(frame))
        _put(self._power, at, share_of_power(frame))
        khz_by_cpu = {
            line.cpu: line.current_khz if line.cpu in ticked else -line.current_khz
            for line in frame.cpus
            if line.current_khz is not None
        }
        self.told.cpus["age"].update(cpu for cpu, khz in khz_by_cpu.items() if khz < 0)
        for cpu in khz_by_cpu.keys() - self._khz_by_cpu.keys():
            self._khz_by_cpu[cpu] = array("i", [_UNKNOWN]) * len(self._at_s)
        for cpu, column in self._khz_by_cpu.items():
            _put(column, at, khz_by_cpu.get(cpu, _UNKNOWN))
        targets = [khz_by_cpu.get(line.cpu, _UNKNOWN) for line in frame.cpus if line.role == Role.TARGET]
        _put(self._slowest, at, self._slowest_of(targets))
        _put(self._means, at, math.nan if _UNKNOWN in targets else _mean(targets))
        _put(self._at_s, at, frame.taken_at_ns / 1e9)

    def _slowest_of(self, targets: Sequence[int]) -> int:
        """Unknown where that of one is, as that may be the slowest; unless another has dropped below what all had."""
        found = _slowest(targets)
        if _UNKNOWN not in targets:
            self._last_whole = found
        return found if _UNKNOWN not in targets or 0 < found < (1 - DROP) * self._last_whole else _UNKNOWN

    def clocks(self, cpu: int, numbers: Iterable[int]) -> list[int | None]:
        """The CPU's clock in kHz, by interval, stale ones too; None is unknown, or not kept."""
        return [abs(khz) or None for khz in self._read(self._khz_by_cpu.get(cpu), numbers)]

    def slowest(self, numbers: Iterable[int]) -> list[int | None]:
        """The clock of the slowest target CPU in kHz; of those that had a tick, where any had; None is unknown."""
        return [abs(khz) or None for khz in self._read(self._slowest, numbers)]

    def are_stale(self, numbers: Iterable[int], cpu: int | None = None) -> list[bool]:
        """Whether the clock of the CPU, or of the slowest target CPU, is not of that interval."""
        column = self._slowest if cpu is None else self._khz_by_cpu.get(cpu)
        return [khz < 0 for khz in self._read(column, numbers)]

    def means(self, numbers: Iterable[int]) -> list[float | None]:
        """The mean clock of the target CPUs in kHz, of those that had a tick, where any had."""
        return _known(self._read(self._means, numbers))

    def each(self, cpus: Sequence[int], numbers: Iterable[int]) -> list[frozenset[int]]:
        """All clocks of these CPUs in kHz, by interval; to 10 MHz, and each once. Intervals are looked into once."""
        columns = [self._khz_by_cpu[cpu] for cpu in cpus if cpu in self._khz_by_cpu]
        first, at = max(self.count - self.capacity, 0), self.capacity
        known, self._each_of = self._each if self._each_of == cpus else {}, cpus
        self._each = {
            number: known[number]
            if number in known
            else frozenset(round(abs(column[number % at]), -_TENS) for column in columns) - {_UNKNOWN}
            for number in numbers
            if first <= number < self.count
        }
        return [self._each.get(number, frozenset()) for number in numbers]

    def drops(self) -> list[int]:
        """The intervals that are kept in which the slowest target CPU's clock began to lie more than DROP below what it
        was lately. Stale clocks tell nothing.
        """
        found: list[int] = []
        first, lately, was_low = max(self.count - self.capacity, 0), list[int](), False
        for number, khz in enumerate(self._read(self._slowest, range(first, self.count)), start=first):
            if khz <= 0:
                continue
            is_low = bool(lately) and khz < (1 - DROP) * max(lately)
            found += [number] if is_low and not was_low else []
            lately, was_low = [*lately[1 - _DROPS_WITHIN :], khz], is_low
        return found

    def heat(self, numbers: Iterable[int]) -> list[float | None]:
        """How hot the hottest package of the target CPUs was, as a share of what is critical; None is unknown."""
        return _known(self._read(self._heat, numbers))

    def power(self, numbers: Iterable[int]) -> list[float | None]:
        """The same of what they used, as a share of PL1."""
        return _known(self._read(self._power, numbers))

    def slowed_by(self, numbers: Iterable[int]) -> list[tuple[bool, bool]]:
        """Whether heat slowed a target CPU in that interval, and whether a power limit was reached."""
        return [(bool(flags & _BY_HEAT), bool(flags & _BY_POWER)) for flags in self._read(self._flags, numbers)]

    def are_uncounted(self, numbers: Iterable[int]) -> list[bool]:
        """Whether it is unknown of a core or package how often it was slowed in that interval."""
        return [bool(flags & _UNCOUNTED) for flags in self._read(self._flags, numbers)]

    def _is_limited(self, frame: Frame) -> bool:
        """Whether a power limit was reached since the frame before, as far as both tell."""
        before, self._limited = self._limited, times_limited(frame)
        return any(count > before.get(what, count) for what, count in self._limited.items())

    def range_of(self, cpu: int, numbers: range) -> ClockRange | None:
        """The CPU's clocks in these intervals; None where none is known."""
        read = self._read(self._khz_by_cpu.get(cpu), numbers)
        known = [khz for khz in read if khz]
        if not known:
            return None
        fresh = [khz for khz in known if khz > 0] or [-khz for khz in known]
        kept = range(max(numbers.start, self.count - self.capacity), min(numbers.stop, self.count))
        age_s = self._age_s(cpu, kept[-1])
        knows_ticks = age_s is not None or all(flags & _KNOWS_TICKS for flags in self._read(self._flags, kept))
        is_stale = max(known) < 0
        return ClockRange(min(fresh), max(fresh), abs(known[-1]), age_s, knows_ticks, is_stale)

    def taken_at_s(self, number: int) -> float | None:
        """When the interval ended, CLOCK_MONOTONIC in seconds; None where it is not kept."""
        first = max(self.count - self.capacity, 0)
        return self._at_s[number % self.capacity] if first <= number < self.count else None

    def _age_s(self, cpu: int, number: int) -> float | None:
        column = self._khz_by_cpu[cpu]
        earlier = range(number, max(self.count - self.capacity, 0) - 1, -1)
        ticked = next((each for each in earlier if column[each % self.capacity] > 0), None)
        if ticked is None:
            return None
        return self._at_s[number % self.capacity] - self._at_s[ticked % self.capacity]

    def _read(self, column: array[N] | None, numbers: Iterable[int]) -> list[N]:
        first, count, capacity = max(self.count - self.capacity, 0), self.count, self.capacity
        nothing: N = _UNKNOWN
        if column is None:
            return [nothing for _ in numbers]
        if isinstance(numbers, range) and numbers.step == 1 and first <= numbers.start and numbers.stop <= count:
            begin = numbers.start % capacity
            if begin + len(numbers) <= len(column):
                return list(column[begin : begin + len(numbers)])
        return [column[number % capacity] if first <= number < count else nothing for number in numbers]


def _slowest(clocks: Iterable[int]) -> int:
    """That of those with a tick; else of the stale ones; negative then."""
    known = [khz for khz in clocks if khz]
    return min((khz for khz in known if khz > 0), default=max(known, default=_UNKNOWN))


def _mean(known: Sequence[int]) -> float:
    found = [khz for khz in known if khz > 0] or [-khz for khz in known]
    return sum(found) / len(found) if found else math.nan


def _known(shares: Iterable[float]) -> list[float | None]:
    return [share if share > 0 else None for share in shares]  # no NaN is


def _put(column: array[N], at: int, value: N) -> None:
    if at < len(column):
        column[at] = value
    else:
        column.append(value)
