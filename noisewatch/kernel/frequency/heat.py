"""How the processor slows down when it gets hot: the kernel's cooling devices, and counters of thermal interrupts.

    /sys/class/thermal/cooling_device0/{type,cur_state}   Processor, 0
    /sys/class/thermal/cooling_device9/{type,cur_state}   intel_powerclamp, -1   (not in use; 0 in recent kernels)

https://docs.kernel.org/driver-api/thermal/sysfs-api.html. Fans, displays and radios are cooling devices as well.

    /sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count       3080
    /sys/devices/system/cpu/cpuN/thermal_throttle/package_throttle_count    15557
    /sys/devices/system/cpu/cpuN/thermal_throttle/{core,package}_power_limit_count    7   (boot option int_pln_enable)

https://github.com/torvalds/linux/blob/master/drivers/thermal/intel/therm_throt.c. Only Intel's processors count, since
boot. All CPUs of a core, or of a package, take the interrupt, so that one of them is enough to ask. The kernel counts
when throttling begins: what lasts from before to after an interval is not counted in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from noisewatch.cpus import CpuSet
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.numbers import integer_from, parse_count, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

COOLING = "/sys/class/thermal"
_NOT_IN_USE = -1
MOST_WATCHED = 512  # a file takes some microseconds; servers have one of these for each CPU
_NAME = regex(r"cooling_device(\d{1,6})")
_SLOWS_THE_PROCESSOR = regex(
    r"Processor|intel_powerclamp|cpufreq-\S+|thermal-cpufreq-\d+|idle-\S+|thermal-idle-\d+", re.ASCII
)
# Of the kernel's drivers: fans, screens, radios, chargers, GPUs, ports, and where the processor counts as hot.
_COOLS_ELSEWHERE = regex(
    r"\S*[Ff]an\S*|LCD\S*|(iwlwifi|ath\d+k|mt\d+|rtw|BAT|devfreq-gpu|PCIe_Port_)\S*|TCC Offset", re.ASCII
)
CPUS = "/sys/devices/system/cpu"
MOST_CORES = 64  # read in every snapshot; a file costs 2 to 10 us


@dataclass(frozen=True, slots=True)
class CoolingDevice:
    """A cooling device that slows the processor down, or whose effect is unknown. None is unknown."""

    path: str
    kind: str | None
    state: int | None  # above 0: at work

    @property
    def slows_the_processor(self) -> bool | None:
        """Whether the device slows the processor when active; None is unknown."""
        return True if self.kind is not None and _SLOWS_THE_PROCESSOR.fullmatch(self.kind) else None


@dataclass(frozen=True, slots=True)
class Cooling:
    """The cooling devices; `devices` is None if unknown. `is_complete`: the kernel itself has no further ones."""

    devices: tuple[CoolingDevice, ...] | None
    is_complete: bool


def read_cooling(reader: Reader) -> Cooling:
    """Return the devices and their states."""
    names = reader.names_or_none(COOLING)
    if names is None:
        return Cooling(None, False)
    numbers = sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match is not None)
    devices = [_read_device(reader, f"{COOLING}/cooling_device{number}") for number in numbers]
    following = max(numbers, default=-1) + 1
    return Cooling(
        tuple(device for device in devices if device is not None),
        reader.is_absent(f"{COOLING}/cooling_device{following}"),
    )


def _read_device(reader: Reader, path: str) -> CoolingDevice | None:
    kind = reader.parsed(f"{path}/type", parse_word)
    if kind is not None and _COOLS_ELSEWHERE.fullmatch(kind) is not None:
        return None  # asking it may be slow, too
    return CoolingDevice(path, kind, reader.parsed(f"{path}/cur_state", _parser_of_states(kind)))


def _parser_of_states(kind: str | None) -> Callable[[str], int]:
    """Return the parser of a state from 0 on; only intel_powerclamp had -1 (drivers/thermal/intel, before 6.3)."""
    return integer_from(_NOT_IN_USE if kind == "intel_powerclamp" else 0)


def read_cooling_states(reader: Reader, cooling: Cooling) -> Mapping[str, int | None]:
    """Return the states now, by path, of as many devices as can be read each time."""
    watched = [device for device in cooling.devices or () if device.kind is not None][:MOST_WATCHED]
    return {
        device.path: reader.parsed(f"{device.path}/cur_state", _parser_of_states(device.kind)) for device in watched
    }


@dataclass(frozen=True, slots=True)
class ThermalThrottling:
    """Events since boot, by the CPU that was asked for its core or package; None is unknown.

    `limited_…` are events of the power limit, empty if the kernel counts none. `uncounted` are the target CPUs of cores
    left out because there are too many.
    """

    count_by_core_cpu: Mapping[int, int | None]
    count_by_package_cpu: Mapping[int, int | None]
    uncounted: CpuSet = frozenset()
    limited_by_core_cpu: Mapping[int, int | None] = field(default_factory=dict)
    limited_by_package_cpu: Mapping[int, int | None] = field(default_factory=dict)


def throttle_path(cpu: int, what: str) -> str:
    """Return the path of the throttle counter of the CPU's core or package."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_throttle_count"


def limited_path(cpu: int, what: str) -> str:
    """Return the path of the power limit counter of the CPU's core or package."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_power_limit_count"


def read_throttling(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> ThermalThrottling:
    """Return the counters of the cores and packages of the target CPUs; of the first only, if it has none."""
    if not target:
        return ThermalThrottling({}, {})
    return reader.made_of_files("throttling", (target, topology), lambda: _read_counters(reader, target, topology))


def _read_counters(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> ThermalThrottling:
    first = min(target)
    if reader.parsed(throttle_path(first, "core"), parse_count) is None:
        return ThermalThrottling({first: None}, {first: None})
    cores = sorted({_first_of_core(cpu, target, topology) for cpu in target})
    asked, left = cores[:MOST_CORES], frozenset(cores[MOST_CORES:])
    packages: dict[int, int] = {}
    for cpu in sorted(target):
        package = topology[cpu].package if cpu in topology else None
        packages.setdefault(~cpu if package is None else package, cpu)  # of an unknown one each CPU is asked
    return ThermalThrottling(
        {cpu: reader.parsed(throttle_path(cpu, "core"), parse_count) for cpu in asked},
        {cpu: reader.parsed(throttle_path(cpu, "package"), parse_count) for cpu in packages.values()},
        frozenset(cpu for cpu in target if _first_of_core(cpu, target, topology) in left),
        _read_limited(reader, "core", asked),
        _read_limited(reader, "package", list(packages.values())),
    )


def _read_limited(reader: Reader, what: str, cpus: Sequence[int]) -> Mapping[int, int | None]:
    """Return the power limit counters, empty if the kernel has none for any CPU."""
    path_by_cpu = {cpu: limited_path(cpu, what) for cpu in cpus}
    if all(reader.is_absent(path) for path in path_by_cpu.values()):
        return {}
    return {cpu: reader.parsed(path, parse_count) for cpu, path in path_by_cpu.items()}


def cpus_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the target CPUs of the CPU's core."""
    place = topology.get(cpu)
    siblings = place.siblings if place is not None else None
    return (siblings or frozenset({cpu})) & target


def cpus_of_package(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the target CPUs of the CPU's package."""
    package = topology[cpu].package if cpu in topology else None
    return frozenset(each for each in target if each in topology and topology[each].package == package)


def _first_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> int:
    return min(cpus_of_core(cpu, target, topology), default=cpu)
