"""Interrupts and temperature of each CPU by interval, which the map shows next to noise and clock.

A reading takes one byte: 4 MB after an hour of 512 CPUs. Rates are exact to 5 %, more than a level needs.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping

from noisewatch.cpus import parse_cpu_list
from noisewatch.errors import Malformed
from noisewatch.operations.frame.frame import Frame
from noisewatch.surfaces.tui.state.history import CAPACITY

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
    found: dict[int, float] = {}
    for package in frame.clock.packages:
        if package.celsius is not None:
            found.update(dict.fromkeys(_cpus(package.cpus), package.celsius))
    return {**found, **{each.cpu: each.celsius for each in frame.clock.cpus if each.celsius is not None}}


def _cpus(text: str) -> frozenset[int]:
    try:
        return parse_cpu_list(text)
    except Malformed:
        return frozenset()
