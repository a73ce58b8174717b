"""Mains power, as reported by the power supplies."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.kernel.frequency.power_supply import (
    FIRMWARE,
    FOLDER,
    NO_SUPPLY,
    MainsPower,
    SupplyVoltage,
    read_mains_power,
    read_supply_voltage,
    read_voltage_alarm,
)
from noisewatch.kernel.reader import Reader
from noisewatch.machine.copied import CopiedTree
from tests.judgement.sweeps.lessened import EMPTY, LessenedMachine
from tests.written import BARE, Files, WrittenMachine, reading, write_tree


def _supply(name: str, **files: str) -> dict[str, str]:
    return {f"{FOLDER}/{name}/{file}": f"{text}\n" for file, text in files.items()}


def _read(*supplies: Files) -> MainsPower:
    return read_mains_power(reading({path: text for files in supplies for path, text in files.items()}))


def _adapter(online: str, name: str = "AC", kind: str = "Mains") -> dict[str, str]:
    return _supply(name, type=kind, online=online)


def _battery(status: str, name: str = "BAT0") -> dict[str, str]:
    return _supply(name, type="Battery", status=status)


def test_kernel_without_the_class_has_no_supply() -> None:
    assert _read({}) == MainsPower(NO_SUPPLY)


def test_class_missing_from_a_copy_is_unknown() -> None:
    assert read_mains_power(reading({}, is_copy=True)) == MainsPower(None)


def test_empty_class_has_no_supply_on_a_live_machine_and_is_unknown_in_a_copy(tmp_path: Path) -> None:
    empty: LessenedMachine = LessenedMachine({**BARE, **_adapter("1")}).take(f"{FOLDER}/", EMPTY)
    assert read_mains_power(Reader(empty)) == MainsPower(NO_SUPPLY)
    write_tree(tmp_path, {"/proc/version": ""})
    (tmp_path / FOLDER.lstrip("/")).mkdir(parents=True)
    assert read_mains_power(Reader(CopiedTree(str(tmp_path)))) == MainsPower(None)


@pytest.mark.parametrize(("online", "is_on"), [("1", True), ("0", False)])
def test_adapter_reports_mains_power(online: str, is_on: bool) -> None:
    assert _read(_adapter(online), _battery("Unknown")) == MainsPower(is_on, f"{FOLDER}/AC/online")


def test_one_online_adapter_is_enough() -> None:
    supplies = [_adapter("0"), _adapter("1", "ucsi-USBC000:001", "USB"), _battery("Charging")]
    assert _read(*supplies) == MainsPower(True, f"{FOLDER}/ucsi-USBC000:001/online")


def test_discharging_battery_outranks_an_adapter() -> None:
    assert _read(_adapter("1"), _battery("Discharging")).is_on is False
    assert _read(_adapter("1"), _battery("Not charging")).is_on is True


@pytest.mark.parametrize(
    ("status", "is_on"),
    [("Discharging", False), ("Charging", True), ("Full", True), ("Not charging", True), ("Unknown", None)],
)
def test_battery_reports_mains_power_without_adapters(status: str, is_on: bool | None) -> None:
    assert _read(_battery(status)).is_on is is_on


def test_discharging_supply_of_unknown_type_outranks_an_adapter() -> None:
    nameless = _supply("main-battery", type="Unknown", status="Discharging")
    assert _read(_adapter("1"), nameless) == MainsPower(False, f"{FOLDER}/main-battery/status")
    assert _read(_adapter("1"), _supply("charger", type="Unknown")).is_on is True


def test_second_battery_counts_if_the_first_is_unknown() -> None:
    assert _read(_battery("Unknown"), _battery("Discharging", "BAT1")) == MainsPower(False, f"{FOLDER}/BAT1/status")


def test_battery_of_a_mouse_is_ignored() -> None:
    mouse = _battery("Discharging", "hidpp_battery_0") | _supply("hidpp_battery_0", scope="Device")
    assert _read(mouse) == MainsPower(NO_SUPPLY)
    assert _read(mouse, _adapter("1")).is_on is True


def test_desktop_with_an_empty_usb_port_does_not_run_on_battery() -> None:
    assert _read(_adapter("0", "ucsi-source-psy-USBC000:001", "USB")).is_on is not False


@pytest.mark.parametrize("online", ["", "rubbish"])
def test_battery_counts_if_the_adapter_is_malformed(online: str) -> None:
    assert _read(_adapter(online), _battery("Discharging")).is_on is False
    assert _read(_adapter(online)).is_on is None


@pytest.mark.parametrize(
    "damage", [{"type": "Batxery"}, {"type": "B"}, {"status": "Dischxrging"}, {"status": "\0\0"}, {"status": ""}]
)
def test_battery_that_may_be_discharging_outranks_an_adapter(damage: dict[str, str]) -> None:
    battery = _battery("Discharging") | _supply("BAT0", **damage)
    assert _read(_adapter("1"), battery).is_on is not True
    assert _read(_adapter("1"), battery, _supply("BAT0", scope="Device")).is_on is True


def test_mains_power_is_unknown_if_one_of_two_adapters_is_unknown() -> None:
    assert _read(_adapter("0"), _adapter("", "AC2")).is_on is None


def test_supply_of_unknown_type_is_unknown() -> None:
    assert _read(_supply("AC", online="1")).is_on is None


def test_uninterruptible_supply_is_no_adapter() -> None:
    assert _read(_supply("ups", type="UPS", online="1")).is_on is None


_HEAT = {"/sys/class/hwmon/hwmon0/name": "cpu_thermal\n", "/sys/devices/system/cpu/online": "0-3\n"}
_VOLTAGE = {"/sys/class/hwmon/hwmon1/name": "rpi_volt\n", "/sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n"}


def _alarm_and_voltage(files: dict[str, str]) -> tuple[str | None, SupplyVoltage, set[str]]:
    machine = WrittenMachine(files)
    reader = Reader(machine)
    alarm = read_voltage_alarm(reader)
    return alarm.path, read_supply_voltage(reader, alarm), set(machine.reads)


def test_firmware_is_not_read_where_hwmon_reports() -> None:
    path, voltage, reads = _alarm_and_voltage({**_HEAT, **_VOLTAGE, FIRMWARE: "0\n"})
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
def test_firmware_is_read_without_hwmon(flags: str, voltage: SupplyVoltage) -> None:
    assert _alarm_and_voltage({**_HEAT, FIRMWARE: flags})[:2] == (FIRMWARE, voltage)


def test_other_machines_report_no_voltage() -> None:
    assert _alarm_and_voltage(_HEAT)[:2] == (None, SupplyVoltage(None, None))
