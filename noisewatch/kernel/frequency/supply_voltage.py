"""Whether the power supply holds its voltage, as the firmware of a Raspberry Pi reports it.

    /sys/class/hwmon/hwmon1/{name,in0_lcrit_alarm}            rpi_volt, 1
    /sys/devices/platform/soc/soc:firmware/get_throttled      50005          (hexadecimal)

While the voltage is low the firmware lowers the clock, to 600 MHz mostly, and cpufreq does not show it. The alarm is
that of the last two seconds: drivers/hwmon/raspberrypi-hwmon.c (Linux 4.18) clears the firmware's sticky bits as often.
get_throttled is of Raspberry Pi's own kernels. Its bit 0 is under-voltage now, bit 16 since boot:
https://www.raspberrypi.com/documentation/computers/os.html#get_throttled. It is read only where hwmon has no such chip:
kernels that have both log a warning with a stack trace when it is read.
"""

from __future__ import annotations

import re

from noisewatch.errors import Malformed
from noisewatch.kernel.frequency.hwmon import FOLDER as HWMON
from noisewatch.kernel.numbers import parse_flag, parse_word
from noisewatch.kernel.reader import Reader
from noisewatch.patterns import regex
from noisewatch.records import dataclass

FIRMWARE = "/sys/devices/platform/soc/soc:firmware/get_throttled"
_CHIP = regex(r"hwmon\d{1,6}")
_VOLTAGE = "rpi_volt"
_FLAGS = regex(r"(?:0x)?([0-9a-f]{1,8})", re.ASCII)
_LOW, _WAS_LOW = 1 << 0, 1 << 16


@dataclass(frozen=True, slots=True)
class VoltageAlarm:
    """The file that reports under-voltage, or None; `unread` is a path that might name one and could not be read."""

    path: str | None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class SupplyVoltage:
    """Whether the voltage is too low now, and whether it was since boot; None is unknown."""

    is_low: bool | None
    was_low: bool | None


def read_voltage_alarm(reader: Reader) -> VoltageAlarm:
    """Find the file that reports under-voltage."""
    names = reader.names_or_none(HWMON)
    folders = [f"{HWMON}/{name}" for name in names or () if _CHIP.fullmatch(name)]
    chips = {folder: reader.parsed(f"{folder}/name", parse_word, expected=False) for folder in folders}
    for folder, chip in chips.items():
        if chip == _VOLTAGE:
            return VoltageAlarm(f"{folder}/in0_lcrit_alarm")
    flags = reader.parsed(FIRMWARE, parse_throttled, expected=False)
    if flags is not None or FIRMWARE in reader.reason_by_path:
        return VoltageAlarm(FIRMWARE)
    unnamed = next((f"{folder}/name" for folder, chip in chips.items() if chip is None), None)
    return VoltageAlarm(None, HWMON if names is None else unnamed)


def read_supply_voltage(reader: Reader, alarm: VoltageAlarm) -> SupplyVoltage:
    """Return what the file reports now."""
    if alarm.path is None:
        return SupplyVoltage(None, None)
    if alarm.path != FIRMWARE:
        is_low = reader.parsed(alarm.path, parse_flag)
        return SupplyVoltage(is_low, is_low)
    flags = reader.parsed(FIRMWARE, parse_throttled)
    return SupplyVoltage(None, None) if flags is None else SupplyVoltage(bool(flags & _LOW), bool(flags & _WAS_LOW))


def parse_throttled(text: str) -> int:
    """Parse the firmware's flags. Raise Malformed."""
    match = _FLAGS.fullmatch(text.strip())
    if match is None:
        raise Malformed("a hexadecimal number", text.strip())
    return int(match[1], 16)
