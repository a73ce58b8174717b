"""Hints, caps and profiles that save energy."""

from __future__ import annotations

from noisewatch.judgement.rules import Rules
from noisewatch.kernel.snapshot.knobs import Knob
from tests.judgement.example import Example
from tests.written.quiet.frequency import UNCORE
from tests.written.quiet_machine import CPUS, process, stat_file

_CPU2, _CPU3 = f"{CPUS}/cpu2/cpufreq", f"{CPUS}/cpu3/cpufreq"
_PREFERENCE, _BIAS = "energy_performance_preference", "power/energy_perf_bias"
_ALL_PREFERENCES = tuple(f"{CPUS}/cpu{cpu}/cpufreq/{_PREFERENCE}" for cpu in range(4))
_LAPTOP = {
    f"{folder}/{name}": text
    for folder in (_CPU2, _CPU3)
    for name, text in (
        ("scaling_driver", "intel_pstate\n"),
        ("scaling_governor", "powersave\n"),
        (_PREFERENCE, "balance_performance\n"),
    )
}
_INTEL = {f"{folder}/scaling_driver": "intel_cpufreq\n" for folder in (_CPU2, _CPU3)}
_PREFERENCES = [
    Example(
        *("energy-preference-not-performance", "fail", {f"{_CPU3}/{_PREFERENCE}": "balance_power\n"}, "balance_power"),
        cpus={3},
    ),
    Example("energy-preference-not-performance", "fail", {f"{_CPU3}/{_PREFERENCE}": "128\n"}, "128", cpus={3}),
    Example("energy-preference-not-performance", "fail", _LAPTOP, "governor performance would", cpus={2, 3}),
    Example("energy-preference-not-performance", "pass", {f"{_CPU3}/{_PREFERENCE}": "0\n"}),
    Example("energy-preference-not-performance", "pass", {f"{CPUS}/cpu0/cpufreq/{_PREFERENCE}": "power\n"}),
    Example("energy-preference-not-performance", "pass", gone=(f"{_CPU3}/{_PREFERENCE}",)),
    Example("energy-preference-not-performance", "not-applicable", gone=_ALL_PREFERENCES, named="acpi-cpufreq"),
    Example("energy-preference-not-performance", "not-applicable", gone=_ALL_PREFERENCES, is_copy=True),
    Example("energy-preference-not-performance", "unknown", _INTEL, gone=_ALL_PREFERENCES, is_copy=True),
    Example("energy-preference-not-performance", "unknown", {f"{_CPU3}/{_PREFERENCE}": "rub bish\n"}, "word"),
    Example("energy-preference-not-performance", "unknown", gone=(_CPU2,)),
    Example("energy-bias-not-performance", "fail", {f"{CPUS}/cpu3/{_BIAS}": "6\n"}, "normal", cpus={3}),
    Example("energy-bias-not-performance", "pass", {f"{CPUS}/cpu1/{_BIAS}": "15\n"}),
    Example("energy-bias-not-performance", "unknown", {f"{CPUS}/cpu3/{_BIAS}": "rubbish\n"}),
    Example("energy-bias-not-performance", "unknown", gone=(f"{CPUS}/cpu3/{_BIAS}",)),
    Example(*("energy-bias-not-performance", "not-applicable"), gone=(f"{CPUS}/cpu2/{_BIAS}", f"{CPUS}/cpu3/{_BIAS}")),
    Example(
        *("energy-bias-not-performance", "unknown"),
        gone=(f"{CPUS}/cpu2/{_BIAS}", f"{CPUS}/cpu3/{_BIAS}"),
        is_copy=True,
    ),
]
_PROFILES = [
    Example("platform-profile-saves-power", "fail", {Knob.PLATFORM_PROFILE: "low-power\n"}, "low-power"),
    Example("platform-profile-saves-power", "warn", {Knob.PLATFORM_PROFILE: "balanced\n"}, "balanced"),
    Example("platform-profile-saves-power", "pass", {Knob.PLATFORM_PROFILE: "balanced-performance\n"}),
    Example("platform-profile-saves-power", "unknown", {Knob.PLATFORM_PROFILE: "custom\n"}, "'custom'"),
    Example("platform-profile-saves-power", "not-applicable", gone=(Knob.PLATFORM_PROFILE, Knob.PLATFORM_PROFILES)),
    Example("platform-profile-saves-power", "unknown", gone=(Knob.PLATFORM_PROFILE,), is_copy=True),
    Example("platform-profile-saves-power", "unknown", gone=(Knob.PLATFORM_PROFILE,), named="choices exists"),
    Example(
        *("platform-profile-saves-power", "unknown", {"/.dockerenv": ""}, "may hide it"),
        gone=(Knob.PLATFORM_PROFILE,),
    ),
]
_DAEMONS = [
    Example(
        *("frequency-daemon-runs", "fail", process(900, "power-profiles-", 0, 0), "power-profiles-daemon may change"),
    ),
    Example("frequency-daemon-runs", "fail", process(900, "auto-cpufreq", 0, 0), "auto-cpufreq"),
    Example("frequency-daemon-runs", "pass", process(900, "tuner", 0, 0)),
    Example("frequency-daemon-runs", "unknown", gone=("/proc/2", "/proc/30"), named="no kernel thread is visible"),
]
_NO_LIMIT = (f"{_CPU2}/bios_limit", f"{_CPU3}/bios_limit")
_PINNED = ("bios_limit", "scaling_min_freq", "scaling_max_freq")
_NO_TABLE = tuple(f"{folder}/scaling_available_frequencies" for folder in (_CPU2, _CPU3))
_POWERSAVE = {f"{folder}/scaling_governor": "powersave\n" for folder in (_CPU2, _CPU3)}
_FASTER = {
    f"{folder}/{name}": "6000000\n"
    for folder in (_CPU2, _CPU3)
    for name in ("base_frequency", "scaling_max_freq", "cpuinfo_max_freq")
}
_CPU1 = f"{CPUS}/cpu1/cpufreq"
_SLOW, _ASKED_SLOW = {f"{_CPU1}/scaling_cur_freq": "1200000\n"}, {f"{_CPU1}/cpuinfo_cur_freq": "1200000\n"}
_BY_CLOCK = {f"{_CPU1}/scaling_driver": "cpufreq-dt\n"}
_ONE = frozenset({1})  # a CPU that the calibration does not measure
_HELD = [
    Example(
        *("clock-capped", "fail", _INTEL | _FASTER, "CPUs 2-3 run at 3 GHz, 50% of the 6 GHz that cpufreq promises"),
        cpus={2, 3},
    ),
    Example("clock-capped", "fail", _LAPTOP | _FASTER, "something outside the kernel holds it down"),
    Example(
        *("clock-capped", "fail", _INTEL | _FASTER, "slowed by heat during the measurement"),
        loaded={f"{CPUS}/cpu3/thermal_throttle/core_throttle_count": "13\n"},
    ),
    Example("clock-capped", "pass", _FASTER | _POWERSAVE, "not capped: 3 GHz or more"),
    Example(
        *("clock-capped", "pass", _INTEL | _FASTER | _POWERSAVE | {f"{_CPU2}/{_PREFERENCE}": "power\n"}, "3 GHz"),
        target=frozenset({2}),
    ),
    Example("clock-capped", "pass", {f"{_CPU3}/scaling_cur_freq": "1200000\n"}, "not capped: 3 GHz or more"),
    Example(
        *(
            "clock-capped",
            "unknown",
            _INTEL | {"/proc/cpuinfo": "processor : 0\nflags : fpu\n", f"{CPUS}/cpufreq/boost": "1\n"},
        ),
        named="no base frequency is exported",
        gone=_NO_TABLE,
    ),
    Example("clock-capped", "unknown", _SLOW, "CPU 1 shows 1.2 GHz of 3 GHz: it is idle or held down", target=_ONE),
    Example(
        *("clock-capped", "fail", _SLOW, "CPU 1 runs at 1.2 GHz, 40% of"),
        after={"/proc/stat": stat_file({1: 290}, 300)},
        target=_ONE,
    ),
    Example("clock-capped", "pass", _ASKED_SLOW, "was not measured", target=_ONE),
    Example(
        *("clock-capped", "fail", _ASKED_SLOW | _BY_CLOCK, "CPU 1 runs at 1.2 GHz"),
        target=_ONE,
    ),
    Example(
        *("clock-capped", "unknown", _BY_CLOCK | {f"{_CPU1}/cpuinfo_cur_freq": "?\n"}, "cpuinfo_cur_freq"),
        target=_ONE,
    ),
    Example("clock-capped", "unknown", gone=(f"{_CPU1}/scaling_cur_freq",), named="scaling_cur_freq", target=_ONE),
    Example("clock-capped", "pass", {}, "was not measured", target=_ONE),
    Example("clock-capped", "pass", _SLOW | {f"{_CPU1}/scaling_governor": "schedutil\n"}, target=_ONE),
]
_CAPS = [
    Example("clock-capped", "fail", {Knob.PSTATE_MAX_PERF: "70\n", **_INTEL}, "70%", cpus={2, 3}),
    Example("clock-capped", "pass", {Knob.PSTATE_MAX_PERF: "70\n", Knob.PSTATE_MIN_PERF: "70\n"}),
    Example("clock-capped", "unknown", {Knob.PSTATE_MAX_PERF: "rubbish\n"}),
    Example("clock-capped", "pass", gone=(f"{CPUS}/intel_pstate",)),
    Example("clock-capped", "pass", gone=(f"{CPUS}/intel_pstate",), is_copy=True),
    Example("clock-capped", "unknown", _INTEL, gone=(f"{CPUS}/intel_pstate",), is_copy=True),
    Example("clock-capped", "pass", _INTEL, gone=_NO_LIMIT, is_copy=True),
    Example("clock-capped", "unknown", gone=_NO_LIMIT, is_copy=True),
    Example("clock-capped", "fail", {f"{_CPU3}/bios_limit": "1800000\n"}, "1.8 GHz", cpus={3}),
    Example("clock-capped", "pass", {f"{CPUS}/cpu1/cpufreq/bios_limit": "1800000\n"}),
    Example("clock-capped", "pass", {f"{_CPU3}/{name}": "1800000\n" for name in _PINNED}),
    Example("clock-capped", "pass", gone=(f"{_CPU2}/bios_limit", f"{_CPU3}/bios_limit")),
    Example("clock-capped", "unknown", {f"{_CPU3}/bios_limit": "rubbish\n"}, "bios_limit"),
    Example("clock-capped", "pass", gone=_NO_TABLE),
    Example(
        *("clock-capped", "unknown", {f"{_CPU3}/cpuinfo_max_freq": "3900000\n"}, "no clock to compare it with"),
        gone=_NO_TABLE,
    ),
    Example(
        *("clock-capped", "pass", {f"{_CPU3}/cpuinfo_max_freq": "3900000\n", f"{_CPU3}/base_frequency": "3000000\n"}),
        gone=_NO_TABLE,
    ),
    Example("clock-capped", "unknown", gone=(_CPU2,)),
    *_HELD,
    Example(
        "clock-boosted-after-io",
        "fail",
        {Knob.PSTATE_DYNAMIC_BOOST: "1\n", **_INTEL, **_POWERSAVE},
        "the I/O boost is on",
    ),
    Example("clock-boosted-after-io", "pass", {Knob.PSTATE_DYNAMIC_BOOST: "1\n"}, "nothing to boost"),
    Example("clock-boosted-after-io", "unknown", {Knob.PSTATE_DYNAMIC_BOOST: "rubbish\n"}),
    Example("clock-boosted-after-io", "unknown", _INTEL, gone=(Knob.PSTATE_DYNAMIC_BOOST,), is_copy=True),
    Example("clock-boosted-after-io", "not-applicable", _INTEL, gone=(Knob.PSTATE_DYNAMIC_BOOST,)),
    Example("clock-boosted-after-io", "not-applicable", gone=(Knob.PSTATE_DYNAMIC_BOOST,)),
]
_OTHER_PACKAGE = {
    f"{CPUS}/intel_uncore_frequency/package_01_die_00/min_freq_khz": "800000\n",
    f"{CPUS}/intel_uncore_frequency/package_01_die_00/max_freq_khz": "2400000\n",
}
_UNCORE = [
    Example(
        *("uncore-frequency-moves", "unknown", {f"{CPUS}/cpu3/topology/physical_package_id": "1\n"}),
        "no domain of package 1",
    ),
    Example("uncore-frequency-moves", "fail", {f"{UNCORE}/min_freq_khz": "800000\n"}, "0.8 to 2.4 GHz"),
    Example("uncore-frequency-moves", "fail", {f"{UNCORE}/min_freq_khz": "800000\n"}, rules=Rules("memory")),
    Example(
        *("uncore-frequency-moves", "fail"),
        {
            f"{CPUS}/cpu3/topology/physical_package_id": "1\n",
            f"{UNCORE}/min_freq_khz": "1000000\n",
            **_OTHER_PACKAGE,
        },
        "1 to 2.4 GHz (package_00_die_00); 0.8 to 2.4 GHz (package_01_die_00)",
    ),
    Example("uncore-frequency-moves", "pass", _OTHER_PACKAGE),
    Example(
        *("uncore-frequency-moves", "fail", {path.replace("01", "00"): text for path, text in _OTHER_PACKAGE.items()})
    ),
    Example("uncore-frequency-moves", "unknown", {f"{UNCORE}/min_freq_khz": "rubbish\n"}),
    Example("uncore-frequency-moves", "unknown", gone=(f"{UNCORE}/max_freq_khz",)),
    Example(
        "uncore-frequency-moves",
        "unknown",
        {f"{UNCORE}/{end}_freq_khz": "0\n" for end in ("min", "max")},
        "no frequency",
    ),
    Example("uncore-frequency-moves", "unknown", gone=(f"{CPUS}/intel_uncore_frequency",), is_copy=True),
    Example("uncore-frequency-moves", "not-applicable", gone=(f"{CPUS}/intel_uncore_frequency",)),
]


EXAMPLES = [
    *_PREFERENCES,
    *_PROFILES,
    *_DAEMONS,
    *_CAPS,
    *_UNCORE,
]
