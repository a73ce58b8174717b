"""What the machine runs under, as a frame carries it: the limits of its clocks, its heat, its mains power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from noisewatch.model.interval import Interval
from noisewatch.sources.cpulist import format_cpu_list
from noisewatch.sources.snapshot import Snapshot
from noisewatch.sources.throttling import cpus_of_core, cpus_of_package


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


def conditions_of(snapshot: Snapshot, interval: Interval | None) -> Conditions:
    """As the snapshot has them; limits and mains power are read every ten seconds."""
    return Conditions(
        mains_power=snapshot.settings.mains_power.is_on,
        clock_limits=_clock_limits(snapshot),
        throttled=tuple(_throttled(interval)) if interval is not None else (),
        cooling=tuple(_cooling(snapshot)) if snapshot.settings.cooling.devices is not None else None,
        temperatures=tuple(_temperatures(snapshot)),
    )


def _clock_limits(snapshot: Snapshot) -> tuple[ClockLimits, ...]:
    cpus_by_limits: dict[tuple[int | None, int | None], list[int]] = {}
    for clock in snapshot.frequency.cpus.values():
        if (clock.min_khz, clock.max_khz) != (None, None):
            cpus_by_limits.setdefault((clock.min_khz, clock.max_khz), []).append(clock.cpu)
    return tuple(ClockLimits(format_cpu_list(cpus), *limits) for limits, cpus in cpus_by_limits.items())


def _throttled(interval: Interval) -> Iterator[Throttled]:
    """Those whose counter grew, and those that ought to have one that can be read."""
    before, after = interval.before.background.throttling, interval.after.background.throttling
    target, topology = interval.after.target.cpus, interval.after.topology
    for cpu, count in after.count_by_core_cpu.items():
        times = _growth(before.count_by_core_cpu.get(cpu), count)
        if times != 0:
            yield Throttled("core", format_cpu_list(cpus_of_core(cpu, target, topology)), times)
    for cpu, count in after.count_by_package_cpu.items():
        times = _growth(before.count_by_package_cpu.get(cpu), count)
        if times != 0:
            yield Throttled("package", format_cpu_list(cpus_of_package(cpu, target, topology)), times)


def _growth(before: int | None, after: int | None) -> int | None:
    return after - before if before is not None and after is not None and after >= before else None


def _cooling(snapshot: Snapshot) -> Iterator[CoolingLine]:
    """One line a kind that is at work, or that cannot be known: servers have a device for each CPU."""
    states = snapshot.background.cooling_states
    states_by_kind: dict[str, list[int | None]] = {}
    for device in snapshot.settings.cooling.devices or ():
        if device.kind is not None and device.path in states:
            states_by_kind.setdefault(device.kind, []).append(states[device.path])
    for kind, found in states_by_kind.items():
        known = [state for state in found if state is not None]
        active = sum(state > 0 for state in known)
        if active:
            yield CoolingLine(kind, active, max(known))
        elif len(known) < len(found):
            yield CoolingLine(kind, None, None)


def _temperatures(snapshot: Snapshot) -> Iterator[Temperature]:
    celsius_by_path: Mapping[str, float | None] = snapshot.background.celsius_by_path
    for sensor in snapshot.hardware.sensors.read or ():
        if sensor.path in celsius_by_path and sensor.critical_celsius is not None:
            name = f"{sensor.chip} {sensor.label}" if sensor.label else sensor.chip
            yield Temperature(name, celsius_by_path[sensor.path], sensor.critical_celsius)


def decoded_conditions(found: dict[str, Any]) -> Conditions:
    """The conditions of a decoded line. Raises TypeError or KeyError for anything else."""
    return Conditions(
        mains_power=found["mains_power"],
        clock_limits=tuple(ClockLimits(**each) for each in found["clock_limits"]),
        throttled=tuple(Throttled(**each) for each in found["throttled"]),
        cooling=None if found["cooling"] is None else tuple(CoolingLine(**each) for each in found["cooling"]),
        temperatures=tuple(Temperature(**each) for each in found["temperatures"]),
    )
