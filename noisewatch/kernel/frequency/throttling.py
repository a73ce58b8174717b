"""How often the processor slowed itself down for heat: counters of Intel's thermal interrupt, since boot.

    /sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count       3080
    /sys/devices/system/cpu/cpuN/thermal_throttle/package_throttle_count    15557

https://github.com/torvalds/linux/blob/master/drivers/thermal/intel/therm_throt.c. Other processors count nothing.
All CPUs of a core, and of a package, take the interrupt, so that one of them is enough to ask. It is the beginning
that is counted: heat that lasts from before to after is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.numbers import parse_count
from noisewatch.kernel.reader import Reader

CPUS = "/sys/devices/system/cpu"
MOST_CORES = 64  # read in every snapshot; a file costs 2 to 10 us


@dataclass(frozen=True, slots=True)
class Throttling:
    """Events since boot by the CPU that was asked for its core, or its package; None is unknown.

    `uncounted` are the target CPUs of the cores that were too many to ask.
    """

    count_by_core_cpu: Mapping[int, int | None]
    count_by_package_cpu: Mapping[int, int | None]
    uncounted: CpuSet = frozenset()


def throttle_path(cpu: int, what: str) -> str:
    """The counter of the CPU's core, or package."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_throttle_count"


def read_throttling(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> Throttling:
    """The counters of the cores and packages of the target CPUs; of the first alone where it has none."""
    if not target:
        return Throttling({}, {})
    first = min(target)
    if reader.parsed(throttle_path(first, "core"), parse_count) is None:
        return Throttling({first: None}, {first: None})
    cores = sorted({_first_of_core(cpu, target, topology) for cpu in target})
    asked, left = cores[:MOST_CORES], frozenset(cores[MOST_CORES:])
    packages: dict[int, int] = {}
    for cpu in sorted(target):
        package = topology[cpu].package if cpu in topology else None
        packages.setdefault(~cpu if package is None else package, cpu)  # of an unknown one each CPU is asked
    return Throttling(
        {cpu: reader.parsed(throttle_path(cpu, "core"), parse_count) for cpu in asked},
        {cpu: reader.parsed(throttle_path(cpu, "package"), parse_count) for cpu in packages.values()},
        frozenset(cpu for cpu in target if _first_of_core(cpu, target, topology) in left),
    )


def cpus_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """The target CPUs of the CPU's core."""
    place = topology.get(cpu)
    siblings = place.siblings if place is not None else None
    return (siblings or frozenset({cpu})) & target


def cpus_of_package(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """The target CPUs of the CPU's package."""
    package = topology[cpu].package if cpu in topology else None
    return frozenset(each for each in target if each in topology and topology[each].package == package)


def _first_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> int:
    return min(cpus_of_core(cpu, target, topology), default=cpu)
