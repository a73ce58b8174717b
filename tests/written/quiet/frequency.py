"""CPUs that ask for speed, stay cool at their full rated power, and sleep lightly."""

from __future__ import annotations

from typing import Any

from noisewatch.kernel.frequency.idle import LATENCY_REQUEST, NO_LIMIT_US
from noisewatch.kernel.snapshot.knobs import Knob

CPUS = "/sys/devices/system/cpu"
UNCORE = f"{CPUS}/intel_uncore_frequency/package_00_die_00"
THERMAL = "/sys/class/thermal"
CHIP = "/sys/class/hwmon/hwmon1"
ZONE = "/sys/class/powercap/intel-rapl:0"
STATES = (("POLL", 0, 0), ("C1", 2, 0), ("C1E", 10, 0), ("C6", 133, 1))
ANSWERS: dict[str, Any] = {
    LATENCY_REQUEST: NO_LIMIT_US,
}


def _hints() -> dict[str, str]:
    """Return the hints of all drivers together; a real machine has those of one driver."""
    written: dict[str, str] = {
        Knob.PSTATE_MAX_PERF: "100\n",
        Knob.PSTATE_MIN_PERF: "100\n",
        Knob.PSTATE_DYNAMIC_BOOST: "0\n",
        Knob.PLATFORM_PROFILE: "performance\n",
        Knob.PLATFORM_PROFILES: "low-power balanced performance\n",
        f"{UNCORE}/min_freq_khz": "2400000\n",
        f"{UNCORE}/max_freq_khz": "2400000\n",
    }
    for cpu in range(4):
        written |= {
            f"{CPUS}/cpu{cpu}/cpufreq/energy_performance_preference": "performance\n",
            f"{CPUS}/cpu{cpu}/cpufreq/bios_limit": "3000000\n",
            f"{CPUS}/cpu{cpu}/cpufreq/scaling_available_frequencies": "3000000 1200000 \n",
            f"{CPUS}/cpu{cpu}/power/energy_perf_bias": "0\n",
        }
    return written


def _cool() -> dict[str, str]:
    """Return the constant counters of a machine that was hot some time ago."""
    written = {
        f"{THERMAL}/thermal_zone0/type": "x86_pkg_temp\n",
        f"{THERMAL}/cooling_device0/type": "Fan\n",
        f"{THERMAL}/cooling_device0/cur_state": "1\n",
        f"{THERMAL}/cooling_device1/type": "Processor\n",
        f"{THERMAL}/cooling_device1/cur_state": "0\n",
        f"{THERMAL}/cooling_device2/type": "intel_powerclamp\n",
        f"{THERMAL}/cooling_device2/cur_state": "-1\n",
        "/sys/class/hwmon/hwmon0/name": "nvme\n",
        "/sys/class/hwmon/hwmon0/temp1_input": "99000\n",
        f"{CHIP}/name": "coretemp\n",
        f"{CHIP}/temp1_label": "Package id 0\n",
        f"{CHIP}/temp1_input": "41000\n",
        f"{CHIP}/temp1_crit": "100000\n",
        f"{CHIP}/temp2_label": "Core 0\n",
        f"{CHIP}/temp2_input": "40000\n",
        f"{CHIP}/temp2_crit": "100000\n",
        f"{ZONE}/name": "package-0\n",
        f"{ZONE}/enabled": "1\n",
        f"{ZONE}/constraint_0_name": "long_term\n",
        f"{ZONE}/constraint_0_power_limit_uw": "125000000\n",
        f"{ZONE}/constraint_0_max_power_uw": "125000000\n",
        f"{ZONE}:0/name": "core\n",
    }
    for cpu in range(4):
        written |= {
            f"{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count": "12\n",
            f"{CPUS}/cpu{cpu}/thermal_throttle/package_throttle_count": "34\n",
        }
    return written


def _light_sleep() -> dict[str, str]:
    """Return the idle states, with deep ones disabled."""
    written: dict[str, str] = {Knob.IDLE_DRIVER: "intel_idle\n"}
    for cpu in range(4):
        written[f"{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us"] = "0\n"
        for index, (name, latency_us, disable) in enumerate(STATES):
            folder = f"{CPUS}/cpu{cpu}/cpuidle/state{index}"
            written |= {
                f"{folder}/name": f"{name}\n",
                f"{folder}/latency": f"{latency_us}\n",
                f"{folder}/disable": f"{disable}\n",
            }
    return written


def files(seconds: float) -> dict[str, str]:
    """Return the files of clocks, heat and idle states, `seconds` after the first snapshot."""
    return _hints() | _cool() | _light_sleep()
