"""Heat, throttling, cooling and limits of power."""

from __future__ import annotations

from tests.judgement.example import VIRTUAL, Example
from tests.written.quiet.frequency import CHIP, THERMAL, ZONE
from tests.written.quiet_machine import CPUS

_CORE3 = f"{CPUS}/cpu3/thermal_throttle/core_throttle_count"
_PACKAGE = f"{CPUS}/cpu2/thermal_throttle/package_throttle_count"
_NO_COUNTERS = tuple(f"{CPUS}/cpu{cpu}/thermal_throttle" for cpu in range(4))
_CORE2_LIMITED = f"{CPUS}/cpu2/thermal_throttle/core_power_limit_count"
_CORE3_LIMITED = f"{CPUS}/cpu3/thermal_throttle/core_power_limit_count"
_PACKAGE_LIMITED = f"{CPUS}/cpu2/thermal_throttle/package_power_limit_count"
_LIMITED = {
    f"{CPUS}/cpu{cpu}/thermal_throttle/{level}_power_limit_count": "7\n"
    for cpu in range(4)
    for level in ("core", "package")
}
_THROTTLING = [
    Example("throttled", "fail", after={_CORE3: "13\n"}, named="CPU 3 throttled by heat 1 time", cpus={3}),
    Example("throttled", "fail", loaded={_CORE3: "15\n"}, named="CPU 3 throttled by heat 3 times", cpus={3}),
    Example("throttled", "fail", after={_PACKAGE: "36\n"}, cpus={2, 3}),
    Example("throttled", "fail", after={_PACKAGE: "36\n", _CORE3: "rubbish\n"}, cpus={2, 3}),
    Example(
        *("throttled", "pass"),
        after={f"{CPUS}/cpu1/thermal_throttle/core_throttle_count": "99\n"},
        named="no throttling by heat; power limits are not counted",
    ),
    Example("throttled", "pass", _LIMITED, "no throttling by heat or power"),
    Example(
        *("throttled", "fail", _LIMITED, "CPU 3 slowed by the power limit of its core 6 times"),
        after={_CORE3_LIMITED: "13\n"},
        cpus={3},
    ),
    Example(
        *("throttled", "fail", _LIMITED, "power limit of their package 1 time"),
        loaded={_PACKAGE_LIMITED: "8\n"},
        cpus={2, 3},
    ),
    Example(
        *("throttled", "fail", _LIMITED, "by heat 1 time; CPUs 2-3 slowed by"),
        after={_PACKAGE_LIMITED: "8\n", _CORE3: "13\n"},
    ),
    Example("throttled", "unknown", _LIMITED, "package_power_limit_count", after={_PACKAGE_LIMITED: "rubbish\n"}),
    Example("throttled", "unknown", _LIMITED, "core_power_limit_count", after={_CORE3_LIMITED: "6\n"}),
    Example("throttled", "unknown", _LIMITED | {_PACKAGE_LIMITED: "rubbish\n"}),
    Example("throttled", "unknown", {_CORE2_LIMITED: "7\n"}, "core_power_limit_count"),
    Example("throttled", "fail", {_CORE3_LIMITED: "7\n"}, "power limit of its core", after={_CORE3_LIMITED: "8\n"}),
    Example("throttled", "unknown", {_CORE3_LIMITED: "7\n"}, "cpu2/thermal_throttle/core_power_limit_count"),
    Example("throttled", "unknown", after={_CORE3: "11\n"}, named="core_throttle_count"),
    Example("throttled", "unknown", after={_CORE3: "rubbish\n"}),
    Example("throttled", "unknown", gone=(_CORE3,)),
    Example("throttled", "unknown", named="core_power_limit_count", is_copy=True),
    Example("throttled", "unknown", gone=_NO_COUNTERS),
    Example("throttled", "unknown", VIRTUAL, gone=_NO_COUNTERS),
]
_DEVICE, _LAST = f"{THERMAL}/cooling_device1", f"{THERMAL}/cooling_device2"
_COOLING = [
    Example("cooling-active", "fail", {f"{_DEVICE}/cur_state": "3\n"}, "Processor"),
    Example("cooling-active", "fail", loaded={f"{_DEVICE}/cur_state": "1\n"}, named="Processor"),
    Example("cooling-active", "fail", {f"{_LAST}/cur_state": "25\n"}, "intel_powerclamp"),
    Example("cooling-active", "fail", {f"{_LAST}/type": "cpufreq-cpu2\n", f"{_LAST}/cur_state": "1\n"}, "cpufreq-cpu2"),
    Example("cooling-active", "pass", {f"{_LAST}/type": "TCC Offset\n", f"{_LAST}/cur_state": "10\n"}),
    Example("cooling-active", "unknown", {f"{_LAST}/type": "a\tstrange /\n", f"{_LAST}/cur_state": "10\n"}, "'a\\tst"),
    Example("cooling-active", "pass", {f"{_DEVICE}/type": "rubbish\n"}),
    Example("cooling-active", "unknown", {f"{_DEVICE}/cur_state": "rubbish\n"}, "cooling_device1"),
    Example("cooling-active", "unknown", {f"{_DEVICE}/cur_state": "-1\n"}, "from 0"),
    Example("cooling-active", "unknown", {f"{_LAST}/type": "a strange one\n", f"{_LAST}/cur_state": "-1\n"}, "from 0"),
    Example("cooling-active", "unknown", {f"{_LAST}/type": ""}, "cooling_device2/type"),
    Example("cooling-active", "unknown", gone=(THERMAL,)),
    Example("cooling-active", "unknown", gone=(_DEVICE, _LAST), is_copy=True),
    Example("cooling-active", "unknown", VIRTUAL, "its host", gone=(_DEVICE, _LAST)),
    Example("cooling-active", "not-applicable", gone=(_DEVICE, _LAST)),
]
_OTHER_INPUT = "/sys/class/hwmon/hwmon2/temp1_input"
_OTHER_CHIP = {
    "/sys/class/hwmon/hwmon2/name": "coretemp\n",
    "/sys/class/hwmon/hwmon2/temp1_label": "Package id 1\n",
    _OTHER_INPUT: "99000\n",
    "/sys/class/hwmon/hwmon2/temp1_crit": "100000\n",
}
_TWO_PACKAGES = {f"{CPUS}/cpu3/topology/physical_package_id": "1\n"}
_CORES = {
    f"{CHIP}/temp{number}_{name}": f"{value}\n"
    for number in range(1, 10)
    for name, value in (("label", f"Core {number}"), ("input", 40_000), ("crit", 100_000))
}
_TEMPERATURE = [
    Example("processor-hot", "fail", {f"{CHIP}/temp1_input": "95000\n"}, "95 °C, 5 K"),
    Example("processor-hot", "warn", {f"{CHIP}/temp1_input": "81000\n"}, "19 K below"),
    Example("processor-hot", "pass", {f"{CHIP}/temp1_input": "80000\n"}),
    Example("processor-hot", "pass", {f"{CHIP}/temp2_input": "99000\n"}),
    Example("processor-hot", "pass", _OTHER_CHIP),
    Example(
        *("processor-hot", "fail", {f"{CHIP}/name": "cpu_thermal\n", f"{CHIP}/temp2_input": "99000\n"}, "cpu_thermal"),
        gone=(f"{CHIP}/temp1_label", f"{CHIP}/temp2_label"),
    ),
    Example("processor-hot", "unknown", {f"{CHIP}/temp1_input": "rubbish\n"}),
    Example("processor-hot", "unknown", {f"{CHIP}/temp1_crit": "rubbish\n"}, "temp1_crit"),
    Example("processor-hot", "unknown", {f"{CHIP}/name": "k10temp\n"}, "no critical", gone=(f"{CHIP}/temp1_crit",)),
    Example("processor-hot", "unknown", gone=(CHIP,), named="no sensor of the processor"),
    Example("processor-hot", "unknown", gone=("/sys/class/hwmon",)),
    Example("processor-hot", "unknown", _TWO_PACKAGES, "no sensor of package 1"),
    Example("processor-hot", "fail", _TWO_PACKAGES | _OTHER_CHIP, "Package id 1"),
    Example("processor-hot", "unknown", _TWO_PACKAGES | _OTHER_CHIP | {_OTHER_INPUT: "rubbish\n"}, _OTHER_INPUT),
    Example("processor-hot", "unknown", _CORES, "only the first 8 of its"),
    Example("processor-hot", "fail", _CORES | {f"{CHIP}/temp2_input": "99000\n"}, "Core 2"),
    Example("processor-hot", "unknown", {"/sys/class/hwmon/hwmon2/name/x": ""}, "hwmon2/name"),
    Example("processor-hot", "unknown", {"/sys/class/hwmon/hwmon2/name": "coretemp\n"}, "hwmon2: no sensor in it"),
]
_MMIO = ZONE.replace("rapl:", "rapl-mmio:")
_LOWERED = {
    f"{_MMIO}/name": "package-0\n",
    f"{_MMIO}/enabled": "1\n",
    f"{_MMIO}/constraint_0_name": "long_term\n",
    f"{_MMIO}/constraint_0_power_limit_uw": "45000000\n",
    f"{_MMIO}/constraint_0_max_power_uw": "0\n",
}
_MMIO_RATED = _LOWERED | {f"{_MMIO}/constraint_0_power_limit_uw": "125000000\n"}
_SECOND_ZONE = ZONE.replace("rapl:0", "rapl:1")
_TWO_RATED = _TWO_PACKAGES | {
    f"{_SECOND_ZONE}/name": "package-1\n",
    f"{_SECOND_ZONE}/enabled": "1\n",
    f"{_SECOND_ZONE}/constraint_0_name": "long_term\n",
    f"{_SECOND_ZONE}/constraint_0_power_limit_uw": "253000000\n",
    f"{_SECOND_ZONE}/constraint_0_max_power_uw": "125000000\n",
}
_POWER = [
    Example("power-limit-lowered", "fail", {f"{ZONE}/constraint_0_power_limit_uw": "99000000\n"}, "99 W"),
    Example("power-limit-lowered", "pass", {f"{ZONE}/constraint_0_power_limit_uw": "100000000\n"}),
    Example("power-limit-lowered", "pass", {f"{ZONE}/constraint_0_power_limit_uw": "131000000\n"}),
    Example("power-limit-lowered", "warn", {f"{ZONE}/constraint_0_power_limit_uw": "253000000\n"}, "253 W in the long"),
    Example("power-limit-lowered", "warn", {f"{ZONE}/enabled": "0\n"}, "no long-term power limit of package 0"),
    Example(*("power-limit-lowered", "pass", _MMIO_RATED | {f"{ZONE}/constraint_0_power_limit_uw": "253000000\n"})),
    Example("power-limit-lowered", "pass", _MMIO_RATED | {f"{ZONE}/enabled": "0\n"}),
    Example("power-limit-lowered", "unknown", _TWO_RATED | {f"{_SECOND_ZONE}/enabled": "rubbish\n"}),
    Example(
        "power-limit-lowered", "warn", _TWO_RATED, "package 1 may take 253 W in the long run, more than its rated 125 W"
    ),
    Example("power-limit-lowered", "fail", _LOWERED, "45 W"),
    Example("power-limit-lowered", "pass", _LOWERED | {f"{_MMIO}/name": "package-1\n"}),
    Example("power-limit-lowered", "unknown", {f"{ZONE}/constraint_0_max_power_uw": "0\n"}),
    Example("power-limit-lowered", "unknown", {f"{ZONE}/constraint_0_power_limit_uw": "rubbish\n"}),
    Example("power-limit-lowered", "unknown", {f"{ZONE}/enabled": "rubbish\n"}),
    Example("power-limit-lowered", "unknown", gone=("/sys/class/powercap",)),
    Example("power-limit-lowered", "unknown", gone=(f"{ZONE}/constraint_0_name",), is_copy=True),
    Example("power-limit-lowered", "unknown", _TWO_PACKAGES, "no limit of package 1"),
    Example("power-limit-lowered", "unknown", {f"{_SECOND_ZONE}/name/x": ""}, "rapl:1/name"),
    Example("power-limit-lowered", "not-applicable", gone=(f"{ZONE}/constraint_0_name",)),
]
_VOLT = "/sys/class/hwmon/hwmon2"
_FLAGS = "/sys/devices/platform/soc/soc:firmware/get_throttled"
_BOARD = {"/proc/cpuinfo": "processor : 0\nBogoMIPS : 50.00\nFeatures : fp asimd\nCPU implementer : 0x41\n"}
_PI = _BOARD | {f"{_VOLT}/name": "rpi_volt\n", f"{_VOLT}/in0_lcrit_alarm": "0\n"}
_VOLTAGE = [
    Example("under-voltage", "fail", _PI | {f"{_VOLT}/in0_lcrit_alarm": "1\n"}, "lowers the clock: under-voltage"),
    Example("under-voltage", "fail", _PI, loaded={f"{_VOLT}/in0_lcrit_alarm": "1\n"}),
    Example("under-voltage", "pass", _PI, "no under-voltage"),
    Example("under-voltage", "unknown", _PI | {f"{_VOLT}/in0_lcrit_alarm": "rubbish\n"}, "in0_lcrit_alarm"),
    Example("under-voltage", "fail", _BOARD | {_FLAGS: "50005\n"}),
    Example("under-voltage", "warn", _BOARD | {_FLAGS: "50000\n"}, "since boot"),
    Example("under-voltage", "pass", _BOARD | {_FLAGS: "0\n"}),
    Example("under-voltage", "pass", _BOARD | {_FLAGS: "20002\n"}),
    Example("under-voltage", "unknown", _BOARD | {_FLAGS: "rubbish\n"}, "get_throttled"),
    Example("under-voltage", "unknown", _BOARD, "hwmon", gone=("/sys/class/hwmon",)),
    Example("under-voltage", "unknown", _BOARD, "no alarm for under-voltage here, but this may be a virtual machine"),
    Example("under-voltage", "not-applicable"),
]


EXAMPLES = [
    *_THROTTLING,
    *_COOLING,
    *_TEMPERATURE,
    *_POWER,
    *_VOLTAGE,
]
