"""Hints, caps and profiles that ask for speed."""

from __future__ import annotations

from noisewatch.kernel.snapshot.knobs import Knob

CPUS = "/sys/devices/system/cpu"
UNCORE = f"{CPUS}/intel_uncore_frequency/package_00_die_00"


def files(seconds: float) -> dict[str, str]:
    """What the drivers would show, whichever of them would be there."""
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
