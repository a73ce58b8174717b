"""Idle states, heat and power that a made-up machine of many CPUs reports, second by second."""

from __future__ import annotations

from collections.abc import Sequence

from tests.written.quiet.frequency import STATES
from tests.written.quiet_machine import CPUS

LIMITED = range(100, 106)  # seconds in which package 0 reaches its power limit
_LIMIT_W = 125
_AWAKE, _ASLEEP = {"C1": 0.15, "C1E": 0.1, "C6": 0.3}, {"C1": 0.02, "C1E": 0.08, "C6": 0.85}


def clock_files(second: int, at_home: Sequence[int], packages: Sequence[Sequence[int]]) -> dict[str, str]:
    """Return the files of packages, each with its online CPUs, at this second; the CPUs `at_home` are busy."""
    files: dict[str, str] = {}
    limited = sum(limited_second < second for limited_second in LIMITED)
    for package, cpus in enumerate(packages):
        zone = f"/sys/class/powercap/intel-rapl:{package}"
        files |= {
            f"{zone}/name": f"package-{package}\n",
            f"{zone}/enabled": "1\n",
            f"{zone}/energy_uj": f"{sum(_watts(package, earlier) for earlier in range(second)) * 1_000_000}\n",
            f"{zone}/max_energy_range_uj": "262143328850\n",
            f"{zone}/constraint_0_name": "long_term\n",
            f"{zone}/constraint_0_power_limit_uw": f"{_LIMIT_W}000000\n",
            f"{zone}/constraint_0_max_power_uw": f"{_LIMIT_W}000000\n",
            f"/sys/class/hwmon/hwmon{package + 1}/temp1_input": f"{300 * _watts(package, second) + 20_000}\n",
        }
        for cpu in cpus:
            folder = f"{CPUS}/cpu{cpu}"
            files[f"{folder}/cpufreq/base_frequency"] = "3000000\n"
            files[f"{folder}/thermal_throttle/package_power_limit_count"] = f"{7 + limited * (package == 0)}\n"
            shares = _AWAKE if cpu in at_home else _ASLEEP
            for index, (name, _, _) in enumerate(STATES):
                slept_us = shares.get(name, 0.0) * (second + (cpu * 7 + second * 13 + index) % 31 / 310) * 1e6
                files[f"{folder}/cpuidle/state{index}/time"] = f"{round(slept_us)}\n"
    return files


def _watts(package: int, second: int) -> int:
    """Return the power: more while the network card is busy, and most at the limit."""
    if package:
        return 38 + second % 3
    return _LIMIT_W if second in LIMITED else 95 if 20 <= second < 32 else 70 + second % 5
