"""Computes the figures of the clock screen, in the sampler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from noisewatch.cpus import CpuSet, format_cpu_list
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.frequency.clock_readings import ClockReadings, throttled_time_path
from noisewatch.kernel.frequency.cpufreq import CpuFrequency, own_folder
from noisewatch.kernel.frequency.heat import HWMON, Sensor, cpus_of_core, cpus_of_package, throttle_path
from noisewatch.kernel.frequency.idle import MOST_CPUS, POLL, StateTime
from noisewatch.kernel.frequency.limits import FOLDER as UNCORE
from noisewatch.kernel.frequency.powercap import FOLDER as POWERCAP
from noisewatch.kernel.frequency.powercap import Zone
from noisewatch.kernel.snapshot.snapshot import Snapshot
from noisewatch.model.interval.clock import state_shares, watts_of
from noisewatch.model.interval.interval import Interval
from noisewatch.operations.frame.frame import ClockCpu, ClockFigures, ClockGroup, ClockPackage, Temperature

_TWO_LOOKS = "known after the second look"
_LASTING_SLEEP = "a sleep is only counted when it ends"
_SPARED = "reading it would interrupt a target CPU"
_NOT_TOLD = "not reported by this processor or driver"


def clock_figures(snapshot: Snapshot, interval: Interval | None) -> ClockFigures | None:
    """Return the clock figures: shares of the interval, and the last readings. None if the clocks were not read."""
    readings = snapshot.clock
    if readings is None:
        return None
    names = _idle_names(readings)
    figures = ClockFigures(
        groups=_groups(snapshot.frequency.cpus),
        cpus=tuple(_cpus(snapshot, readings, interval, names)),
        packages=clock_packages(snapshot, readings, is_first=interval is None),
        sensors=clock_sensors(snapshot, is_first=interval is None),
        idle_names=names,
        packages_age_s=(snapshot.taken_at_ns - readings.packages.read_at_ns) / 1e9,
    )
    return replace(figures, reasons=dict(_reasons(snapshot, readings, interval, figures)))


def _groups(clocks: Mapping[int, CpuFrequency]) -> tuple[ClockGroup, ...]:
    cpus_by_settings: dict[tuple[Any, ...], list[int]] = {}
    for cpu, clock in clocks.items():
        cpus_by_settings.setdefault(_settings_of(clock), []).append(cpu)
    return tuple(ClockGroup(format_cpu_list(cpus), *settings) for settings, cpus in cpus_by_settings.items())


def _settings_of(clock: CpuFrequency) -> tuple[Any, ...]:
    """Return the settings in the order of the fields of ClockGroup."""
    window = (clock.min_khz, clock.max_khz, clock.hardware_min_khz, clock.hardware_max_khz)
    return clock.driver, clock.governor, *window, clock.base_khz, clock.energy_preference


def _idle_names(readings: ClockReadings) -> tuple[str, ...]:
    """Return the names of the idle states of all CPUs, in the order of the states."""
    names: dict[str, None] = {}
    for states in readings.states_by_cpu.values():
        names.update((_name(state), None) for state in states or ())
    return tuple(names)


def _name(state: StateTime) -> str:
    return state.name or f"state{state.index}"


def _cpus(
    snapshot: Snapshot, readings: ClockReadings, interval: Interval | None, names: tuple[str, ...]
) -> Iterator[ClockCpu]:
    """Yield the figures of each CPU that has a known figure."""
    celsius_by_core = {(core.package, core.core): core for core in readings.packages.cores}
    topology, counts = snapshot.topology, snapshot.background.throttling.count_by_core_cpu
    asked_by_cpu = {cpu: asked for asked in counts for cpu in cpus_of_core(asked, snapshot.target.cpus, topology)}
    for cpu in sorted(readings.states_by_cpu.keys() | topology.keys() | asked_by_cpu.keys()):
        figures: dict[str, Any] = {}
        place, asked = topology.get(cpu), asked_by_cpu.get(cpu)
        core = celsius_by_core.get((place.package, place.core)) if place is not None else None  # type: ignore[arg-type]
        if core is not None:
            figures |= {"celsius": core.celsius, "critical_celsius": core.critical_celsius}
        if asked is not None:
            slowed = readings.slowed_by_cpu.get((asked, "core"))
            figures["throttles"] = counts[asked]
            figures["slowed_ms"] = slowed.slowed_ms if slowed is not None else None
            figures["power_limit_count"] = slowed.power_limit_count if slowed is not None else None
        figures |= _shares(_shares_by_name(readings, interval, cpu), names)
        if any(figure is not None for figure in figures.values()):
            yield ClockCpu(cpu, **figures)


def _shares_by_name(readings: ClockReadings, interval: Interval | None, cpu: int) -> Mapping[str, float] | None:
    """Return the share of the interval in each idle state, by its name; None if unknown."""
    earlier = interval.before.clock if interval is not None else None
    if interval is None or earlier is None:
        return None
    before, after = earlier.states_by_cpu.get(cpu), readings.states_by_cpu.get(cpu)
    load = interval.load_by_cpu.get(cpu)
    idle_share = None if load is None else max(1 - load.busy_ns / interval.length_ns, 0.0)
    shares = state_shares(before or (), after or (), interval.length_ns, idle_share)
    return None if shares is None else dict(zip(map(_name, after or ()), shares, strict=True))


def _shares(share_by_name: Mapping[str, float] | None, names: Iterable[str]) -> dict[str, Any]:
    """Return the shares of time awake and in each idle state; in POLL the CPU spins, so it counts as awake."""
    if share_by_name is None:
        return {}
    asleep = sum(share for name, share in share_by_name.items() if name != POLL)
    shares = (share_by_name.get(name) for name in names)
    return {
        "awake_share": round(max(1 - asleep, 0.0), 4),
        "idle_shares": tuple(None if share is None else round(share, 4) for share in shares),
    }


def _reasons(
    snapshot: Snapshot, readings: ClockReadings, interval: Interval | None, figures: ClockFigures
) -> Iterator[tuple[str, str]]:
    """Yield the figures that are unknown for the first target CPU or its package, with the reason."""
    cpu = min(snapshot.target.cpus, default=None)
    if cpu is None:
        return
    clock = snapshot.frequency.cpus.get(cpu, CpuFrequency(cpu))
    folder, throttle = own_folder(cpu), throttle_path(cpu, "core")
    line = next((line for line in figures.cpus if line.cpu == cpu), ClockCpu(cpu))
    for name, value, paths in (
        ("current_khz", clock.current_khz, (f"{folder}/scaling_cur_freq", folder)),
        ("governor", clock.governor, (f"{folder}/scaling_governor", folder)),
        ("window", clock.max_khz, (f"{folder}/scaling_max_freq", folder)),
        ("hardware_max_khz", clock.hardware_max_khz, (f"{folder}/cpuinfo_max_freq", folder)),
        ("base_khz", clock.base_khz, (f"{folder}/base_frequency", folder)),
        ("preference", clock.energy_preference, (f"{folder}/energy_performance_preference", folder)),
        ("turbo", snapshot.frequency.turbo, (f"{CPUS}/intel_pstate/no_turbo", f"{CPUS}/cpufreq/boost")),
        ("throttles", line.throttles, (throttle,)),
        ("slowed_ms", line.slowed_ms, (throttled_time_path(cpu, "core"), throttle)),
    ):
        if value is None:
            yield name, _unread_reason(snapshot, *paths)
    if line.idle_shares is None:
        yield "idle_shares", _unknown_shares_reason(snapshot, readings, interval, cpu)
    if line.celsius is None:
        is_spared = snapshot.is_live and snapshot.hardware.sensors.read is not None
        yield "core_celsius", _SPARED if is_spared else _unread_reason(snapshot, HWMON)
    yield from _package_reasons(snapshot, readings, figures, cpu)


def _package_reasons(
    snapshot: Snapshot, readings: ClockReadings, figures: ClockFigures, cpu: int
) -> Iterator[tuple[str, str]]:
    number = snapshot.topology[cpu].package if cpu in snapshot.topology else None
    package = next((line for line in figures.packages if line.package == number), None)
    if package is None:
        reason = _unread_reason(snapshot, f"{CPUS}/cpu{cpu}/topology/physical_package_id")
        yield from ((name, f"the package of CPU {cpu} is unknown: {reason}") for name in ("watts", "limits", "uncore"))
        return
    is_spared = package.package in readings.packages.spared
    has_zone = any(zone.package == package.package for zone in readings.packages.zones)
    if package.watts is None:
        yield "watts", _SPARED if is_spared and has_zone else _unknown_watts_reason(snapshot, readings, package.package)
    if package.long_limit_w is None:
        yield "limits", _SPARED if is_spared and has_zone else _unread_reason(snapshot, POWERCAP)
    if package.celsius is None:
        has_sensor = snapshot.hardware.sensors.read is not None
        yield "celsius", _SPARED if is_spared and has_sensor else _unread_reason(snapshot, HWMON)
    if package.uncore_max_khz is None:
        yield "uncore", _unread_reason(snapshot, UNCORE)
    if package.uncore_khz is None:
        paths = [f"{path}/current_freq_khz" for path in readings.packages.uncore_khz_by_path]
        yield "uncore_khz", _SPARED if is_spared and paths else _unread_reason(snapshot, *paths, UNCORE)


def _unknown_watts_reason(snapshot: Snapshot, readings: ClockReadings, package: int) -> str:
    zones = [zone for zone in readings.packages.zones if zone.package == package]
    if not zones or any(zone.energy_uj is None for zone in zones):
        return _unread_reason(snapshot, *(f"{zone.path}/energy_uj" for zone in zones), POWERCAP)
    return "known after five seconds" if readings.packages_before is None else "the energy counter did not advance"


def _unknown_shares_reason(snapshot: Snapshot, readings: ClockReadings, interval: Interval | None, cpu: int) -> str:
    states = readings.states_by_cpu.get(cpu)
    folder = f"{CPUS}/cpu{cpu}/cpuidle"
    if cpu not in readings.states_by_cpu:
        return f"only {MOST_CPUS} CPUs are read"
    if not states or any(state.slept_us is None for state in states):
        return _unread_reason(snapshot, folder, *(f"{folder}/state{state.index}/time" for state in states or ()))
    if interval is None or interval.before.clock is None:
        return _TWO_LOOKS
    return _LASTING_SLEEP


def _unread_reason(snapshot: Snapshot, *paths: str) -> str:
    """Return the recorded reason for the first path that has one."""
    reasons = snapshot.reason_by_path
    return next((f"{reasons[path]} ({path})" for path in paths if path in reasons), _NOT_TOLD)


def clock_packages(snapshot: Snapshot, readings: ClockReadings, is_first: bool) -> tuple[ClockPackage, ...]:
    """Return the figures of the packages with known CPUs, by number."""
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
    long_limit_w, rated_w = _pl1_and_rated_power(snapshot, readings, package)
    asked = _throttle_counter_cpu(snapshot, frozenset(cpus))
    slowed = readings.slowed_by_cpu.get((asked, "package")) if asked is not None else None
    domains = [domain for domain in snapshot.hardware.uncore.domains or () if domain.package == package]
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
        uncore_khz=_lowest(readings.packages.uncore_khz_by_path.get(domain.path) for domain in domains),
        uncore_min_khz=_lowest(domain.min_khz for domain in domains),
        uncore_max_khz=max((domain.max_khz for domain in domains if domain.max_khz is not None), default=None),
    )


def _throttle_counter_cpu(snapshot: Snapshot, cpus: CpuSet) -> int | None:
    """Return the CPU on which the package's throttle counters were read."""
    asked = snapshot.background.throttling.count_by_package_cpu
    return next((cpu for cpu in asked if cpu in cpus and cpus_of_package(cpu, cpus, snapshot.topology)), None)


def _enabled(readings: ClockReadings, package: int) -> list[Zone]:
    zones = readings.packages.zones
    return [zone for zone in zones if zone.package == package and zone.is_enabled is not False]


def _pl1_and_rated_power(
    snapshot: Snapshot, readings: ClockReadings, package: int
) -> tuple[float | None, float | None]:
    """Return PL1 (of the first readings if the latest lack it) and the highest rated power of the package (W)."""
    first = [zone for zone in snapshot.hardware.power_limits.zones or () if zone.package == package]
    limit_w = _least(zone.long_limit_uw for zone in _enabled(readings, package))
    rated = [zone.rated_uw for zone in readings.packages.zones if zone.package == package]
    rated_uw = max((uw for uw in (*rated, *(zone.rated_uw for zone in first)) if uw is not None), default=None)
    if limit_w is None:
        limit_w = _least(zone.limit_uw for zone in first if zone.is_enabled is not False)
    return limit_w, None if rated_uw is None else rated_uw / 1e6


def _least(microwatts: Iterable[int | None]) -> float | None:
    lowest = _lowest(microwatts)
    return None if lowest is None else lowest / 1e6


def _lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _heat(snapshot: Snapshot, is_first: bool, package: int, is_only: bool) -> tuple[float | None, float | None]:
    """Return the temperature of the package's hottest sensor, and this sensor's critical temperature (°C).

    If no sensor names the package, and it is the only one, sensors that name no package are used.
    """
    sensors = [sensor for sensor in snapshot.hardware.sensors.read or () if sensor.package == package]
    if not sensors and is_only:
        sensors = [sensor for sensor in snapshot.hardware.sensors.read or () if sensor.package is None]
    now = [(celsius, sensor) for sensor in sensors if (celsius := _celsius(snapshot, sensor, is_first)) is not None]
    if not now:
        return None, next((sensor.critical_celsius for sensor in sensors), None)
    celsius, hottest = max(now, key=lambda pair: pair[0])
    return celsius, hottest.critical_celsius


def _celsius(snapshot: Snapshot, sensor: Sensor, is_first: bool) -> float | None:
    """Return the current temperature; without one in the first look, the temperature read when noisewatch started."""
    celsius = snapshot.background.celsius_by_path.get(sensor.path)
    return sensor.celsius if celsius is None and is_first else celsius


def clock_sensors(snapshot: Snapshot, is_first: bool) -> tuple[Temperature, ...]:
    """Return the temperatures of the processor's sensors."""
    return tuple(
        Temperature(
            name=f"{sensor.chip} {sensor.label}" if sensor.label else sensor.chip,
            celsius=_celsius(snapshot, sensor, is_first),
            critical_celsius=sensor.critical_celsius,
        )
        for sensor in snapshot.hardware.sensors.read or ()
    )
