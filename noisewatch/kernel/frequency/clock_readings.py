"""Readings for recordings and an open clock screen only: idle states, throttled time, heat, power, uncore clock.

    /sys/devices/system/cpu/cpuN/thermal_throttle/{core,package}_throttle_total_time_ms   30911    (Linux 5.6)
    …/{core,package}_power_limit_count                                                    7

The kernel itself keeps these counters of Intel processors, so reading them wakes no CPU. Cores and packages are only
read every five seconds, because reading them interrupts a CPU of the package:

    /sys/class/powercap/intel-rapl:0/energy_uj                                  62 1234 5678 (`powercap.py`)
    /sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/current_freq_khz   2400000
    /sys/class/hwmon/hwmon3/{temp2_label,temp2_input,temp2_crit}                Core 0, 68000, 100000

A package is read on its first online CPU, a core on itself. While CPUs are spared (`reader.py`), neither is read if
that would interrupt a target CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.frequency.heat import (
    PACKAGE_LABEL,
    ThermalThrottling,
    chip_folders,
    limited_path,
    package_reading_cpus,
    parse_millidegrees,
)
from noisewatch.kernel.frequency.idle import StateTime, read_state_times
from noisewatch.kernel.frequency.limits import Uncore
from noisewatch.kernel.frequency.powercap import Zone, package_zones, read_zone
from noisewatch.kernel.numbers import parse_count, parse_khz, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

_LABEL = regex(r"temp(\d{1,4})_label")
_CORE = regex(r"Core (\d{1,5})")
_MOST_CORES = 256


class CoreHeat(Struct, frozen=True):
    """One core's temperature and its critical limit, in degrees Celsius. None means unknown."""

    package: int
    core: int
    celsius: float | None
    critical_celsius: float | None


class PackageReadings(Struct, frozen=True):
    """Readings of packages and cores. `spared` are unread packages: reading them would interrupt a target CPU."""

    read_at_ns: int
    zones: tuple[Zone, ...]
    cores: tuple[CoreHeat, ...]
    uncore_khz_by_path: Mapping[str, int | None]
    spared: frozenset[int]


def read_packages(
    reader: Reader, now_ns: int, target: CpuSet, topology: Mapping[int, CpuPlace], uncore: Uncore
) -> PackageReadings:
    """Read packages and cores. While the reader spares CPUs, no target CPU is interrupted."""
    spared = reader.spared
    packages = {place.package for place in topology.values() if place.package is not None}
    left_alone = {
        package for package in packages if spared is not None and package_reading_cpus(package, topology) & target
    }
    zones = package_zones(reader)
    domains = {domain.path: domain.package for domain in uncore.domains or ()}
    if spared is not None:
        others = packages - left_alone
        answered = tuple(f"{path}/" for path, package in {**zones, **domains}.items() if package in others)
        reader.spared = replace(spared, answered_elsewhere=answered)
    try:
        return PackageReadings(
            read_at_ns=now_ns,
            zones=tuple(read_zone(reader, path, package) for path, package in zones.items()),
            cores=tuple(_read_cores(reader, target, topology, spared is not None)),
            uncore_khz_by_path={path: reader.parse(f"{path}/current_freq_khz", parse_khz) for path in domains},
            spared=frozenset(left_alone),
        )
    finally:
        reader.spared = spared


def _read_cores(
    reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace], spares_target: bool
) -> Iterator[CoreHeat]:
    """Yield core temperatures from coretemp, which interrupts each core; `spares_target` omits target CPUs' cores."""
    cpus_by_core: dict[tuple[int | None, int | None], set[int]] = {}
    for cpu, place in topology.items():
        cpus_by_core.setdefault((place.package, place.core), set()).add(cpu)
    for folder in chip_folders(reader) or ():
        if reader.parse(f"{folder}/name", parse_word, expected=False) != "coretemp":
            continue
        package, number_by_core = _sensors_of(reader, folder)
        for core, number in list(number_by_core.items())[:_MOST_CORES]:
            cpus = cpus_by_core.get((package, core), set())
            if package is None or (spares_target and (not cpus or cpus & target)):
                continue
            celsius, critical = (
                reader.parse(f"{folder}/temp{number}_{what}", parse_millidegrees, expected=what == "input")
                for what in ("input", "crit")
            )
            yield CoreHeat(
                package=package,
                core=core,
                celsius=None if celsius is None else celsius / 1000,
                critical_celsius=None if not critical else critical / 1000,
            )


def _sensors_of(reader: Reader, folder: str) -> tuple[int | None, dict[int, int]]:
    """Return the chip's package, or None if unknown, and each core's sensor number."""
    matches = map(_LABEL.fullmatch, reader.names_or_none(folder) or ())
    numbers = [int(match[1]) for match in matches if match is not None]
    labels = {number: reader.parse(f"{folder}/temp{number}_label", parse_word, expected=False) for number in numbers}
    packages = [int(match[1]) for label in labels.values() if (match := PACKAGE_LABEL.fullmatch(label or ""))]
    cores = {int(match[1]): number for number, label in labels.items() if (match := _CORE.fullmatch(label or ""))}
    return (packages[0] if packages else None), dict(sorted(cores.items()))


PACKAGES_LAST_NS = 4_900_000_000  # just under 5 s, because wake-ups are not exact
_WHATS = ("core", "package")


class ThrottledTime(Struct, frozen=True):
    """The throttled time of a core or package since boot. None means unknown, or not counted by this processor."""

    slowed_ms: int | None
    power_limit_count: int | None


class ClockReadings(Struct, frozen=True):
    """All readings. A key of `slowed_by_cpu` is the CPU on which the counter is read, and `core` or `package`."""

    states_by_cpu: Mapping[int, tuple[StateTime, ...] | None]
    slowed_by_cpu: Mapping[tuple[int, str], ThrottledTime]
    packages: PackageReadings
    packages_before: PackageReadings | None  # the reading before `packages`, or None


def throttled_time_path(cpu: int, what: str) -> str:
    """Return the path of the throttled time of the CPU's core or package (`what`)."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_throttle_total_time_ms"


def read_clock_readings(
    reader: Reader,
    now_ns: int,
    target: CpuSet,
    online: CpuSet,
    topology: Mapping[int, CpuPlace],
    throttling: ThermalThrottling,
    uncore: Uncore,
    previous: ClockReadings | None = None,
    most_cpus: int | None = None,
) -> ClockReadings:
    """Return the current readings.

    The throttled time of a core or package is read on the CPU that has a count for it in `throttling`. Idle states are
    read for at most `most_cpus`, target CPUs first.
    """
    in_order = [*sorted(target & online), *sorted(online - target)]
    if previous is not None and 0 <= now_ns - previous.packages.read_at_ns < PACKAGES_LAST_NS:
        packages, packages_before = previous.packages, previous.packages_before
    else:
        packages = read_packages(reader, now_ns, target, topology, uncore)
        packages_before = previous.packages if previous is not None else None
    asked = {
        (cpu, what)
        for what, counts in zip(_WHATS, (throttling.count_by_core_cpu, throttling.count_by_package_cpu), strict=True)
        for cpu, count in counts.items()
        if count is not None
    }
    return ClockReadings(
        states_by_cpu=read_state_times(
            reader, in_order[:most_cpus], previous.states_by_cpu if previous is not None else None
        ),
        slowed_by_cpu={(cpu, what): _read_throttled_time(reader, cpu, what) for cpu, what in sorted(asked)},
        packages=packages,
        packages_before=packages_before,
    )


def _read_throttled_time(reader: Reader, cpu: int, what: str) -> ThrottledTime:
    return ThrottledTime(
        slowed_ms=reader.parse(throttled_time_path(cpu, what), parse_count),
        power_limit_count=reader.parse(limited_path(cpu, what), parse_count, expected=False),
    )
