"""The clock of what a package's cores share, the last-level cache and the way to memory: Intel's uncore.

    /sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/{min_freq_khz,max_freq_khz}   400000, 4000000
    /sys/devices/system/cpu/intel_uncore_frequency/uncore03/{package_id,min_freq_khz,max_freq_khz} 0, …  (Linux 6.5)

https://docs.kernel.org/admin-guide/pm/intel_uncore_frequency_scaling.html. Asking interrupts a CPU of the package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisewatch.kernel.frequency.cpufreq import read_window
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader

FOLDER = "/sys/devices/system/cpu/intel_uncore_frequency"
_DOMAIN = re.compile(r"package_(\d{1,4})_die_\d{1,4}|uncore\d{1,4}")


@dataclass(frozen=True, slots=True)
class UncoreDomain:
    """Between which frequencies the hardware may choose. None is unknown."""

    path: str
    min_khz: int | None
    max_khz: int | None
    package: int | None = None


@dataclass(frozen=True, slots=True)
class Uncore:
    """None of `domains` is unknown."""

    domains: tuple[UncoreDomain, ...] | None
    is_absent: bool = False
    is_complete: bool = True  # they cover all packages that were asked for


def read_uncore(reader: Reader, packages: frozenset[int]) -> Uncore:
    """The domains of the packages, or of all where none are given."""
    names = reader.names_or_none(FOLDER, expected=False)
    if names is None:
        is_absent = reader.is_absent(FOLDER)
        if not is_absent:
            reader.names_or_none(FOLDER)  # expected after all, with its reason
        return Uncore(None, is_absent)
    domains = [domain for name in names if (domain := _read_domain(reader, name, packages)) is not None]
    if not domains:
        reader.note(FOLDER, "no domain in it")
    missing = packages - {domain.package for domain in domains}
    if domains and missing:
        reader.note(FOLDER, f"no domain of package {min(missing)}")
    return Uncore(tuple(domains) or None, is_complete=not missing)


def _read_domain(reader: Reader, name: str, packages: frozenset[int]) -> UncoreDomain | None:
    match = _DOMAIN.fullmatch(name)
    if match is None:
        return None
    path = f"{FOLDER}/{name}"
    package = int(match[1]) if match[1] else reader.parsed(f"{path}/package_id", parse_count)
    if packages and package is not None and package not in packages:
        return None
    return UncoreDomain(path, *read_window(reader, f"{path}/min_freq_khz", f"{path}/max_freq_khz"), package)
