"""Throttling counters, cooling devices, sensors, power limits and the uncore's clock."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.topology import CpuPlace
from noisewatch.kernel.frequency.heat import (
    COOLING,
    HWMON,
    MOST_WATCHED,
    ThermalThrottling,
    limited_path,
    read_cooling,
    read_cooling_states,
    read_sensors,
    read_throttling,
    throttle_path,
)
from noisewatch.kernel.frequency.limits import FOLDER as UNCORE
from noisewatch.kernel.frequency.limits import read_uncore
from noisewatch.kernel.frequency.powercap import FOLDER as POWERCAP
from noisewatch.kernel.frequency.powercap import PowerLimit, read_power_limits
from tests.written import Files, reading

_ANY: frozenset[int] = frozenset()


def _place(cpu: int, package: int | None, *siblings: int) -> CpuPlace:
    return CpuPlace(
        cpu=cpu,
        core=cpu,
        package=package,
        node=0,
        siblings=frozenset({cpu, *siblings}),
        last_level_cache=None,
        kind=None,
        capacity=None,
    )


def _counters(**count_by_name: str) -> dict[str, str]:
    return {throttle_path(int(name[-1]), name[:-1]): text + "\n" for name, text in count_by_name.items()}


def test_each_core_and_each_package_is_read_once() -> None:
    files = _counters(core0="1", core1="2", core3="4", package0="10", package1="11", package3="13")
    places = {0: _place(0, 0, 1), 1: _place(1, 0, 0), 3: _place(3, 1)}
    throttling = read_throttling(reading(files), frozenset(places), places)
    assert throttling == ThermalThrottling({0: 1, 3: 4}, {0: 10, 3: 13})


def test_processor_without_counters_is_read_once() -> None:
    reader = reading({})
    throttling = read_throttling(reader, frozenset(range(100)), {})
    assert throttling == ThermalThrottling({0: None}, {0: None})
    assert list(reader.reason_by_path) == [throttle_path(0, "core")]


def test_only_the_malformed_counter_is_unknown() -> None:
    places = {0: _place(0, 0), 1: _place(1, 0)}
    throttling = read_throttling(reading(_counters(core0="1", core1="x", package0="2")), frozenset({0, 1}), places)
    assert throttling == ThermalThrottling({0: 1, 1: None}, {0: 2})


def _limits(**count_by_name: str) -> dict[str, str]:
    return {limited_path(int(name[-1]), name[:-1]): text + "\n" for name, text in count_by_name.items()}


def test_power_limits_are_counted_by_core_and_package_where_the_kernel_counts_them() -> None:
    places, heat = {0: _place(0, 0), 1: _place(1, 0)}, _counters(core0="1", core1="1", package0="2")
    reader = reading(heat | _limits(core0="7", core1="8", package0="9"))
    throttling = read_throttling(reader, frozenset({0, 1}), places)
    assert (throttling.limited_by_core_cpu, throttling.limited_by_package_cpu) == ({0: 7, 1: 8}, {0: 9})
    reader = reading(heat)
    throttling = read_throttling(reader, frozenset({0, 1}), places)
    assert (throttling.limited_by_core_cpu, throttling.limited_by_package_cpu) == ({}, {})
    assert not reader.reason_by_path


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_count_of_the_power_limit_is_unknown_if_another_core_has_one(missing: int) -> None:
    places, heat = {0: _place(0, 0), 1: _place(1, 1)}, _counters(core0="1", core1="1", package0="2", package1="2")
    kept = 1 - missing
    reader = reading(heat | _limits(**{f"core{kept}": "7", f"package{kept}": "9"}))
    throttling = read_throttling(reader, frozenset({0, 1}), places)
    assert throttling.limited_by_core_cpu == {missing: None, kept: 7}
    assert throttling.limited_by_package_cpu == {missing: None, kept: 9}
    assert set(reader.reason_by_path) == {limited_path(missing, "core"), limited_path(missing, "package")}


def test_unreadable_count_of_the_power_limit_is_unknown() -> None:
    places, heat = {0: _place(0, 0), 1: _place(1, 0)}, _counters(core0="1", core1="1", package0="2")
    throttling = read_throttling(reading(heat | _limits(core0="x", core1="8")), frozenset({0, 1}), places)
    assert (throttling.limited_by_core_cpu, throttling.limited_by_package_cpu) == ({0: None, 1: 8}, {})


def test_no_counter_is_read_without_target_cpus() -> None:
    assert read_throttling(reading({}), frozenset(), {}) == ThermalThrottling({}, {})


def _device(number: int, kind: str, state: str) -> dict[str, str]:
    return {f"{COOLING}/cooling_device{number}/{name}": text + "\n" for name, text in _files(kind, state)}


def _files(kind: str, state: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("type", kind), ("cur_state", state)


@pytest.mark.parametrize(
    "kind",
    ["Processor", "intel_powerclamp", "cpufreq-cpu4", "thermal-cpufreq-0", "thermal-idle-1", "idle-cpu0"],
)
def test_device_that_slows_the_processor_is_listed(kind: str) -> None:
    cooling = read_cooling(reading(_device(0, kind, "2")))
    assert [(device.kind, device.state) for device in cooling.devices or ()] == [(kind, 2)]


@pytest.mark.parametrize("kind", ["Fan", "LCD", "TCC Offset", "iwlwifi_1", "devfreq-gpu", "dell-smm-fan1"])
def test_other_devices_are_ignored(kind: str) -> None:
    assert read_cooling(reading(_device(0, kind, "2"))).devices == ()


@pytest.mark.parametrize("kind", ["Memory controller", "x\ty", "Proce"])
def test_effect_of_a_device_of_unknown_kind_is_unknown(kind: str) -> None:
    (device,) = read_cooling(reading(_device(0, kind, "2"))).devices or ()
    assert (device.slows_the_processor, device.state) == (None, 2)


@pytest.mark.parametrize(("is_copy", "is_complete"), [(False, True), (True, False)])
def test_list_of_devices_is_complete_only_on_a_live_machine(is_copy: bool, is_complete: bool) -> None:
    assert read_cooling(reading(_device(0, "Fan", "1"), is_copy=is_copy)).is_complete is is_complete


def test_number_of_watched_devices_is_bounded() -> None:
    files = {
        path: text for number in range(MOST_WATCHED + 1) for path, text in _device(number, "Processor", "0").items()
    }
    reader = reading(files)
    assert len(read_cooling_states(reader, read_cooling(reader))) == MOST_WATCHED


def _chip(folder: str, name: str, **files: str) -> dict[str, str]:
    return {f"{HWMON}/{folder}/{file}": f"{text}\n" for file, text in {"name": name, **files}.items()}


def _celsius(files: Files, packages: frozenset[int] = _ANY) -> list[tuple[float | None, float | None]]:
    return [(sensor.celsius, sensor.critical_celsius) for sensor in read_sensors(reading(files), packages).read or ()]


def test_sensor_of_a_package_is_preferred_to_those_of_its_cores() -> None:
    sensors = {"temp1_label": "Package id 0", "temp1_input": "41000", "temp1_crit": "100000"}
    cores = {"temp2_label": "Core 0", "temp2_input": "40000", "temp2_crit": "100000"}
    assert _celsius(_chip("hwmon1", "coretemp", **sensors, **cores)) == [(41.0, 100.0)]
    assert _celsius(_chip("hwmon1", "coretemp", **cores)) == [(40.0, 100.0)]


def test_sensor_of_another_package_is_left_out() -> None:
    files = _chip("hwmon1", "coretemp", temp1_label="Package id 1", temp1_input="99000")
    assert _celsius(files, frozenset({0})) == []
    assert _celsius(files, frozenset({1})) == [(99.0, None)]


def test_sensor_of_the_die_is_preferred_to_the_fan_control_value() -> None:
    files = _chip("hwmon0", "k10temp", temp1_label="Tctl", temp1_input="77000", temp2_label="Tdie", temp2_input="50000")
    assert _celsius(files) == [(50.0, None)]


def test_all_sensors_of_a_chip_without_labels_are_read() -> None:
    assert _celsius(_chip("hwmon0", "cpu_thermal", temp1_input="-5000", temp1_crit="0")) == [(-5.0, None)]


@pytest.mark.parametrize("name", ["nvme", "acpitz", "cpu-thermal", "r8169_0_300:00"])
def test_other_chips_are_ignored(name: str) -> None:
    reader = reading(_chip("hwmon0", name, temp1_input="1000"))
    assert read_sensors(reader, _ANY).read is None
    assert reader.reason_by_path[HWMON] == "no sensor of the processor"


@pytest.mark.parametrize("name", ["", "coretemp 2", "my\tcoretemp", "coretemp\0", "\0\0\0\0", "k10\ufffdemp"])
def test_chip_with_an_impossible_name_may_be_a_processors(name: str) -> None:
    reader = reading(_chip("hwmon0", name, temp1_input="1000") | _chip("hwmon1", "cpu_thermal", temp1_input="1000"))
    sensors = read_sensors(reader, _ANY)
    assert (len(sensors.read or ()), sensors.unread) == (1, f"{HWMON}/hwmon0/name")
    assert "expected" in reader.reason_by_path[f"{HWMON}/hwmon0/name"]


@pytest.mark.parametrize("label", ["Package id x", "Pack", "core 1", "Core"])
def test_chip_with_an_impossible_label_is_unread(label: str) -> None:
    files = {"temp1_label": label, "temp1_input": "41000", "temp2_label": "Core 0", "temp2_input": "40000"}
    reader = reading(_chip("hwmon0", "coretemp", **files))
    assert read_sensors(reader, _ANY).unread == f"{HWMON}/hwmon0"
    assert f"{HWMON}/hwmon0/temp1_label" in reader.reason_by_path


def test_label_of_a_package_before_linux_4_14_is_recognized() -> None:
    files = {"temp1_label": "Physical id 1", "temp1_input": "41000", "temp2_label": "Core 0", "temp2_input": "40000"}
    (sensor,) = read_sensors(reading(_chip("hwmon0", "coretemp", **files)), _ANY).read or ()
    assert sensor.package == 1


def test_chip_with_too_many_cores_is_unread() -> None:
    many = {f"temp{number}_{name}": "1" for number in range(9) for name in ("input", "crit")}
    reader = reading(_chip("hwmon0", "coretemp", **many))
    assert read_sensors(reader, _ANY).unread == f"{HWMON}/hwmon0"
    assert reader.reason_by_path[f"{HWMON}/hwmon0"] == "only the first 8 of its 9 sensors are read"


def test_package_without_a_sensor_is_unread_if_others_have_one() -> None:
    files = _chip("hwmon1", "coretemp", temp1_label="Package id 1", temp1_input="99000")
    reader = reading(files)
    assert read_sensors(reader, frozenset({0, 1})).unread == HWMON
    assert reader.reason_by_path[HWMON] == "no sensor of package 0"
    assert read_sensors(reading(files), frozenset({1})).unread is None
    assert read_sensors(reading(files | _chip("hwmon2", "coretemp")), frozenset({1})).unread == f"{HWMON}/hwmon2"


def _zone(zone: str, **files: str) -> dict[str, str]:
    return {f"{POWERCAP}/{zone}/{file}": f"{text}\n" for file, text in files.items()}


_RAPL = _zone(
    "intel-rapl:0",
    name="package-0",
    enabled="1",
    constraint_0_name="short_term",
    constraint_1_name="long_term",
    constraint_1_power_limit_uw="65000000",
    constraint_1_max_power_uw="125000000",
)
_LIMIT = PowerLimit(
    path=f"{POWERCAP}/intel-rapl:0/constraint_1_power_limit_uw",
    package=0,
    is_enabled=True,
    limit_uw=65_000_000,
    rated_uw=125_000_000,
)


def test_long_term_limit_of_each_package_is_recognized_by_name() -> None:
    assert read_power_limits(reading(_RAPL), _ANY).zones == (_LIMIT,)
    assert read_power_limits(reading(_RAPL), frozenset({1})).zones is None


@pytest.mark.parametrize("name", ["psys", "core", "uncore", "dram"])
def test_other_zones_are_ignored(name: str) -> None:
    limits = read_power_limits(reading(_RAPL | {f"{POWERCAP}/intel-rapl:0/name": f"{name}\n"}), _ANY)
    assert (limits.zones, limits.unread) == (None, None)


@pytest.mark.parametrize("name", ["package-x", "packxge-0", "rub bish", "0", "\0\0"])
def test_zone_with_an_impossible_name_may_be_a_packages(name: str) -> None:
    second = {path.replace("intel-rapl:0", "intel-rapl-mmio:0"): text for path, text in _RAPL.items()}
    limits = read_power_limits(reading(_RAPL | second | {f"{POWERCAP}/intel-rapl-mmio:0/name": f"{name}\n"}), _ANY)
    assert (limits.zones, limits.unread) == ((_LIMIT,), f"{POWERCAP}/intel-rapl-mmio:0/name")


def test_rating_of_zero_is_unknown() -> None:
    files = _RAPL | {f"{POWERCAP}/intel-rapl:0/constraint_1_max_power_uw": "0\n"}
    (zone,) = read_power_limits(reading(files), _ANY).zones or ()
    assert zone.rated_uw is None


@pytest.mark.parametrize(("is_copy", "has_none"), [(False, True), (True, False)])
def test_missing_limit_is_none_only_on_a_live_machine(is_copy: bool, has_none: bool) -> None:
    files = _zone("intel-rapl:0", name="package-0", enabled="0")
    assert read_power_limits(reading(files, is_copy=is_copy), _ANY).has_none is has_none


def test_package_without_a_limit_is_unread_if_others_have_one() -> None:
    assert read_power_limits(reading(_RAPL), frozenset({0, 1})).unread == POWERCAP
    assert read_power_limits(reading(_RAPL), frozenset({0})).unread is None


def _domain(name: str, **files: str) -> dict[str, str]:
    return {f"{UNCORE}/{name}/{file}": f"{text}\n" for file, text in files.items()}


def test_package_of_a_domain_is_in_its_name_or_its_file() -> None:
    files = _domain("package_01_die_00", min_freq_khz="1", max_freq_khz="2")
    files |= _domain("uncore03", package_id="1", min_freq_khz="3", max_freq_khz="4")
    files |= _domain("uncore04", package_id="0", min_freq_khz="5", max_freq_khz="6") | _domain("package_x", a="1")
    clocks = [(domain.min_khz, domain.max_khz) for domain in read_uncore(reading(files), frozenset({1})).domains or ()]
    assert clocks == [(1, 2), (3, 4)]


def test_list_of_domains_is_incomplete_if_a_package_lacks_one() -> None:
    files = _domain("package_01_die_00", min_freq_khz="1", max_freq_khz="2")
    assert not read_uncore(reading(files), frozenset({0, 1})).is_complete
    assert read_uncore(reading(files), frozenset({1})).is_complete


@pytest.mark.parametrize(("is_copy", "is_absent"), [(False, True), (True, False)])
def test_uncore_is_absent_only_on_a_live_machine(is_copy: bool, is_absent: bool) -> None:
    assert read_uncore(reading({}, is_copy=is_copy), _ANY).is_absent is is_absent
