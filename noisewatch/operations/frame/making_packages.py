"""Heat and power of each package, for the clock screen: the sampler's side of them."""

from __future__ import annotations

from collections.abc import Iterable

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kernel.frequency.clock_readings import ClockReadings
from noisewatch.kernel.frequency.heat import cpus_of_package
from noisewatch.kernel.frequency.hwmon import Sensor
from noisewatch.kernel.frequency.packages import Zone
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.clock import watts_of
from noisewatch.operations.frame.clock import ClockPackage, ClockSensor


def clock_packages(snapshot: Snapshot, readings: ClockReadings, is_first: bool) -> tuple[ClockPackage, ...]:
    """Those that CPUs are known to be in, by number."""
    cpus_by_package: dict[int, list[int]] = {}
    for cpu, place in sorted(snapshot.topology.items()):
        if place.package is not None:
            cpus_by_package.setdefault(place.package, []).append(cpu)
    return tuple(
        _package(snapshot, readings, is_first, package, tuple(cpus), len(cpus_by_package) == 1)
        for package, cpus in sorted(cpus_by_package.items())
    )


def _package(
    snapshot: Snapshot, readings: ClockReadings, is_first: bool, package: int, cpus: tuple[int, ...], is_only: bool
) -> ClockPackage:
    celsius, critical = _heat(snapshot, is_first, package, is_only)
    long_limit_w, rated_w = _long_limit(snapshot, readings, package)
    asked = _asked_for_throttles(snapshot, frozenset(cpus))
    slowed = readings.slowed_by_cpu.get((asked, "package")) if asked is not None else None
    domains = [each for each in snapshot.hardware.uncore.domains or () if each.package == package]
    return ClockPackage(
        package=package,
        cpus=format_cpu_list(cpus),
        celsius=celsius,
        critical_celsius=critical,
        watts=watts_of(package, readings.packages_before, readings.packages),
        long_limit_w=long_limit_w,
        short_limit_w=_least(zone.short_limit_uw for zone in _enabled(readings, package)),
        rated_w=rated_w,
        throttles=snapshot.background.throttling.count_by_package_cpu.get(asked) if asked is not None else None,
        slowed_ms=slowed.slowed_ms if slowed is not None else None,
        power_limit_count=slowed.power_limit_count if slowed is not None else None,
        uncore_khz=_lowest(readings.packages.uncore_khz_by_path.get(each.path) for each in domains),
        uncore_min_khz=_lowest(each.min_khz for each in domains),
        uncore_max_khz=max((each.max_khz for each in domains if each.max_khz is not None), default=None),
    )


def _asked_for_throttles(snapshot: Snapshot, cpus: CpuSet) -> int | None:
    """The CPU of the package that was asked how often that was throttled."""
    asked = snapshot.background.throttling.count_by_package_cpu
    return next((cpu for cpu in asked if cpu in cpus and cpus_of_package(cpu, cpus, snapshot.topology)), None)


def _enabled(readings: ClockReadings, package: int) -> list[Zone]:
    zones = readings.packages.zones
    return [zone for zone in zones if zone.package == package and zone.is_enabled is not False]


def _long_limit(snapshot: Snapshot, readings: ClockReadings, package: int) -> tuple[float | None, float | None]:
    """PL1 and what the package was rated for, in watts; where they are not asked any more, as the run began."""
    first = [each for each in snapshot.hardware.power_limits.zones or () if each.package == package]
    limit_w = _least(zone.long_limit_uw for zone in _enabled(readings, package))
    rated = [zone.rated_uw for zone in readings.packages.zones if zone.package == package]
    rated_uw = max((uw for uw in (*rated, *(each.rated_uw for each in first)) if uw is not None), default=None)
    if limit_w is None:
        limit_w = _least(each.limit_uw for each in first if each.is_enabled is not False)
    return limit_w, None if rated_uw is None else rated_uw / 1e6


def _least(microwatts: Iterable[int | None]) -> float | None:
    lowest = _lowest(microwatts)
    return None if lowest is None else lowest / 1e6


def _lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _heat(snapshot: Snapshot, is_first: bool, package: int, is_only: bool) -> tuple[float | None, float | None]:
    """Of the package's own sensor; of the hottest, where it is the only package and no sensor names one."""
    sensors = [each for each in snapshot.hardware.sensors.read or () if each.package == package]
    if not sensors and is_only:
        sensors = [each for each in snapshot.hardware.sensors.read or () if each.package is None]
    now = [(celsius, each) for each in sensors if (celsius := _celsius(snapshot, each, is_first)) is not None]
    if not now:
        return None, next((each.critical_celsius for each in sensors), None)
    celsius, hottest = max(now, key=lambda pair: pair[0])
    return celsius, hottest.critical_celsius


def _celsius(snapshot: Snapshot, sensor: Sensor, is_first: bool) -> float | None:
    """Now; what was asked when the run began is of the first look alone."""
    known = snapshot.background.celsius_by_path.get(sensor.path)
    return sensor.celsius if known is None and is_first else known


def clock_sensors(snapshot: Snapshot, is_first: bool) -> tuple[ClockSensor, ...]:
    """The processor's sensors that tell most."""
    return tuple(
        ClockSensor(
            name=f"{sensor.chip} {sensor.label}" if sensor.label else sensor.chip,
            celsius=_celsius(snapshot, sensor, is_first),
            critical_celsius=sensor.critical_celsius,
        )
        for sensor in snapshot.hardware.sensors.read or ()
    )
