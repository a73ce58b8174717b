"""Which file reports under-voltage, and what it says."""

from __future__ import annotations

import pytest

from noisewatch.kernel.frequency.power_supply import (
    FIRMWARE,
    SupplyVoltage,
    read_supply_voltage,
    read_voltage_alarm,
)
from noisewatch.kernel.reader import Reader
from tests.written import WrittenMachine

_HEAT = {"/sys/class/hwmon/hwmon0/name": "cpu_thermal\n", "/sys/devices/system/cpu/online": "0-3\n"}
_VOLTAGE = {"/sys/class/hwmon/hwmon1/name": "rpi_volt\n", "/sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n"}


def _reported(files: dict[str, str]) -> tuple[str | None, SupplyVoltage, set[str]]:
    machine = WrittenMachine(files)
    reader = Reader(machine)
    alarm = read_voltage_alarm(reader)
    return alarm.path, read_supply_voltage(reader, alarm), set(machine.reads)


def test_the_firmware_is_not_asked_where_hwmon_reports() -> None:
    path, voltage, reads = _reported({**_HEAT, **_VOLTAGE, FIRMWARE: "0\n"})
    assert (path, voltage) == ("/sys/class/hwmon/hwmon1/in0_lcrit_alarm", SupplyVoltage(True, True))
    assert FIRMWARE not in reads


@pytest.mark.parametrize(
    ("flags", "voltage"),
    [
        ("50005\n", SupplyVoltage(True, True)),
        ("0x50000\n", SupplyVoltage(False, True)),
        ("e0008\n", SupplyVoltage(False, False)),
        ("0\n", SupplyVoltage(False, False)),
        ("rubbish\n", SupplyVoltage(None, None)),
    ],
)
def test_the_firmware_is_asked_otherwise(flags: str, voltage: SupplyVoltage) -> None:
    assert _reported({**_HEAT, FIRMWARE: flags})[:2] == (FIRMWARE, voltage)


def test_other_machines_report_none() -> None:
    assert _reported(_HEAT)[:2] == (None, SupplyVoltage(None, None))
