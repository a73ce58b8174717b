"""How long each CPU has slept in each idle state since boot: cpuidle. Reading it wakes no CPU.

    /sys/devices/system/cpu/cpuN/cpuidle/state3/{name,time}     C6, 8410533 (us)

https://docs.kernel.org/admin-guide/pm/cpuidle.html. A sleep is counted when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from noisewatch.kernel.frequency.idle import CPUS
from noisewatch.kernel.numbers import parse_count, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.text import clean

MOST_CPUS = 128  # a file costs 2 to 10 us, and there are up to ten of a CPU
_STATE = regex(r"state(\d{1,3})")


@dataclass(frozen=True, slots=True)
class StateTime:
    """One idle state of one CPU. None is unknown."""

    index: int
    name: str | None
    slept_us: int | None


def read_state_times(
    reader: Reader, cpus: Sequence[int], previous: Mapping[int, tuple[StateTime, ...] | None] | None = None
) -> Mapping[int, tuple[StateTime, ...] | None]:
    """Return the states of the first CPUs; empty if the kernel has none, None is unknown. Names never change."""
    known = previous or {}
    return {cpu: _again(reader, cpu, known.get(cpu)) for cpu in cpus[:MOST_CPUS]}


def _again(reader: Reader, cpu: int, known: tuple[StateTime, ...] | None) -> tuple[StateTime, ...] | None:
    states = known or _read_names(reader, cpu)
    return None if states is None else tuple(_timed(reader, cpu, state) for state in states)


def _read_names(reader: Reader, cpu: int) -> tuple[StateTime, ...] | None:
    folder = f"{CPUS}/cpu{cpu}/cpuidle"
    names = reader.names_or_none(folder)
    if names is None:
        return () if reader.is_absent(folder) else None
    numbers = sorted(int(match[1]) for match in map(_STATE.fullmatch, names) if match is not None)
    told = {number: reader.parsed(f"{folder}/state{number}/name", parse_word) for number in numbers}
    return tuple(StateTime(number, None if name is None else clean(name), None) for number, name in told.items())


def _timed(reader: Reader, cpu: int, state: StateTime) -> StateTime:
    slept_us = reader.parsed(f"{CPUS}/cpu{cpu}/cpuidle/state{state.index}/time", parse_count)
    return StateTime(state.index, state.name, slept_us)
