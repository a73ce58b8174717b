"""A cool machine, with all the power that it is made for."""

from __future__ import annotations

CPUS = "/sys/devices/system/cpu"
THERMAL = "/sys/class/thermal"
CHIP = "/sys/class/hwmon/hwmon1"
ZONE = "/sys/class/powercap/intel-rapl:0"


def files(seconds: float) -> dict[str, str]:
    """Counters that stand still, of a machine that was hot some time ago."""
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
