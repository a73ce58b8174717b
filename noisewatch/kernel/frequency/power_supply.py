"""The machine's power supply: whether it runs on mains power, and whether the voltage is sufficient.

    /sys/class/power_supply/AC/{type,online}          Mains, 1
    /sys/class/power_supply/BAT0/{type,status,scope}  Battery, Discharging   (scope Device: a mouse's battery)
    /sys/bus/acpi/devices/PNP0C0A:00/status           31                     (an ACPI battery; 0: not present)

https://docs.kernel.org/power/power_supply_class.html

A Raspberry Pi's firmware reports whether the voltage is too low:

    /sys/class/hwmon/hwmon1/{name,in0_lcrit_alarm}            rpi_volt, 1
    /sys/devices/platform/soc/soc:firmware/get_throttled      50005          (hexadecimal)

While the voltage is low the firmware lowers the clock, usually to 600 MHz, which cpufreq does not show. The alarm
covers the last two seconds, because drivers/hwmon/raspberrypi-hwmon.c (Linux 4.18) clears the firmware's sticky bits
every two seconds. Only Raspberry Pi's own kernels have get_throttled. Its bit 0 is under-voltage now, bit 16 since
boot: https://www.raspberrypi.com/documentation/computers/os.html#get_throttled. It is only read if hwmon has no such
chip: kernels that have both log a warning with a stack trace when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Set

from msgspec import Struct

from noisewatch.errors import Absent, Malformed, Unreadable
from noisewatch.kernel.frequency.heat import HWMON, chip_folders
from noisewatch.kernel.numbers import parse_count, parse_flag, parse_word, require_match, word_of
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex

FOLDER = "/sys/class/power_supply"
NO_SUPPLY = "none"
_ACPI = "/sys/bus/acpi/devices"
_BATTERY = regex(r"PNP0C0A:|ACPI0001:")
_parse_status = word_of("the status of a battery", regex("Unknown|Charging|Discharging|Not charging|Full"))
_parse_kind = word_of(
    "the type of a power supply", regex("Unknown|Battery|UPS|Mains|Wireless|BrickID|USB.*", re.DOTALL)
)
_POWERED_STATES = frozenset({"Charging", "Full", "Not charging"})


class MainsPower(Struct, frozen=True):
    """Whether the machine is on mains power: `none` if it has no supply except unused USB ports, None if unknown."""

    is_on: bool | str | None
    source: str | None = None  # the file that shows it, or the folder of a battery without a driver


def read_mains_power(reader: Reader) -> MainsPower:
    """Determine whether the machine is on mains: from a discharging battery, else adapters, else other batteries."""
    try:
        names = reader.names(FOLDER)
    except Absent:
        names = []
    except Unreadable:
        return MainsPower(None)
    if not names:
        battery = _battery_without_driver(reader)
        return MainsPower(NO_SUPPLY if battery is None else None, battery)
    supplies = {name: reader.parse(f"{FOLDER}/{name}/type", _parse_kind) for name in names}
    maybe_batteries = [name for name, kind in supplies.items() if kind in ("Battery", "Unknown", None)]
    batteries = [name for name in maybe_batteries if not _is_of_a_device(reader, name)]
    status_by_path = {
        path: reader.parse(path, _parse_status) for path in (f"{FOLDER}/{name}/status" for name in batteries)
    }
    own = {name: kind for name, kind in supplies.items() if name not in maybe_batteries or name in batteries}
    power = (
        _by_status(status_by_path, {"Discharging"}, False)
        or _by_adapters(reader, own)
        or _by_status(status_by_path, _POWERED_STATES, True)
        or _without_source(own)
    )
    failed_paths = [path for path, status in status_by_path.items() if status is None and not reader.is_absent(path)]
    return MainsPower(None) if power.is_on and failed_paths else power


def _battery_without_driver(reader: Reader) -> str | None:
    """Return the folder of a battery that ACPI lists, even if drivers/acpi/battery.c is not loaded; else None."""
    folders = (f"{_ACPI}/{name}" for name in reader.names_or_none(_ACPI, expected=False) or () if _BATTERY.match(name))
    return next((folder for folder in folders if reader.parse(f"{folder}/status", parse_count, False) != 0), None)


def _is_of_a_device(reader: Reader, name: str) -> bool:
    return (reader.text_or_none(f"{FOLDER}/{name}/scope", expected=False) or "").strip() == "Device"


def _by_status(status_by_path: dict[str, str | None], states: Set[str], is_on: bool) -> MainsPower | None:
    path = next((path for path, status in status_by_path.items() if status in states), None)
    return None if path is None else MainsPower(is_on, path)


def _by_adapters(reader: Reader, supplies: dict[str, str | None]) -> MainsPower | None:
    """Determine mains power from the adapters, or return None if they do not decide it.

    One online adapter is enough. If all are offline, one of them must be of type Mains to show that mains power is
    missing: USB ports are supplies too, and usually empty.
    """
    adapters = [name for name, kind in supplies.items() if kind is not None and kind not in ("Battery", "UPS")]
    online = {name: reader.parse(f"{FOLDER}/{name}/online", parse_online) for name in adapters}
    for name, is_online in online.items():
        if is_online:
            return MainsPower(True, f"{FOLDER}/{name}/online")
    mains = [name for name in adapters if supplies[name] == "Mains"]
    if mains and all(is_online == 0 for is_online in online.values()):
        return MainsPower(False, f"{FOLDER}/{mains[0]}/online")
    return None


def parse_online(text: str) -> int:
    """Parse 0 (offline), 1 (online) or 2 (online with a requested voltage). Raise Malformed."""
    stripped = text.strip()
    if stripped not in ("0", "1", "2"):
        raise Malformed("0, 1 or 2", stripped)
    return int(stripped)


def _without_source(supplies: dict[str, str | None]) -> MainsPower:
    """Return NO_SUPPLY if there are only empty USB ports, otherwise unknown."""
    kinds = set(supplies.values())
    return MainsPower(NO_SUPPLY if all(kind is not None and kind.startswith("USB") for kind in kinds) else None)


FIRMWARE = "/sys/devices/platform/soc/soc:firmware/get_throttled"
_VOLTAGE = "rpi_volt"
_FLAGS = regex(r"(?:0x)?([0-9a-f]{1,8})", re.ASCII)
_LOW, _WAS_LOW = 1 << 0, 1 << 16


class VoltageAlarm(Struct, frozen=True):
    """The file that reports under-voltage, or None. `unread` is an unreadable path that might have led to one."""

    path: str | None
    unread: str | None = None


class SupplyVoltage(Struct, frozen=True):
    """Whether the voltage is too low now, and whether it has been since boot; None means unknown.

    With hwmon's alarm, both only cover the last two seconds.
    """

    is_low: bool | None
    was_low: bool | None


def read_voltage_alarm(reader: Reader) -> VoltageAlarm:
    """Find the file that reports under-voltage."""
    folders = chip_folders(reader)
    chips = {folder: reader.parse(f"{folder}/name", parse_word, expected=False) for folder in folders or ()}
    for folder, chip in chips.items():
        if chip == _VOLTAGE:
            return VoltageAlarm(f"{folder}/in0_lcrit_alarm")
    flags = reader.parse(FIRMWARE, parse_throttled, expected=False)
    if flags is not None or FIRMWARE in reader.reason_by_path:
        return VoltageAlarm(FIRMWARE)
    unnamed = next((f"{folder}/name" for folder, chip in chips.items() if chip is None), None)
    return VoltageAlarm(None, HWMON if folders is None else unnamed)


def read_supply_voltage(reader: Reader, alarm: VoltageAlarm) -> SupplyVoltage:
    """Read the supply voltage's state from the alarm's file."""
    if alarm.path is None:
        return SupplyVoltage(None, None)
    if alarm.path != FIRMWARE:
        is_low = reader.parse(alarm.path, parse_flag)
        return SupplyVoltage(is_low, is_low)
    flags = reader.parse(FIRMWARE, parse_throttled)
    return SupplyVoltage(None, None) if flags is None else SupplyVoltage(bool(flags & _LOW), bool(flags & _WAS_LOW))


def parse_throttled(text: str) -> int:
    """Parse the firmware's flags. Raise Malformed."""
    return int(require_match(_FLAGS.fullmatch(text.strip()), "a hexadecimal number", text.strip())[1], 16)
