"""Each package's power zones (Intel's RAPL): their long-term limits, and their energy for the clock screen.

    /sys/class/powercap/intel-rapl:0/{name,enabled}                  package-0, 1
    /sys/class/powercap/intel-rapl:0/{energy_uj,max_energy_range_uj} 62 1234 5678, 262143328850
    /sys/class/powercap/intel-rapl:0/constraint_0_name               long_term
    /sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw     125000000
    /sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw       125000000   (0: not reported)
    /sys/class/powercap/intel-rapl:0/constraint_1_{name,power_limit_uw}    short_term, 160000000
    /sys/class/powercap/intel-rapl-mmio:0/…                          the same package with the firmware's limits

https://docs.kernel.org/power/powercap/powercap.html. Reading interrupts a CPU of the package.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from noisewatch.kernel.numbers import integer_from, parse_count, parse_flag, parse_word, word_of
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

FOLDER = "/sys/class/powercap"
_ZONE = regex(r"intel-rapl(-mmio)?:\d{1,4}")
_PACKAGE_ZONE = regex(r"package-(\d{1,5})(?:-die-\d{1,5})?")
parse_zone = word_of("the name of a zone", regex(rf"psys|core|uncore|dram|{_PACKAGE_ZONE.pattern}"))
_MOST_CONSTRAINTS = 3
_parse_microwatts = integer_from(0, 32_768_000_000)  # 15 bits in the coarsest unit, 1 W


class PowerLimit(Struct, frozen=True):
    """A zone's long-term limit. None means unknown, or not reported."""

    path: str
    package: int
    is_enabled: bool | None
    limit_uw: int | None
    rated_uw: int | None


class PowerLimits(Struct, frozen=True):
    """The power limits. `zones` is None if unknown; with `has_none` the kernel lists packages, but no limits."""

    zones: tuple[PowerLimit, ...] | None
    has_none: bool = False
    unread: str | None = None  # the first unreadable or incomplete path


class Zone(Struct, frozen=True):
    """A package's RAPL zone. None means unknown, or not reported."""

    path: str
    package: int
    is_enabled: bool | None
    energy_uj: int | None  # counted from an unknown time on; wraps to 0 after `range_uj`
    range_uj: int | None
    long_limit_uw: int | None
    short_limit_uw: int | None
    rated_uw: int | None

    @property
    def is_firmware_zone(self) -> bool:
        """Whether this is the package's second zone, which contains the firmware's limits."""
        return "-mmio:" in self.path


def read_power_limits(reader: Reader, packages: frozenset[int]) -> PowerLimits:
    """Return the power limits of `packages`, or of all packages if none are given."""
    if reader.names_or_none(FOLDER) is None:
        return PowerLimits(None)
    zones: list[PowerLimit] = []
    failed_paths: list[str] = []
    is_without = False
    for folder, package in _named_zones(reader):
        if package is None:
            failed_paths.append(f"{folder}/name")
        elif not packages or package in packages:
            start = next((start for name, start in _constraints(reader, folder) if name == "long_term"), None)
            if start is not None:
                zones.append(_read_limit(reader, folder, package, start))
            elif reader.is_absent(f"{folder}/constraint_0_name"):
                is_without = True
            else:
                failed_paths.append(f"{folder}/constraint_0_name")
    if not zones:
        reader.note(FOLDER, "no limit of a package")
    missing = packages - {zone.package for zone in zones}
    if zones and missing and not failed_paths:
        reader.note(FOLDER, f"no limit of package {min(missing)}")
        failed_paths.append(FOLDER)
    return PowerLimits(
        tuple(zones) or None, is_without and not zones and not failed_paths, failed_paths[0] if failed_paths else None
    )


def package_zones(reader: Reader) -> dict[str, int]:
    """Return the package of each package zone, by folder: the processor's own zones first, then the firmware's."""
    zones = {folder: package for folder, package in _named_zones(reader) if package is not None}
    return {folder: zones[folder] for folder in sorted(zones, key=len)}


def _named_zones(reader: Reader) -> Iterator[tuple[str, int | None]]:
    """Yield each package zone's folder and package; also zones with an unreadable name, whose package is None."""
    for name in filter(_ZONE.fullmatch, reader.names_or_none(FOLDER) or ()):
        zone = reader.parse(f"{FOLDER}/{name}/name", parse_zone)
        package = package_of(zone or "")
        if package is not None or zone is None:
            yield f"{FOLDER}/{name}", package


def package_of(name: str) -> int | None:
    """Return the package in a zone's name, or None if the zone is not a package's."""
    match = _PACKAGE_ZONE.fullmatch(name)
    return None if match is None else int(match[1])


def _constraints(reader: Reader, folder: str) -> Iterator[tuple[str | None, str]]:
    """Yield the name of each constraint in the zone (None: unknown), and the prefix of its files' paths."""
    for start in (f"{folder}/constraint_{number}" for number in range(_MOST_CONSTRAINTS)):
        yield reader.parse(f"{start}_name", parse_word, expected=False), start


def _read_limit(reader: Reader, folder: str, package: int, start: str) -> PowerLimit:
    return PowerLimit(
        path=f"{start}_power_limit_uw",
        package=package,
        is_enabled=reader.parse(f"{folder}/enabled", parse_flag),
        limit_uw=reader.parse(f"{start}_power_limit_uw", _parse_microwatts),
        rated_uw=reader.parse(f"{start}_max_power_uw", _parse_microwatts, expected=False) or None,
    )


def read_zone(reader: Reader, folder: str, package: int) -> Zone:
    """Read the zone with its energy, which interrupts a CPU of the package."""
    starts = dict(_constraints(reader, folder))

    def microwatts(constraint: str, name: str, expected: bool = True) -> int | None:
        start = starts.get(constraint)
        return None if start is None else reader.parse(f"{start}_{name}", _parse_microwatts, expected)

    return Zone(
        path=folder,
        package=package,
        is_enabled=reader.parse(f"{folder}/enabled", parse_flag, expected=False),
        energy_uj=reader.parse(f"{folder}/energy_uj", parse_count),
        range_uj=reader.parse(f"{folder}/max_energy_range_uj", parse_count, expected=False),
        long_limit_uw=microwatts("long_term", "power_limit_uw"),
        short_limit_uw=microwatts("short_term", "power_limit_uw"),
        rated_uw=microwatts("long_term", "max_power_uw", expected=False) or None,
    )
