"""The clock of each CPU, interval after interval: four bytes of each, 7 MB after an hour of 512 CPUs.

From Linux 5.19 on x86 tells the clock that was counted up to a CPU's last tick. Of a CPU without a tick in the interval
it is old, or only what the driver asked for: such clocks are kept, and said to be stale.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from noisewatch.kinds import Kind, Role
from noisewatch.operations.frame.frame import CpuLine, Frame
from noisewatch.surfaces.tui.state.history import CAPACITY
from noisewatch.surfaces.tui.state.irq_history import IrqHistory

_UNKNOWN = 0
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class ClockRange:
    """Clocks of one CPU in some intervals, in kHz; `age_s` is the time since its last tick, 0 in the last interval.

    None is unknown, and of the age: no tick was seen as far back as is kept. Lowest and highest are those of intervals
    with a tick, where there is any.
    """

    lowest_khz: int
    highest_khz: int
    last_khz: int
    age_s: float | None


class ClockHistory:
    """Goes by the numbers of History's intervals."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.count = 0
        self._at_s = array("d")
        self._khz_by_cpu: dict[int, array[int]] = {}  # negative: stale
        self._slowest = array("i")

    def add(self, frame: Frame, irqs: IrqHistory) -> None:
        """Takes in the next interval of the history; `irqs` know which interrupts are ticks."""
        at, self.count = self.count % self.capacity, self.count + 1
        ticked = {
            cpu
            for line in frame.irqs or ()
            if (setting := irqs.settings.get(line.label)) is not None and setting.kind == Kind.TICK
            for cpu in line.cpus
        }
        khz_by_cpu = {
            line.cpu: line.current_khz if line.cpu in ticked else -line.current_khz
            for line in frame.cpus
            if line.current_khz is not None
        }
        for cpu in khz_by_cpu.keys() - self._khz_by_cpu.keys():
            self._khz_by_cpu[cpu] = array("i", [_UNKNOWN]) * len(self._at_s)
        for cpu, column in self._khz_by_cpu.items():
            _put(column, at, khz_by_cpu.get(cpu, _UNKNOWN))
        _put(self._slowest, at, _slowest(khz_by_cpu[line.cpu] for line in frame.cpus if _is_target(line, khz_by_cpu)))
        _put(self._at_s, at, frame.taken_at_ns / 1e9)

    def clocks(self, cpu: int, numbers: Iterable[int]) -> list[int | None]:
        """The CPU's clock in kHz, by interval, stale ones too; None is unknown, or not kept."""
        return [abs(khz) or None for khz in self._read(self._khz_by_cpu.get(cpu), numbers)]

    def slowest(self, numbers: Iterable[int]) -> list[int | None]:
        """The clock of the slowest target CPU in kHz; of those that had a tick, where any had."""
        return [abs(khz) or None for khz in self._read(self._slowest, numbers)]

    def are_stale(self, numbers: Iterable[int], cpu: int | None = None) -> list[bool]:
        """Whether the clock of the CPU, or of the slowest target CPU, is not of that interval."""
        column = self._slowest if cpu is None else self._khz_by_cpu.get(cpu)
        return [khz < 0 for khz in self._read(column, numbers)]

    def range_of(self, cpu: int, numbers: range) -> ClockRange | None:
        """The CPU's clocks in these intervals, up to the last of them in which one is known; None where none is."""
        read = self._read(self._khz_by_cpu.get(cpu), numbers)
        known = [khz for khz in read if khz]
        if not known:
            return None
        fresh = [khz for khz in known if khz > 0] or [-khz for khz in known]
        last = max(number for number, khz in zip(numbers, read, strict=True) if khz)
        return ClockRange(min(fresh), max(fresh), abs(known[-1]), self._age_s(cpu, last))

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

    def _read(self, column: array[int] | None, numbers: Iterable[int]) -> list[int]:
        first, count, capacity = max(self.count - self.capacity, 0), self.count, self.capacity
        if column is None:
            return [_UNKNOWN for _ in numbers]
        return [column[number % capacity] if first <= number < count else _UNKNOWN for number in numbers]


def _is_target(line: CpuLine, khz_by_cpu: Mapping[int, int]) -> bool:
    return line.role == Role.TARGET and line.cpu in khz_by_cpu


def _slowest(clocks: Iterable[int]) -> int:
    """That of those with a tick; else of the stale ones; negative then."""
    known = [khz for khz in clocks if khz]
    return min((khz for khz in known if khz > 0), default=max(known, default=_UNKNOWN))


def _put(column: array[N], at: int, value: N) -> None:
    if at < len(column):
        column[at] = value
    else:
        column.append(value)
