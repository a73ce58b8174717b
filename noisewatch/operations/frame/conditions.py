"""What the machine runs under, as a frame carries it: the limits of its clocks, its heat, its mains power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClockLimits:
    """Between what the clock of these CPUs may move."""

    cpus: str
    min_khz: int | None
    max_khz: int | None


@dataclass(frozen=True, slots=True)
class Throttled:
    """How often heat slowed down what these target CPUs share, a core or a package; None is unknown."""

    what: str
    cpus: str
    times: int | None


@dataclass(frozen=True, slots=True)
class CoolingLine:
    """The cooling devices of one kind that slow the processor down now; None where one of them cannot be known."""

    kind: str
    active: int | None
    highest_state: int | None


@dataclass(frozen=True, slots=True)
class Temperature:
    """One sensor of the processor that can be asked without interrupting a target CPU."""

    name: str
    celsius: float | None
    critical_celsius: float | None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What has nothing to tell is left out; None is unknown."""

    mains_power: bool | str | None = None  # `none` where nothing tells of it
    clock_limits: tuple[ClockLimits, ...] = ()
    throttled: tuple[Throttled, ...] = ()  # in this interval
    cooling: tuple[CoolingLine, ...] | None = None
    temperatures: tuple[Temperature, ...] = ()


UNKNOWN_CONDITIONS = Conditions()


def decoded_conditions(found: dict[str, Any]) -> Conditions:
    """The conditions of a decoded line. Raises TypeError or KeyError for anything else."""
    return Conditions(
        mains_power=found["mains_power"],
        clock_limits=tuple(ClockLimits(**each) for each in found["clock_limits"]),
        throttled=tuple(Throttled(**each) for each in found["throttled"]),
        cooling=None if found["cooling"] is None else tuple(CoolingLine(**each) for each in found["cooling"]),
        temperatures=tuple(Temperature(**each) for each in found["temperatures"]),
    )
