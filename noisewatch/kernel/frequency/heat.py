"""The processor's heat: its temperature, the devices that cool it by slowing it down, and its thermal interrupts.

    /sys/class/hwmon/hwmon3/name                       coretemp
    /sys/class/hwmon/hwmon3/temp1_label                Package id 0
    /sys/class/hwmon/hwmon3/{temp1_input,temp1_crit}   41000, 100000   (thousandths of a degree Celsius)

https://docs.kernel.org/hwmon/sysfs-interface.html. coretemp interrupts the core that it reads.

    /sys/class/thermal/cooling_device0/{type,cur_state}   Processor, 0
    /sys/class/thermal/cooling_device9/{type,cur_state}   intel_powerclamp, -1   (not in use; 0 in recent kernels)

https://docs.kernel.org/driver-api/thermal/sysfs-api.html. Fans, displays and radios are cooling devices as well.

    /sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count       3080
    /sys/devices/system/cpu/cpuN/thermal_throttle/package_throttle_count    15557
    /sys/devices/system/cpu/cpuN/thermal_throttle/{core,package}_power_limit_count    7   (boot option int_pln_enable)

https://github.com/torvalds/linux/blob/master/drivers/thermal/intel/therm_throt.c. Only for Intel processors; counts
since boot. All CPUs of a core or package take the interrupt, so reading one of them is enough. The kernel counts when
throttling begins: throttling that began before an interval and outlasts it is not counted in the interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.numbers import integer_from, parse_count, parse_word, word_of
from noisewatch.kernel.reader import NOT_ASKED, Reader
from noisewatch.patterns import regex
from noisewatch.text import clean

COOLING = "/sys/class/thermal"
_NOT_IN_USE = -1
MOST_WATCHED = 512  # devices; reading one takes a few microseconds, and servers have one of them for each CPU
_NAME = regex(r"cooling_device(\d{1,6})")
_SLOWS_THE_PROCESSOR = regex(
    r"Processor|intel_powerclamp|cpufreq-\S+|thermal-cpufreq-\d+|idle-\S+|thermal-idle-\d+", re.ASCII
)
# The kernel's drivers for fans, screens, radios, chargers, GPUs, ports, and the processor's temperature limit.
_COOLS_ELSEWHERE = regex(
    r"\S*[Ff]an\S*|LCD\S*|(iwlwifi|ath\d+k|mt\d+|rtw|BAT|devfreq-gpu|PCIe_Port_)\S*|TCC Offset", re.ASCII
)
MOST_CORES = 64  # cores that are read in every snapshot; reading a file takes 2 to 10 us


class CoolingDevice(Struct, frozen=True):
    """A cooling device that slows the processor down, or whose effect is unknown. None means unknown."""

    path: str
    kind: str | None
    state: int | None  # above 0: active

    @property
    def slows_the_processor(self) -> bool | None:
        """Whether the device slows the processor down when active; None means unknown."""
        return True if self.kind is not None and _SLOWS_THE_PROCESSOR.fullmatch(self.kind) else None


class Cooling(Struct, frozen=True):
    """The cooling devices. `devices` is None if unknown; `is_complete`: the kernel has no other devices."""

    devices: tuple[CoolingDevice, ...] | None
    is_complete: bool


def read_cooling(reader: Reader) -> Cooling:
    """Return the cooling devices and their states."""
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
    kind = reader.parse(f"{path}/type", parse_word)
    if kind is not None and _COOLS_ELSEWHERE.fullmatch(kind) is not None:
        return None  # reading its state may be slow too
    return CoolingDevice(path, kind, reader.parse(f"{path}/cur_state", _parser_of_states(kind)))


def _parser_of_states(kind: str | None) -> Callable[[str], int]:
    """Return a parser of states from 0 on; intel_powerclamp also has -1 (drivers/thermal/intel, before 6.3)."""
    return integer_from(_NOT_IN_USE if kind == "intel_powerclamp" else 0)


def read_cooling_states(reader: Reader, cooling: Cooling) -> Mapping[str, int | None]:
    """Return the devices' current states by path, for as many devices as each snapshot may read."""
    watched = [device for device in cooling.devices or () if device.kind is not None][:MOST_WATCHED]
    return {device.path: reader.parse(f"{device.path}/cur_state", _parser_of_states(device.kind)) for device in watched}


class ThermalThrottling(Struct, frozen=True):
    """Throttling events since boot, by the CPU that was read for its core or package; None means unknown.

    `limited_…` are power limit events; empty if the kernel does not count them. `uncounted` are the target CPUs whose
    cores are not read, because there are too many.
    """

    count_by_core_cpu: Mapping[int, int | None]
    count_by_package_cpu: Mapping[int, int | None]
    uncounted: CpuSet = frozenset()
    limited_by_core_cpu: Mapping[int, int | None] = {}
    limited_by_package_cpu: Mapping[int, int | None] = {}


def throttle_path(cpu: int, what: str) -> str:
    """Return the path of the throttle counter of the CPU's core or package (`what`)."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_throttle_count"


def limited_path(cpu: int, what: str) -> str:
    """Return the path of the power limit counter of the CPU's core or package (`what`)."""
    return f"{CPUS}/cpu{cpu}/thermal_throttle/{what}_power_limit_count"


def read_throttling(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> ThermalThrottling:
    """Return the counters of the target CPUs' cores and packages; if there are none, None for the first target CPU."""
    if not target:
        return ThermalThrottling({}, {})
    return reader.make_or_reuse("throttling", (target, topology), lambda: _read_counters(reader, target, topology))


def _read_counters(reader: Reader, target: CpuSet, topology: Mapping[int, CpuPlace]) -> ThermalThrottling:
    first = min(target)
    if reader.parse(throttle_path(first, "core"), parse_count) is None:
        return ThermalThrottling({first: None}, {first: None})
    cores = sorted({_first_of_core(cpu, target, topology) for cpu in target})
    asked, left = cores[:MOST_CORES], frozenset(cores[MOST_CORES:])
    packages: dict[int, int] = {}
    for cpu in sorted(target):
        package = topology[cpu].package if cpu in topology else None
        packages.setdefault(~cpu if package is None else package, cpu)  # each CPU of an unknown package is read
    return ThermalThrottling(
        {cpu: reader.parse(throttle_path(cpu, "core"), parse_count) for cpu in asked},
        {cpu: reader.parse(throttle_path(cpu, "package"), parse_count) for cpu in packages.values()},
        frozenset(cpu for cpu in target if _first_of_core(cpu, target, topology) in left),
        _read_limited(reader, "core", asked),
        _read_limited(reader, "package", list(packages.values())),
    )


def _read_limited(reader: Reader, what: str, cpus: Sequence[int]) -> Mapping[int, int | None]:
    """Return the power limit counters; empty if the kernel has none at all."""
    path_by_cpu = {cpu: limited_path(cpu, what) for cpu in cpus}
    if all(reader.is_absent(path) for path in path_by_cpu.values()):
        return {}
    return {cpu: reader.parse(path, parse_count) for cpu, path in path_by_cpu.items()}


def cpus_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the target CPUs on the same core as `cpu`."""
    place = topology.get(cpu)
    siblings = place.siblings if place is not None else None
    return (siblings or frozenset({cpu})) & target


def cpus_of_package(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the target CPUs in the same package as `cpu`."""
    package = topology[cpu].package if cpu in topology else None
    return frozenset(
        target_cpu for target_cpu in target if target_cpu in topology and topology[target_cpu].package == package
    )


def _first_of_core(cpu: int, target: CpuSet, topology: Mapping[int, CpuPlace]) -> int:
    return min(cpus_of_core(cpu, target, topology), default=cpu)


HWMON = "/sys/class/hwmon"
_CHIP = regex(r"hwmon\d{1,6}")
_OF_PROCESSOR = regex(
    r"coretemp|k10temp|k8temp|zenpower|via_cputemp|cpu\d*_thermal|soc_thermal|(big|little)core\d*_thermal", re.ASCII
)
_FILE = regex(r"temp(\d{1,4})_(?:input|label|crit)")  # a sensor without _input still exists
PACKAGE_LABEL = regex(r"(?:Package|Physical) id (\d{1,5})")  # the latter before Linux 4.14
_parse_coretemp_label = word_of("a core or a package", regex(rf"{PACKAGE_LABEL.pattern}|Core \d{{1,5}}", re.ASCII))
_INTERRUPTS = "coretemp"
_MOST_SENSORS = 8  # per chip
# The range of working silicon; broken sensors report values outside it.
parse_millidegrees = integer_from(-60_000, 200_000)


class Sensor(Struct, frozen=True):
    """One temperature sensor, in degrees Celsius. None means unknown, or not reported by the chip."""

    path: str
    chip: str
    label: str | None
    celsius: float | None
    critical_celsius: float | None
    package: int | None = None


class Sensors(Struct, frozen=True):
    """The sensors; `read` is None if unknown. `unread` is the first unreadable or incomplete path, or None."""

    read: tuple[Sensor, ...] | None
    unread: str | None = None


def chip_folders(reader: Reader) -> list[str] | None:
    """Return the folders of hwmon's chips, or None if they cannot be listed."""
    names = reader.names_or_none(HWMON)
    return None if names is None else [f"{HWMON}/{name}" for name in names if _CHIP.fullmatch(name)]


def read_sensors(reader: Reader, packages: frozenset[int]) -> Sensors:
    """Return the sensors of the processor's `packages`, or of all packages if none are given.

    If a chip has a sensor for a whole package or die, only this sensor is read.
    """
    folders = chip_folders(reader)
    if folders is None:
        return Sensors(None, HWMON)
    sensors: list[Sensor] = []
    failed_paths: list[str] = []
    for folder in folders:
        chip = reader.parse(f"{folder}/name", _parse_chip, expected=False)
        if chip is None:
            failed_paths.append(f"{folder}/name")
        elif _OF_PROCESSOR.fullmatch(chip):
            chip_sensors, is_whole = _read_chip(reader, folder, chip, packages)
            sensors += chip_sensors
            failed_paths += [] if is_whole else [folder]
    if not sensors:
        reader.note(HWMON, "no sensor of the processor")
    missing = packages - {sensor.package for sensor in sensors}
    if not failed_paths and missing != packages and missing:
        reader.note(HWMON, f"no sensor of package {min(missing)}")
        failed_paths.append(HWMON)
    return Sensors(tuple(sensors) or None, failed_paths[0] if failed_paths else None)


def read_celsius(
    reader: Reader, sensors: Sensors, target: CpuSet, topology: Mapping[int, CpuPlace]
) -> Mapping[str, float | None]:
    """Return the current temperatures by path. Sensors whose reading may interrupt a target CPU are left out."""
    asked = [sensor.path for sensor in sensors.read or () if not _interrupts_any_of(target, sensor, topology)]
    millidegrees = {path: reader.parse(path, parse_millidegrees) for path in asked}
    return {path: None if value is None else value / 1000 for path, value in millidegrees.items()}


def package_reading_cpus(package: int | None, topology: Mapping[int, CpuPlace]) -> CpuSet:
    """Return the CPUs disturbed by reading a package: all on the core of its first online CPU; none if unknown."""
    asked = min((cpu for cpu, place in topology.items() if place.package == package), default=None)
    return frozenset() if package is None or asked is None else (topology[asked].siblings or frozenset()) | {asked}


def _interrupts_any_of(target: CpuSet, sensor: Sensor, topology: Mapping[int, CpuPlace]) -> bool:
    """Return whether reading a sensor may interrupt a target CPU."""
    if sensor.chip != _INTERRUPTS:
        return False
    asked = package_reading_cpus(sensor.package, topology)
    return not asked or bool(asked & target)


def _read_chip(reader: Reader, folder: str, chip: str, packages: frozenset[int]) -> tuple[list[Sensor], bool]:
    """Return the chip's most general sensors, and whether these cover the whole chip."""
    matches = map(_FILE.fullmatch, reader.names_or_none(folder) or ())
    numbers = sorted({int(match[1]) for match in matches if match is not None})
    parse = _parse_coretemp_label if chip == _INTERRUPTS else parse_word
    labels = {number: reader.parse(f"{folder}/temp{number}_label", parse, expected=False) for number in numbers}
    chosen = _choose_numbers(labels, packages)
    sensors = [
        _read_sensor(reader, f"{folder}/temp{number}", chip, labels[number]) for number in chosen[:_MOST_SENSORS]
    ]
    if not numbers:
        reader.note(folder, "no sensor in it")
    elif len(chosen) > _MOST_SENSORS:
        reader.note(folder, f"only the first {_MOST_SENSORS} of its {len(chosen)} sensors are read")
    unlabelled = [number for number, label in labels.items() if label is None]
    has_all_labels = all(reader.is_absent(f"{folder}/temp{number}_label") for number in unlabelled)
    return sensors, bool(numbers) and len(chosen) <= _MOST_SENSORS and has_all_labels


def _parse_chip(text: str) -> str:
    stripped = text.strip()
    if not re.fullmatch(r"[!-~]+", stripped):
        raise Malformed("the name of a chip", stripped)
    return stripped


def _choose_numbers(labels: dict[int, str | None], packages: CpuSet) -> list[int]:
    by_package = {number: match for number, label in labels.items() if (match := PACKAGE_LABEL.fullmatch(label or ""))}
    if by_package:
        return [number for number, match in by_package.items() if not packages or int(match[1]) in packages]
    for name in ("Tdie", "Tctl"):  # AMD: Tctl is Tdie with an offset for the fans
        if name in labels.values():
            return [number for number, label in labels.items() if label == name]
    return sorted(labels)


def _read_sensor(reader: Reader, path: str, chip: str, label: str | None) -> Sensor:
    may_ask = reader.spared is None or chip != _INTERRUPTS
    if not may_ask:
        reader.note(f"{path}_input", NOT_ASKED)
    now = reader.parse(f"{path}_input", parse_millidegrees) if may_ask else None
    package = PACKAGE_LABEL.fullmatch(label or "")
    critical = reader.parse(f"{path}_crit", parse_millidegrees, expected=False) if may_ask else None
    return Sensor(
        path=f"{path}_input",
        chip=chip,
        label=clean(label) if label is not None else None,
        celsius=None if now is None else now / 1000,
        critical_celsius=critical / 1000 if critical else None,
        package=None if package is None else int(package[1]),
    )
