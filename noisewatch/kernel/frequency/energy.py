"""The energy that each package and its memory have used, by domain of RAPL (Intel's, and AMD's with the same driver).

    /sys/class/powercap/intel-rapl:0/{name,energy_uj,max_energy_range_uj}   package-0, 62123456, 262143328850
    /sys/class/powercap/intel-rapl:0:0/name                                 core (a part of the package), uncore, dram
    /sys/class/powercap/intel-rapl:1/name                                   package-1, or psys, the whole computer

A counter is updated about once a millisecond, and wraps to 0 after its range. Reading it interrupts a CPU of the
package. Since Linux 5.10, only root may read it (CVE-2020-8694). On AMD, `core` counts a single core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct

from noisewatch.kernel.frequency.powercap import FOLDER, package_of, parse_zone
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

_ZONE = regex(r"(intel-rapl:\d{1,4})(:\d{1,4})?")
_INTEL = "ven0000"  # X86_VENDOR_INTEL in the modalias of the CPUs
_MODALIAS = "/sys/devices/system/cpu/modalias"
_CORE = "core"
UNNAMED = "?"  # in the name of a zone whose name is unknown
_NO_ZONE = (
    "the kernel has no energy counter (RAPL): virtual machines have none; on other machines, try `sudo modprobe "
    "intel_rapl_msr`"
)
_DENIED = ("permission denied", "operation not permitted")
_ALLOW = f"only root may read it; `sudo chmod a+r {FOLDER}/intel-rapl:*/energy_uj` allows it until the next boot"


class EnergyDomain(Struct, frozen=True):
    """A counter: its folder, its name (`package-0`, or `package-0/dram` for a part), and its range.

    `range_uj` is the highest value before the counter wraps to 0, or None if unknown.
    """

    path: str
    name: str
    range_uj: int | None


class EnergyReading(Struct, frozen=True):
    """The counters (µJ) by domain at one moment; a text is the reason why a counter is unknown."""

    taken_at_ns: int
    uj_by_domain: Mapping[str, int | str]


def read_energy_domains(reader: Reader, packages: Set[int]) -> Sequence[EnergyDomain] | str:
    """Return the domains with a counter, or the reason why there is none for (one of) the packages."""
    zones = [match for match in map(_ZONE.fullmatch, reader.names_or_none(FOLDER) or ()) if match is not None]
    if not zones:
        is_absent = FOLDER not in reader.reason_by_path or reader.is_absent(FOLDER)
        return _NO_ZONE if is_absent else f"{FOLDER}: {reader.reason_by_path[FOLDER]}"
    names = {match[0]: _name_of(reader, match[0]) for match in zones}
    missing = packages - {package for name in names.values() if (package := package_of(name)) is not None}
    if missing and not any(name.startswith(UNNAMED) for name in names.values()):
        return f"{FOLDER}: no energy counter of package {min(missing)}"
    has_whole_cores = _INTEL in (reader.text_or_none(_MODALIAS, expected=False) or "")
    return [
        EnergyDomain(
            path=f"{FOLDER}/{zone[0]}",
            name=names[zone[0]] if zone[2] is None else f"{names.get(zone[1], UNNAMED)}/{names[zone[0]]}",
            range_uj=reader.parse(f"{FOLDER}/{zone[0]}/max_energy_range_uj", parse_count) or None,
        )
        for zone in zones
        if has_whole_cores or names[zone[0]] != _CORE
    ]


def _name_of(reader: Reader, zone: str) -> str:
    """Return the zone's name, or `?` with its number if it is unreadable."""
    return reader.parse(f"{FOLDER}/{zone}/name", parse_zone) or f"{UNNAMED}{zone.partition(':')[2]}"


def read_energy(reader: Reader, domains: Sequence[EnergyDomain]) -> EnergyReading:
    """Read the counters, which interrupts a CPU of each package."""
    return EnergyReading(
        reader.machine.now_ns(), {domain.name: _read_counter(reader, f"{domain.path}/energy_uj") for domain in domains}
    )


def _read_counter(reader: Reader, path: str) -> int | str:
    count = reader.parse(path, parse_count)
    if count is not None:
        return count
    reason = reader.reason_by_path[path]
    return f"{path}: {reason}" + (f": {_ALLOW}" if reason in _DENIED else "")
