"""Clock limits other than the governor's: Intel's uncore limits, and the firmware's limit for each target CPU.

The uncore is the part shared by a package's cores, the last-level cache and the path to memory:

    /sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/{min_freq_khz,max_freq_khz}   400000, 4000000
    /sys/devices/system/cpu/intel_uncore_frequency/uncore03/{package_id,min_freq_khz,max_freq_khz} 0, …  (Linux 6.5)

https://docs.kernel.org/admin-guide/pm/intel_uncore_frequency_scaling.html. Reading interrupts a CPU of the package.
The firmware may limit a CPU's clock:

    /sys/devices/system/cpu/cpuN/cpufreq/bios_limit                      2100000            kHz
    /sys/devices/system/cpu/cpuN/cpufreq/scaling_available_frequencies   2100000 1400000    kHz, without turbo

https://docs.kernel.org/admin-guide/pm/cpufreq.html; acpi-cpufreq and powernow-k8 have these files.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.frequency.cpufreq import own_folder, read_cpufreq_folders, read_window
from noisewatch.kernel.numbers import parse_count, parse_khz
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

FOLDER = "/sys/devices/system/cpu/intel_uncore_frequency"
_DOMAIN = regex(r"package_(\d{1,4})_die_\d{1,4}|uncore\d{1,4}")


class UncoreDomain(Struct, frozen=True):
    """The frequency range from which the hardware chooses an uncore clock. None means unknown."""

    path: str
    min_khz: int | None
    max_khz: int | None
    package: int | None = None


class Uncore(Struct, frozen=True):
    """The uncore domains; `domains` is None if unknown or, with `is_absent`, if the kernel lists none."""

    domains: tuple[UncoreDomain, ...] | None
    is_absent: bool = False
    is_complete: bool = True  # whether `domains` cover all requested packages


def read_uncore(reader: Reader, packages: frozenset[int]) -> Uncore:
    """Return the uncore domains of `packages`, or of all packages if none are given."""
    names = reader.names_or_none(FOLDER, expected=False)
    if names is None:
        is_absent = reader.is_absent(FOLDER)
        if not is_absent:
            reader.names_or_none(FOLDER)  # notes the reason
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
    package = int(match[1]) if match[1] else reader.parse(f"{path}/package_id", parse_count)
    if packages and package is not None and package not in packages:
        return None
    return UncoreDomain(path, *read_window(reader, f"{path}/min_freq_khz", f"{path}/max_freq_khz"), package)


class FrequencyCap(Struct, frozen=True):
    """The firmware's limit and the highest frequency in the CPU's table (kHz). None means unknown or not reported."""

    limit_khz: int | None
    highest_khz: int | None


def cap_path(cpu: int) -> str:
    """Return the path of the firmware's limit for this CPU."""
    return f"{own_folder(cpu)}/bios_limit"


def parse_frequencies(text: str) -> tuple[int, ...]:
    """Return the frequencies (kHz) in a table. Raise Malformed."""
    words = text.split()
    if not words:
        raise Malformed("frequencies in kHz", text.strip())
    return tuple(map(parse_khz, words))


def read_frequency_caps(reader: Reader, target: CpuSet) -> Mapping[int, FrequencyCap]:
    """Return the caps by CPU. CPUs that certainly have no cap are missing."""
    return reader.make_or_reuse("frequency caps", target, lambda: _read_caps(reader, target))


def _read_caps(reader: Reader, target: CpuSet) -> Mapping[int, FrequencyCap]:
    caps: dict[int, FrequencyCap] = {}
    folders = read_cpufreq_folders(reader, sorted(target))
    for cpu in sorted(target):
        folder = folders.get(cpu, own_folder(cpu))
        path = f"{folder}/bios_limit"
        limit_khz = reader.parse(path, parse_khz, expected=False)
        if limit_khz is None:
            if not reader.is_absent(path):
                caps[cpu] = FrequencyCap(None, None)
            continue
        table = reader.parse(f"{folder}/scaling_available_frequencies", parse_frequencies, expected=False)
        caps[cpu] = FrequencyCap(limit_khz, max(table) if table else None)
    return caps
