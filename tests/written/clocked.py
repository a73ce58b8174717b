"""The quiet machine with all files in which an Intel server reports clocks, idle states, heat and power."""

from __future__ import annotations

from tests.written.quiet.frequency import CHIP, STATES, UNCORE, ZONE
from tests.written.quiet_machine import CPUS, quiet_files, stat_file

SECONDS = 3.0  # between two looks
RANGE_UJ = 262_143_328_850  # where the energy counter wraps around


def intel_files(at: float, watts: float = 65.0, energy_uj: int = 1_000_000) -> dict[str, str]:
    """Return the files of an Intel server, `at` looks after the first one. CPUs 2 and 3 sleep, 0 and 1 are awake."""
    used_uj = energy_uj + round(watts * 1e6 * at * SECONDS)
    files = quiet_files(SECONDS * at) | {
        "/proc/stat": stat_file({0: round(300 * at), 1: round(300 * at)}, round(300 * at)),
        f"{ZONE}/energy_uj": f"{used_uj % (RANGE_UJ + 1)}\n",
        f"{ZONE}/max_energy_range_uj": f"{RANGE_UJ}\n",
        f"{ZONE}/constraint_0_power_limit_uw": "65000000\n",
        f"{ZONE}/constraint_1_name": "short_term\n",
        f"{ZONE}/constraint_1_power_limit_uw": "160000000\n",
        f"{UNCORE}/current_freq_khz": "2400000\n",
        f"{CHIP}/temp4_label": "Core 2\n",
        f"{CHIP}/temp4_input": "39000\n",
        f"{CHIP}/temp4_crit": "100000\n",
    }
    for cpu in range(4):
        folder = f"{CPUS}/cpu{cpu}"
        files[f"{folder}/cpufreq/base_frequency"] = "2500000\n"
        files[f"{folder}/thermal_throttle/core_throttle_total_time_ms"] = "310\n"
        files[f"{folder}/thermal_throttle/package_throttle_total_time_ms"] = "620\n"
        files[f"{folder}/thermal_throttle/core_power_limit_count"] = "7\n"
        for index, (name, _, _) in enumerate(STATES):
            slept = {"C1": 0.25, "C6": 0.75}.get(name, 0.0) if cpu >= 2 else 0.0
            files[f"{folder}/cpuidle/state{index}/time"] = f"{round(slept * at * SECONDS * 1e6)}\n"
    return files
