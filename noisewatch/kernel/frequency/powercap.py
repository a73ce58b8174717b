"""The long-term power limit of each package: Intel's RAPL.

    /sys/class/powercap/intel-rapl:0/{name,enabled}                  package-0, 1
    /sys/class/powercap/intel-rapl:0/constraint_0_name               long_term
    /sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw     125000000
    /sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw       125000000   (0: not reported)
    /sys/class/powercap/intel-rapl-mmio:0/…                          the same package, as firmware limits it

https://docs.kernel.org/power/powercap/powercap.html. Asking interrupts a CPU of the package.
"""

from __future__ import annotations

from noisewatch.kernel.numbers import integer_from, parse_flag, parse_word, word_of
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

FOLDER = "/sys/class/powercap"
ZONE = regex(r"intel-rapl(-mmio)?:\d{1,4}")
PACKAGE_ZONE = regex(r"package-(\d{1,5})(?:-die-\d{1,5})?")
_parse_zone = word_of("the name of a zone", regex(rf"psys|core|uncore|dram|{PACKAGE_ZONE.pattern}"))
_MOST_CONSTRAINTS = 3
parse_microwatts = integer_from(0, 32_768_000_000)  # 15 bits of watts, the coarsest unit


@dataclass(frozen=True, slots=True)
class PowerLimit:
    """The long-term limit of one zone. None is unknown, or not reported."""

    path: str
    package: int
    is_enabled: bool | None
    limit_uw: int | None
    rated_uw: int | None


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """The power limits; `zones` is None if unknown. `has_none`: the kernel lists packages without limits."""

    zones: tuple[PowerLimit, ...] | None
    has_none: bool = False
    unread: str | None = None  # the first path that could not be read


def read_power_limits(reader: Reader, packages: frozenset[int]) -> PowerLimits:
    """Return the limits of the packages, or of all packages if none are given."""
    names = reader.names_or_none(FOLDER)
    if names is None:
        return PowerLimits(None)
    zones: list[PowerLimit] = []
    failed_paths: list[str] = []
    is_without = False
    for name in filter(ZONE.fullmatch, names):
        folder = f"{FOLDER}/{name}"
        zone = reader.parsed(f"{folder}/name", _parse_zone)
        match = PACKAGE_ZONE.fullmatch(zone or "")
        if zone is None:
            failed_paths.append(f"{folder}/name")
        if match is None or (packages and int(match[1]) not in packages):
            continue
        constraint = _long_term(reader, folder)
        if constraint is None:
            has_none = reader.is_absent(f"{folder}/constraint_0_name")
            is_without |= has_none
            failed_paths += [] if has_none else [f"{folder}/constraint_0_name"]
            continue
        zones.append(_read_zone(reader, folder, int(match[1]), constraint))
    if not zones:
        reader.note(FOLDER, "no limit of a package")
    missing = packages - {zone.package for zone in zones}
    if zones and missing and not failed_paths:
        reader.note(FOLDER, f"no limit of package {min(missing)}")
        failed_paths.append(FOLDER)
    return PowerLimits(
        tuple(zones) or None, is_without and not zones and not failed_paths, failed_paths[0] if failed_paths else None
    )


def _long_term(reader: Reader, folder: str) -> str | None:
    """Return the path prefix of the long-term constraint's files."""
    paths = [f"{folder}/constraint_{number}" for number in range(_MOST_CONSTRAINTS)]
    named = (path for path in paths if reader.parsed(f"{path}_name", parse_word, expected=False) == "long_term")
    return next(named, None)


def _read_zone(reader: Reader, folder: str, package: int, constraint: str) -> PowerLimit:
    return PowerLimit(
        path=f"{constraint}_power_limit_uw",
        package=package,
        is_enabled=reader.parsed(f"{folder}/enabled", parse_flag),
        limit_uw=reader.parsed(f"{constraint}_power_limit_uw", parse_microwatts),
        rated_uw=reader.parsed(f"{constraint}_max_power_uw", parse_microwatts, expected=False) or None,
    )
