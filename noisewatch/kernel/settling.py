"""The speed of CPUs that worked until their clocks were level.

No file contains this: a live machine works, and a recording replays its measurements.
"""

from __future__ import annotations

from collections.abc import Callable

from noisewatch.errors import Malformed
from noisewatch.kernel.numbers import count_of, field_of
from noisewatch.machine import Json, Machine
from noisewatch.records import dataclass

QUESTION = "settling"


@dataclass(frozen=True, slots=True)
class CpuSpeeds:
    """Time (ns) of one unit of work in each second, and its CPU cycles if they could be counted, else None."""

    cpu: int
    times_ns: tuple[int, ...]
    cycles: int | None


def read_settling(machine: Machine, answer: Callable[[], Json]) -> tuple[CpuSpeeds, ...]:
    """Return the speed of each CPU. Raise Unreadable and Malformed."""
    return parse_settling(machine.ask(QUESTION, answer))


def parse_settling(answer: Json) -> tuple[CpuSpeeds, ...]:
    """Parse the speeds that `settle` wrote. Raise Malformed."""
    return tuple(_parse_cpu(said) for said in field_of(answer, "cpus", list))


def _parse_cpu(said: Json) -> CpuSpeeds:
    times = field_of(said, "times_ns", list)
    if not all(type(ns) is int and ns > 0 for ns in times):
        raise Malformed("times of a piece of work", str(times[:3]))
    multiply_ns, add_ns = field_of(said, "multiply_ns", int), field_of(said, "add_ns", int)
    is_told = multiply_ns > 0 and add_ns > 0
    cycles = round(multiply_ns / add_ns) * count_of(said, "chain_length") if is_told else None  # an addition takes one
    return CpuSpeeds(count_of(said, "cpu"), tuple(times), cycles or None)
