"""The processor's temperature, from its sensors in hwmon.

    /sys/class/hwmon/hwmon3/name                       coretemp
    /sys/class/hwmon/hwmon3/temp1_label                Package id 0
    /sys/class/hwmon/hwmon3/{temp1_input,temp1_crit}   41000, 100000   (thousandths of a degree Celsius)

https://docs.kernel.org/hwmon/sysfs-interface.html. coretemp interrupts the core in question to ask it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from noisewatch.cpus import CpuSet
from noisewatch.errors import Malformed
from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.numbers import integer_from, parse_word
from noisewatch.kernel.reader import NOT_ASKED, Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass
from noisewatch.text import clean

FOLDER = "/sys/class/hwmon"
_CHIP = regex(r"hwmon\d{1,6}")
_OF_PROCESSOR = regex(
    r"coretemp|k10temp|k8temp|zenpower|via_cputemp|cpu\d*_thermal|soc_thermal|(big|little)core\d*_thermal", re.ASCII
)
_FILE = regex(r"temp(\d{1,4})_(?:input|label|crit)")  # a sensor whose _input is gone is still there
_PACKAGE = regex(r"(?:Package|Physical) id (\d{1,5})")  # the latter before Linux 4.14
_OF_CORETEMP = regex(rf"{_PACKAGE.pattern}|Core \d{{1,5}}", re.ASCII)
_INTERRUPTS = "coretemp"
_MOST_SENSORS = 8  # of one chip
parse_millidegrees = integer_from(-60_000, 200_000)  # the range of working silicon; a broken sensor reports others


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor, in degrees Celsius. None is unknown, or not reported by the chip."""

    path: str
    chip: str
    label: str | None
    celsius: float | None
    critical_celsius: float | None
    package: int | None = None


@dataclass(frozen=True, slots=True)
class Sensors:
    """Temperature sensors; `read` is None if unknown. `unread` is the first path that could not be read, or None."""

    read: tuple[Sensor, ...] | None
    unread: str | None = None


def read_sensors(reader: Reader, packages: frozenset[int]) -> Sensors:
    """Return the processor's sensors, without those of other packages; `read` is None if they cannot be listed.

    If a chip has a sensor for a whole package, or the die, only that one is read.
    """
    chips = reader.names_or_none(FOLDER)
    if chips is None:
        return Sensors(None, FOLDER)
    sensors: list[Sensor] = []
    unread: list[str] = []
    for folder in (f"{FOLDER}/{name}" for name in chips if _CHIP.fullmatch(name)):
        chip = reader.parsed(f"{folder}/name", _parse_chip, expected=False)
        if chip is None:
            unread.append(f"{folder}/name")
        elif _OF_PROCESSOR.fullmatch(chip):
            found, is_whole = _read_chip(reader, folder, chip, packages)
            sensors += found
            unread += [] if is_whole else [folder]
    if not sensors:
        reader.note(FOLDER, "no sensor of the processor")
    missing = packages - {each.package for each in sensors}
    if not unread and missing != packages and missing:
        reader.note(FOLDER, f"no sensor of package {min(missing)}")
        unread.append(FOLDER)
    return Sensors(tuple(sensors) or None, unread[0] if unread else None)


def read_celsius(
    reader: Reader, sensors: Sensors, target: CpuSet, topology: Mapping[int, CpuPlace]
) -> Mapping[str, float | None]:
    """Return the temperatures now, by path, of sensors that can be read without interrupting a target CPU."""
    asked = [each.path for each in sensors.read or () if not _interrupts_any_of(target, each, topology)]
    millidegrees = {path: reader.parsed(path, parse_millidegrees) for path in asked}
    return {path: None if value is None else value / 1000 for path, value in millidegrees.items()}


def _interrupts_any_of(target: CpuSet, sensor: Sensor, topology: Mapping[int, CpuPlace]) -> bool:
    """Return whether reading a sensor interrupts a target CPU.

    coretemp asks the CPU of the package that came online first; that wakes its whole core.
    """
    if sensor.chip != _INTERRUPTS:
        return False
    asked = min((cpu for cpu, place in topology.items() if place.package == sensor.package), default=None)
    if sensor.package is None or asked is None:
        return True
    return bool(((topology[asked].siblings or frozenset()) | {asked}) & target)


def _read_chip(reader: Reader, folder: str, chip: str, packages: frozenset[int]) -> tuple[list[Sensor], bool]:
    """Return the chip's most general sensors, and whether they cover everything."""
    matches = map(_FILE.fullmatch, reader.names_or_none(folder) or ())
    numbers = sorted({int(match[1]) for match in matches if match is not None})
    parse = _parse_coretemp_label if chip == _INTERRUPTS else parse_word
    labels = {number: reader.parsed(f"{folder}/temp{number}_label", parse, expected=False) for number in numbers}
    chosen = _telling(labels, packages)
    sensors = [
        _read_sensor(reader, f"{folder}/temp{number}", chip, labels[number]) for number in chosen[:_MOST_SENSORS]
    ]
    if not numbers:
        reader.note(folder, "no sensor in it")
    elif len(chosen) > _MOST_SENSORS:
        reader.note(folder, f"more sensors than the {_MOST_SENSORS} that are read")
    unlabelled = [number for number, label in labels.items() if label is None]
    is_told = all(reader.is_absent(f"{folder}/temp{number}_label") for number in unlabelled)
    return sensors, bool(numbers) and len(chosen) <= _MOST_SENSORS and is_told


def _parse_chip(text: str) -> str:
    stripped = text.strip()
    if not re.fullmatch(r"[!-~]+", stripped):
        raise Malformed("the name of a chip", stripped)
    return stripped


def _parse_coretemp_label(text: str) -> str:
    label = parse_word(text)
    if not _OF_CORETEMP.fullmatch(label):
        raise Malformed("a core or a package", label)
    return label


def _telling(labels: dict[int, str | None], packages: CpuSet) -> list[int]:
    by_package = {number: match for number, label in labels.items() if (match := _PACKAGE.fullmatch(label or ""))}
    if by_package:
        return [number for number, match in by_package.items() if not packages or int(match[1]) in packages]
    for wanted in ("Tdie", "Tctl"):  # AMD: the second is the first with an offset for the fans
        if wanted in labels.values():
            return [number for number, label in labels.items() if label == wanted]
    return sorted(labels)


def _read_sensor(reader: Reader, path: str, chip: str, label: str | None) -> Sensor:
    may_ask = reader.spared is None or chip != _INTERRUPTS
    if not may_ask:
        reader.note(f"{path}_input", NOT_ASKED)
    now = reader.parsed(f"{path}_input", parse_millidegrees) if may_ask else None
    package = _PACKAGE.fullmatch(label or "")
    critical = reader.parsed(f"{path}_crit", parse_millidegrees, expected=False) if may_ask else None
    return Sensor(
        path=f"{path}_input",
        chip=chip,
        label=clean(label) if label is not None else None,
        celsius=None if now is None else now / 1000,
        critical_celsius=critical / 1000 if critical else None,
        package=None if package is None else int(package[1]),
    )
