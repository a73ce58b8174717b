"""Governor, turbo, the window of frequencies, and the power that the machine runs on."""

from __future__ import annotations

from tests.judgement.example import Example
from tests.written.quiet_machine import CPUS

_BOOST = {f"{CPUS}/cpufreq/boost": "1\n"}


EXAMPLES = [
    Example(
        *("governor-not-performance", "fail", {f"{CPUS}/cpu3/cpufreq/scaling_governor": "schedutil\n"}, "schedutil"),
        cpus={3},
    ),
    Example("governor-not-performance", "unknown", gone=(f"{CPUS}/cpu2/cpufreq/scaling_governor",)),
    Example("governor-not-performance", "unknown", gone=(f"{CPUS}/cpu2/cpufreq",)),
    Example("turbo-enabled", "fail", _BOOST, "boost"),
    Example("turbo-enabled", "unknown", gone=(f"{CPUS}/cpufreq/boost",)),
    Example(
        *("frequency-window-open", "warn", _BOOST | {f"{CPUS}/cpu2/cpufreq/scaling_max_freq": "3600000\n"}, "3.6 GHz"),
        cpus={2},
    ),
    Example(
        *("frequency-window-open", "warn"),
        {
            f"{CPUS}/cpu2/cpufreq/scaling_min_freq": "1200000\n",
            f"{CPUS}/cpu3/cpufreq/scaling_max_freq": "3600000\n",
            f"{CPUS}/cpufreq/boost": "1\n",
        },
        "1.2 to 3 GHz allowed on CPU 2; 3 to 3.6 GHz allowed on CPU 3",
    ),
    Example("frequency-window-open", "unknown", gone=(f"{CPUS}/cpu2/cpufreq",)),
    *(
        Example(
            "frequency-window-open",
            "unknown",
            {path: f"{khz}\n" for path, khz in window.items()},
            "no frequency is between",
        )
        for window in (
            dict.fromkeys((f"{CPUS}/cpu2/cpufreq/scaling_min_freq", f"{CPUS}/cpu2/cpufreq/scaling_max_freq"), 0),
            {f"{CPUS}/cpu3/cpufreq/scaling_max_freq": 3},
        )
    ),
    Example("on-battery", "fail", {"/sys/class/power_supply/AC/online": "0\n"}, "on battery"),
    Example("on-battery", "unknown", gone=("/sys/class/power_supply/AC/online",)),
    Example(
        *("on-battery", "unknown", {"/sys/bus/acpi/devices/PNP0C0A:00/status": "31\n"}, "is a battery"),
        gone=("/sys/class/power_supply",),
    ),
    Example(
        *("on-battery", "not-applicable", {"/sys/bus/acpi/devices/PNP0C0A:00/status": "0\n"}),
        gone=("/sys/class/power_supply",),
    ),
    Example("on-battery", "not-applicable", gone=("/sys/class/power_supply",)),
]
