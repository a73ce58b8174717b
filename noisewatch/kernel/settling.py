"""How fast CPUs were while they worked until their clocks were level.

No file says this: a live machine works, and a recording answers what was measured when it was made.
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
    """Each second's time of one piece of work. With `cycles` it took so many of the CPU's clock; None is unknown."""

    cpu: int
    times_ns: tuple[int, ...]
    cycles: int | None


def read_settling(machine: Machine, answer: Callable[[], Json]) -> tuple[CpuSpeeds, ...]:
    """What was measured on each CPU. Raises Unreadable and Malformed."""
    return parse_settling(machine.ask(QUESTION, answer))


def parse_settling(answer: Json) -> tuple[CpuSpeeds, ...]:
    """The speeds as `settle` writes them down. Raises Malformed."""
    return tuple(_parse_cpu(said) for said in field_of(answer, "cpus", list))


def _parse_cpu(said: Json) -> CpuSpeeds:
    times = field_of(said, "times_ns", list)
    if not all(type(ns) is int and ns > 0 for ns in times):
        raise Malformed("times of a piece of work", str(times[:3]))
    multiply_ns, add_ns = field_of(said, "multiply_ns", int), field_of(said, "add_ns", int)
    is_told = multiply_ns > 0 and add_ns > 0
    cycles = round(multiply_ns / add_ns) * count_of(said, "chain_length") if is_told else None  # an addition takes one
    return CpuSpeeds(count_of(said, "cpu"), tuple(times), cycles or None)
