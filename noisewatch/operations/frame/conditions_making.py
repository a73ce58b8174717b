"""The conditions that a snapshot, and the interval that led to it, tell of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noisewatch.cpus import format_cpu_list
from noisewatch.kernel.frequency.throttling import cpus_of_core, cpus_of_package
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.conditions import ClockLimits, Conditions, CoolingLine, Temperature, Throttled


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
